"""What a comparison holds (results/compare/comparison.json, docs/contracts.md): made by compare,
printed by the report.

Names that end in `_pp` are in percentage points. What a number means, and when there is none:
docs/statistics.md.
"""

import dataclasses
import statistics
from pathlib import Path
from typing import Annotated, Any

from heed.files import HeedError, read_json, reading, write_json
from heed.recipe import CorpusFacts
from heed.records import FLATTENED, as_json, read_record
from heed.tasks import task_module

COMMAND = "heed compare"

Interval = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Spread:
    """A figure of several runs: its mean, its sample standard deviation (None of one run), and the
    runs' values in order.
    """

    mean: float
    std_pp: float | None
    values: list[float]


@dataclasses.dataclass(frozen=True)
class Gain:
    """A difference of figures paired by seed: mean, sample standard deviation (None of one seed),
    and each seed's.
    """

    mean_pp: float
    std_pp: float | None
    values_pp: list[float]


Figures = dict[str, Spread]  # by the figure's name
Details = dict[str, dict[str, Figures]]  # a task's finer figures: group → name → figures


@dataclasses.dataclass(frozen=True)
class Effect:
    """Sizes of a difference that do not grow with the number of seeds or documents
    (significance.effect).
    """

    odds_ratio: float | None
    g: float | None
    seeds_won: float


@dataclasses.dataclass(frozen=True)
class OtherTests:
    """Tests that decide nothing, since each leaves a source of chance out; `mcnemar_p` has one p a
    seed.
    """

    bootstrap_pp: Interval | None
    documents_p: float
    mcnemar_p: list[float] | None
    seeds_t_p: float | None
    seeds_sign_p: float | None
    seeds_sign_smallest_p: float | None


@dataclasses.dataclass(frozen=True)
class Difference:
    """A first model's figure minus a second's, and what is known of it.

    `p_holm` is `p` corrected within `family`.

    With one seed there is no interval and no p. `freedom` is None where it is infinite.
    """

    family: str
    mean_pp: float
    interval_pp: Interval | None
    p: float | None
    p_holm: float | None
    error_pp: float | None
    freedom: float | None
    seeds_needed: int | None
    detectable_pp: float | None
    effect: Effect
    others: OtherTests


@dataclasses.dataclass(frozen=True)
class OpponentResult:
    """What an opponent reached on test, one value a fit: once, or once a fold."""

    summary: Figures
    details: Annotated[Details, FLATTENED]


@dataclasses.dataclass(frozen=True)
class ModelResult:
    """What a model reached on test, one value a seed; `gain` is over the baseline, None of the
    baseline itself.

    `hyperparameters` are its task's (`heed.tasks.TASK.recipe.Hyperparameters`); `parameters` is the
    mean over its runs.
    """

    model: str
    hyperparameters: Any
    parameters: int
    best_epochs: list[int]
    summary: Figures
    details: Annotated[Details, FLATTENED]
    gain: Gain | None


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The corpus of an experiment; `folds` is 0 for a fixed split."""

    name: str
    folds: int
    facts: Annotated[CorpusFacts, FLATTENED]


@dataclasses.dataclass(frozen=True)
class ExperimentResult:
    """An experiment: models by variant, opponents by name, and comparisons by the first and the
    second of each.

    `groups` names what the details are of, in order: group → names. `metric` is the figure by which
    models are compared.
    """

    task: str
    groups: Annotated[dict[str, list[str]], FLATTENED]
    metric: str
    corpus: Corpus
    models: dict[str, ModelResult]
    opponents: dict[str, OpponentResult]
    comparisons: dict[str, dict[str, Difference]]

    def compared(self, result: ModelResult | OpponentResult) -> Spread:
        """Return the figure of a model or an opponent by which this experiment compares."""
        return result.summary[self.metric]


@dataclasses.dataclass(frozen=True)
class Family:
    """The comparisons among which Holm's correction is made: how many there are, and what
    they ask.
    """

    tests: int
    says: str


@dataclasses.dataclass(frozen=True)
class Significance:
    """The method in one line, alpha and power of all tests, and the families."""

    signature: str
    alpha: float
    power: float
    families: dict[str, Family]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """All models and opponents of a study."""

    seeds: list[int]
    significance: Significance
    experiments: dict[str, ExperimentResult]


def spread(values: list[float]) -> Spread:
    """Return the spread of a figure over runs."""
    return Spread(statistics.fmean(values), _deviation(values, 100), values)


def gain(figures: list[float], baseline: list[float]) -> Gain:
    """Return figures minus those of a baseline, paired by seed."""
    values = [100 * (a - b) for a, b in zip(figures, baseline, strict=True)]
    return Gain(statistics.fmean(values), _deviation(values, 1), values)


def _deviation(values: list[float], unit: float) -> float | None:
    return unit * statistics.stdev(values) if len(values) > 1 else None


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write comparison.json."""
    write_json(path, as_json(comparison))


def read_comparison(path: Path) -> Comparison:
    """Return the comparison in `path`.

    Raises HeedError: missing, or not a comparison, with the key that is wrong.
    """
    with reading(path, COMMAND):
        return parse_comparison(read_json(path, COMMAND))


def parse_comparison(values: Any) -> Comparison:
    """Return the comparison that comparison.json holds.

    Raises ValueError, with the key, when it holds none.
    """
    comparison = read_record(Comparison, values)
    experiments = {
        name: _typed(name, experiment) for name, experiment in comparison.experiments.items()
    }
    return dataclasses.replace(comparison, experiments=experiments)


def _typed(name: str, experiment: ExperimentResult) -> ExperimentResult:
    """Return the experiment with hyperparameters of its task; its details must be of its groups."""
    for key, results in (("models", experiment.models), ("opponents", experiment.opponents)):
        for variant, result in results.items():
            if {group: list(each) for group, each in result.details.items()} != experiment.groups:
                groups = ", ".join(experiment.groups)
                raise ValueError(
                    f"experiments.{name}.{key}.{variant} does not have the {groups} of its "
                    "experiment"
                )
    try:
        kind = task_module(experiment.task, "recipe").Hyperparameters
        models = {
            variant: dataclasses.replace(model, hyperparameters=kind(**model.hyperparameters))
            for variant, model in experiment.models.items()
        }
    except (HeedError, TypeError) as error:
        raise ValueError(f"experiments.{name}: {error}") from None
    return dataclasses.replace(experiment, models=models)
