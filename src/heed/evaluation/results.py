"""A comparison, results/compare/comparison.json (docs/internals/contracts.md), as dataclasses.

Names in `_pp` are in percentage points; docs/read/statistics.md explains each number.
"""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Annotated, Any

from heed.files import HeedError, read_json, reading, write_json
from heed.hyperparameters.pretrained import EncoderFacts
from heed.recipe import CorpusStatistics
from heed.records import FLATTENED, OMITTED, as_json, read_record
from heed.task import task_module
from heed.task.interface import lower_is_better

COMMAND = "heed compare"

Interval = tuple[float, float]

BETTER, WORSE, SAME = "better", "worse", "practically the same"
UNDECIDED, NOT_CONVERGED = "undecided", "not converged"
VERDICTS = (BETTER, WORSE, SAME, UNDECIDED, NOT_CONVERGED)
# By how much a longer training must be better, where a study names no margin: in standard errors of
# a score (`compare_longer`), and at least in points and in validation items.
MARGIN_ERRORS, LEAST_MARGIN_PP, LEAST_MARGIN_ITEMS = 1.64, 0.2, 3

COARSE_PP = 3.0  # a study whose minimum detectable difference is larger says so
BASELINE = "last-state"
FOREIGN = "foreign"  # of a model that takes the winner of a search for another model
CONTROLS = ("average", "parameter-matched", "equal-weights")
ATTENTION = ("attention-pooling", "self-attention", "attention")  # of readers and translators
# The hyperparameters, where a task has them, that leave items of the training split out.
TRAINING_SPLIT = ("training_share", "max_source_tokens", "max_target_tokens")
# Name: description.
FAMILIES = {
    "primary": "the first variant that answers the study's question over its control: tested by "
    "itself",
    "secondary": "every other comparison of two models of the experiment",
    "reference_models": "the variants that answer the question over the reference models",
    "trivial": "the same over the trivial reference model: each by itself",
}


@dataclasses.dataclass(frozen=True)
class MeanAndStd:
    """The mean of a metric over runs, its sample deviation (None with one run) and each value."""

    mean: float
    std_pp: float | None
    values: list[float]


@dataclasses.dataclass(frozen=True)
class Gain:
    """The mean of a paired difference, its sample deviation (None with one seed) and each value."""

    mean_pp: float
    std_pp: float | None
    values_pp: list[float]


Scores = dict[str, MeanAndStd]  # by the metric's name
Details = dict[str, dict[str, Scores]]  # a task's finer scores: group → name → scores


@dataclasses.dataclass(frozen=True)
class Difference:
    """A first model's score minus a second's, or of a loss the other way, with its tests.

    `interval_pp`, `p_corrected` and `equal_within_pp`, the least margin within which the difference
    is shown to lie, allow for the `tests` of its `family` in this experiment. With one seed there
    is none of them. `verdict` is one of VERDICTS. `degrees_of_freedom` is None where they are
    infinite. `tuned_alike`: whether both models had the same opportunity, as has each beside a
    reference model.
    """

    family: str
    tests: int
    mean_pp: float
    interval_pp: Interval | None
    p: float | None
    p_corrected: float | None
    equal_within_pp: float | None
    verdict: str
    standard_error_pp: float | None
    degrees_of_freedom: float | None
    seeds_needed: int | None
    detectable_pp: float | None
    tuned_alike: bool = True

    @property
    def is_decided(self) -> bool:
        """Whether one of the two is shown to be better."""
        return self.verdict in (BETTER, WORSE)


@dataclasses.dataclass(frozen=True)
class ReferenceResult:
    """The test scores of a reference model, one value for each fit: one, or one for each fold.

    A pretrained one has the facts of its encoder.
    """

    summary: Scores
    details: Annotated[Details, FLATTENED]
    encoder: Annotated[EncoderFacts | None, OMITTED] = None

    @property
    def parameters(self) -> int | None:
        """The parameters of a pretrained encoder; None of any other reference model."""
        return self.encoder.parameters if self.encoder else None


@dataclasses.dataclass(frozen=True)
class LongerTraining:
    """A training of the first seed with twice the epochs, beside the run of that seed.

    Both scores are of the validation split, by `metric`, at the epoch that is kept; there are none
    where the longer training `diverged`. A positive difference says that it did better.
    """

    metric: str
    epochs: int
    best_epoch: int
    machine_kind: str
    diverged: str
    score: float  # of the run
    longer_score: float | None
    difference_pp: float | None
    margin_pp: float
    standard_error_pp: float | None  # of the run's score; None where it is not known
    validation_items: int

    @property
    def did_better(self) -> bool:
        """Whether it did better by more than the margin: the model has not converged."""
        return self.difference_pp is not None and round(self.difference_pp, 9) > self.margin_pp


@dataclasses.dataclass(frozen=True)
class ModelResult:
    """The test scores of a model, and its trainings: one value for each seed.

    `longer_training` is None where it was not tried whether the model has converged.
    """

    model: str
    hyperparameters: Any  # heed.tasks.TASK.recipe.Hyperparameters
    parameters: int  # mean over runs
    best_epochs: list[int]
    machine_kinds: list[str]  # heed.training.machine
    summary: Scores
    details: Annotated[Details, FLATTENED]
    gain: Gain | None  # over the baseline; None for the baseline itself
    trained_epochs: list[int] = dataclasses.field(default_factory=list)  # of each run
    longer_training: LongerTraining | None = None

    @property
    def has_converged(self) -> bool:
        """Whether the model has converged, or it was not tried."""
        return not (self.longer_training and self.longer_training.did_better)

    def rise_pp(self, metric: str) -> float:
        """Return how much twice the epochs may raise a metric: 0 of a model that has converged.

        It is what they raised it by on validation, and the margin; of another metric it is not
        known, and infinite.
        """
        longer = self.longer_training
        if longer is None or longer.difference_pp is None or not longer.did_better:
            return 0.0
        return longer.difference_pp + longer.margin_pp if longer.metric == metric else math.inf


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The corpus of an experiment; `folds`, of all repeats together, is 0 for a fixed split."""

    name: str
    folds: int
    statistics: Annotated[CorpusStatistics, FLATTENED]
    repeats: Annotated[int, OMITTED] = 1


@dataclasses.dataclass(frozen=True)
class ExperimentResult:
    """The results of an experiment."""

    task: str
    groups: Annotated[dict[str, list[str]], FLATTENED]  # the names in the details, in order
    metric: str  # by which models are compared
    attention: list[str]  # the variants that answer the study's question, the first of them first
    control: str  # over which the first of them is tested by itself; empty: none
    controls: list[str]  # the variants that could gain without attention
    corpus: Corpus
    models: dict[str, ModelResult]  # by variant
    reference_models: dict[str, ReferenceResult]
    comparisons: dict[str, dict[str, Difference]]  # by first and second model
    seeds: Annotated[list[int] | None, OMITTED] = None  # its own, in place of the study's

    @property
    def sign(self) -> int:
        """The sign by which more of the compared metric is better."""
        return -1 if lower_is_better(self.metric) else 1

    @property
    def learned_reference_models(self) -> list[str]:
        """The reference models without the first, which is trivial."""
        return [*self.reference_models][1:]

    def compared_score(self, result: ModelResult | ReferenceResult) -> MeanAndStd:
        """Return the score of a model or a reference model by which this experiment compares."""
        return result.summary[self.metric]

    def score_of(self, name: str) -> float:
        """Return the mean of that score of a model, by its variant, or of a reference model."""
        return self.compared_score(self.models.get(name) or self.reference_models[name]).mean


@dataclasses.dataclass(frozen=True)
class Significance:
    """The method in one line, the level and the power of all tests, the margins, the families."""

    signature: str
    alpha: float
    power: float
    equivalence_margin: float
    convergence_pp: float | None  # None: as `compare_longer` has it
    families: dict[str, str]  # descriptions
    looks: Annotated[list[int], OMITTED] = dataclasses.field(default_factory=list)  # declared
    looked: Annotated[list[int], OMITTED] = dataclasses.field(default_factory=list)  # without


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The results of all models and reference models of a study, by experiment."""

    seeds: list[int]
    significance: Significance
    experiments: dict[str, ExperimentResult]

    def seeds_of(self, experiment: str) -> list[int]:
        """Return the seeds of an experiment's models: its own, or the study's."""
        return self.experiments[experiment].seeds or self.seeds


def mean_and_std(values: list[float]) -> MeanAndStd:
    """Return mean and standard deviation of a metric over runs."""
    std = 100 * statistics.stdev(values) if len(values) > 1 else None
    return MeanAndStd(statistics.fmean(values), std, values)


def paired_gain(scores: list[float], baseline: list[float], sign: int = 1) -> Gain:
    """Return scores minus a baseline's, paired by seed; `sign` is -1 where lower is better."""
    values = [sign * 100 * (a - b) for a, b in zip(scores, baseline, strict=True)]
    std = statistics.stdev(values) if len(values) > 1 else None
    return Gain(statistics.fmean(values), std, values)


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write comparison.json."""
    write_json(path, as_json(comparison))


def read_comparison(path: Path) -> Comparison:
    """Return the comparison in `path`. Raises HeedError, with the wrong key if it is none."""
    with reading(path, COMMAND):
        return parse_comparison(read_json(path, COMMAND))


def parse_comparison(values: Any) -> Comparison:
    """Return the comparison that the values of comparison.json are; ValueError if they are none."""
    comparison = read_record(Comparison, values)
    for name, experiment in comparison.experiments.items():
        try:
            hyperparameters = task_module(experiment.task, "recipe").Hyperparameters
            for variant, model in experiment.models.items():
                read = hyperparameters(**model.hyperparameters)
                experiment.models[variant] = dataclasses.replace(model, hyperparameters=read)
        except (HeedError, TypeError) as error:
            raise ValueError(f"experiments.{name}: {error}") from None
    return comparison


def runs_by_machine_kind(
    experiment: ExperimentResult, seeds: list[int]
) -> dict[str, dict[str, list[int]]]:
    """Return {machine kind: {variant: seeds}} of an experiment's runs."""
    runs: dict[str, dict[str, list[int]]] = {}
    for variant, model in experiment.models.items():
        for seed, kind in zip(seeds, model.machine_kinds, strict=True):
            runs.setdefault(kind, {}).setdefault(variant, []).append(seed)
    return runs


def mixed_machine_kinds(comparison: Comparison) -> Iterator[str]:
    """Yield a message for each experiment whose runs are not known to be of one machine kind."""
    for name, experiment in comparison.experiments.items():
        runs = runs_by_machine_kind(experiment, comparison.seeds_of(name))
        kinds = []
        for kind, variants in runs.items():
            noted = (f"{model} {', '.join(map(str, own))}" for model, own in variants.items())
            kinds.append(f"{kind} (seeds of {'; '.join(noted)})")
        if len(kinds) > 1:
            yield (
                f"{name}: this comparison has runs of several machine kinds "
                "(docs/read/report.md): " + ", ".join(kinds)
            )


def is_coarse(detectable_pp: float | None) -> bool:
    """Return whether a study finds nothing below COARSE_PP points with 80% power."""
    return detectable_pp is not None and detectable_pp > COARSE_PP


SIGNIFICANT = 12  # digits that are right after some additions of floats
LARGE = 1e12  # from here on a value has no digits after the point


def round_half_up(value: float, digits: int) -> float:
    """Return the value rounded in decimal to `digits` after the point; never -0.0.

    Python rounds the binary value, which for 0.285 is a little less, and .125 to .12.
    """
    if not math.isfinite(value) or abs(value) >= LARGE:
        return value
    exact = Decimal(f"{value:.{SIGNIFICANT}g}")
    return float(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)) + 0.0


def format_rounded(value: float, digits: int, sign: str = "-") -> str:
    """Return the value with `digits` decimals; `sign` "+" marks what is above 0 once rounded."""
    rounded = round_half_up(value, digits)
    return f"{rounded:{sign if rounded else '-'}.{digits}f}"


def format_significant(value: float, digits: int) -> str:
    """Return the value with `digits` significant ones, as the format .3g, rounded half up."""
    exponent = Decimal(f"{value:.{SIGNIFICANT}g}").adjusted()
    return f"{round_half_up(value, digits - 1 - exponent):.{digits}g}"


def verdict(difference: Difference, method: Significance, first: float, second: float) -> str:
    """Return the verdict on a difference.

    `first` and `second` are points by which twice the epochs may raise a model: 0 of a model that
    has converged, of a reference model, and where it was not tried.
    Not converged voids an equivalence on either side. A difference stands where twice the epochs
    raise the losing model by less than the near end of the interval: the winner can only become
    better still.
    """
    p, within = difference.p_corrected, difference.equal_within_pp
    differs = p is not None and p < method.alpha
    rise = first if difference.mean_pp < 0 else second
    stands = differs and (not rise or rise < min(map(abs, difference.interval_pp or (0.0, 0.0))))
    same = within is not None and within < method.equivalence_margin
    if (first or second) and (same or not stands):
        return NOT_CONVERGED
    if same:
        return SAME
    if not differs:
        return UNDECIDED
    return WORSE if difference.mean_pp < 0 else BETTER


@dataclasses.dataclass(frozen=True)
class Roles:
    """The roles of an experiment's models.

    Variants of `splits` are trained on less data, and are compared with their own baseline.
    """

    baseline: list[str]
    attention: list[str]
    controls: list[str]
    others: list[str]
    reference_models: list[str]  # the first is trivial
    splits: list[str]
    control: str

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Yield (first, second, family) of every pair that is compared."""
        models = [*self.baseline, *self.attention, *self.controls, *self.others]
        tested = dict.fromkeys([*models, *self.reference_models])
        for first, second in itertools.permutations(tested, 2):
            if family := self._family(first, second):
                yield first, second, family

    def _family(self, first: str, second: str) -> str | None:
        if first in (*self.reference_models, *self.baseline):
            return None
        owned = second in (f"{first}-{BASELINE}", f"{first}-average")
        if not owned and {first, second} & {*self.splits}:
            return None
        if [first] == self.attention[:1] and second == self.control:
            return "primary"
        if owned or second == BASELINE:
            return "secondary"
        # each pair of attention variants once
        if first not in self.attention or second in self.attention[: self.attention.index(first)]:
            return None
        if second in self.reference_models:
            return "trivial" if second == self.reference_models[0] else "reference_models"
        return "secondary"


def assign_roles(
    hyperparameters: Mapping[str, Any], reference_models: Collection[str],
    attention: Collection[str], control: str | None = None,
) -> Roles:  # fmt: skip
    """Return the roles of an experiment's models, whose hyperparameters are by variant.

    `attention` has the variants that answer the study's question. A control has a control's name,
    gives words no weights of their own, or is `control`, that of the experiment's own question;
    None: the one with equal weights, else `parameter-matched`, else the baseline. `X-last-state`
    and `X-average` belong to a variant X. Where these two leave out the same items, X over the
    baseline would compare amounts of data.
    """
    baseline = [BASELINE] * (BASELINE in hyperparameters)
    models = _without(hyperparameters, baseline)
    chosen = [name for name in attention if name in models]
    rest = _without(models, chosen)
    controls = [name for name in rest if _is_control(name, hyperparameters[name])]
    if control in {*models} - {*chosen[:1], *controls}:
        controls.append(control)
    others = _without(rest, controls)
    if control is None:
        equal = equal_weights(hyperparameters[chosen[0]]) if chosen else ()
        possible = [name for name in (*equal, "parameter-matched") if name in controls]
        control = next(iter(possible + baseline), "")
    splits = _with_other_splits((*controls, *others), hyperparameters)
    return Roles(baseline, chosen, controls, others, list(reference_models), splits, control)


def _without(names: Iterable[str], removed: Collection[str]) -> list[str]:
    return [name for name in names if name not in removed]


def _is_control(name: str, hyperparameters: Any) -> bool:
    if name.endswith((f"-{BASELINE}", "-average")):
        return False
    by_position = getattr(hyperparameters, "decoder", "") == "concatenate"
    return name in CONTROLS or not (hyperparameters.score_functions or by_position)


def _with_other_splits(variants: Iterable[str], hyperparameters: Mapping[str, Any]) -> list[str]:
    """Return the variants that leave out other items than the baseline, as their own one does."""
    trained = {
        name: [getattr(h, key, None) for key in TRAINING_SPLIT]
        for name, h in hyperparameters.items()
    }
    found = []
    for name in variants if BASELINE in trained else ():
        owner = name.removesuffix(f"-{BASELINE}").removesuffix("-average")
        if trained[name] == trained.get(f"{owner}-{BASELINE}") != trained[BASELINE]:
            found.append(name)
    return found


def equal_weights(hyperparameters: Any) -> tuple[str, ...]:
    """Return the names of the variants with equal weights in place of a model's, nearest first.

    Without self-attention, attention pools; the mean of a model with it lacks its layer.
    """
    pools = getattr(hyperparameters, "attention", "") == "none"
    return ("average",) if pools else ("equal-weights", "average")
