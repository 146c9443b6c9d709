"""The result of a search, as the report prints and draws it: the parts of search.json it needs."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heed.files import read_json, reading
from heed.records import read_record


@dataclasses.dataclass(frozen=True)
class Trial:
    """A configuration and the best score of its epochs; None without one."""

    trial: int
    configuration: dict[str, Any]
    score: float | None
    stop: str


@dataclasses.dataclass(frozen=True)
class Best:
    """The number of the winning trial, its best score, and the epoch of that score."""

    trial: int
    score: float
    epoch: int


@dataclasses.dataclass(frozen=True)
class ExpectedBest:
    """The expected best score of a search with 1, 2, … trials; or the reason why there is none.

    `reason` is a text with names in braces, and `values` are their values.
    """

    scores: list[float] | None = None
    reason: str | None = None
    values: dict[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Search:
    """A search that had trials.

    `space`: hyperparameter → kind of distribution → its values or limits.
    """

    search: str
    model: str
    sampler: str
    scheduler: str
    seed: int
    space: dict[str, dict[str, list[Any]]]
    metric: str
    best: Best
    epochs: float
    trials: list[Trial]
    expected_best: ExpectedBest

    @property
    def scored(self) -> list[Trial]:
        """The trials that have a score."""
        return [trial for trial in self.trials if trial.score is not None]

    @property
    def unscored(self) -> dict[str, int]:
        """How many trials have no score, by how they ended."""
        return dict(Counter(trial.stop for trial in self.trials if trial.score is None))

    @property
    def scores(self) -> list[float]:
        """The scores of these trials."""
        return [trial.score for trial in self.trials if trial.score is not None]

    def rescored(self, change: Callable[[float], float]) -> "Search":
        """Return the search with every score changed."""
        expected = self.expected_best.scores
        return dataclasses.replace(
            self,
            trials=[
                trial
                if trial.score is None
                else dataclasses.replace(trial, score=change(trial.score))
                for trial in self.trials
            ],
            best=dataclasses.replace(self.best, score=change(self.best.score)),
            expected_best=dataclasses.replace(
                self.expected_best, scores=expected and [change(score) for score in expected]
            ),
        )


def read_search(folder: Path) -> Search | None:
    """Return search.json of a search; None for a search without trials.

    Raises HeedError if it is broken.
    """
    path, command = folder / "search.json", f"heed search {folder.name}"
    if not path.exists():
        return None
    with reading(path, command):
        return read_record(Search, read_json(path, command))
