"""The cost of a study before it starts: training steps, each as long as one that is measured here.

A step of each different network is timed on random documents of the mean length, by one thread and
in processor time, so that other work on the machine hardly counts.
"""

import dataclasses
import functools
import math
import os
import textwrap
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from heed.corpora.kinds import SOURCE_KINDS
from heed.evaluation.results import COARSE_PP, is_coarse
from heed.evaluation.significance import planned_difference
from heed.files import HeedError
from heed.hyperparameters import MAX_SEEDS, CorpusSizes
from heed.study.corpus_size import UNKNOWN_CLASSES, CorpusSize, corpus_size
from heed.study.rules import experiment_roles
from heed.study.schema import Params
from heed.task import task_module

# Core-seconds, measured in a `snakemake` run (and by `python -m benchmarks.stages`)
STAGE, REPORT = 1.0, 9.0  # of DVC and snakemake for each stage; report, comparison, their start
ONCE, SCORE = 7.1, 0.6  # of a model: its three stages, its part of the report; of each seed
# of a token: to tokenise it; for each class of the linear model (IMDB 0.5e-6, headlines 3e-6)
TOKEN, REFERENCE_TOKEN = 2e-6, 2e-6
ENCODER, PIECE = 8.0, 2.7e-4  # as large as MiniLM (six layers of 384): to load it, to read a piece
# passes of it through a document that an epoch of its tuning takes as long as, and its explanation
# (measured: 263 of a document of 25 words, 373 of one of 200, whose weights take longer to change)
TUNE_PASSES, EXPLAIN_PASSES = 5, 320
RAY, ASHA_SHARE = 10.0, 0.5  # of starting Ray; of all epochs that trials of ASHA go through
EXPLAIN = 60.0  # to explain one run with `explain.documents: 1`: 18 to 110 were measured
# epochs of an adversarial model, and trainings of a model's diagnostic MLPs, as trainings of it
ADVERSARIAL_SHARE, DIAGNOSTIC_SHARE = 1.3, 0.2
LONGER, LONGER_SHARE = "longer trainings (2 x the epochs)", 2  # one of each model
PREDICTION, GREEDY = 0.4, 3  # of a training step; forward passes of a greedy translation
PIECES, PADDED = 1.25, 1.1  # pieces of a word; tokens of a training with padding
STEP_TOKENS, STEPS_SECONDS = 6144, 0.2  # of a measured step at most, and of all of them at least
BYTES_PER_TOKEN, BYTES_PER_PARAMETER, BYTES_PER_PREDICTION = 18, 4, 40
BUDGETS = {"10 minutes": 10, "1 hour": 60, "8 hours": 480, "1 day": 1440}
MORE_SEEDS, MORE_REPEATS, MAX_REPEATS = 10, 5, 100  # of a study that finds more
COLUMNS = "  {:<54}{:>10}{:>13}"


class ModelCost(NamedTuple):
    """The cost of a model with one seed: core-seconds of its training, and of all; bytes."""

    name: str
    parameters: int
    training: float
    seconds: float
    disk: float


@dataclasses.dataclass(frozen=True)
class Cost:
    """The estimated cost of a study, without the models whose corpus has an unknown size."""

    seeds: int
    models: list[ModelCost]
    once: dict[str, float]  # core-seconds for any number of seeds, by what they are for
    seed: float  # core-seconds of a seed's explanations and adversarial models
    disk: float  # bytes, of all seeds
    sizes: dict[str, CorpusSize]
    unknown: dict[str, str]  # corpus → why its size is not known

    def seconds(self, seeds: int) -> float:
        """Return the core-seconds of the study with so many seeds."""
        each = self.seed + sum(model.seconds for model in self.models)
        return sum(self.once.values()) + seeds * each

    def minutes(self, seeds: int, cores: int) -> float:
        """Return about how long the study takes with so many seeds on so many cores."""
        times = LONGER_SHARE if LONGER in self.once else 1
        longest = max([0.0, *(max(m.seconds, times * m.training) for m in self.models)])
        return max(self.seconds(seeds) / cores, longest) / 60

    def seeds_within(self, minutes: float, cores: int) -> int:
        """Return with how many seeds the study takes at most so many minutes on so many cores."""
        left, seed = minutes * 60 * cores - self.seconds(0), self.seconds(1) - self.seconds(0)
        return int(left / seed) if self.minutes(1, cores) <= minutes else 0


@functools.cache
def measure(task: str, h: Any, sizes: CorpusSizes, length: int) -> tuple[int, float]:
    """Return a network's parameters, and core-seconds to train it on a document of this length."""
    import torch  # takes 1.5 s

    from heed.training import machine
    from heed.training.loop import AdamW

    machine.make_deterministic()
    machine.keep_memory()
    machine.seed_everything(1)
    network = task_module(task, "learning")
    model = network.build(h, sizes).train()
    optimizer = AdamW(model.parameters(), fused=True)
    is_shorter = h.precision == "bfloat16" and bool(machine.bfloat16_instructions())
    documents, seconds = max(1, min(h.batch_size, STEP_TOKENS // length)), [math.inf]
    batch = network.random_batch(h, sizes, [length] * documents)
    while len(seconds) < 3 or sum(seconds[1:]) < STEPS_SECONDS:
        started = time.process_time()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=is_shorter):
            loss = network.loss(model, batch)
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - started)
    parameters = sum(each.numel() for each in model.parameters() if each.requires_grad)
    return parameters, PADDED * min(seconds) / documents


def estimate_cost(params: Params) -> Cost:
    """Return a rough estimate of what a study costs on this machine."""
    sizes, unknown = dict[str, CorpusSize](), dict[str, str]()
    models, epochs = dict[str, ModelCost](), dict[str, float]()
    for name in params.corpora:
        try:
            sizes[name] = corpus_size(params, name)
        except HeedError as error:
            unknown[name] = str(error)
    for name, model in params.models.items():
        if model.corpus in sizes:
            models[name], epochs[name] = _model_cost(params, name, sizes[model.corpus])
    once = {
        "tokenizing": sum(STAGE + TOKEN * each.tokens for each in sizes.values()),
        "reference_models": sum(
            STAGE + REFERENCE_TOKEN * size.tokens * max(1, size.folds) * _outputs(each, size)
            for each in params.experiments.values()
            if (size := sizes.get(each.corpus))
        ),
        "pretrained": sum(
            _of_encoder(params, name, sizes[name]) for name in params.pretrained if name in sizes
        ),
        "searches": sum(_of_search(params, name, epochs) for name in params.searches),
        "other stages": REPORT + ONCE * len(models),
    }
    if params.study.longer_training:
        once[LONGER] = LONGER_SHARE * sum(model.training for model in models.values())
    seed = len(params.explain.models) * params.explain.documents * EXPLAIN
    for aim in params.adversarial_attention.values():
        if base := models.get(aim.model):
            trained = DIAGNOSTIC_SHARE * aim.diagnostic_mlps * base.training
            seed += trained + aim.epochs * ADVERSARIAL_SHARE * epochs[aim.model]
    disk = sum(size.tokens * BYTES_PER_TOKEN for size in sizes.values())
    disk += sum(SOURCE_KINDS[source.kind].size for source in params.sources.values())
    disk += len(params.seeds) * sum(model.disk for model in models.values())
    return Cost(len(params.seeds), [*models.values()], once, seed, disk, sizes, unknown)


def _outputs(experiment: Any, size: CorpusSize) -> int:
    return size.values.get(getattr(experiment.data, "label", ""), UNKNOWN_CLASSES)


def _model_cost(params: Params, name: str, size: CorpusSize) -> tuple[ModelCost, float]:
    """Return the cost of a model that trains all its epochs, and the core-seconds of an epoch."""
    section, h = params.models[name], params.resolved(name, {})
    task, beam = params.task(section), getattr(params.prediction(name), "beam", None)
    types = (round(size.types / size.texts),) * size.texts
    sizes = CorpusSizes(types, _outputs(params.experiments[section.experiment], size))
    if section.match_parameters_of != name:
        network = task_module(task, "learning")
        h = network.parameter_matched(h, params.resolved(section.match_parameters_of, {}), sizes)
    longest = getattr(h, "max_tokens", 0) or h.max_source_tokens
    pieces = PIECES if getattr(h, "segmentation", "words") != "words" else 1
    length = max(1, round(min(pieces * size.mean_length, longest)))
    as_fast = dataclasses.replace(h, epochs=1, patience=0)  # so it is measured once
    parameters, document = measure(task, as_fast, sizes, length)
    passes, tested = 1 if beam is None else 1 + GREEDY, size.validation + size.test
    trained = size.train * getattr(h, "training_share", 1.0)
    epoch = document * (trained + PREDICTION * passes * size.validation)
    seconds = h.epochs * epoch + document * PREDICTION * (1 + (beam or 0)) * tested + SCORE
    disk = parameters * BYTES_PER_PARAMETER + tested * BYTES_PER_PREDICTION
    return ModelCost(name, parameters, h.epochs * epoch, seconds, disk), epoch


def _of_search(params: Params, name: str, epochs: dict[str, float]) -> float:
    """Return the core-seconds of a search; trials have the model's size on average."""
    search = params.searches[name]
    share = ASHA_SHARE if search.scheduler == "asha" else 1.0
    trainings = min(search.trials * share, search.trainings or math.inf)
    models = [each for each in params.searched_models(name) if each in epochs]
    trained = {each: search.epochs or params.hyperparameters(each).epochs for each in models}
    return RAY * bool(models) + trainings * sum(trained[each] * epochs[each] for each in models)


def _of_encoder(params: Params, corpus: str, size: CorpusSize) -> float:
    """Return the core-seconds of the vectors of a corpus, of tuning and of explanations."""
    declared, experiments = params.pretrained[corpus], params.experiments_on(corpus)
    explained = declared.explain * len(params.explained_by_encoder(corpus))
    tuned = max(1, size.folds) * size.train * len(experiments) * declared.epochs * declared.tune
    passes = size.documents + EXPLAIN_PASSES * explained + TUNE_PASSES * tuned
    longest = params.encoders[declared.encoder].max_tokens
    return ENCODER + passes * PIECE * min(PIECES * size.mean_length, longest)


def format_cost(params: Params, cores: int | None = None) -> str:
    """Return a table of the estimated cost of a study."""
    cost, cores = estimate_cost(params), cores or len(os.sched_getaffinity(0))
    summary, commands = summarise_cost(params, cost, cores)
    notes = [
        "A training step of each network was measured on this machine, one core: expect a factor "
        "of 1.5 in either direction. With `patience` all epochs are counted.",
        "On file systems without reflink (ext4), DVC's cache takes the same disk again.",
    ]
    if cost.models:
        seeds = {span: cost.seeds_within(minutes, cores) for span, minutes in BUDGETS.items()}
        enough = "; ".join(f"{span}: {min(MAX_SEEDS, count)}" for span, count in seeds.items())
        notes.insert(0, f"Seeds for which the time is enough: {enough}.")
    for name, why in cost.unknown.items():
        notes.append(f"Without corpus {name} and its models: its size is not known ({why}).")
    above = map(_wrap, [summary, *_describe_power(params, cost)])
    lines = [params.study.title, *above, "", *_rows(params, cost), "", *map(_wrap, notes), commands]
    return "\n".join(lines)


def summarise_cost(params: Params, cost: Cost, cores: int) -> tuple[str, str]:
    """Return the estimated cost of a study in a sentence, and the commands that come next."""
    models, minutes = len(params.models), cost.minutes(cost.seeds, cores)
    longer = f" and {models} longer ones" * (LONGER in cost.once)
    units = {"days": 1440, "hours": 60, "minutes": 1}
    unit = next((each for each in units if minutes >= 2 * units[each]), "minutes")
    disk = f"{cost.disk / 1e9:.1f} GB" if cost.disk >= 1e9 else f"{cost.disk / 1e6:.0f} MB"
    return (
        f"{cost.seeds * models} trainings ({models} models x {cost.seeds} seeds){longer}: about "
        f"{format_number(minutes / units[unit])} {unit} on {cores} core{'s' * (cores > 1)}, and "
        f"{disk} of disk",
        f"Look first: snakemake -n. Run: make report (or: snakemake --cores {cores})",
    )


def _rows(params: Params, cost: Cost) -> Iterator[str]:
    yield COLUMNS.format("of one seed", "parameters", "core-minutes")
    for corpus, size in cost.sizes.items():
        texts = f"{size.train:,.0f} documents to train on, {size.mean_length:.0f} tokens each"
        yield _wrap(f"{corpus}: {texts}")
        for name, parameters, _, seconds, _ in cost.models:
            if params.models[name].corpus == corpus:
                minutes = format_number(seconds / 60)
                yield COLUMNS.format(f"  {name[:52]}", f"{parameters:,}", minutes)
    rows = {
        f"all models, {cost.seeds} seeds": cost.seeds * sum(each.seconds for each in cost.models),
        "explanations and adversarial models, all seeds": cost.seeds * cost.seed,
        **{f"once: {what}": seconds for what, seconds in cost.once.items()},
        "in all, about": cost.seconds(cost.seeds),
    }
    for label in filter(rows.get, rows):
        yield COLUMNS.format(label, "", format_number(rows[label] / 60))


def _describe_power(params: Params, cost: Cost) -> Iterator[str]:
    """Yield which difference each experiment finds, and which with more seeds or repeats."""
    for name, experiment in params.experiments.items():
        size = cost.sizes.get(experiment.corpus)
        planned = task_module(experiment.task, "recipe").SCALE.planned
        families = [family for *_, family in experiment_roles(params, name, ()).pairs()]
        if size is None or size.test < 2 or planned is None or "primary" not in families:
            continue
        # with folds more repeats do more than more seeds of each; each fold has as many seeds
        repeats = min(MAX_REPEATS, max(MORE_REPEATS, 2 * size.repeats)) if size.folds else 1
        folds, is_repeated = size.folds // size.repeats * repeats, repeats > size.repeats
        others = (c.split.folds or 1 for n, c in params.corpora.items() if n != experiment.corpus)
        step = math.lcm(folds or 1, *others)
        seeds = math.ceil((cost.seeds + MORE_SEEDS * (not is_repeated)) / step) * step
        given = planned_difference(cost.seeds, size.test, planned, size.folds, size.repeats)
        more = planned_difference(seeds, size.test, planned, folds, repeats)
        coarse = f" Nothing below {COARSE_PP:.0f} points is found so often." * is_coarse(given)
        yield (
            f"{name}: a gain over the control that is found in 80% of cases is "
            f"{f'about {given:.1f} points' if given else 'none with so few seeds'}; with "
            f"{f'`repeats: {repeats}` and ' * is_repeated}the seeds 1 to {seeds} "
            f"({format_number(cost.seconds(seeds) / 60)} core-minutes in all) {more:.1f}.{coarse}"
        )


def format_number(number: float) -> str:
    """Return a number above 0 with two digits that mean something."""
    return f"{float(f'{max(0.01, number):.2g}'):,.12g}"


def _wrap(text: str) -> str:
    return textwrap.indent("\n".join(textwrap.wrap(text, 76)), "  ")
