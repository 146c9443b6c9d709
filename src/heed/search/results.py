"""The results of a search: its trials and its winner, and their tables."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd

from heed.files import read_json, reading, write_json
from heed.hyperparameters import Configuration
from heed.records import OMITTED, as_json, read_record
from heed.task.interface import lower_is_better

FINISHED, PATIENCE, ASHA = "finished", "no better epoch", "stopped by asha"
BUDGET, FAILED, WAITING = "budget spent", "failed", "not started"
RESULT = "search.json"
WORST = -1e30  # in place of NaN and infinity: finite, since a scheduler takes percentiles of it


@dataclasses.dataclass(frozen=True)
class Trial:
    """A trial in search.json; `score` is the best of `scores`, by epoch, and None without one.

    `best_epoch` counts from 1, 0: none; ties: earliest. `stop` is why it ended.
    `history` (docs/internals/contracts.md) is in epochs.csv alone.
    """

    trial: int
    configuration: Configuration
    score: float | None
    best_epoch: int
    epochs: float
    stop: str
    scores: list[float]
    history: list[dict[str, float]] = dataclasses.field(default_factory=list)

    @classmethod
    def from_history(
        cls, trial: int, configuration: Configuration, history: list[dict[str, float]],
        epochs: float, stop: str, metric: str,
    ) -> "Trial":  # fmt: skip
        """Return a trial with the best of its epochs."""
        scores = [row[f"validation_{metric}"] for row in history]
        ranked = [higher_is_better(score, metric) for score in scores]
        best = ranked.index(max(ranked)) if ranked else None
        score, best_epoch = (None, 0) if best is None else (scores[best], best + 1)
        return cls(trial, configuration, score, best_epoch, epochs, stop, scores, history)


@dataclasses.dataclass(frozen=True)
class Best:
    """The number of the winning trial, its best score, and the epoch of that score."""

    trial: int
    score: float
    epoch: int


@dataclasses.dataclass(frozen=True)
class Search:
    """A search that had trials: the content of search.json.

    `space`: hyperparameter → kind of distribution → its values or limits. `training`, of the search
    of each model: the epochs of a full training, as trial 0 is with the model's own configuration.
    """

    search: str
    model: str
    experiment: str
    corpus: str
    scheduler: str
    seed: int
    space: dict[str, dict[str, list[Any]]]
    metric: str
    best: Best
    stops: dict[str, int]
    epochs: float
    trials: list[Trial]
    training: Annotated[int | None, OMITTED] = None

    @property
    def trainings(self) -> float:
        """The full trainings that its trials took together; 0 where one model is searched."""
        return self.epochs / self.training if self.training else 0.0

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Hyperparameter → the model's own value, and the winner's; empty as `trainings`."""
        own, best = (
            next(trial.configuration for trial in self.trials if trial.trial == number)
            for number in (0, self.best.trial)
        )
        return {key: (own[key], best[key]) for key in own} if self.training else {}


def write_search(folder: Path, search: Search) -> None:
    """Write search.json into a folder."""
    values = as_json(search)
    for trial in values["trials"]:
        del trial["history"]
    write_json(folder / RESULT, values)


def read_search(folder: Path, experiment: str) -> Search | None:
    """Return search.json, None without. Raises HeedError if it is broken."""
    path, command = folder / RESULT, f"heed recipe {experiment}"
    if not path.exists():
        return None
    with reading(path, command):
        return read_record(Search, read_json(path, command))


def higher_is_better(score: float, metric: str) -> float:
    """Return the score with the sign by which more is better; NaN and infinity are the worst."""
    if not math.isfinite(score):
        return WORST
    return -score if lower_is_better(metric) else score


def winner(trials: Sequence[Trial], metric: str) -> Trial:
    """Return the trial with the best score; ties: fewer epochs, then the first."""
    return min(
        (trial for trial in trials if trial.score is not None),
        key=lambda t: (-higher_is_better(t.score or 0.0, metric), t.best_epoch, t.trial),
    )


def trial_table(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return trials.csv: one row for each trial, with the scores of its epochs in `scores`."""
    rows = [
        {"trial": trial.trial, **trial.configuration, "score": trial.score}
        | {"best_epoch": trial.best_epoch, "epochs": f"{trial.epochs:g}", "stop": trial.stop}
        | {"scores": " ".join(f"{score:.6f}" for score in trial.scores)}
        for trial in trials
    ]
    return pd.DataFrame(rows)


def epoch_table(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return epochs.csv: one row for each epoch of each trial."""
    rows = [{"trial": trial.trial, **row} for trial in trials for row in trial.history]
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["trial", "epoch", "train_loss"])
