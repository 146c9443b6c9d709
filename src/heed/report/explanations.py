"""The results of `heed explain` and `heed adversarial_attention` for the report
(docs/contracts.md).
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from heed.evaluation.results import Comparison, ExperimentResult
from heed.explanation import registry
from heed.explanation.rankings import DRAWN_RANKINGS
from heed.explanation.test import LARGEST_WEIGHTS, Judged, Outcome, Text
from heed.files import reading, verify_checksums
from heed.report.experiments import Experiment
from heed.report.language import say
from heed.report.measures import measure_of, report_of

if TYPE_CHECKING:
    from heed.study import Params

Size = tuple[int, int, int]  # seeds, and the fewest and the most documents of one


@dataclasses.dataclass(frozen=True)
class AdversarialAttention:
    """A model that was trained against an explained one: its name, and its summary."""

    name: str
    folder: Path
    summary: pd.DataFrame


@dataclasses.dataclass(frozen=True)
class Explanation:
    """A model that `heed explain` has tested, with its tables."""

    experiment: Experiment
    variant: str
    model: str
    folder: Path
    summary: pd.DataFrame
    recency: pd.DataFrame | None  # None where there is no such file
    adversarial_attention: tuple[AdversarialAttention, ...]
    planted: bool  # whether the rationale of its corpus is planted

    def means(self, test: str, measure: str, ranking: str = "") -> list[float]:
        """Return the mean over documents of each seed; nothing where it is not defined."""
        return self._means.get((test, measure, ranking, ""), [])

    def class_means(self, measure: str, ranking: str) -> dict[str, list[float]]:
        """Return, by class, the means of a measure of the test `rationale` in each seed."""
        return {
            name: values
            for (*measured, name), values in self._means.items()
            if measured == ["rationale", measure, ranking] and name
        }

    @functools.cached_property
    def _means(self) -> dict[tuple[str, str, str, str], list[float]]:
        """The means of each seed, by test, measure, ranking and class (empty where it has none)."""
        means: dict[tuple[str, str, str, str], list[float]] = {}
        rows = self.summary.dropna(subset="mean").sort_values("seed", kind="stable")
        columns = rows[["test", "measure", "ranking", "class"]].fillna("").to_numpy()
        for (test, measure, ranking, name), mean in zip(columns, rows["mean"], strict=True):
            means.setdefault((test, measure, ranking, name), []).append(float(mean))
        return means

    def by_largest_weight(self, table: str, measure: str) -> dict[float, list[float]]:
        """Return the mean of a measure for each seed, by groups of documents (LARGEST_WEIGHTS).

        Of the table `seeds`, it is that of each pair of seeds. Empty where the table does not have
        the measure.
        """
        values = self.read(table)
        runs = ["seed", "other_seed"] if "other_seed" in values else ["seed"]
        values = values.reindex(columns=[*runs, "max_weight", measure]).dropna()
        group = np.searchsorted(LARGEST_WEIGHTS[:-1], values["max_weight"])
        means = values.groupby([group, *runs])[measure].mean()
        return {
            end: means.xs(index, level=0).tolist()
            for index, end in enumerate(LARGEST_WEIGHTS)
            if index in means.index.get_level_values(0)
        }

    def seed_divergences(self) -> list[float]:
        """Return how much the weights of each pair of seeds differ, the means over documents."""
        pairs = self.read("seeds").reindex(columns=["seed", "other_seed", "divergence"]).dropna()
        return pairs.groupby(["seed", "other_seed"])["divergence"].mean().tolist()

    def read(self, table: str) -> pd.DataFrame:
        """Return a table of `heed explain`. Raises HeedError: it is missing or broken."""
        path = self.folder / f"{table}.parquet"
        with reading(path, f"heed explain {self.model}"):
            return pd.read_parquet(path)

    @property
    def has_weights(self) -> bool:
        """Whether the prediction rests on a weighted sum, so that there are weights to test."""
        return bool(self.means("permutation", "permutation_change"))

    def counts_steps(self, test: str) -> bool:
        """Whether the rows of a test are steps: the predictions of one unit of a translation."""
        return test == "seeds" and self.experiment.measure.is_of_sentences

    def size(self, test: str, measures: Sequence[str]) -> Size:
        """Return the seeds of some measures of a test, and the fewest and most documents."""
        return size(self.summary, test, measures)

    @functools.cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcomes of the criteria for the model, by test."""
        summaries = [adversarial_model.summary for adversarial_model in self.adversarial_attention]
        return registry.judge(Judged(self.summary, summaries, self.planted))


def say_text(text: str | Text) -> str:
    """Return a text of a test in the current language."""
    return say(text) if isinstance(text, str) else say(text.english, **dict(text.values))


def ranking_names() -> dict[str, str]:
    """Return the names of the rankings that figures compare."""
    return {ranking: say(name) for ranking, name in DRAWN_RANKINGS.items()}


def size(summary: pd.DataFrame, test: str, measures: Sequence[str]) -> Size:
    """Return the seeds of some measures of a test, and the fewest and most documents.

    Zeros where none is defined. Of rankings, those of DRAWN_RANKINGS count; means of one class do
    not.
    """
    rows = summary[(summary["test"] == test) & summary["measure"].isin(measures)]
    if "class" in rows:
        drawn = rows["ranking"].isna() | rows["ranking"].isin(list(DRAWN_RANKINGS))
        rows = rows[rows["class"].isna() & drawn]
    rows = rows.dropna(subset=["mean", "documents"])
    if rows.empty:
        return 0, 0, 0
    seeds, counts = rows["seed"].nunique(), rows["documents"].astype(int)
    if test == "seeds":  # a row for each seed, with its pairs with all that follow
        return seeds + 1, counts.min(), counts.min()
    return seeds, counts.min(), counts.max()


def read_explanations(
    params: "Params", comparison: Comparison, experiments: list[Experiment], folder: Path
) -> tuple[Explanation, ...]:
    """Return the models that were explained, of results/, in the order of the experiments.

    The study names them: DVC never deletes the folder of a model.

    Raises HeedError: a file is missing or broken.
    """
    explanations = []
    for experiment in experiments:
        result = comparison.experiments[experiment.key]
        if report_of(result.task).untested_weights():
            continue  # no test is defined, as summary.csv says
        for variant, model in result.models.items():
            path = folder / "explain" / model.model
            if model.model not in params.explain.models or not path.exists():
                continue
            command, recency = f"heed explain {model.model}", path / "recency.csv"
            verify_checksums(path, command)
            explanations.append(
                Explanation(
                    experiment=experiment,
                    variant=variant,
                    model=model.model,
                    folder=path,
                    summary=_read(path / "summary.csv", command),
                    recency=_read(recency, command) if recency.exists() else None,
                    adversarial_attention=_read_adversarial_models(params, model.model, folder),
                    planted=is_planted(result),
                )
            )
    return tuple(explanations)


def is_planted(result: ExperimentResult) -> bool:
    """Return whether rationale is planted; the rationale of a sentence is its gold links."""
    statistics = result.corpus.statistics
    if measure_of(result).is_of_sentences:
        return statistics.generated
    return statistics.rationale is not None and statistics.rationale.kind == "planted"


def _read_adversarial_models(
    params: "Params", model: str, folder: Path
) -> tuple[AdversarialAttention, ...]:
    """Return the adversarial models of a model that were trained."""
    adversarial_attention = []
    for name, section in params.adversarial_attention.items():
        path = folder / "adversarial_attention" / name
        if section.model == model and path.exists():
            command = f"heed adversarial_attention {name}"
            verify_checksums(path, command)
            adversarial_attention.append(
                AdversarialAttention(name, path, _read(path / "summary.csv", command))
            )
    return tuple(adversarial_attention)


def _read(path: Path, command: str) -> pd.DataFrame:
    with reading(path, command):
        types = {"class": str, "at": str, "ranking": str, "weights": str}
        return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])


def range_of(counts: Sequence[int], form: Callable[[int], str]) -> str:
    """Return one number, or the smallest and the largest with a dash between them."""
    low, high = min(counts), max(counts)
    return form(low) if low == high else f"{form(low)}–{form(high)}"
