"""What may be concluded from a difference: convergence, equivalence, and the family it is in."""

import dataclasses
import itertools
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
    models = [SimpleNamespace(model="a", hyperparameters=h) for h in (first, second)]
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
        "last-state": plain, "average": plain, "self-attention": attended,
        "parameter-matched": plain, "attention-pooling": Hyperparameters(pooling="attention"),
        "hybrid": attended, "searched": attended, "searched-last-state": plain,
        "searched-average": plain,
    }  # fmt: skip
    return families_of(results.assign_roles(models, ["majority", "linear"], attention))


def families_of(roles: results.Roles) -> dict[tuple[str, str], str]:
    return {(first, second): family for first, second, family in roles.pairs()}


def test_one_comparison_is_primary_and_reference_models_are_a_family_of_their_own():
    families = roles(["self-attention", "attention-pooling"])
    of: dict[str, set] = {name: set() for name in results.FAMILIES}
    for pair, family in families.items():
        of[family].add(pair)
    assert of["primary"] == {("self-attention", "average")}
    assert of["reference_models"] == {("self-attention", "linear"), ("attention-pooling", "linear")}
    assert of["trivial"] == {("self-attention", "majority"), ("attention-pooling", "majority")}
    others = {"hybrid", "searched", "searched-last-state", "searched-average"}
    variants = {"self-attention", "attention-pooling", "average", "parameter-matched", *others}
    assert of["secondary"] == {
        *((variant, "last-state") for variant in variants),
        ("searched", "searched-last-state"), ("searched", "searched-average"),
        ("self-attention", "attention-pooling"), ("attention-pooling", "average"),
        *itertools.product(("self-attention", "attention-pooling"), others),
        ("self-attention", "parameter-matched"), ("attention-pooling", "parameter-matched"),
    }  # fmt: skip


@pytest.mark.parametrize(("variants", "declared", "control"), CASES["controls"])
def test_the_control_is_declared_or_has_equal_weights(variants, declared, control):
    models = dict.fromkeys(variants, CELL)
    models["self-attention"] = Hyperparameters(attention="multi-head")
    assert results.assign_roles(models, [], ["self-attention"], declared).control == control
    models["attention-pooling"] = Hyperparameters(pooling="attention")
    pools = results.assign_roles(models, [], ["attention-pooling"], declared).control
    assert pools == control.replace("equal-weights", "average")


@pytest.mark.parametrize("declared", ["hybrid", "attention-pooling"])
def test_a_declared_control_is_a_control_whatever_it_is(declared):
    attended = Hyperparameters(attention="multi-head")
    models = {"last-state": CELL, "average": CELL, "self-attention": attended, "hybrid": attended}
    models["attention-pooling"] = Hyperparameters(pooling="attention")
    roles = results.assign_roles(models, [], ["self-attention", "attention-pooling"], declared)
    assert roles.controls == ["average", declared]
    pairs = [*roles.pairs()]
    (primary,) = (pair for *pair, family in pairs if family == "primary")
    assert primary == ["self-attention", declared] and len(pairs) == len(set(pairs))


def test_a_decoder_with_a_matrix_for_each_position_is_no_control():
    """It gives words weights of their own: that attention beats it says nothing of these."""
    models = {name: Translator(decoder=name) for name in ("last-state", "concatenate")}
    models["self-attention"] = Translator(decoder="output")
    models["parameter-matched"] = Translator(decoder="last-state", hidden_size=300)
    models["equal"] = Translator(decoder="input", score="uniform")
    roles = results.assign_roles(models, [], ["self-attention"])
    assert roles.controls == ["parameter-matched", "equal"] and roles.others == ["concatenate"]


def test_a_variant_that_trains_on_a_part_is_compared_with_its_own_baseline_alone():
    plain, attended = Translator(decoder="last-state"), Translator(decoder="output")
    half, short = {"training_share": 0.5}, {"max_source_tokens": 30}
    models = {
        "last-state": plain, "self-attention": attended,
        "short": dataclasses.replace(attended, **short),
        "half": dataclasses.replace(attended, **half),
        "half-last-state": dataclasses.replace(plain, **half),
        "searched": attended, "searched-last-state": plain,
    }  # fmt: skip
    families = families_of(results.assign_roles(models, ["copy"], ["self-attention"]))
    of_half = [pair for pair in families if {"half", "half-last-state"} & {*pair}]
    assert of_half == [("half", "half-last-state")]
    assert families["half", "half-last-state"] == families["searched", "searched-last-state"]
    assert families["searched", "last-state"] == families["short", "last-state"] == "secondary"
    assert families["self-attention", "searched-last-state"] == "secondary"
    asked = families_of(results.assign_roles(models, [], ["self-attention", "half"]))
    assert asked["half", "last-state"] == asked["half", "searched"] == "secondary"
    assert asked["half", "half-last-state"] == "secondary"
    assert ("half-last-state", "last-state") not in asked
    del models["last-state"]
    without = families_of(results.assign_roles(models, [], ["self-attention"]))
    assert ("self-attention", "half") in without, "nothing says what the others train on"
