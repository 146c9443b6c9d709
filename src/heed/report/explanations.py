"""The results of `heed explain` and `heed adversarial_attention` (docs/internals/contracts.md)."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from heed.evaluation.results import Comparison, ExperimentResult
from heed.explanation.registry import CRITERIA
from heed.explanation.test import Judged, Outcome, measured
from heed.files import reading, verify_checksums
from heed.hyperparameters.pretrained import PRETRAINED
from heed.report.experiments import Experiment
from heed.report.measures import equal_weights_control, measure_of
from heed.study import Params
from heed.tables import read_csv


class AdversarialAttention(NamedTuple):
    """A model that was trained against an explained one: its name, and its summary."""

    name: str
    folder: Path
    summary: pd.DataFrame


class WeightsGain(NamedTuple):
    """The gain in percentage points over the control with equal weights, and its interval."""

    control: str = ""
    gain: float | None = None
    interval: tuple[float, float] | None = None


@dataclasses.dataclass(frozen=True)
class Explanation:
    """A model that `heed explain` has tested, with its tables, or a reading of an encoder."""

    experiment: Experiment
    variant: str
    model: str
    folder: Path
    summary: pd.DataFrame
    recency: pd.DataFrame | None = None  # where there is such a file
    adversarial_attention: Sequence[AdversarialAttention] = ()

    def read(self, table: str) -> pd.DataFrame:
        """Return a table of `heed explain`. Raises HeedError: it is missing or broken."""
        path = self.folder / f"{table}.parquet"
        with reading(path, f"heed explain {self.model}"):
            return pd.read_parquet(path)

    @property
    def is_of_encoder(self) -> bool:
        """Whether the weights are a pretrained encoder's, and not those of a model of the study."""
        return self.variant not in self.experiment.result.models

    @property
    def has_weights(self) -> bool:
        """Whether the prediction rests on a weighted sum, so that there are weights to test."""
        return len(measured(self.summary, "permutation", "permutation_change")) > 0

    @functools.cached_property
    def gain(self) -> WeightsGain:
        """The gain over the same model with equal weights; none where no weights are learned."""
        result, name, own = self.experiment.result, self.variant, not self.is_of_encoder
        control = equal_weights_control(result, name) if own and self.has_weights else ""
        if not control:
            return WeightsGain()
        tested = self.experiment.difference(name, control)
        gain = 100 * (result.score_of(name) - result.score_of(control))
        return WeightsGain(control, gain, tested.interval_pp if tested else None)

    @functools.cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcomes of the criteria for the model, by test."""
        against = [model.summary for model in self.adversarial_attention]
        judged = Judged(self.summary, against, is_planted(self.experiment.result))
        return {name: test.judge(judged) for name, test in CRITERIA.items()}


def read_explanations(
    params: Params, comparison: Comparison, experiments: list[Experiment], folder: Path
) -> Iterator[Explanation]:
    """Yield the models that were explained and the study names. Raises HeedError, of a file."""
    for experiment in experiments:
        for variant, model in experiment.result.models.items():
            path, command = folder / "explain" / model.model, f"heed explain {model.model}"
            if model.model in params.explain.models and path.exists():
                summary, file = _read_summary(path, command), path / "recency.csv"
                recency = _read(file, command) if file.exists() else None
                against = [*_read_adversarial(params, model.model, folder)]
                yield Explanation(experiment, variant, model.model, path, summary, recency, against)
        yield from _read_encoder(params, experiment, folder)


def _read_encoder(params: Params, experiment: Experiment, folder: Path) -> Iterator[Explanation]:
    """Yield the readings of the attention of a corpus's encoder, if it was tested."""
    corpus = params.experiments[experiment.key].corpus
    declared = params.pretrained.get(corpus)
    if declared is None or not declared.explain:
        return
    path, command = folder / "explain" / f"{corpus}.pretrained", f"heed pretrained {corpus}"
    verify_checksums(path, command)
    with reading(path / experiment.key, command):
        folders = sorted((path / experiment.key).iterdir())
    for path in folders:
        name = f"{PRETRAINED} {path.name}"
        yield Explanation(experiment, name, name, path, _read(path / "summary.csv", command))


def _read_adversarial(params: Params, model: str, folder: Path) -> Iterator[AdversarialAttention]:
    for name, section in params.adversarial_attention.items():
        path = folder / "adversarial_attention" / name
        if section.model == model and path.exists():
            summary = _read_summary(path, f"heed adversarial_attention {name}")
            yield AdversarialAttention(name, path, summary)


def is_planted(result: ExperimentResult) -> bool:
    """Return whether rationale is planted; the rationale of a sentence is its gold links."""
    statistics = result.corpus.statistics
    if measure_of(result).is_of_sentences:
        return statistics.generated
    return statistics.rationale is not None and statistics.rationale.kind == "planted"


def _read_summary(folder: Path, command: str) -> pd.DataFrame:
    verify_checksums(folder, command)
    return _read(folder / "summary.csv", command)


def _read(path: Path, command: str) -> pd.DataFrame:
    with reading(path, command):
        return read_csv(path, "class", "at", "ranking", "weights")


def range_of(counts: Sequence[int], form: Callable[[int], str], between: str = "–") -> str:
    """Return one number, or the smallest and the largest, with a dash between them, as printed."""
    return between.join(dict.fromkeys((form(min(counts)), form(max(counts)))))
