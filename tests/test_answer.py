"""The answer of an experiment, and of all of a study: only what the tests support."""

import dataclasses
import statistics

import pytest
from scipy import stats

from heed.evaluation.comparison import judge
from heed.evaluation.results import (
    UNDECIDED,
    Corpus,
    Difference,
    Effect,
    ExperimentResult,
    ModelResult,
    OpponentResult,
    OtherTests,
    Significance,
    paired_gain,
    spread,
)
from heed.evaluation.verdicts import assign_roles
from heed.recipe import CorpusFacts
from heed.report.answer import answer
from heed.tasks.classification.recipe import Hyperparameters
from heed.tokens.meta import NearDuplicates

METHOD = Significance("", 0.05, 0.8, margin_pp=1.0, convergence_pp=0.2, families={})
SEEDS = [1, 2, 3]
OPPONENTS = ("majority", "linear")


def difference_of(values: list[float], family: str) -> Difference:
    """A difference with the interval and p values of a paired t test over seeds."""
    mean, one = 100 * statistics.fmean(values), len(values) < 2
    error = 0 if one else max(100 * statistics.stdev(values) / len(values) ** 0.5, 1e-9)
    freedom = len(values) - 1
    half = 0 if one else stats.t.isf(0.025, freedom) * error
    p = None if one else 2 * stats.t.sf(abs(mean) / error, freedom)
    equivalence = None if one else stats.t.cdf((abs(mean) - 1.0) / error, freedom)
    return Difference(
        family=family, mean_pp=mean, interval_pp=None if one else (mean - half, mean + half),
        p=p, p_holm=p, equivalence_p=equivalence, equivalence_p_holm=equivalence,
        verdict=UNDECIDED, standard_error_pp=None, degrees_of_freedom=None, seeds_needed=None,
        detectable_pp=None, effect=Effect(odds_ratio=1.0, g=None, seeds_won=0.5),
        others=OtherTests(None, 0.5, [0.5], p, p, None if one else 0.25),
    )  # fmt: skip


def make_model(variant: str, accuracy: list[float], baseline: list[float], bad: int) -> ModelResult:
    """A model with accuracies alone, of which so many runs had not converged."""
    plain = variant in ("baseline", "mean", "wide") or variant.endswith(("-baseline", "-mean"))
    return ModelResult(
        model=variant,
        hyperparameters=Hyperparameters(attention="none" if plain else "multi-head"),
        parameters=0,
        best_epochs=[],
        last_rises_pp=[],
        converged=[index >= bad for index in range(len(accuracy))],
        machine_kinds=["made-up kind" for _ in accuracy],
        summary={"accuracy": spread(accuracy)},
        details={"classes": {}},
        gain=paired_gain(accuracy, baseline),
    )


def make_experiment(
    baseline=(0.8, 0.82, 0.81), attention=(0.85, 0.86, 0.84), linear=0.7, needed=None,
    answers=("attention",), bad=None, **others,
) -> ExperimentResult:  # fmt: skip
    """An experiment with accuracies and their differences alone, judged as `heed compare` does."""
    accuracies = {"baseline": baseline, **others, "attention": attention}
    models = {
        name: make_model(name, list(values), list(baseline), (bad or {}).get(name, 0))
        for name, values in accuracies.items()
    }
    accuracies |= {
        name: [value] * len(attention) for name, value in zip(OPPONENTS, (0.5, linear), strict=True)
    }
    hyperparameters = {name: model.hyperparameters for name, model in models.items()}
    roles = assign_roles(hyperparameters, OPPONENTS, answers)
    differences = {}
    for first, second, family in roles.pairs():
        pairs = zip(accuracies[first], accuracies[second], strict=True)
        differences[first, second] = difference_of([a - b for a, b in pairs], family)
    for variant in roles.attention:
        difference = differences[variant, "baseline"]
        differences[variant, "baseline"] = dataclasses.replace(difference, seeds_needed=needed)
    return ExperimentResult(
        task="classification",
        groups={"classes": []},
        metric="accuracy",
        attention=roles.attention,
        controls=roles.controls,
        corpus=Corpus(
            "made-up",
            0,
            CorpusFacts(
                "sample-letters", 0, 0, {}, False, True, NearDuplicates(test=[0], complete=True)
            ),
        ),
        models=models,
        opponents={
            name: OpponentResult({"accuracy": spread([accuracies[name][0]])}, {"classes": {}})
            for name in OPPONENTS
        },
        comparisons=judge(differences, models),
    )


NOISY = (0.84, 0.87, 0.83)  # as good as attention, and too uncertain to call

CASES = {
    "a gain": (
        {},
        "beats the baseline",
        "Attention did better than the baseline: +4.00 p.p. (95% interval +1.52 to +6.48, "
        "corrected p = 0.020). No control was trained, so the gain need not be attention's.",
    ),
    "a loss": (
        {"attention": (0.70, 0.72, 0.71)},
        "worse than the baseline",
        "attention did worse than the baseline: −10.00 p.p. (95% interval",
    ),
    "undecided": (
        {"attention": (0.80, 0.85, 0.79)},
        "undecided",
        "attention against the baseline was +0.33 p.p. (95% interval −5.92 to +6.58, corrected p "
        "= 0.840): too uncertain to call. To see a difference of this size would take more test "
        "documents, or over 1,000 seeds.",
    ),
    "undecided, with the seeds that are needed": (
        {"attention": (0.80, 0.85, 0.79), "needed": 71},
        "undecided",
        "too uncertain to call. To see a difference of this size would take about 71 seeds.",
    ),
    "practically the same": (
        {"attention": (0.8, 0.8201, 0.81)},
        "practically the same as the baseline",
        "attention and the baseline are practically the same: 0.00 p.p. (95% interval −0.01 to "
        "+0.02, corrected p of equivalence < 0.001), within ±1 p.p.",
    ),
    "a linear model wins": (
        {"linear": 0.9},
        "beats the baseline; the linear model wins",
        "The linear model (0.9000) did better than attention (0.8500): −5.00 p.p. (95% interval",
    ),
    "a linear model is far ahead and it is too uncertain to call": (
        {"linear": 0.94, "attention": (0.95, 0.70, 0.78)},
        "undecided",
        "Attention collapsed with seed 2 (0.7000). The linear model (0.9400) was ahead of "
        "attention (0.8100), −13.00 p.p. (95% interval "
        "−44.72 to +6.00",
    ),
    "a control gains the same": (
        {"mean": (0.8501, 0.86, 0.84)},
        "beats the baseline; not shown better than the control mean",
        "The control mean (0.8500) and attention (0.8500) are practically the same: ",
    ),
    "a control gains more": (
        {"wide": (0.9, 0.91, 0.89)},
        "beats the baseline; the control wide wins",
        "The control wide (0.9000) did better than attention (0.8500): −5.00 p.p.",
    ),
    "better than a control": (
        {"mean": (0.82, 0.833, 0.811)},
        "beats the baseline",
        " Over the control mean it gained +2.87 p.p. (95% interval",
    ),
    "perhaps better than a control": (
        {"mean": NOISY},
        "beats the baseline; not shown better than the control mean",
        "over the control mean may be chance: the gain need not be attention's",
    ),
    "one seed": (
        {"baseline": (0.8,), "attention": (0.9,)},
        "undecided",
        "One seed decides nothing: attention against the baseline was +10.00 p.p.",
    ),
    "the baseline had not converged": (
        {"bad": {"baseline": 2}},
        "not converged",
        "attention against the baseline was +4.00 p.p. (95% interval +1.52 to +6.48, corrected p = "
        "0.020), which decides nothing: 2 of 3 runs of baseline had not converged",
    ),
    "one run of the baseline had not converged": (
        {"bad": {"baseline": 1}},
        "beats the baseline",
        "Attention did better than the baseline: +4.00 p.p.",
    ),
    "the control had not converged": (
        {"mean": (0.81, 0.82, 0.80), "bad": {"mean": 2}},
        "beats the baseline; not shown better than the control mean",
        "over the control mean, but 2 of 3 runs of mean had not converged",
    ),
    "two variants answer": (
        {"answers": ("attention", "pooling"), "pooling": (0.80, 0.85, 0.79)},
        "beats the baseline",
        " Pooling against the baseline was +0.33 p.p.",
    ),
    "another variant answers": (
        {"answers": ("pooling",), "pooling": (0.90, 0.91, 0.89)},
        "beats the baseline",
        "Pooling did better than the baseline: +9.00 p.p.",
    ),
    "its own baseline": (
        {"searched": (0.91, 0.92, 0.91), "searched-baseline": (0.81, 0.82, 0.81)},
        "beats the baseline; the variant searched wins",
        "searched against searched-baseline: better, +10.00 p.p.",
    ),
}


@pytest.mark.parametrize(("changes", "verdict", "text"), CASES.values(), ids=CASES)
def test_the_answer_is_chosen_by_the_verdicts_and_bad_news_comes_first(changes, verdict, text):
    seeds = SEEDS[: len(changes.get("baseline", SEEDS))]
    result = answer(make_experiment(**changes), METHOD, seeds)
    assert result.verdict == verdict
    assert text.casefold() in " ".join(result.sentences).casefold()
    assert result.gain in result.sentences
    for sentence in result.sentences:
        assert sentence.endswith(".") and not sentence.endswith("..")


def test_an_opponent_that_wins_is_named_before_the_gain():
    first, second, *_ = answer(make_experiment(linear=0.9), METHOD, SEEDS).sentences
    assert "linear" in first and "did better than the baseline" in second


def test_a_difference_that_would_count_alone_says_so():
    experiment = make_experiment()
    gain = experiment.comparisons["attention"]["baseline"]
    undecided = dataclasses.replace(gain, p_holm=0.06, verdict=UNDECIDED)
    experiment.comparisons["attention"]["baseline"] = undecided
    result = answer(experiment, METHOD, SEEDS)
    assert result.verdict == "undecided"
    assert "it may be chance" in result.gain
    assert (
        "As the only comparison that difference would count, but not among several"
        in result.sentences[1]
    )


@pytest.mark.parametrize(
    ("answers", "missing"), [(("location",), "variant that answers the study's question")]
)
def test_without_a_variant_of_the_question_there_is_no_comparison(answers, missing):
    result = answer(make_experiment(answers=answers), METHOD, SEEDS)
    assert result.verdict == "no comparison" and missing in result.gain
