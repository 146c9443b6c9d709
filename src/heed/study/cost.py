"""Estimate the cost of a study before it starts: stages, runs, core-hours and disk."""

import dataclasses

from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.study.corpora import Corpus
from heed.study.schema import Params
from heed.tasks.classification.recipe import Hyperparameters

# The cost model: 6 x multiply-adds of a token x tokens x epochs x runs / what a core does in a
# second. Useful FLOP/s of one core in training. With it the desk study is estimated at 17
# core-hours; its 180 trainings took 12.1 on a machine with 4 virtual cores, its four searches,
# which stopped three trials in four early, 1.0 (results/timing of that run).
FEW_EPOCHS = 10  # with fewer, and without patience, a training may end before it has converged
CORE_FLOPS = 30e9
# core-seconds to start any stage: DVC, Python, torch (most of the cost of a small study)
SECONDS_PER_STAGE = 8
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
    """Return (documents, tokens per document) of a corpus, or None when they are not known."""
    corpus: Corpus = params.corpora[name]
    kind = KINDS[corpus.kind]
    count = kind.documents or params.sources[corpus.source].documents
    if not count or not kind.tokens_per_document:
        return None
    return min(count, corpus.sample or count), kind.tokens_per_document


def _multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of one token in a forward pass over a document of `tokens`."""
    if h.encoder in ("embeddings", "none"):
        return float(h.embedding_dim)
    states = h.state_size
    projections, weights = 4.0 * states**2, 2 * tokens * states  # of a self-attention
    if h.encoder == "transformer":
        feed_forward = 2 * states * h.feed_forward_size
        encoder = h.encoder_layers * (projections + weights + feed_forward)
    else:
        encoder = 2 * 4 * h.hidden_size * (h.embedding_dim + h.hidden_size)
    attention = projections if h.attention in ("multi-head", "uniform") else 0.0
    attention += weights if h.attention != "none" else 0
    pooling = states**2 if h.pooling == "attention" else 0
    return encoder + attention + pooling + states * h.linear_size / tokens


def estimate_cost(params: Params) -> Cost:
    """Return a rough estimate of the cost of a study."""
    seconds = disk = 0.0
    sizes = {name: _documents(params, name) for name in params.corpora}
    for name, model in params.models.items():
        if size := sizes[model.corpus]:
            h = params.hyperparameters(name)
            documents, tokens = size[0], min(size[1], h.max_tokens)
            flops = (
                6 * _multiply_adds(h, tokens) * documents * tokens * h.epochs * len(params.seeds)
            )
            seconds += flops / CORE_FLOPS
            rows = h.vocabulary_size + h.bigram_buckets + h.character_buckets
            parameters = rows * h.embedding_dim + _multiply_adds(h, 1)
            disk += len(params.seeds) * (parameters * BYTES_PER_PARAMETER + documents * 0.3 * 40)
    for search in params.searches.values():
        if size := sizes[search.corpus]:
            h = params.hyperparameters(search.model)
            documents, tokens = size[0], min(size[1], h.max_tokens)
            # an upper bound: a scheduler stops many trials early
            epochs = search.trials * (search.epochs or h.epochs)
            seconds += 6 * _multiply_adds(h, tokens) * documents * tokens * epochs / CORE_FLOPS
    for size in filter(None, sizes.values()):
        seconds += size[0] * size[1] / TOKENS_PER_SECOND
        disk += size[0] * size[1] * BYTES_PER_TOKEN
    disk += sum(SOURCE_KINDS[source.kind].size for source in params.sources.values())
    models, runs = len(params.models), len(params.models) * len(params.seeds)
    # 2: the stage code and the search none
    stages = len(params.sources) + len(params.corpora) + len(params.searches) + 2
    stages += 3 * models + runs + len(params.experiments) + 2
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
