"""The answer of an experiment, and of all of a study: only what the tests support."""

import dataclasses

from heed.evaluation.results import (
    UNDECIDED,
)
from heed.report.answer import answer
from tests.fixtures.report.answers import METHOD, NOISY, SEEDS, make_experiment

CASES = {
    "a gain": {},
    "a loss": {"attention": (0.70, 0.72, 0.71)},
    "undecided": {"attention": (0.80, 0.85, 0.79)},
    "undecided, with the seeds that are needed": {"attention": (0.80, 0.85, 0.79), "needed": 71},
    "practically the same": {"attention": (0.8, 0.8201, 0.81)},
    "a linear model wins": {"linear": 0.9},
    "a linear model is far ahead and it is too uncertain to call": {
        "linear": 0.94,
        "attention": (0.95, 0.70, 0.78),
    },
    "a control gains the same": {"mean": (0.8501, 0.86, 0.84)},
    "a control gains more": {"parameter-matched": (0.9, 0.91, 0.89)},
    "better than a control": {"mean": (0.82, 0.833, 0.811)},
    "perhaps better than a control": {"mean": NOISY},
    "one seed": {"baseline": (0.8,), "attention": (0.9,)},
    "the baseline had not converged": {"longer": {"baseline": 3.5}},
    "twice the epochs did better within the margin": {"longer": {"baseline": 2.0}},
    "the longer training diverged": {"longer": {"baseline": None}},
    "neither model had converged": {"longer": {"baseline": 3.5, "attention": 2.01}},
    "the control had not converged": {"mean": (0.81, 0.82, 0.80), "longer": {"mean": 2.5}},
    "two variants answer": {"answers": ("attention", "pooling"), "pooling": (0.80, 0.85, 0.79)},
    "another variant answers": {"answers": ("pooling",), "pooling": (0.90, 0.91, 0.89)},
    "no variant of the question": {"answers": ("location",)},
    "its own baseline": {"searched": (0.91, 0.92, 0.91), "searched-baseline": (0.81, 0.82, 0.81)},
}


def test_the_answer_is_chosen_by_the_verdicts_and_bad_news_comes_first(snapshot):
    text = ""
    for name, changes in CASES.items():
        seeds = SEEDS[: len(changes.get("baseline", SEEDS))]
        result = answer(make_experiment(**changes), METHOD, seeds)
        for sentence in result.sentences:
            assert sentence.endswith(".") and not sentence.endswith("..")
        text += "\n".join([f"{name}: {result.verdict}", *result.sentences]) + "\n\n"
    snapshot("answers", text)


def test_a_difference_that_would_count_alone_says_so():
    experiment = make_experiment()
    gain = experiment.comparisons["attention"]["baseline"]
    undecided = dataclasses.replace(gain, p_corrected=0.06, verdict=UNDECIDED)
    experiment.comparisons["attention"]["baseline"] = undecided
    result = answer(experiment, METHOD, SEEDS)
    assert result.verdict == "undecided"
    assert "it may be chance" in result.sentences[0]
    doubt = "As the only comparison that difference would count, but not among several"
    assert doubt in result.sentences[1]
