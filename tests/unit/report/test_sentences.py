"""The choice of a sentence: what a report says first is what its tests support, and no more."""

import dataclasses
import re
from typing import Any

import pytest

from heed.evaluation.results import SAME, UNDECIDED, WORSE, ExperimentResult
from heed.report import differences
from heed.report.pages import environment, first_sentences
from heed.report.rows import summary
from tests.conftest import cases
from tests.fixtures.report import answers
from tests.fixtures.report.answers import METHOD, NOISY, experiment_of, make_experiment
from tests.fixtures.report.pages import change_difference

CASES = cases(__file__)
NEAR = (0.844, 0.855, 0.8345)  # half a point below attention, in each seed


def finding(result: ExperimentResult, title: str = "Letters") -> dict[str, Any]:
    found = experiment_of(result, title)
    assert found.leading
    return summary.finding(found, found.leading)


def said(*results: ExperimentResult, seeds: str = "3") -> list[str]:
    """The title and the first paragraph."""
    return first_sentences([*map(finding, results)], seeds)


def judged(
    second: str, verdict: str, interval, detectable_pp=4.0, needed: int | None = 40
) -> ExperimentResult:
    """An experiment whose attention has this verdict over a model."""
    result = make_experiment()
    change_difference(
        result, "self-attention", second, verdict=verdict, interval_pp=interval,
        equal_within_pp=0.9, detectable_pp=detectable_pp, seeds_needed=needed,
    )  # fmt: skip
    return result


def test_what_is_undecided_has_its_plan_and_what_no_plan_decides_is_an_estimate():
    planned, estimate = (judged("last-state", UNDECIDED, (-1.0, 5.0), needed=n) for n in (40, None))
    assert "the last state 81.0%: undecided. About 40 seeds would decide." in said(planned)[1]
    title, lead = said(estimate)
    assert "the last state 81.0%: more seeds would not decide." in lead and "undecided" not in lead
    assert title.endswith("differ by at most 5 points")
    words = (finding(each)["difference"].verdict_words for each in (planned, estimate))
    assert [*words] == ["undecided: 40 seeds", "within 5 points"]
    beside = judged("linear", UNDECIDED, (-2.0, 2.0), needed=None)
    assert said(beside)[1].endswith("has 70.0%; the two differ by at most 2 points.")


# --- one experiment -------------------------------------------------------------------------------


@pytest.mark.parametrize(("verdict", "title"), CASES["titles"])
def test_the_title_is_the_primary_comparison(verdict, title):
    assert said(judged(*verdict))[0] == title


def test_a_small_gain_is_smaller_than_the_studys_own_margin(monkeypatch):
    monkeypatch.setattr(answers, "METHOD", dataclasses.replace(METHOD, equivalence_margin=2.0))
    title, _ = said(judged("last-state", SAME, (0.59, 1.98)))
    assert title == "Self-attention beats the last state, by less than 2 points"


def test_the_primary_comparison_is_with_the_strongest_control():
    title, lead = said(make_experiment(average=NEAR))
    assert title == "Self-attention beats averaging all states, by less than a point"
    assert lead.startswith("Self-attention classifies 85.0% of the test texts correctly, averaging")
    assert "The last state has 81.0%" in lead


@pytest.mark.parametrize(("verdict", "interval", "sentence"), CASES["beside"])
def test_the_linear_model_is_named_with_what_was_tested(verdict, interval, sentence):
    assert said(judged("linear", verdict, interval))[1].endswith(sentence)


@pytest.mark.parametrize(("verdict", "interval", "words"), CASES["verdicts"])
def test_a_verdict_never_fights_its_interval(verdict, interval, words):
    result = judged("last-state", verdict, interval)
    (found,) = (
        each
        for each in differences.tested_differences(result, METHOD)
        if (each.first, each.second) == ("self-attention", "last-state")
    )
    assert found.verdict_words == words
    assert found.is_decided == (verdict in ("better", "worse"))


def test_a_study_gives_no_advice_and_a_corpus_of_ones_own_has_its_rule():
    result = make_experiment(linear=0.86)
    assert not re.search(r"\b(use|take)\b", " ".join(said(result)), re.IGNORECASE)
    own = dataclasses.replace(experiment_of(result, "Mine"), advice="linear")
    lead = first_sentences([summary.finding(own, own.leading)], "3")[1]
    assert lead.endswith(
        "For this corpus take the linear model, the simplest of those within a point of the best: "
        "86.0%."
    )


@pytest.mark.parametrize(("scores", "advice"), CASES["nothing_learned"])
def test_where_nothing_was_learned_the_majority_class_is_the_answer(scores, advice):
    baseline, attention, linear = scores
    result = make_experiment(baseline, attention, linear, generated=False)
    assert differences.recommend(result, METHOD) == advice
    own = dataclasses.replace(experiment_of(result, "Mine"), advice=advice)
    lead = first_sentences([summary.finding(own, own.leading)], "3")[1]
    nothing = (
        "No model is shown to learn anything here: none is more than a point better than the most "
        "frequent class, with 50.0%."
    )
    assert lead.endswith(nothing) == (advice == "majority")
    assert ("For this corpus take" in lead) == (advice != "majority")


def test_without_a_control_the_reference_model_is_compared():
    result = make_experiment(linear=0.9)
    result.models.pop("last-state")
    only = {name: each for name, each in result.comparisons["self-attention"].items()
            if name in ("linear", "majority")}  # fmt: skip
    result = dataclasses.replace(result, comparisons={"self-attention": only}, control="")
    each = experiment_of(result, "x")
    assert each.leading and each.leading.second == "linear"
    assert (
        first_sentences([summary.finding(each, each.leading)], "3")[0]
        == "The linear model beats self-attention"
    )
    result.reference_models["pretrained"] = result.reference_models["linear"]
    only["pretrained"] = dataclasses.replace(only["linear"], mean_pp=9.0)
    leading = experiment_of(result, "x").leading
    assert leading and leading.second == "pretrained", "what such a study asks about"


def test_a_reference_model_that_is_ahead_has_the_name_of_its_own_experiment():
    without, ahead = make_experiment(), judged("linear", WORSE, (-9.0, -3.0))
    del without.reference_models["linear"]
    del without.comparisons["self-attention"]["linear"]
    assert said(without, ahead)[1].endswith("The linear model does better than attention in one.")
    assert "trained 2 to 5 times." in said(without, ahead, seeds="2 to 5")[1]


def test_an_experiment_without_attention_says_so():
    assert first_sentences([], "3") == ["Attention is compared with nothing in this study"]


# --- several experiments --------------------------------------------------------------------------

BETTER_ONE = judged("last-state", "better", (1.0, 5.0))
SAME_ONE = judged("last-state", SAME, (-0.4, 0.5))
WORSE_ONE = judged("last-state", "worse", (-5.0, -1.0))
OPEN_ONE = judged("last-state", UNDECIDED, (-1.0, 5.0))
SEVERAL = [
    ((BETTER_ONE, BETTER_ONE), "Attention beats the last state in both experiments",
     "Attention is better in two."),
    ((BETTER_ONE,) * 3, "Attention beats the last state in all three experiments",
     "Attention is better in three."),
    ((BETTER_ONE, SAME_ONE, OPEN_ONE), "Attention beats the last state in one of three experiments",
     "Attention is better in one and the same within a point in one; one is open."),
    ((WORSE_ONE, SAME_ONE), "No evidence that attention beats the last state in either of two "
     "experiments", "Attention is the same within a point in one and worse in one."),
    ((OPEN_ONE,) * 4, "No evidence that attention beats the last state in any of four experiments",
     "All are open."),
    ((BETTER_ONE, make_experiment(average=NOISY)), "Attention helps in one of two experiments",
     "Attention is better in one; one is open."),
]  # fmt: skip


@pytest.mark.parametrize(("results", "title", "sentence"), SEVERAL)
def test_several_experiments_are_counted(results, title, sentence):
    found = said(*results)
    assert found[0] == title and sentence in found[1]


def test_the_paragraph_is_short_and_its_sentences_have_at_most_two_numbers():
    for results, _, _ in SEVERAL:
        lead = said(*results)[1]
        assert len(lead.split()) <= 60
        for sentence in re.split(r"(?<=[a-z%])\. ", lead):
            assert len(re.findall(r"\d+(?:\.\d+)?", sentence)) <= 2, sentence


# --- what cannot be said --------------------------------------------------------------------------


def limits(**changes) -> list[str]:
    lists = ("generated", "open", "uncontrolled", "degenerate", "differently_tuned", "missing")
    plain = dict.fromkeys(lists, ())
    text = environment().get_template("sentences.html.jinja").module.limits(plain | changes, None)
    return re.findall(r"<li>(.*?)</li>", text)


LAST = "Whether the same holds for other texts and hyperparameters."
LIMITS = [
    ({}, LAST),
    ({"generated": True}, "Anything about real text: all texts are generated."),
    ({"open": [finding(OPEN_ONE)]},
     "Whether self-attention beats the last state in “Letters”: a difference of this size takes "
     "about 40 seeds."),
    ({"open": [finding(judged("last-state", UNDECIDED, (-1.0, 5.0), needed=None))]},
     "Whether self-attention beats the last state in “Letters”: the difference is at most 5 "
     "points, and no number of seeds would tell more."),
    ({"open": [finding(OPEN_ONE)] * 2},
     "Whether attention helps in two experiments, which are open."),
    ({"degenerate": True}, "How well a model does when all its runs succeed: some failed."),
    ({"missing": finding(judged("last-state", UNDECIDED, (-1.0, 5.0), detectable_pp=5.04))},
     "Whether differences below 5.0 p.p. exist in “Letters”: they are likely missed."),
    ({"uncontrolled": [finding(BETTER_ONE)]},
     "Whether the gain in “Letters” is one of learned weights: no network there has equal "
     "weights."),
    ({"differently_tuned": [finding(BETTER_ONE)]},
     "Whether models tuned alike would differ in “Letters”: these were not."),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "line"), LIMITS)
def test_what_weakens_a_finding_is_said(changes, line):
    assert limits(**changes) == [*dict.fromkeys([line, LAST])]


def test_at_most_three_lines_are_said():
    one = finding(OPEN_ONE)
    found = limits(generated=True, degenerate=True, missing=one, open=[one])
    assert len(found) == 3 and found[0].startswith("Anything about real text")
