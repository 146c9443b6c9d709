"""What may be concluded from a difference: convergence, equivalence, and the family it is in."""

import dataclasses
from types import SimpleNamespace

import pytest

from heed.evaluation import results
from heed.evaluation.comparison import tuned_alike
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as Translator
from tests.conftest import cases

CASES = cases(__file__)
CELL = Hyperparameters(dropout=0.2)


@pytest.mark.parametrize(("changed", "first", "second", "alike"), CASES["tuned_alike"])
def test_models_are_tuned_alike_by_one_search_or_by_one_training(changed, first, second, alike):
    pairs = {"a": CELL, "b": dataclasses.replace(CELL, **changed)}.items()
    models = [SimpleNamespace(model=name, hyperparameters=h) for name, h in pairs]
    assert tuned_alike(*models, {"a": first, "b": second}) == alike


@pytest.mark.parametrize(("changed", "alike"), [
    ({"decoder": "concatenate", "max_source_tokens": 20}, True),  # as many states
    ({"training_share": 0.5}, False),
    ({"segmentation": "bpe"}, False),
])  # fmt: skip
def test_translators_are_tuned_alike_where_they_read_alike(changed, alike):
    first, second = Translator(), dataclasses.replace(Translator(), **changed)
    models = [SimpleNamespace(model="a", hyperparameters=each) for each in (first, second)]
    assert tuned_alike(*models, {}) == alike


METHOD = results.Significance("", 0.05, 0.8, 1.0, None, {})


def difference(mean: float, p: float | None, within: float | None) -> results.Difference:
    return results.Difference(
        family="secondary", tests=1, mean_pp=mean, interval_pp=(mean - 1, mean + 1), p=p,
        p_corrected=p, equal_within_pp=within, verdict=results.UNDECIDED,
        standard_error_pp=None, degrees_of_freedom=None, seeds_needed=None, detectable_pp=None,
    )  # fmt: skip


@pytest.mark.parametrize(("mean", "p", "within", "first", "second", "expected"), CASES["verdicts"])
def test_not_converged_voids_what_could_turn(mean, p, within, first, second, expected):
    assert results.verdict(difference(mean, p, within), METHOD, first, second) == expected


def roles(attention: list[str]) -> dict[tuple[str, str], str]:
    plain, attended = Hyperparameters(), Hyperparameters(attention="multi-head")
    models = {
        "baseline": plain, "mean": plain, "attention": attended, "parameter-matched": plain,
        "pooling": Hyperparameters(pooling="attention"), "hybrid": attended, "searched": attended,
        "searched-baseline": plain, "searched-mean": plain,
    }  # fmt: skip
    return families_of(results.assign_roles(models, ["majority", "linear"], attention))


def families_of(roles: results.Roles) -> dict[tuple[str, str], str]:
    return {(first, second): family for first, second, family in roles.pairs()}


def test_one_comparison_is_primary_and_reference_models_are_a_family_of_their_own():
    families = roles(["attention", "pooling"])
    of = {
        name: {pair for pair, each in families.items() if each == name} for name in results.FAMILIES
    }
    assert of["primary"] == {("attention", "mean")}
    assert of["reference_models"] == {("attention", "linear"), ("pooling", "linear")}
    assert of["trivial"] == {("attention", "majority"), ("pooling", "majority")}
    others = {"hybrid", "searched", "searched-baseline", "searched-mean"}
    variants = {"attention", "pooling", "mean", "parameter-matched", *others}
    assert of["secondary"] == {
        *((variant, "baseline") for variant in variants),
        ("searched", "searched-baseline"), ("searched", "searched-mean"), ("attention", "pooling"),
        ("pooling", "mean"),
        *((first, second) for first in ("attention", "pooling") for second in others),
        ("attention", "parameter-matched"), ("pooling", "parameter-matched"),
    }  # fmt: skip


@pytest.mark.parametrize(("variants", "declared", "control"), CASES["controls"])
def test_the_control_is_declared_or_has_equal_weights(variants, declared, control):
    models = dict.fromkeys(variants, CELL)
    models["attention"] = Hyperparameters(attention="multi-head")
    assert results.assign_roles(models, [], ["attention"], declared).control == control
    models["pooling"] = Hyperparameters(pooling="attention")
    pools = results.assign_roles(models, [], ["pooling"], declared).control
    assert pools == control.replace("uniform", "mean")


@pytest.mark.parametrize("declared", ["hybrid", "pooling"])
def test_a_declared_control_is_a_control_whatever_it_is(declared):
    attended = Hyperparameters(attention="multi-head")
    models = {"baseline": CELL, "mean": CELL, "attention": attended, "hybrid": attended}
    models["pooling"] = Hyperparameters(pooling="attention")
    roles = results.assign_roles(models, [], ["attention", "pooling"], declared)
    assert roles.controls == ["mean", declared]
    pairs = [*roles.pairs()]
    assert [pair for *pair, family in pairs if family == "primary"] == [["attention", declared]]
    assert len(pairs) == len(set(pairs))


def test_a_decoder_with_a_matrix_for_each_position_is_no_control():
    """It gives words weights of their own: that attention beats it says nothing of these."""
    models = {
        "baseline": Translator(decoder="last-state"),
        "attention": Translator(decoder="output"),
        "concatenate": Translator(decoder="concatenate"),
        "parameter-matched": Translator(decoder="last-state", hidden_size=300),
        "equal": Translator(decoder="input", score="uniform"),
    }
    roles = results.assign_roles(models, [], ["attention"])
    assert roles.controls == ["parameter-matched", "equal"] and roles.others == ["concatenate"]


def test_a_variant_that_trains_on_a_part_is_compared_with_its_own_baseline_alone():
    plain, attended = Translator(decoder="last-state"), Translator(decoder="output")
    half, short = {"training_share": 0.5}, {"max_source_tokens": 30}
    models = {
        "baseline": plain, "attention": attended, "short": dataclasses.replace(attended, **short),
        "half": dataclasses.replace(attended, **half),
        "half-baseline": dataclasses.replace(plain, **half),
        "searched": attended, "searched-baseline": plain,
    }  # fmt: skip
    families = families_of(results.assign_roles(models, ["copy"], ["attention"]))
    of_half = [pair for pair in families if {"half", "half-baseline"} & {*pair}]
    assert of_half == [("half", "half-baseline")]
    assert families["half", "half-baseline"] == families["searched", "searched-baseline"]
    assert families["searched", "baseline"] == families["short", "baseline"] == "secondary"
    assert families["attention", "searched-baseline"] == "secondary"
    asked = families_of(results.assign_roles(models, [], ["attention", "half"]))
    assert asked["half", "baseline"] == asked["half", "searched"] == "secondary"
    assert asked["half", "half-baseline"] == "secondary"
    assert ("half-baseline", "baseline") not in asked
    del models["baseline"]
    without = families_of(results.assign_roles(models, [], ["attention"]))
    assert ("attention", "half") in without, "nothing says what the others train on"
