"""What the trials of a search came to: the winner, the tables, and what may be said of the search.

Pure.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from heed.hyperparameters import Configuration
from heed.tasks.interface import LOWER_IS_BETTER

FINISHED, PATIENCE, ASHA, TIME, FAILED, WAITING = (
    "finished", "no better epoch", "stopped by asha", "out of time", "failed", "not started",
)  # fmt: skip
# Why there is no expected best; a report says it in its language.
CHOSEN = (
    "the sampler {sampler} chose later trials by the results of earlier ones: they are no "
    "independent draws"
)
CUT = (
    "{early} of {trials} trials did not run to their end: what they would have scored is not known"
)


@dataclasses.dataclass(frozen=True)
class Trial:
    """One configuration, and how it did.

    `history` has one row an epoch, as history.csv (docs/contracts.md); `length` counts epochs with
    a fraction: asha may stop a trial within one.
    """

    number: int
    configuration: Configuration
    history: list[dict[str, float]]
    stop: str
    length: float = 0.0

    def scores(self, metric: str) -> list[float]:
        """Return the validation figure by epoch."""
        return [row[f"validation_{metric}"] for row in self.history]

    def best_epoch(self, metric: str) -> int:
        """Return the epoch with the best score, counted from 1, the earliest of equals; 0 without a
        score.
        """
        scores = [goodness(score, metric) for score in self.scores(metric)]
        return scores.index(max(scores)) + 1 if scores else 0

    def score(self, metric: str) -> float | None:
        """Return the score of the best epoch."""
        return self.scores(metric)[self.best_epoch(metric) - 1] if self.history else None


def goodness(score: float, metric: str) -> float:
    """Return the score so that more is better; what is no number is worst."""
    if not math.isfinite(score):
        return -1e30  # finite: a scheduler takes percentiles of it
    return -score if metric in LOWER_IS_BETTER else score


def winner(trials: Sequence[Trial], metric: str) -> Trial | None:
    """Return the trial with the best score; of equals the one that needs fewer epochs, then the
    first. None: no score.
    """
    scored = [trial for trial in trials if trial.history]
    if not scored:
        return None
    return min(
        scored,
        key=lambda t: (-goodness(t.score(metric) or 0.0, metric), t.best_epoch(metric), t.number),
    )


def table(trials: Sequence[Trial], metric: str) -> pd.DataFrame:
    """Return trials.csv: one row a trial; `scores` has the validation figure by epoch, with spaces
    between.
    """
    rows = [
        {
            "trial": trial.number,
            **trial.configuration,
            "score": trial.score(metric),
            "best_epoch": trial.best_epoch(metric),
            "epochs": f"{trial.length:g}",
            "stop": trial.stop,
            "scores": " ".join(f"{s:.6f}" for s in trial.scores(metric)),
        }
        for trial in trials
    ]
    return pd.DataFrame(rows)


def by_epoch(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return epochs.csv: one row for each epoch of each trial."""
    rows = [{"trial": trial.number, **row} for trial in trials for row in trial.history]
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["trial", "epoch", "train_loss"])


def expected_best(scores: Sequence[float], metric: str) -> list[float]:
    """Return the expected best score of a search with 1, 2, ...

    trials, from the scores of one search.

    Dodge et al. 2019, "Show Your Work", equation 4: with N scores in order, the best of n draws is
    at most the i-th with probability (i / N)^n. It holds for trials that were drawn independently
    and trained to their end.
    """
    order = sorted(scores, reverse=metric in LOWER_IS_BETTER)
    count = len(order)
    return [
        sum(score * ((i / count) ** n - ((i - 1) / count) ** n) for i, score in enumerate(order, 1))
        for n in range(1, count + 1)
    ]


def why_no_expectation(trials: Sequence[Trial], sampler: str) -> tuple[str, dict[str, str | int]]:
    """Return why the expected best score may not be given, and the values of the names in it; empty
    where it may.
    """
    if sampler != "random":
        return CHOSEN, {"sampler": sampler}
    early = [trial for trial in trials if trial.stop in (ASHA, TIME, FAILED, WAITING)]
    return (CUT, {"early": len(early), "trials": len(trials)}) if early else ("", {})


def summary(trials: Sequence[Trial], metric: str, sampler: str) -> dict[str, Any]:
    """Return what a report draws: scores by trial (parallel coordinates), by hyperparameter, and
    the expected best.
    """
    scored = [trial for trial in trials if trial.history]
    keys = list(trials[0].configuration) if trials else []
    reason, values = why_no_expectation(trials, sampler)
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
                "trial": t.number,
                "configuration": t.configuration,
                "score": t.score(metric),
                "best_epoch": t.best_epoch(metric),
                "epochs": t.length,
                "stop": t.stop,
                "scores": t.scores(metric),
            }
            for t in trials
        ],
        "by_parameter": {
            key: sorted([t.configuration[key], t.score(metric)] for t in scored) for key in keys
        },
        "expected_best": {"reason": reason, "values": values}
        if reason
        else {"scores": expected_best([t.score(metric) or 0.0 for t in trials], metric)},
    }
