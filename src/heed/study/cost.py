"""The time of a study's trainings: a step of each different network is measured on this machine.

It is known once the corpora are tokenized, whose sizes it takes. A step is timed on random
documents of the mean length, by one thread and in processor time: other work hardly counts.
"""

import contextlib
import dataclasses
import functools
import math
import textwrap
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from heed.evaluation.looks import Looks
from heed.evaluation.results import COARSE_PP, is_coarse
from heed.evaluation.significance import ALPHA, planned_difference
from heed.files import HeedError
from heed.hyperparameters import CorpusSizes
from heed.paths import TOKENS
from heed.study.recipes import resolve
from heed.study.rules import experiment_roles
from heed.study.schema import Params
from heed.task import task_module
from heed.tokens.meta import Meta, read_meta

LONGER_SHARE = 2  # the epochs of the longer training of a model, as trainings of it
PREDICTION, GREEDY = 0.4, 3  # of a training step; forward passes of a greedy translation
PIECES, PADDED = 1.25, 1.1  # pieces of a word; tokens of a training with padding
STEP_TOKENS, STEPS_SECONDS = 6144, 0.2  # of a measured step at most, and of all of them at least
MORE_SEEDS, MORE_REPEATS, MAX_REPEATS = 10, 5, 100  # of a study that finds more
UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60}


class Texts(NamedTuple):
    """What a training reads: documents to train and to validate on, and mean tokens of a text."""

    train: int
    validation: int
    length: float


@functools.cache
def measure(task: str, h: Any, sizes: CorpusSizes, length: int) -> float:
    """Return the core-seconds to train a network on a document of this length."""
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
    return PADDED * min(seconds) / documents


def training_seconds(task: str, h: Any, sizes: CorpusSizes, texts: Texts) -> float:
    """Return about how many core-seconds a training takes that goes through all its epochs."""
    translates = hasattr(h, "max_source_tokens")
    longest = h.max_source_tokens if translates else h.max_tokens
    pieces = PIECES if getattr(h, "segmentation", "words") != "words" else 1
    length = max(1, round(min(pieces * texts.length, longest)))
    # of models that differ in these alone it is measured once
    document = measure(task, dataclasses.replace(h, epochs=1, patience=0), sizes, length)
    trained = texts.train * getattr(h, "training_share", 1.0)
    validated = PREDICTION * (1 + GREEDY * translates) * texts.validation
    return float(h.epochs * document * (trained + validated))


def known_corpora(params: Params) -> dict[str, Meta]:
    """Return what is known of each corpus that is tokenized as this study declares it."""
    known = {}
    for name, corpus in params.corpora.items():
        with contextlib.suppress(HeedError):
            meta = read_meta(TOKENS / name)
            declared = corpus.kind, corpus.split.folds, corpus.split.repeats
            if (meta.kind, meta.folds, meta.repeats) == declared:
                known[name] = meta
    return known


def training_times(params: Params, known: dict[str, Meta]) -> dict[str, float]:
    """Return the core-seconds of a training of each model on one of these corpora."""
    times = {}
    for name, model in params.models.items():
        meta = known.get(model.corpus)
        with contextlib.suppress(HeedError):  # the tokens are of another study
            if meta:
                recipe = resolve(params, name, {}, meta)
                sizes = task_module(recipe.task, "learning").sizes(recipe.data, meta)
                length = meta.tokens / meta.documents / max(1, len(meta.languages))
                texts = Texts(meta.splits["train"], meta.splits["validation"], length)
                times[name] = training_seconds(recipe.task, recipe.hyperparameters, sizes, texts)
    return times


def format_cost(params: Params, cores: int) -> str:
    """Return what a study trains, the time if it is known, and which differences it finds."""
    known = known_corpora(params)
    times = training_times(params, known)
    rows = [f"  {name:<58}{format_number(seconds / 60):>13}" for name, seconds in times.items()]
    title = f"  {'core-minutes of a training with all epochs':<58}"
    summary = describe_trainings(params, len(params.models), [*times.values()], cores)
    told = [summary, *_describe_power(params, known), next_commands(cores)]
    return "\n".join([params.study.title, *([title] if rows else []), *rows, *map(_wrap, told)])


def describe_trainings(params: Params, models: int, times: list[float], cores: int) -> str:
    """Return the number of trainings of `models` models, and how long they take.

    `times` are the core-seconds of a training of each; fewer where they are not known.
    """
    has_longer = params.study.longer_training
    seeds = [len(params.seeds_of(model.experiment)) for model in params.models.values()][-models:]
    longer = f" and {models} longer ones" * has_longer
    few, many = min(seeds), max(seeds)
    per_model = f"x {many}" if few == many else f"of {few} to {many}"
    trainings = f"{sum(seeds)} trainings ({models} models {per_model} seeds){longer}"
    if len(times) < models:
        return f"{trainings}. The same command says how long, once the corpora are tokenized"
    longest = max(times, default=0) * (LONGER_SHARE if has_longer else 1)
    shares = [count + LONGER_SHARE * has_longer for count in seeds]
    total = sum(time * share for time, share in zip(times, shares, strict=True))
    seconds = max(total / cores, longest)
    unit = next((name for name, size in UNITS.items() if seconds >= 2 * size), "minutes")
    return (
        f"{trainings}: about {format_number(seconds / UNITS[unit])} {unit} on {cores} "
        f"core{'s' * (cores > 1)}, by a step of each that was measured here; expect a factor of "
        "1.5 in either direction. All else, such as searches and explanations, comes on top"
    )


def next_commands(cores: int) -> str:
    """Return the commands that come next."""
    return f"Look first: snakemake -n. Run: make report (or: snakemake --cores {cores})"


def _describe_power(params: Params, known: dict[str, Meta]) -> Iterator[str]:
    """Yield which difference each experiment finds, and which with more seeds or repeats."""
    unknown = []
    for name, experiment in params.experiments.items():
        split, meta = params.corpora[experiment.corpus].split, known.get(experiment.corpus)
        tested = meta.splits["test"] if meta else split.test if isinstance(split.test, int) else 0
        planned = task_module(experiment.task, "recipe").SCALE.planned
        families = [family for *_, family in experiment_roles(params, name, ()).pairs()]
        if planned is None or "primary" not in families:
            continue
        if tested >= 2:
            yield f"{name}: {describe_gain(params, name, tested)}"
        elif not meta:
            unknown.append(name)
    if unknown:
        names = ", ".join(unknown)
        yield f"The gain that can be found is known once the corpora are tokenized: {names}."


def describe_gain(params: Params, name: str, tested: int) -> str:
    """Return the gain that an experiment can find with `tested` documents, and with more seeds."""
    planned = task_module(params.experiments[name].task, "recipe").SCALE.planned
    seeds, corpus = len(params.seeds_of(name)), params.experiments[name].corpus
    split = params.corpora[corpus].split
    # with folds more repeats do more than more seeds of each; each fold has as many seeds
    repeats = min(MAX_REPEATS, max(MORE_REPEATS, 2 * split.repeats)) if split.folds else 1
    folds, is_repeated = split.folds // split.repeats * repeats, repeats > split.repeats
    others = (entry.split.folds or 1 for other, entry in params.corpora.items() if other != corpus)
    step = math.lcm(folds or 1, *others)
    more = math.ceil((seeds + MORE_SEEDS * (not is_repeated)) / step) * step
    level, last = ALPHA, ALPHA
    if planned_looks := params.study.looks:
        looks = Looks((*planned_looks,), seeds)
        more, level, last = planned_looks[-1], looks.level(ALPHA), looks.last_level(ALPHA)
        folds, repeats, is_repeated = split.folds, split.repeats, False
    given = planned_difference(seeds, tested, planned, split.folds, split.repeats, level)
    better = planned_difference(more, tested, planned, folds, repeats, last)
    if better is None:
        return f"no gain over the control can be found: {tested} test documents are too few"
    coarse = f" Gains below {COARSE_PP:.0f} points are often missed." * is_coarse(given)
    return (
        "a gain over the control that is found in 80% of cases is "
        f"{f'about {given:.1f} points' if given else 'none with these seeds'}; with "
        f"{f'`repeats: {repeats}` and ' * is_repeated}the seeds 1 to {more} {better:.1f}.{coarse}"
    )


def format_number(number: float) -> str:
    """Return a number above 0 with two digits that mean something."""
    return f"{float(f'{max(0.01, number):.2g}'):,.12g}"


def _wrap(text: str) -> str:
    return textwrap.indent("\n".join(textwrap.wrap(text, 76, break_on_hyphens=False)), "  ")
