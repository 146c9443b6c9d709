"""The cost of a study before it starts: core-seconds by model, disk, seeds, and their table."""

import contextlib
import dataclasses
import math
import os
import statistics
import textwrap
from collections.abc import Iterator, Sized
from pathlib import Path

from heed.corpora.kinds import SOURCE_KINDS
from heed.evaluation.results import COARSE_PP, is_coarse
from heed.evaluation.significance import planned_difference
from heed.files import HeedError
from heed.hyperparameters import CorpusSizes
from heed.speed import Speed, Workload, expected_speed, machine_factor, measure, parameters
from heed.study.corpus_size import UNKNOWN_CLASSES, CorpusSize, corpus_size
from heed.study.rules import experiment_roles
from heed.study.schema import Params
from heed.task import task_module

# Core-seconds, measured in a `snakemake` run (and by `python -m benchmarks.stages`)
STAGE = 1.0  # of DVC and snakemake, for each stage
COMMANDS = 0.6  # train .1, score .5 for each seed
ONCE = 4.1  # of a model: recipe .3, train and score 1.6 each, its part of the report .6
REPORT = 9.0  # report and comparison, and the start of snakemake
TOKENIZE, TOKEN, TYPE = 1.0, 1.0e-6, 20e-6  # for each token and each type
REFERENCE_MODELS = 0.5  # of an experiment, beside those of its task
# Of an encoder as large as MiniLM (six layers of 384): to load it, a piece of a word, and a
# document and class of the linear model on its vectors
ENCODER, PIECE, VECTOR = 8.0, 2.7e-4, 1e-3
# passes of it through a document that an epoch of its tuning takes as long as, and its explanation
# (measured: 263 of a document of 25 words, 373 of one of 200, whose weights take longer to change)
TUNE_PASSES, EXPLAIN_PASSES = 5, 320
SENTENCE_ENDS = 2  # pieces that stand for them
RAY = 10.0  # of starting and stopping Ray, for a search
ASHA_SHARE = 0.5  # of all epochs, about: halving one by one promotes too many trials
# to explain one run with `explain.documents: 1`. Measured: 18 on sst-wiki and 29 on movies with 64
# units a layer and direction, 110 on 230 tokens a document with 256
EXPLAIN = 60.0
# of each model one training with twice the epochs
LONGER, LONGER_SHARE = "longer trainings (2 x the epochs)", 2
GREEDY = 3  # forward passes that a greedy translation takes as long as
ADVERSARIAL_SHARE = 1.3  # of the base's epoch: both compute their predictions
DIAGNOSTIC_SHARE = 0.2  # of the base's training, in each of which it has nine diagnostic MLPs
PIECES = 1.25  # of a word, where a translator reads these
BYTES_PER_TOKEN = 18  # text, id, start and end
BYTES_PER_PARAMETER, BYTES_PER_PREDICTION = 4, 40
WIDTH = 78
MAX_SEEDS = 1000
BUDGETS = {"10 minutes": 10, "1 hour": 60, "8 hours": 480, "1 day": 1440, "1 week": 10080}
MORE_SEEDS, MORE_REPEATS, MAX_REPEATS = 10, 5, 100  # of a study that finds more
SPANS = 3  # of these are printed, from the first that is enough for a seed
COLUMNS = "{:<42}{:>12}{:>14}{:>9}"


@dataclasses.dataclass(frozen=True)
class ModelCost:
    """The cost of a model with one seed: core-seconds of its training, of all stages, and bytes."""

    name: str
    parameters: int
    training: float
    seconds: float
    disk: float


@dataclasses.dataclass(frozen=True)
class Cost:
    """The estimated cost of a study, without the models whose corpus has an unknown size."""

    stages: int
    runs: int
    seeds: int
    models: list[ModelCost]
    once: dict[str, float]  # core-seconds for any number of seeds, by what they are for
    seed: float  # core-seconds of a seed's explanations and adversarial models
    disk: float  # bytes, of all seeds
    sizes: dict[str, CorpusSize]
    unknown: dict[str, str]  # corpus → why its size is not known

    @property
    def seconds_per_seed(self) -> float:
        """The core-seconds of one seed of all models."""
        return self.seed + sum(model.seconds for model in self.models)

    def seconds(self, seeds: int) -> float:
        """Return the core-seconds of the study with so many seeds."""
        return sum(self.once.values()) + seeds * self.seconds_per_seed

    def minutes(self, seeds: int, cores: int) -> float:
        """Return about how long the study takes with so many seeds on so many cores."""
        longest = max((model.seconds for model in self.models), default=0.0)
        if LONGER in self.once:
            longest = max([longest, *(LONGER_SHARE * model.training for model in self.models)])
        return max(self.seconds(seeds) / cores, longest) / 60

    def seeds_within(self, minutes: float, cores: int) -> int:
        """Return with how many seeds the study takes at most so many minutes on so many cores."""
        left = minutes * 60 * cores - self.seconds(0)
        is_enough = self.minutes(1, cores) <= minutes
        return int(left / self.seconds_per_seed) if is_enough else 0


def estimate_cost(params: Params, factor: float | None = None) -> Cost:
    """Return a rough estimate; trainings take `factor` (`measure_study`) times as expected."""
    sizes, unknown = _known_sizes(params)
    factor = factor or machine_factor()
    models, trainings, speeds = [], {}, {}
    for name, workload in _workloads(params, sizes).items():
        speeds[name] = expected_speed(workload, factor)
        size = sizes[params.models[name].corpus]
        trainings[name] = _training(params, name, size, speeds[name])
        models.append(_model_cost(params, name, size, workload, speeds[name]))
    stages, seeds = _count_stages(params), len(params.seeds)
    once = {
        "tokenizing": sum(TOKENIZE + TOKEN * s.tokens + TYPE * s.types for s in sizes.values()),
        "reference_models": sum(
            _reference_model_seconds(params, name, sizes) for name in params.experiments
        ),
        "pretrained": sum(
            _embedding_seconds(params, name, sizes[name])
            for name in params.pretrained
            if name in sizes
        ),
        "searches": sum(
            _search_seconds(params, name, sizes[search.corpus], speeds)
            for name, search in params.searches.items()
            if search.corpus in sizes and search.trials
        ),
        "other stages": REPORT + STAGE * stages + ONCE * len(models),
    }
    if params.study.longer_training:
        once[LONGER] = LONGER_SHARE * sum(trainings.values())
    seed = len(params.explain.models) * params.explain.documents * EXPLAIN
    for adversarial_model in params.adversarial_attention.values():
        if (base := adversarial_model.model) in trainings:
            epochs = adversarial_model.epochs * ADVERSARIAL_SHARE
            seed += epochs * trainings[base] / params.hyperparameters(base).epochs
            seed += DIAGNOSTIC_SHARE * adversarial_model.diagnostic_mlps * trainings[base]
    disk = _shared_disk(params, sizes) + seeds * sum(model.disk for model in models)
    runs = seeds * len(params.models)
    return Cost(stages, runs, seeds, models, once, seed, disk, sizes, unknown)


def measure_study(params: Params) -> float | None:
    """Return the factor of the model that takes longest, measured here; None without a model."""
    sizes, _ = _known_sizes(params)
    workloads = _workloads(params, sizes)
    seconds = {
        name: _training(params, name, sizes[params.models[name].corpus], expected_speed(workload))
        for name, workload in workloads.items()
    }
    return measure(workloads[max(seconds, key=seconds.__getitem__)]) if workloads else None


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
    return {
        name: workload_of(params, name, sizes[model.corpus])
        for name, model in params.models.items()
        if model.corpus in sizes
    }


def workload_of(params: Params, model: str, size: CorpusSize) -> Workload:
    """Return the workload of a model of a study, on a corpus of this size."""
    section = params.models[model]
    task, h = params.task(section), params.resolved(model, {})
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
    params: Params, name: str, size: CorpusSize, workload: Workload, speed: Speed
) -> ModelCost:
    count, documents = parameters(workload), size.validation + size.test
    beam = getattr(params.prediction(name), "beam", 0)
    training = _training(params, name, size, speed)
    seconds = training + documents * speed.prediction * (1 + beam) + COMMANDS
    disk = count * BYTES_PER_PARAMETER + documents * BYTES_PER_PREDICTION
    return ModelCost(name, count, training, seconds, disk)


def _training(params: Params, model: str, size: CorpusSize, speed: Speed) -> float:
    """Return the core-seconds of a training, if it goes through all of its epochs."""
    h = params.resolved(model, {})
    documents = size.train * getattr(h, "training_share", 1.0)
    passes = 1 + GREEDY * hasattr(params.prediction(model), "beam")
    validation = size.validation * speed.prediction * passes
    return float(h.epochs * (documents * speed.training + validation + speed.epoch))


def _search_seconds(params: Params, name: str, size: CorpusSize, speeds: dict[str, Speed]) -> float:
    """Return the core-seconds of a search; trials have the model's size on average."""
    search, seconds = params.searches[name], RAY
    share = ASHA_SHARE if search.scheduler == "asha" else 1.0
    trainings = min(search.trials * share, search.trainings or math.inf)
    for model in params.searched_models(name):
        speed, epochs = speeds[model], search.epochs or params.hyperparameters(model).epochs
        epoch = size.train * speed.training + size.validation * speed.prediction + speed.epoch
        seconds += trainings * epochs * epoch
    return seconds


def _reference_model_seconds(params: Params, name: str, sizes: dict[str, CorpusSize]) -> float:
    experiment = params.experiments[name]
    if not (size := sizes.get(experiment.corpus)):
        return 0.0
    outputs = size.values.get(getattr(experiment.data, "label", ""), UNKNOWN_CLASSES)
    tokens = size.tokens * max(1, size.folds)
    rules = task_module(experiment.task, "rules")
    return REFERENCE_MODELS + float(rules.reference_model_seconds(experiment, tokens, outputs))


def _embedding_seconds(params: Params, corpus: str, size: CorpusSize) -> float:
    """Return the core-seconds of a corpus's vectors, and of a linear model on them by class."""
    declared, experiments = params.pretrained[corpus], params.experiments_on(corpus)
    encoder = params.encoders[declared.encoder]
    pieces = statistics.fmean(
        min(SENTENCE_ENDS + PIECES * length, encoder.max_tokens) for length in size.lengths
    )
    outputs = sum(
        size.values.get(getattr(each.data, "label", ""), UNKNOWN_CLASSES)
        for each in experiments.values()
    )
    fits, folds = 0.0, max(1, size.folds)
    explained = declared.explain * len(params.explained_by_encoder(corpus))
    documents = size.documents + EXPLAIN_PASSES * explained
    if declared.tune:
        documents += TUNE_PASSES * declared.epochs * folds * size.train * len(experiments)
    else:
        fits = folds * size.train * outputs * VECTOR
    return ENCODER + documents * pieces * PIECE + fits


def _count_stages(params: Params) -> int:
    sections: tuple[Sized, ...] = (
        params.sources, params.corpora, params.searches, params.explain.models,
        params.adversarial_attention, params.experiments, params.pretrained, params.pretrained,
    )  # fmt: skip
    # code, compare and report; of a model recipe, train and score
    return 3 + sum(map(len, sections)) + 3 * len(params.models)


def _shared_disk(params: Params, sizes: dict[str, CorpusSize]) -> float:
    disk = sum(size.tokens * BYTES_PER_TOKEN for size in sizes.values())
    for source in params.sources.values():
        disk += SOURCE_KINDS[source.kind].size
        for path in (Path(file.path) for file in source.copied_files()):
            with contextlib.suppress(OSError):  # a path that there cannot be
                disk += path.stat().st_size * path.is_file()
    return disk


def format_cost(params: Params, factor: float | None = None, cores: int | None = None) -> str:
    """Return a table of the estimated cost of a study; `factor` is as in `estimate_cost`."""
    cost = estimate_cost(params, factor)
    cores = cores or len(os.sched_getaffinity(0))
    lines = [
        params.study.title, f"  {cost.stages} stages; {_describe_runs(params, cost)}", "",
        *(f"{_wrap(line)}\n" for line in _describe_power(params, cost)),
        *_table(params, cost), "",
        *_totals(cost, cores), "",
        *(_wrap(note) for note in _notes(params, cost, factor is not None)),
        f"Look first: snakemake -n. Run: snakemake --cores {cores} (or: dvc repro)",
    ]  # fmt: skip
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines())


def summarise_cost(params: Params, cores: int, factor: float | None = None) -> str:
    """Return the estimated cost of a study in a sentence, and the commands that come next.

    `factor` is as in `estimate_cost`.
    """
    cost = estimate_cost(params, factor)
    duration = _format_duration(cost.minutes(cost.seeds, cores))
    return (
        f"{_describe_runs(params, cost)}: about {duration} on {cores} core{'s' * (cores > 1)}, and "
        f"{_format_bytes(cost.disk).strip()} of disk (more: heed cost)\n"
        f"Look first: snakemake -n. Run: snakemake --cores {cores} (or: dvc repro)"
    )


def _describe_runs(params: Params, cost: Cost) -> str:
    models = f"{cost.runs} trainings ({len(params.models)} models x {cost.seeds} seeds)"
    return models + (f" and {len(params.models)} longer ones" if LONGER in cost.once else "")


def _table(params: Params, cost: Cost) -> Iterator[str]:
    yield COLUMNS.format("  of one seed", "parameters", "core-minutes", "disk")
    for name, experiment in params.experiments.items():
        models = [each for each in cost.models if params.models[each.name].experiment == name]
        if not models:
            continue
        size = cost.sizes[experiment.corpus]
        texts = f" in each of {size.texts} languages" if size.texts > 1 else " each"
        documents = format_number(max(1, round(size.train)))
        tokens = f"{size.mean_length:.0f} tokens{texts}"
        yield _wrap(f"{name}: {documents} documents to train on, {tokens}")
        for model in models:
            label = params.models[model.name].variant
            label = label if len(label) < 38 else f"{label[:36]}…"
            unit, sign = (1e6, "M") if model.parameters >= 1e6 else (1e3, "k")
            count = f"{format_number(model.parameters / unit)} {sign}"
            minutes = format_number(model.seconds / 60)
            yield COLUMNS.format(f"    {label}", count, minutes, _format_bytes(model.disk))


def _totals(cost: Cost, cores: int) -> Iterator[str]:
    of_seeds = f"{cost.seeds} seed{'s' * (cost.seeds > 1)}"
    rows = {f"all models, {of_seeds}": cost.seeds * sum(model.seconds for model in cost.models)}
    rows[f"explanations and adversarial models, {of_seeds}"] = cost.seeds * cost.seed
    rows |= {f"once: {what}": seconds for what, seconds in cost.once.items()}
    for label, seconds in rows.items():
        if seconds:
            yield COLUMNS.format(f"  {label}", "", format_number(seconds / 60), "")
    total = format_number(sum(rows.values()) / 60)
    yield COLUMNS.format("  in all, about", "", total, _format_bytes(cost.disk))
    yield ""
    duration = _format_duration(cost.minutes(cost.seeds, cores))
    yield f"  On {cores} core{'s' * (cores > 1)} of this machine: about {duration}."
    if cost.models:
        enough = [
            f"{span}: {min(seeds, MAX_SEEDS)}{' or more' * (seeds > MAX_SEEDS)}"
            for span, minutes in BUDGETS.items()
            if (seeds := cost.seeds_within(minutes, cores))
        ]
        text = "; ".join(enough[:SPANS]) or "not even 1 in a week. Make the study smaller"
        yield _wrap(f"Seeds for which the time is enough: {text}.")


def _describe_power(params: Params, cost: Cost) -> Iterator[str]:
    """Yield which difference each experiment finds, and which with how much more."""
    for name, experiment in params.experiments.items():
        size = cost.sizes.get(experiment.corpus)
        planned = task_module(experiment.task, "recipe").SCALE.planned
        roles = experiment_roles(params, name, ())
        primary = [second for _, second, family in roles.pairs() if family == "primary"]
        if size is None or planned is None or not primary:
            continue
        found = planned_difference(cost.seeds, size.test, planned, size.folds, size.repeats)
        if found is None:
            yield f"{name}: with {cost.seeds} seed{'s' * (cost.seeds > 1)} no difference is tested."
            continue
        repeats, seeds, seconds = _more(params, cost, experiment.corpus, size)
        folds = size.folds // size.repeats * repeats
        better = planned_difference(seeds, size.test, planned, folds, repeats)
        changes = [f"`repeats: {repeats}`"] * (repeats > size.repeats)
        if seconds:
            count = f"the seeds 1 to {seeds}" if folds else f"{seeds - cost.seeds} more seeds"
            changes.append(f"{count} ({format_number(seconds / 60)} core-minutes)")
        control = "baseline" if primary == roles.baseline else "control"
        yield (
            f"{name} finds a gain of about {found:.1f} points over its {control} in 80% of cases; "
            f"with {' and '.join(changes)}: {better:.1f}."
            + f" Nothing below {COARSE_PP:.0f} points is found so often."
            * is_coarse(found)
        )


def _more(params: Params, cost: Cost, corpus: str, size: CorpusSize) -> tuple[int, int, float]:
    """Return more repeats or seeds, such as the study allows, and the core-seconds they take.

    With folds more repeats do more than more seeds of each. Seeds whose fold changes train again.
    """
    repeats = min(MAX_REPEATS, max(MORE_REPEATS, 2 * size.repeats)) if size.folds else 1
    folds = size.folds // size.repeats * repeats
    others = (each.split.folds or 1 for name, each in params.corpora.items() if name != corpus)
    step = math.lcm(folds or 1, *others)
    more = MORE_SEEDS if not folds else 0 if repeats > size.repeats else 1
    seeds = math.ceil((cost.seeds + more) / step) * step
    if not folds:
        return repeats, seeds, (seeds - cost.seeds) * cost.seconds_per_seed
    kept = [seed for seed in params.seeds if seed <= seeds]
    changed = sum((seed - 1) % size.folds != (seed - 1) % folds for seed in kept)
    of_corpus = sum(m.seconds for m in cost.models if params.models[m.name].corpus == corpus)
    seconds = (seeds - len(kept)) * cost.seconds_per_seed + changed * of_corpus
    return repeats, seeds, seconds


def _notes(params: Params, cost: Cost, is_measured: bool) -> Iterator[str]:
    if is_measured:
        yield (
            "The speed was measured on this machine, one core, while other processes may have run. "
            "Expect a factor of 1.5 in either direction."
        )
    else:
        yield (
            "Speeds are estimated from operations and the speed of this machine: expect "
            "a factor of 2 in either direction. To measure it here, in some seconds: heed cost."
        )
    if any(params.hyperparameters(name).patience for name in params.models):
        yield (
            "Models with `patience` are counted with all their epochs, and may stop earlier: "
            "theirs is an upper bound."
        )
    if LONGER in cost.once:
        yield (
            "A longer training, of one seed, shows whether a model has converged; without: "
            "`longer_training: false` in `study`."
        )
    yield "On file systems without reflink (ext4), DVC's cache takes the same disk again."
    for name, reason in cost.unknown.items():
        yield f"Without corpus {name} and its models: its size is not known ({reason})."


def format_number(number: float) -> str:
    """Return a number above 0 with two digits that mean something."""
    return f"{float(f'{max(0.01, number):.2g}'):,.12g}"


def _format_duration(minutes: float) -> str:
    for unit, length in (("days", 1440), ("hours", 60)):
        if minutes >= 2 * length:
            return f"{format_number(minutes / length)} {unit}"
    return "a minute" if minutes < 1.5 else f"{format_number(minutes)} minutes"


def _format_bytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{format_number(max(1, size / 1e6))} MB"


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
