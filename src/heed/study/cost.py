"""The cost of a study before it starts: core-seconds by model, disk, seeds, and their table."""

import dataclasses
import os
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from heed.corpora.kinds import SOURCE_KINDS
from heed.files import HeedError
from heed.hyperparameters import CorpusSizes
from heed.speed import (
    CORE_FLOPS,
    Speed,
    Workload,
    expected_speed,
    machine_factor,
    parameters,
    speed_of,
)
from heed.study.corpus_size import UNKNOWN_CLASSES, CorpusSize, corpus_size
from heed.study.experiments import Search
from heed.study.schema import AdversarialAttention, Params
from heed.study.section import PRESETS
from heed.task import task_module

# Core-seconds, measured in a `snakemake` run (docs/performance.md, "What a stage costs"): DVC's for
# a stage, which grow with dvc.lock, and of starting heed's command.
STAGE, STAGE_GROWTH = 0.8, 0.003
COMMANDS = 0.6  # train .1, score .5 for each seed
ONCE = 3.5  # of a model: recipe .3, train and score 1.6 each
START, PLAN = 4.0, 0.06  # of snakemake, and for each stage
REPORT, REPORT_MODEL = 5.0, 0.6  # report and comparison, and for each model
# core-seconds of each token and each type; of sorting groups into folds, for each document and fold
TOKENIZE, TOKEN, TYPE, GROUPED = 1.0, 1.0e-6, 20e-6, 60e-6
REFERENCE_MODELS = 0.5  # of an experiment, beside those of its task
RAY = 10.0  # of starting and stopping Ray, for a search
HURRIED = 2.5  # asynchronous halving promotes more trials than one in `reduction_factor`
# to explain one run with `explain.documents: 1`. Measured: 18 on sst-wiki and 29 on movies with 64
# units a layer and direction, 110 on 230 tokens a document with 256
EXPLAIN = 60.0
GREEDY = 3  # forward passes that a greedy translation takes as long as
ADVERSARIAL_SHARE = 1.3  # of the base's epoch: both compute their predictions
DIAGNOSTIC_MLPS = 9  # each learns for one epoch, and for as many as the base
PIECES = 1.25  # of a word, where a translator reads these
# hyperparameters that do not change how long a step takes; those that a model has are set to these
WITHOUT_EFFECT = {
    "epochs": 1, "patience": 0, "learning_rate": 0.001, "warmup": 0.0, "lr_schedule": "none",
    "label_smoothing": 0.0, "embedding_std": 0.1, "tfidf_rate": 1.0, "device": "cpu",
    "precision": "float32", "monitor": "loss", "min_count": 1, "lowercase": True,
    "training_share": 1.0, "layer_devices": 1, "vectors": "none", "class_weights": "none",
}  # fmt: skip
BYTES_PER_TOKEN = 18  # text, id, start and end
BYTES_PER_PARAMETER, BYTES_PER_PREDICTION = 4, 40
WIDTH = 78
FEW_EPOCHS = 10  # with fewer, and without patience, a training may end before it has converged
MAX_SEEDS = 1000
BUDGETS = {"10 minutes": 10, "1 hour": 60, "8 hours": 480, "1 day": 1440, "1 week": 10080}
SPANS = 3  # of these are printed, from the first that is enough for a seed
COLUMNS = "{:<42}{:>12}{:>14}{:>9}"


@dataclasses.dataclass(frozen=True)
class ModelCost:
    """The cost of a model with one seed: core-seconds of its training, of all stages, and bytes."""

    name: str
    experiment: str
    variant: str
    parameters: int
    training: float
    seconds: float
    disk: float


@dataclasses.dataclass(frozen=True)
class Cost:
    """The estimated cost of a study.

    models: of one seed each; those whose corpus has an unknown size are left out.
    once: core-seconds that do not depend on the number of seeds, by what they are for.
    seed: core-seconds of a seed, beside those of models: explanations and adversarial_attention.
    alone: those of the core-seconds in `once` during which no other stage runs.
    disk: bytes, of all seeds.
    sizes: those that are known; `unknown`: corpus → why its size is not.
    """

    stages: int
    runs: int
    seeds: int
    models: list[ModelCost]
    once: dict[str, float]
    seed: float
    alone: float
    disk: float
    sizes: dict[str, CorpusSize]
    unknown: dict[str, str]

    @property
    def seconds_per_seed(self) -> float:
        """The core-seconds of one seed of all models."""
        return self.seed + sum(model.seconds for model in self.models)

    @property
    def core_hours(self) -> float:
        """The core-hours of the whole study."""
        return (sum(self.once.values()) + self.seeds * self.seconds_per_seed) / 3600

    def minutes(self, seeds: int, cores: int) -> float:
        """Return about how long the study takes with so many seeds on so many cores."""
        shared = sum(self.once.values()) - self.alone + seeds * self.seconds_per_seed
        longest = max((model.seconds for model in self.models), default=0.0)
        return (self.alone + max(shared / cores, longest)) / 60

    def seeds_within(self, minutes: float, cores: int) -> int:
        """Return with how many seeds the study takes at most so many minutes on so many cores."""
        left = minutes * 60 - self.alone - (sum(self.once.values()) - self.alone) / cores
        return max(0, int(left * cores / max(1e-9, self.seconds_per_seed)))


def estimate_cost(params: Params, measured: Mapping[Workload, float] | None = None) -> Cost:
    """Return a rough estimate of the cost of a study.

    Args:
        params: the study.
        measured: the times of workloads on this machine (heed.speed.measure_all); without any they
            are expected from the number of operations and the speed of a matrix product.

    """
    sizes, unknown = _known_sizes(params)
    factor = 1.0 if measured else machine_factor()
    workloads = _workloads(params, sizes)
    speeds = {name: speed_of(each, measured or {}, factor) for name, each in workloads.items()}
    stages, seeds = _count_stages(params), len(params.seeds)
    stage = STAGE + STAGE_GROWTH * stages
    models = [_model_cost(params, name, sizes, workloads[name], speeds[name]) for name in speeds]
    seed = len(params.explain.models) * params.explain.documents * EXPLAIN
    for adversarial_model in params.adversarial_attention.values():
        if size := sizes.get(adversarial_model.corpus):
            seed += _adversarial_model_seconds(
                params, adversarial_model, size, speeds[adversarial_model.model]
            )
    once = {
        "tokenizing": sum(_tokenizing_seconds(params, *item) for item in sizes.items()),
        "reference_models": sum(
            _reference_model_seconds(params, name, sizes) for name in params.experiments
        ),
        "searches": sum(
            _search_seconds(params, search, sizes[search.corpus], speeds[search.model])
            for search in params.searches.values()
            if search.corpus in sizes and search.trials
        ),
        "report": REPORT + REPORT_MODEL * len(params.models),
        "other stages": stage * stages + ONCE * len(models),
        "snakemake": START + PLAN * stages,
    }
    disk = _shared_disk(params, sizes) + seeds * sum(model.disk for model in models)
    alone = once["report"] + once["snakemake"]
    runs = seeds * len(params.models)
    return Cost(stages, runs, seeds, models, once, seed, alone, disk, sizes, unknown)


def study_workloads(params: Params) -> list[Workload]:
    """Return the different workloads of a study's models, those that take longest first."""
    sizes, _ = _known_sizes(params)
    seconds: dict[Workload, float] = defaultdict(float)
    for name, workload in _workloads(params, sizes).items():
        size, speed = sizes[params.models[name].corpus], expected_speed(workload)
        seconds[workload] += _training(params, name, size, speed)
    return sorted(seconds, key=seconds.__getitem__, reverse=True)


def _known_sizes(params: Params) -> tuple[dict[str, CorpusSize], dict[str, str]]:
    """Return the sizes of the corpora, and of those without one, why it is not known."""
    sizes, unknown = {}, {}
    for name in params.corpora:
        try:
            sizes[name] = corpus_size(params, name)
        except HeedError as error:
            unknown[name] = str(error)
    return sizes, unknown


def _workloads(params: Params, sizes: dict[str, CorpusSize]) -> dict[str, Workload]:
    """Return the workload of each model whose corpus has a known size."""
    return {
        name: workload_of(params, name, sizes[model.corpus])
        for name, model in params.models.items()
        if model.corpus in sizes
    }


def workload_of(params: Params, model: str, size: CorpusSize) -> Workload:
    """Return the workload of a model of a study, on a corpus of this size."""
    section = params.models[model]
    task, h = params.task(section), params.resolved(model, {})
    names = {field.name for field in dataclasses.fields(h)}
    h = dataclasses.replace(h, **{k: v for k, v in WITHOUT_EFFECT.items() if k in names})
    longest = getattr(h, "max_tokens", 0) or h.max_source_tokens
    pieces = PIECES if getattr(h, "segmentation", "words") != "words" else 1
    lengths = tuple(min(round(pieces * length), longest) for length in size.lengths)
    label = getattr(params.experiments[section.experiment].data, "label", "")
    types, outputs = round(size.types / size.texts), size.values.get(label, UNKNOWN_CLASSES)
    sizes = CorpusSizes((types,) * size.texts, outputs)
    if section.match_parameters_of != model:
        network = task_module(task, "learning")
        h = network.parameter_matched(h, params.resolved(section.match_parameters_of, {}), sizes)
    return Workload(task, h, lengths, sizes)


def _model_cost(
    params: Params, name: str, sizes: dict[str, CorpusSize], workload: Workload, speed: Speed
) -> ModelCost:
    """Return the cost of a model with one seed."""
    section, count = params.models[name], parameters(workload)
    size = sizes[section.corpus]
    predicted = (size.validation + size.test) * speed.prediction
    beam = getattr(params.prediction(name), "beam", 0)
    training = _training(params, name, size, speed)
    seconds = training + predicted * (1 + beam) + COMMANDS
    disk = count * BYTES_PER_PARAMETER + (size.validation + size.test) * BYTES_PER_PREDICTION
    return ModelCost(name, section.experiment, section.variant, count, training, seconds, disk)


def _training(params: Params, model: str, size: CorpusSize, speed: Speed) -> float:
    """Return the core-seconds of a training, if it goes through all of its epochs."""
    h = params.resolved(model, {})
    documents = size.train * getattr(h, "training_share", 1.0)
    passes = 1 + GREEDY * hasattr(params.prediction(model), "beam")
    validation = size.validation * speed.prediction * passes
    return float(h.epochs * (documents * speed.training + validation + speed.epoch))


def _adversarial_model_seconds(
    params: Params, adversarial_model: AdversarialAttention, size: CorpusSize, speed: Speed
) -> float:
    """Return the core-seconds of an adversarial model and its diagnostic MLPs, of one seed."""
    h = params.hyperparameters(adversarial_model.model)
    # a diagnostic MLP reads each token by itself: E numbers become those of a state
    multiply_adds = min(size.mean_length, h.max_tokens) * h.embedding_dim * h.state_size
    diagnostic = 6 * multiply_adds / CORE_FLOPS
    networks = (
        DIAGNOSTIC_MLPS
        * (h.epochs + 1)
        * diagnostic
        * size.train
        * adversarial_model.diagnostic_mlps
    )
    return float(
        networks + ADVERSARIAL_SHARE * adversarial_model.epochs * size.train * speed.training
    )


def _search_seconds(params: Params, search: Search, size: CorpusSize, speed: Speed) -> float:
    """Return the core-seconds of a search; trials have the model's size on average."""
    epochs: float = search.epochs or params.hyperparameters(search.model).epochs
    if search.scheduler == "asha":
        epochs = min(epochs, HURRIED * _halved_epochs(search, epochs))
    epoch = size.train * speed.training + size.validation * speed.prediction + speed.epoch
    return RAY + search.trials * epochs * epoch


def _halved_epochs(search: Search, epochs: float) -> float:
    """Return the epochs of a trial on average, if one in `reduction_factor` passes each rung."""
    total, share, reached, rung = 0.0, 1.0, 0.0, min(search.grace_period, epochs)
    while reached < epochs:
        total += share * (rung - reached)
        share, reached = share / search.reduction_factor, rung
        rung = min(rung * search.reduction_factor, epochs)
    return total


def _tokenizing_seconds(params: Params, name: str, size: CorpusSize) -> float:
    seconds = TOKENIZE + TOKEN * size.tokens + TYPE * size.types
    grouped = params.corpora[name].split.grouped
    return seconds + grouped * GROUPED * size.documents * max(1, size.folds)


def _reference_model_seconds(params: Params, name: str, sizes: dict[str, CorpusSize]) -> float:
    experiment = params.experiments[name]
    if not (size := sizes.get(experiment.corpus)):
        return 0.0
    outputs = size.values.get(getattr(experiment.data, "label", ""), UNKNOWN_CLASSES)
    tokens = size.tokens * max(1, size.folds)
    seconds = task_module(experiment.task, "rules").reference_model_seconds(
        experiment, tokens, outputs
    )
    return REFERENCE_MODELS + float(seconds)


def _count_stages(params: Params) -> int:
    """Return the number of stages of a study."""
    # 3: code, compare and report; of a model recipe, train and score
    stages = len(params.sources) + len(params.corpora) + len(params.searches) + 3
    stages += (
        len(params.explain.models) + len(params.adversarial_attention) + len(params.experiments)
    )
    return stages + 3 * len(params.models)


def _shared_disk(params: Params, sizes: dict[str, CorpusSize]) -> float:
    """Return the bytes of the sources and of the tokenised corpora."""
    disk = sum(size.tokens * BYTES_PER_TOKEN for size in sizes.values())
    for source in params.sources.values():
        disk += SOURCE_KINDS[source.kind].size
        files = (Path(file.path) for file in source.copied_files())
        disk += sum(path.stat().st_size for path in files if path.is_file())
    return disk


def format_cost(
    params: Params, measured: Mapping[Workload, float] | None = None, cores: int | None = None
) -> str:
    """Return a table of the estimated cost of a study.

    Args:
        params: the study.
        measured: the times of workloads on this machine (heed.speed.measure_all), if there are any.
        cores: that the study runs on; all that this process may use.

    """
    cost = estimate_cost(params, measured)
    cores = cores or len(os.sched_getaffinity(0))
    lines = [
        params.study.title,
        (
            f"  {cost.stages} stages; {cost.runs} trainings: {len(params.models)} models x "
            f"{cost.seeds} seeds"
        ),
        "",
        *_table(params, cost),
        "",
        *_totals(cost, cores),
        "",
        *(_wrap(note) for note in _notes(params, cost, bool(measured))),
        f"Look first: snakemake -n. Run: snakemake --cores {cores} (or: dvc repro)",
    ]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines())


def summarise_cost(params: Params, cores: int) -> str:
    """Return the estimated cost of a study in a sentence, and the commands that come next."""
    cost = estimate_cost(params)
    duration = _format_duration(cost.minutes(cost.seeds, cores))
    return (
        f"{cost.runs} trainings ({len(params.models)} models x {cost.seeds} seeds): about "
        f"{duration} on {cores} core{'s' * (cores > 1)}, and {_format_bytes(cost.disk).strip()} "
        "of disk (more: heed cost)\n"
        f"Look first: snakemake -n. Run: snakemake --cores {cores} (or: dvc repro)"
    )


def _table(params: Params, cost: Cost) -> Iterator[str]:
    """Yield the lines of the table: the models of each experiment."""
    yield COLUMNS.format("  of one seed", "parameters", "core-minutes", "disk")
    for name, experiment in params.experiments.items():
        models = [model for model in cost.models if model.experiment == name]
        if not models:
            continue
        size = cost.sizes[experiment.corpus]
        texts = f" in each of {size.texts} languages" if size.texts > 1 else " each"
        documents = format_number(max(1, round(size.train)))
        tokens = f"{size.mean_length:.0f} tokens{texts}"
        yield _wrap(f"{name}: {documents} documents to train on, {tokens}")
        for model in models:
            label = f"    {model.variant}"
            label = label if len(label) < 42 else f"{label[:40]}…"
            unit, sign = (1e6, "M") if model.parameters >= 1e6 else (1e3, "k")
            count = f"{format_number(model.parameters / unit)} {sign}"
            minutes = format_number(model.seconds / 60)
            yield COLUMNS.format(label, count, minutes, _format_bytes(model.disk))


def _totals(cost: Cost, cores: int) -> Iterator[str]:
    """Yield the lines with the cost of the study in all."""
    of_seeds = f"{cost.seeds} seed{'s' * (cost.seeds > 1)}"
    rows = {f"all models, {of_seeds}": cost.seeds * sum(model.seconds for model in cost.models)}
    rows[f"explanations and adversarial models, {of_seeds}"] = cost.seeds * cost.seed
    rows |= {f"once: {what}": seconds for what, seconds in cost.once.items()}
    total = sum(rows.values())
    for label, seconds in rows.items():
        if seconds:
            yield COLUMNS.format(f"  {label}", "", format_number(seconds / 60), "")
    yield COLUMNS.format("  in all, about", "", format_number(total / 60), _format_bytes(cost.disk))
    yield ""
    duration = _format_duration(cost.minutes(cost.seeds, cores))
    yield f"  On {cores} core{'s' * (cores > 1)} of this machine: about {duration}."
    if cost.models:
        enough = [
            f"{span}: {format_seeds(seeds)}"
            for span, minutes in BUDGETS.items()
            if (seeds := cost.seeds_within(minutes, cores))
        ]
        text = "; ".join(enough[:SPANS]) or "not even 1 in a week. Make the study smaller"
        yield _wrap(f"Seeds for which the time is enough: {text}.")


def _notes(params: Params, cost: Cost, is_measured: bool) -> Iterator[str]:
    """Yield where the numbers come from, and warnings."""
    if is_measured:
        yield (
            "Speeds were measured on this machine, one core, while other processes may have run. "
            "Expect a factor of 1.5 in either direction."
        )
    else:
        yield (
            "Speeds are estimated from operations and the speed of this machine: expect "
            "a factor of 2 in either direction. To measure them here, in some seconds: heed cost."
        )
    if any(params.hyperparameters(name).patience for name in params.models):
        yield (
            "Models with `patience` are counted with all their epochs, and may stop earlier: "
            "theirs is an upper bound."
        )
    if any(search.trials and search.scheduler == "asha" for search in params.searches.values()):
        yield "A search by asha is counted with the epochs that its trials are expected to reach."
    yield "On file systems without reflink (ext4), DVC's cache takes the same disk again."
    for name, size in cost.sizes.items():
        if size.note:
            yield f"The size of corpus {name} is estimated {size.note}."
    for name, reason in cost.unknown.items():
        yield f"Without corpus {name} and its models: its size is not known ({reason})."
    if hurried := [name for name in params.models if _may_stop_too_early(params, name)]:
        named = ", ".join([*hurried[:3], *(["…"] if len(hurried) > 3 else [])])
        yield (
            f"Warning: {len(hurried)} of {len(params.models)} models train for fewer than "
            f"{FEW_EPOCHS} epochs without patience ({named}): a training that has not converged "
            "decides nothing. Set more epochs, and patience: 2."
        )


def _may_stop_too_early(params: Params, model: str) -> bool:
    """Return whether a model has few epochs that heed has not measured, as those of a preset."""
    hyperparameters = params.resolved(model, {})
    section = params.models[params.models[model].match_parameters_of]
    is_measured = (
        section.preset in PRESETS[params.task(section)] and "epochs" not in section.overrides
    )
    return hyperparameters.epochs < FEW_EPOCHS and not hyperparameters.patience and not is_measured


def format_seeds(seeds: int) -> str:
    """Return a number of seeds in words, as rough as it is known."""
    if seeds > MAX_SEEDS:
        return f"more than {MAX_SEEDS:,} seeds"
    digits = 10 ** max(0, len(str(seeds)) - 2)
    return f"{seeds // digits * digits:,} seed{'s' * (seeds > 1)}"


def format_number(number: float) -> str:
    """Return a number above 0 with one or two digits that mean something."""
    if number < 0.095:
        return f"{max(0.01, number):.2f}"
    if number < 9.95:
        return f"{number:.1f}".removesuffix(".0")
    digits = 10 ** (len(str(round(number))) - 2)
    return f"{round(number / digits) * digits:,}"


def _format_duration(minutes: float) -> str:
    """Return a span of time in minutes, hours or days."""
    for unit, length in (("days", 1440), ("hours", 60)):
        if minutes >= 2 * length:
            return f"{format_number(minutes / length)} {unit}"
    return "a minute" if minutes < 1.5 else f"{format_number(minutes)} minutes"


def _format_bytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{format_number(max(1, size / 1e6))} MB"


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
