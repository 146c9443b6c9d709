"""Estimate the cost of a study before it starts: stages, runs, core-hours and disk."""

import dataclasses
from typing import Any

from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.study.adversaries import Adversary
from heed.study.corpora import Corpus
from heed.study.schema import Params
from heed.tasks import task_module

# The cost model: 6 x multiply-adds of an item x items x epochs x runs / what a core does in a
# second. Useful FLOP/s of one core in training. With it the desk study is estimated at 17
# core-hours; its 180 trainings took 12.1 on a machine with 4 virtual cores, its four searches,
# which stopped three trials in four early, 1.0 (results/timing of that run).
FEW_EPOCHS = 10  # with fewer, and without patience, a training may end before it has converged
CORE_FLOPS = 30e9
# core-seconds to start any stage: DVC, Python, torch (most of the cost of a small study)
SECONDS_PER_STAGE = 8
# core-seconds to explain one run with `explain.documents: 1`. Measured: 18 on sst-wiki and 29 on
# movies with 64 units a layer and direction, 110 on 230 tokens a document with 256
EXPLAIN_SECONDS = 60
ADVERSARY_SHARE = 1.3  # of the base's epoch: both compute their predictions
GUIDED_NETWORKS = 9  # each learns for one epoch, and for as many as the base
TOKENS_PER_SECOND = 200_000  # spaCy on one core, measured
BYTES_PER_TOKEN = 18  # text, id, start and end
BYTES_PER_PARAMETER = 4


@dataclasses.dataclass(frozen=True)
class Cost:
    """The estimated cost of a study.

    `disk` is in bytes; `unknown` names the corpora whose size is not known.
    """

    stages: int
    runs: int
    core_hours: float
    disk: float
    unknown: list[str]


def _documents(params: Params, name: str) -> tuple[int, int] | None:
    """Return (documents, tokens of a text) of a corpus, or None when they are not known."""
    corpus: Corpus = params.corpora[name]
    kind = KINDS[corpus.kind]
    count = kind.documents or int((params.sources[corpus.source].documents or 0) / kind.joined)
    if not count or not kind.tokens_per_document:
        return None
    texts = max(1, len(kind.languages))  # of a document, each of which has a part of the tokens
    return min(count, corpus.sample or count), kind.tokens_per_document // texts


def _task_cost(params: Params, model: str) -> Any:
    return task_module(params.task(params.models[model]), "cost")


def _epoch_seconds(params: Params, model: str, size: tuple[int, int]) -> float:
    """Return the core-seconds of an epoch on a corpus of (documents, tokens of each)."""
    operations = _task_cost(params, model).multiply_adds(params.hyperparameters(model), size[1])
    return float(6 * operations * _learned(params, model, size[0]) / CORE_FLOPS)


def _learned(params: Params, model: str, documents: int) -> float:
    """Return how many of a corpus's documents a model is trained on.

    Those of a drawn test part are counted as if they were trained on.
    """
    corpus = params.corpora[params.models[model].corpus]
    kind = KINDS[corpus.kind]
    is_given = corpus.split.kind == "given" and kind.learned and kind.documents
    return documents * kind.learned / kind.documents if is_given else documents


def _adversary_seconds(params: Params, adversary: Adversary, size: tuple[int, int]) -> float:
    """Return the core-seconds of an adversary and its guided networks, of one seed."""
    model = adversary.model
    h = params.hyperparameters(model)
    guided = _task_cost(params, model).guided_multiply_adds(h, size[1])
    of_epoch = 6 * guided * _learned(params, model, size[0]) / CORE_FLOPS
    networks = GUIDED_NETWORKS * (h.epochs + 1) * of_epoch
    epochs = ADVERSARY_SHARE * adversary.epochs
    return float(networks + epochs * _epoch_seconds(params, model, size))


def estimate_cost(params: Params) -> Cost:
    """Return a rough estimate of the cost of a study."""
    seconds = disk = 0.0
    sizes = {name: _documents(params, name) for name in params.corpora}
    for name, model in params.models.items():
        if size := sizes[model.corpus]:
            h, documents = params.hyperparameters(name), size[0]
            seconds += _epoch_seconds(params, name, size) * h.epochs * len(params.seeds)
            parameters = _task_cost(params, name).parameters(h)
            disk += len(params.seeds) * (parameters * BYTES_PER_PARAMETER + documents * 0.3 * 40)
    for search in params.searches.values():
        if size := sizes[search.corpus]:
            # an upper bound: a scheduler stops many trials early
            epochs = search.epochs or params.hyperparameters(search.model).epochs
            seconds += _epoch_seconds(params, search.model, size) * search.trials * epochs
    for adversary in params.adversaries.values():
        if size := sizes[adversary.corpus]:
            seconds += _adversary_seconds(params, adversary, size) * len(params.seeds)
    explained = len(params.explain.models)
    seconds += explained * len(params.seeds) * params.explain.documents * EXPLAIN_SECONDS
    for size in filter(None, sizes.values()):
        seconds += size[0] * size[1] / TOKENS_PER_SECOND
        disk += size[0] * size[1] * BYTES_PER_TOKEN
    disk += sum(SOURCE_KINDS[source.kind].size for source in params.sources.values())
    models, runs = len(params.models), len(params.models) * len(params.seeds)
    # 3: the stage code, the search none and the stage unexplained; 2: compare and report
    stages = len(params.sources) + len(params.corpora) + len(params.searches) + 3
    stages += 3 * models + runs + explained + len(params.adversaries) + len(params.experiments) + 2
    unknown = [name for name, size in sizes.items() if size is None]
    return Cost(stages, runs, (seconds + SECONDS_PER_STAGE * stages) / 3600, disk, unknown)


def format_cost(params: Params) -> str:
    """Return the estimated stages, runs, core-hours and disk of a study as text."""
    cost = estimate_cost(params)
    lines = [
        f"{params.study.title}",
        (
            f"  {cost.stages} stages; {cost.runs} runs: {len(params.models)} models x "
            f"{len(params.seeds)} seeds"
        ),
        (
            f"  about {_format_hours(cost.core_hours)} core-hours on CPU (rough: "
            f"{CORE_FLOPS / 1e9:.0f} GFLOP/s per core)"
        ),
        (
            f"  about {_format_bytes(cost.disk)} of disk; twice that on file systems without "
            "reflink (ext4), for DVC's cache copies"
        ),
    ]
    if cost.unknown:
        lines.append(
            f"  without {', '.join(cost.unknown)}: the size of a corpus of your own is not known "
            "beforehand"
        )
    if hurried := [name for name in params.models if _may_stop_too_early(params, name)]:
        named = ", ".join([*hurried[:3], *(["…"] if len(hurried) > 3 else [])])
        lines.append(
            f"  warning: {len(hurried)} of {len(params.models)} models train for fewer than "
            f"{FEW_EPOCHS} epochs without patience ({named}): a training that has not converged "
            "decides nothing. Set more epochs, and patience: 2"
        )
    return "\n".join([*lines, "Look first: snakemake -n. Run: snakemake --cores 4 (or: dvc repro)"])


def _may_stop_too_early(params: Params, model: str) -> bool:
    hyperparameters = params.hyperparameters(model)
    return hyperparameters.epochs < FEW_EPOCHS and not hyperparameters.patience


def _format_hours(hours: float) -> str:
    return f"{hours:.0f}" if hours >= 10 else f"{hours:.1f}" if hours >= 0.1 else f"{hours:.2f}"


def _format_bytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, size / 1e6):.0f} MB"
