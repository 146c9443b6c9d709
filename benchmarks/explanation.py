"""Core-seconds of the tests of `heed explain` for one seed: `python -m benchmarks.explanation`.

Texts have IMDB's lengths, the first 400 tokens are read, and nothing is trained. With the name of a
model (attention, multi-head, last, transformer) for that one alone.
"""

import dataclasses
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.workload import CLASSES, SETTINGS, VOCABULARY, Row, imdb_like, print_rows
from heed.explanation.noise import Noise, Piece, predict_with_noise
from heed.explanation.rankings import GROUPS, Subject, group_size, integrated_gradients
from heed.explanation.recency import NOISED, WINDOWED, measure_recency
from heed.explanation.registry import judge_documents
from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import SPECIAL, Vocabulary
from heed.models.classifier import Classifier
from heed.tasks.classification.explanation import SELF_ATTENTION_SCALE
from heed.tokens.arrays import Tokens

MODELS = {
    "attention": {"pooling": "attention"},
    "multi-head": {"attention": "multi-head"},
    "last": {"pooling": "last"},
    "transformer": {"encoder": "transformer", "encoder_layers": 2, "max_tokens": 2000},
}


class Words(Noise):
    """The words of generated texts, which have no evidence."""

    def __init__(self, tokens: Tokens) -> None:
        self.lexicon, self._tokens = tokens.lexicon, tokens
        self._rows = np.arange(len(tokens.offsets) - 1)

    def _words(self, row: int) -> Piece:
        ids = self._tokens.ids[self._tokens.offsets[row] : self._tokens.offsets[row + 1]]
        return Piece(ids.astype(np.int64), np.arange(len(ids)) == 0)


def core_seconds(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def measure(name: str) -> Row:
    """Time the tests of one model."""
    h = dataclasses.replace(SETTINGS, **MODELS[name])
    tokens = imdb_like(GROUPS[-1].end)
    tokens = dataclasses.replace(tokens, offsets=shortened(tokens.offsets))
    encoded = EncodedCorpus(tokens, Vocabulary((*SPECIAL, *tokens.lexicon), False), h)
    model = Classifier(VOCABULARY, CLASSES, h).eval().requires_grad_(False)
    subject, rows = Subject(model, encoded), np.arange(GROUPS[-1].end)
    scale = 1.0 if h.attention == "none" else SELF_ATTENTION_SCALE
    windowed, noised, integrated = (
        rows[: group_size(size, scale)] for size in (WINDOWED, NOISED, GROUPS[0].end)
    )
    tests = core_seconds(lambda: list(judge_documents(subject, rows, scale, lambda *_: None)))
    batches = list(encoded.evaluation_batches(integrated))
    paths = core_seconds(lambda: [integrated_gradients(model, batch) for batch in batches])
    positions = core_seconds(lambda: list(measure_recency(subject, windowed, lambda _: None)))
    noise = core_seconds(lambda: predict_with_noise(subject, tokens, Words(tokens), noised, h))
    return Row(
        f"explain, {name}", f"{tests + positions + noise:.0f} s", "120 s",
        f"integrated gradients {paths:.0f}, recency {positions:.0f}, noise {noise:.0f}",
    )  # fmt: skip


def shortened(offsets: np.ndarray) -> np.ndarray:
    """Return offsets of texts of at most 400 tokens."""
    lengths = np.minimum(np.diff(offsets), SETTINGS.max_tokens)
    return np.concatenate([[0], np.cumsum(lengths)])


if __name__ == "__main__":
    torch.set_num_threads(1)
    names = [name for name in sys.argv[1:] if name in MODELS] or list(MODELS)
    print_rows([measure(name) for name in names])
