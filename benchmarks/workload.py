"""The work that benchmarks time: texts with IMDB's lengths, a model, matrix multiplication."""

import dataclasses
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import SPECIAL, Vocabulary
from heed.models.classifier import Classifier
from heed.progress import Progress
from heed.tasks.classification.learning import ClassificationLearner
from heed.tasks.classification.recipe import Hyperparameters
from heed.tokens.arrays import Tokens
from heed.tokens.meta import Meta, NearDuplicates
from heed.training.loop import train
from heed.training.machine import bfloat16_instructions

VOCABULARY, CLASSES, BATCH = 30_000, 2, 64
SETTINGS = Hyperparameters(
    embedding_dim=128, hidden_size=256, heads=4, pooling="mean", dropout=0.3, epochs=2
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of the table: figure, value, target, and what else was measured."""

    metric: str
    value: str
    target: str
    note: str = ""

    def line(self) -> str:
        return f"| {self.metric} | {self.value} | {self.target} | {self.note} |"


def print_rows(rows: list[Row]) -> None:
    """Print rows in Markdown, or as JSON for `python -m benchmarks`."""
    if "--json" in sys.argv:
        print("ROWS " + json.dumps([dataclasses.asdict(row) for row in rows]))
    else:
        print("\n".join(row.line() for row in rows))


def launch(*arguments: str) -> "subprocess.Popen[str]":
    """Start a benchmark in a process of its own: the allocator's settings last as long as it."""
    command = [sys.executable, "-m", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def numbers(process: "subprocess.Popen[str]") -> list[float]:
    """Return the numbers that a benchmark has printed. Raises CalledProcessError if it failed."""
    printed = process.communicate()[0]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return [float(number) for number in printed.split()]


def imdb_lengths(documents: int, seed: int = 0) -> np.ndarray:
    """Draw lengths like IMDB's (see its meta.json): log-normal, mean 268.5 tokens, median 201."""
    generator = np.random.default_rng(seed)
    median, mean = 201.0, 268.5
    sigma = np.sqrt(2 * np.log(mean / median))
    return np.clip(generator.lognormal(np.log(median), sigma, documents), 10, 2700).astype(np.int64)


def imdb_like(documents: int, seed: int = 0) -> Tokens:
    """Return generated tokens, with types distributed by Zipf's law."""
    generator = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(imdb_lengths(documents, seed))])
    ids = np.minimum(generator.zipf(1.2, int(offsets[-1])), VOCABULARY - 3).astype(np.int32)
    lexicon = [f"w{i}" for i in range(VOCABULARY - 2)]
    meta = Meta(
        digest="generated", corpus="big", kind="generated", tokenizer="whitespace", folds=0,
        labels={"kind": ["a", "b"]}, documents=documents, tokens=len(ids), types=len(lexicon),
        splits={}, reduced=False, generated=True, duplicates={},
        near_duplicates=NearDuplicates([0], complete=False), cleaned={},
    )  # fmt: skip
    return Tokens(
        Path(), meta, ids, offsets, lexicon, np.zeros(documents, np.int32), np.arange(documents + 1)
    )


def encoded(documents: int, h: Hyperparameters) -> EncodedCorpus:
    """Return generated texts, encoded for hyperparameters `h`."""
    tokens = imdb_like(documents)
    return EncodedCorpus(tokens, Vocabulary((*SPECIAL, *tokens.lexicon), False), h)


def learner(
    documents: int, validation: int, h: Hyperparameters, device: str = "cpu"
) -> ClassificationLearner:
    """Return a learner of generated texts with arbitrary classes, its model's weights random."""
    rows = np.arange(documents + validation)
    splits = {"train": rows[:documents], "validation": rows[documents:]}
    model = Classifier(VOCABULARY, CLASSES, h).to(device)
    return ClassificationLearner(model, encoded(len(rows), h), rows % CLASSES, splits, h, 1, device)


def training_seconds(task_learner: ClassificationLearner, h: Hyperparameters, device: str) -> float:
    """Train for two epochs; return the seconds of the second, without its validation.

    The first one also allocates memory. Of processor time, or with a GPU of time."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    times: list[float] = []

    def note_time(progress: Progress) -> None:
        if progress.epoch == 2 or progress.validation is not None:
            times.append(clock())

    with tempfile.TemporaryDirectory() as work:
        train(task_learner, dataclasses.replace(h, epochs=2), Path(work), note_time)
    return times[-2] - times[0]


def useful_flops(lengths: np.ndarray, h: Hyperparameters) -> float:
    """Return the FLOPs of forward and backward (3 x forward) over texts, without padding."""
    e, hidden, tokens = h.embedding_dim, h.hidden_size, float(lengths.sum())
    multiplications = 2 * 4 * hidden * (e + hidden) * tokens
    multiplications += len(lengths) * 2 * hidden * h.linear_size
    if h.attention != "none":
        multiplications += 4 * (2 * hidden) ** 2 * tokens
        multiplications += 2 * 2 * hidden * float((lengths**2).sum())
    return 3 * 2 * multiplications


def gemm_flops(seconds: float = 0.5, precision: str = "float32") -> float:
    """Return this thread's best rate in FLOP/s over square shapes and shapes of LSTMs.

    In float32 the better one of MKL and, where it rounds no factor to bfloat16, oneDNN.
    """
    rates, dtype = [], getattr(torch, precision)
    libraries = ("ieee",) if bfloat16_instructions() == "amx_bf16" else ("ieee", "bf16")
    shapes = ((512, 512, 512), (1024, 1024, 1024), (2048, 512, 2048), (8192, 256, 1024))
    for (rows, inner, columns), library in itertools.product(shapes, libraries):
        torch.backends.mkldnn.matmul.fp32_precision = library
        a, b = torch.randn(rows, inner).to(dtype), torch.randn(inner, columns).to(dtype)
        out = a @ b
        started, rounds = time.process_time(), 0
        while (elapsed := time.process_time() - started) < seconds:
            torch.mm(a, b, out=out)
            rounds += 1
        rates.append(2 * rows * inner * columns * rounds / elapsed)
    return max(rates)
