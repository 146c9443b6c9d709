"""The outcome of a search: its winner, its tables, and the expected best score. Pure functions."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from heed.hyperparameters import Configuration
from heed.task.interface import lower_is_better

FINISHED, PATIENCE, ASHA, TIME, FAILED, WAITING = (
    "finished", "no better epoch", "stopped by asha", "out of time", "failed", "not started",
)  # fmt: skip
# Why there is no expected best score; a report prints it in its language.
DEPENDENT_DRAWS = (
    "the sampler {sampler} chose later trials by the results of earlier ones: they are no "
    "independent draws"
)
STOPPED_EARLY = (
    "{early} of {trials} trials did not run to their end: what they would have scored is not known"
)


@dataclasses.dataclass(frozen=True)
class Trial:
    """A configuration and its training.

    `history` has one row for each epoch, as history.csv (docs/contracts.md). `stop` is the reason
    why the trial ended. `length` is the number of epochs, with a fraction, because asha may stop a
    trial within an epoch.
    """

    number: int
    configuration: Configuration
    history: list[dict[str, float]]
    stop: str
    length: float = 0.0

    def scores(self, metric: str) -> list[float]:
        """Return the validation score of each epoch."""
        return [row[f"validation_{metric}"] for row in self.history]

    def best_epoch(self, metric: str) -> int:
        """Return the epoch with the best score, counted from 1; 0 without one; ties: earliest."""
        scores = [goodness(score, metric) for score in self.scores(metric)]
        return scores.index(max(scores)) + 1 if scores else 0

    def score(self, metric: str) -> float | None:
        """Return the score of the best epoch; None without one."""
        return self.scores(metric)[self.best_epoch(metric) - 1] if self.history else None


def goodness(score: float, metric: str) -> float:
    """Return the score with the sign by which more is better; NaN and infinity are the worst."""
    if not math.isfinite(score):
        return -1e30  # finite: a scheduler takes percentiles of it
    return -score if lower_is_better(metric) else score


def winner(trials: Sequence[Trial], metric: str) -> Trial | None:
    """Return the trial with the best score; None if no trial has one.

    Ties go to the trial that needs fewer epochs, then to the first.
    """
    scored = [trial for trial in trials if trial.history]
    if not scored:
        return None
    return min(
        scored,
        key=lambda t: (-goodness(t.score(metric) or 0.0, metric), t.best_epoch(metric), t.number),
    )


def trial_table(trials: Sequence[Trial], metric: str) -> pd.DataFrame:
    """Return trials.csv: one row for each trial, with the scores of its epochs in `scores`."""
    rows = [
        {
            "trial": trial.number,
            **trial.configuration,
            "score": trial.score(metric),
            "best_epoch": trial.best_epoch(metric),
            "epochs": f"{trial.length:g}",
            "stop": trial.stop,
            "scores": " ".join(f"{score:.6f}" for score in trial.scores(metric)),
        }
        for trial in trials
    ]
    return pd.DataFrame(rows)


def epoch_table(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return epochs.csv: one row for each epoch of each trial."""
    rows = [{"trial": trial.number, **row} for trial in trials for row in trial.history]
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["trial", "epoch", "train_loss"])


def expected_best(scores: Sequence[float], metric: str) -> list[float]:
    """Return the expected best score of a search with 1, 2, … trials, from the scores of one.

    Dodge et al. 2019, "Show Your Work", equation 4: with N scores in order, the best of n draws is
    at most the i-th with probability (i / N)^n. It holds for trials that were drawn independently
    and trained to their end.
    """
    order = sorted(scores, reverse=lower_is_better(metric))
    count = len(order)
    return [
        sum(score * ((i / count) ** n - ((i - 1) / count) ** n) for i, score in enumerate(order, 1))
        for n in range(1, count + 1)
    ]


def explain_no_expected_best(
    trials: Sequence[Trial], sampler: str
) -> tuple[str, dict[str, str | int]]:
    """Return why the assumptions of the expected best score do not hold; empty if they do.

    Returns:
        reason: a text with names in braces
        values: of these names

    """
    if sampler != "random":
        return DEPENDENT_DRAWS, {"sampler": sampler}
    early = sum(trial.stop in (ASHA, TIME, FAILED, WAITING) for trial in trials)
    return (STOPPED_EARLY, {"early": early, "trials": len(trials)}) if early else ("", {})


def summarize(trials: Sequence[Trial], metric: str, sampler: str) -> dict[str, Any]:
    """Return for search.json: scores by trial and by hyperparameter, and the expected best."""
    scored = [trial for trial in trials if trial.history]
    keys = list(trials[0].configuration) if trials else []
    reason, values = explain_no_expected_best(trials, sampler)
    best = winner(trials, metric)
    stops: dict[str, int] = {}
    for trial in trials:
        stops[trial.stop] = stops.get(trial.stop, 0) + 1
    return {
        "metric": metric,
        "best": None
        if best is None
        else {"trial": best.number, "score": best.score(metric), "epoch": best.best_epoch(metric)},
        "stops": dict(sorted(stops.items())),
        "epochs": sum(trial.length for trial in trials),
        "trials": [
            {
                "trial": trial.number,
                "configuration": trial.configuration,
                "score": trial.score(metric),
                "best_epoch": trial.best_epoch(metric),
                "epochs": trial.length,
                "stop": trial.stop,
                "scores": trial.scores(metric),
            }
            for trial in trials
        ],
        "by_parameter": {
            key: sorted([trial.configuration[key], trial.score(metric)] for trial in scored)
            for key in keys
        },
        "expected_best": {"reason": reason, "values": values}
        if reason
        else {"scores": expected_best([trial.score(metric) or 0.0 for trial in trials], metric)},
    }
