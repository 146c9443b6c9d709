"""What may be concluded from a difference: convergence, equivalence, and the family it is in."""

import dataclasses
from types import SimpleNamespace

import pytest

from heed.evaluation.comparison import tuned_alike
from heed.evaluation.results import (
    BETTER,
    FOREIGN,
    NOT_CONVERGED,
    SAME,
    UNDECIDED,
    WORSE,
    Difference,
    Roles,
    assign_roles,
    verdict,
)
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as Translator

CELL = Hyperparameters(dropout=0.2)


@pytest.mark.parametrize(
    ("changed", "first", "second", "alike"),
    [
        ({}, "", "", True),
        ({"attention": "multi-head", "heads": 4, "hidden_size": 9}, "", "", True),
        ({"learning_rate": 0.1}, "", "", False),
        ({"word_dropout": 0.1}, "", "", False),
        ({"tfidf_dropout": 0.1, "tfidf_branch": "words"}, "", "", False),
        ({"precision": "bfloat16"}, "", "", True),
        ({"learning_rate": 0.1}, "space", "space", True),  # each has its own winner
        ({}, "space", "other space", False),
        ({}, "space", "", False),
        ({}, FOREIGN, FOREIGN, False),
        ({}, "space", FOREIGN, False),
    ],
)
def test_models_are_tuned_alike_by_one_search_or_by_one_training(changed, first, second, alike):
    models = [
        SimpleNamespace(model=name, hyperparameters=h)
        for name, h in (("a", CELL), ("b", dataclasses.replace(CELL, **changed)))
    ]
    assert tuned_alike(*models, {"a": first, "b": second}) == alike


def difference(mean: float, p: float | None, equivalence_p: float | None) -> Difference:
    return Difference(
        family="question", mean_pp=mean, interval_pp=None, p=p, p_holm=p,
        equivalence_p=equivalence_p, equivalence_p_holm=equivalence_p, verdict=UNDECIDED,
        standard_error_pp=None, degrees_of_freedom=None, seeds_needed=None, detectable_pp=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mean", "p", "equivalence_p", "first", "second", "expected"),
    [
        (2.0, 0.01, 0.9, True, True, BETTER),
        (-2.0, 0.01, 0.9, True, True, WORSE),
        (0.1, 0.6, 0.01, True, True, SAME),
        (0.3, 0.01, 0.01, True, True, SAME),  # significant, and too small to matter
        (-0.3, 0.01, 0.01, True, True, SAME),
        (2.0, 0.2, 0.9, True, True, UNDECIDED),
        (2.0, None, None, True, True, UNDECIDED),  # one seed
        (2.0, 0.01, 0.9, False, True, NOT_CONVERGED),
        (2.0, 0.01, 0.9, True, False, NOT_CONVERGED),
        (0.1, 0.6, 0.01, True, False, NOT_CONVERGED),
        (0.1, 0.6, 0.01, False, True, NOT_CONVERGED),
        (-2.0, 0.01, 0.9, False, True, NOT_CONVERGED),  # it might still have caught up
        (-2.0, 0.01, 0.9, True, False, WORSE),  # than a model that could only become better
        (2.0, 0.2, 0.9, True, False, NOT_CONVERGED),
    ],
)
def test_not_converged_voids_gain_and_equivalence(mean, p, equivalence_p, first, second, expected):
    assert verdict(difference(mean, p, equivalence_p), 0.05, first, second) == expected


def roles(attention: list[str]) -> dict[tuple[str, str], str]:
    plain, attended = Hyperparameters(), Hyperparameters(attention="multi-head")
    models = {
        "baseline": plain, "mean": plain, "attention": attended, "parameter-matched": plain,
        "pooling": Hyperparameters(pooling="attention"), "hybrid": attended, "searched": attended,
        "searched-baseline": plain, "searched-mean": plain,
    }  # fmt: skip
    return families_of(assign_roles(models, ["linear", "majority"], attention))


def families_of(roles: Roles) -> dict[tuple[str, str], str]:
    return {(first, second): family for first, second, family in roles.pairs()}


def test_variants_that_answer_the_question_and_controls_are_one_family():
    families = roles(["attention", "pooling"])
    question = {pair for pair, family in families.items() if family == "question"}
    assert question == {
        (v, "baseline") for v in ("attention", "pooling", "mean", "parameter-matched")
    }
    variants = {pair for pair, family in families.items() if family == "variants"}
    others = ("hybrid", "searched", "searched-baseline", "searched-mean")
    assert variants == {(variant, "baseline") for variant in others}
    pairs = {pair for pair, family in families.items() if family == "pairs"}
    assert pairs == {("searched", "searched-baseline"), ("searched", "searched-mean")}
    compared_models = {pair for pair, family in families.items() if family == "compared_models"}
    against = {"mean", "parameter-matched", "linear", "majority", *others}
    assert compared_models == {
        ("attention", "pooling"),
        *(
            (variant, compared_model)
            for variant in ("attention", "pooling")
            for compared_model in against
        ),
    }


def test_a_decoder_with_a_matrix_for_each_position_is_no_control():
    """It gives words weights of their own: that attention beats it says nothing of these."""
    models = {
        "baseline": Translator(decoder="last-state"),
        "attention": Translator(decoder="output"),
        "concatenate": Translator(decoder="concatenate"),
        "parameter-matched": Translator(decoder="last-state", hidden_size=300),
        "equal": Translator(decoder="input", score="uniform"),
    }
    roles = assign_roles(models, [], ["attention"])
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
    families = families_of(assign_roles(models, ["copy"], ["attention"]))
    of_half = [pair for pair in families if {"half", "half-baseline"} & {*pair}]
    assert of_half == [("half", "half-baseline")]
    assert families["half", "half-baseline"] == families["searched", "searched-baseline"] == "pairs"
    assert families["searched", "baseline"] == families["short", "baseline"] == "variants"
    assert families["attention", "searched-baseline"] == "compared_models"
    asked = families_of(assign_roles(models, [], ["attention", "half"]))
    assert (
        asked["half", "baseline"] == "question" and asked["half", "searched"] == "compared_models"
    )
    assert asked["half", "half-baseline"] == "pairs" and ("half-baseline", "baseline") not in asked
    del models["baseline"]
    without = families_of(assign_roles(models, [], ["attention"]))
    assert ("attention", "half") in without, "nothing says what the others train on"


def test_a_variant_that_a_study_does_not_name_answers_nothing():
    families = roles(["pooling"])
    assert families["attention", "baseline"] == "variants"
    assert families["pooling", "attention"] == "compared_models"
    assert ("attention", "linear") not in families
