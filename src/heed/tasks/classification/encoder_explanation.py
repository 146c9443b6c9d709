"""The explanation of a pretrained encoder's predictions by its own attention, as of its models.

Three readings turn the attention A of a text's pieces, the mean over heads, into one weight a word:

- `last-layer`: A of the last layer
- `all-layers`: the mean of A over all layers
- `rollout`: the product of (A + I) / 2 over all layers (Abnar & Zuidema 2020,
  arxiv.org/abs/2005.00928)

A piece's weight is the attention it receives, averaged over the positions that are pooled into the
text vector: over all of them, or the first alone. A word's weight is the sum over its pieces. The
marks of where a text begins and ends are no words: the share of the weight on them is noted, and
the words' weights are divided by the rest, so that they sum to 1. The test of shuffled weights
exchanges those of the words' pieces, alike in all heads and queries, in the last layer or in all
layers; the encoder then computes its prediction from the shuffled weights.
"""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from heed.explanation.interventions import PERMUTATIONS as SHUFFLES
from heed.explanation.interventions import InputRemoval, permutation_effect
from heed.explanation.rankings import (
    ORDERS,
    PERMUTATIONS,
    POSITIONS,
    draw_documents,
    drawn_units,
    each_alone,
    times_input,
    torch_generator,
)
from heed.explanation.recency import COLUMNS
from heed.explanation.registry import EXPLAINED, UnitPositions, summarize
from heed.explanation.test import HELD, WEIGHT_RANKINGS, Prediction, total_variation
from heed.files import HeedError
from heed.pretrained import BATCH_PIECES, cut, tap_attention
from heed.tasks.classification.encoders import EncoderClassifier
from heed.tasks.classification.explanation import explanation_tables
from heed.tasks.classification.recipe import Data
from heed.tokens.arrays import MarkedTokens, Tokens

READINGS = ("last-layer", "all-layers", "rollout")
MANY_LAYERS = (
    "behind an encoder's prediction are the weights of all its layers, and no one weighted sum"
)
REASONS = {
    "seeds": "the encoder is trained once: there is no second seed",
    "recency": "the texts of an encoder are not tested with noise",
    "uniform": "the encoder is not trained with equal weights",
} | {
    name: MANY_LAYERS
    for test in EXPLAINED
    for name in (*test.of_weights, *WEIGHT_RANKINGS[1:])
    if test.name in ("adversarial_weights", "single_erasure", "erasure", "conicity")
    and name != "rationale_weight"
}

REMOVAL = InputRemoval()

Tables = dict[str, pd.DataFrame]
Predict = Callable[[torch.Tensor], torch.Tensor]


class Pieces(NamedTuple):
    """The pieces of a document that its encoder reads, with the number of its words.

    ids: of the pieces, (pieces,)
    word: the number of the word that each piece belongs to, (pieces,); -1 for a mark
    """

    ids: torch.Tensor
    word: torch.Tensor
    words: int


def explain_encoder(
    classifier: EncoderClassifier, tokens: Tokens, data: Data, documents: int, cores: int,
    report: Callable[[int, int], None],
) -> dict[str, Tables]:  # fmt: skip
    """Return the tables of each of READINGS, on the first test documents of the first fold.

    They are the first of those on which heed's own models are explained, as many as `documents`.
    Raises HeedError: an encoder of a kind whose attention cannot be changed.
    """
    rows = draw_documents(tokens.rows("test", 0), 0, tokens.offsets, 1.0)[:documents]
    if not len(rows):
        raise HeedError(f"{tokens.path}: all test documents are empty: there is nothing to explain")
    classifier.requires_grad_(False)
    reader, marked = EncoderReader(classifier), MarkedTokens(tokens)
    texts = tokens.documents(["text"])["text"]

    def judge(row: int) -> tuple[int, UnitPositions, dict[str, Prediction]]:
        starts, ends = marked.spans(row)
        pieces = reader.cut(texts[row], starts)
        known = slice(0, pieces.words)
        rationale = marked.mask(row)[known]
        positions = {"start": starts[known], "end": ends[known], "rationale": rationale}
        return row, positions, reader.judge(row, pieces) if pieces.words else {}

    judged = []
    with ThreadPoolExecutor(cores) as threads:
        for done, each in enumerate(threads.map(judge, rows.tolist()), 1):
            judged += [each] if each[2] else []
            report(done, len(rows))
    shares = [positions["rationale"].mean() for _, positions, _ in judged]
    share = float(np.mean([share for share in shares if share] or [0.0]))
    reasons = REASONS | ({} if share else {"rationale": "no explained document has rationales"})
    return {name: _tables(name, judged, tokens, data, share, reasons) for name in READINGS}


def _tables(
    reading: str, judged: list[tuple[int, UnitPositions, dict[str, Prediction]]], tokens: Tokens,
    data: Data, share: float, reasons: dict[str, str],
) -> Tables:  # fmt: skip
    documents = ((row, positions, of[reading]) for row, positions, of in judged)
    tables = explanation_tables(documents, tokens, data, share)
    for table in tables.values():
        table.insert(0, "seed", 1)
    nothing = pd.DataFrame(columns=["seed", *COLUMNS])
    summary = summarize(tables["documents"], tables["rankings"], nothing, reasons, nothing)
    return tables | {"summary": summary}


def _by_word(pieces: Pieces, scores: torch.Tensor) -> np.ndarray:
    """Return the sum of the scores (pieces,) of the marks, and then of each word, (1 + words,)."""
    sums = torch.zeros(pieces.words + 1, dtype=scores.dtype)
    return sums.index_add(0, pieces.word + 1, scores).numpy()


def _without_repetition(predict: Predict) -> Predict:
    """Return the same function of kept words (n, words) that computes no row of them twice."""
    known: dict[bytes, torch.Tensor] = {}

    def predict_new(kept: torch.Tensor) -> torch.Tensor:
        rows = [row.tobytes() for row in kept.numpy()]
        new = {row: i for i, row in enumerate(rows) if row not in known}
        if new:
            known.update(zip(new, predict(kept[[*new.values()]]), strict=True))
        return torch.stack([known[row] for row in rows])

    return predict_new


class EncoderReader:
    """An encoder with its linear layer on the CPU, which reads words of a document and not all."""

    def __init__(self, classifier: EncoderClassifier) -> None:
        """Tap its attention. Raises HeedError."""
        self._classifier, self._tap = classifier, tap_attention(classifier.loaded)
        self._tokenizer, self._facts = classifier.loaded.tokenizer, classifier.loaded.facts

    def cut(self, text: str, starts: np.ndarray) -> Pieces:
        """Return the pieces of a text whose words begin at the characters `starts`."""
        options = {"return_offsets_mapping": True, "return_special_tokens_mask": True}
        read = {name: of[0] for name, of in cut(self._classifier.loaded, [text], **options).items()}
        last = np.asarray(read["offset_mapping"])[:, 1] - 1  # the first character may be a space
        word = np.searchsorted(starts, last, "right") - 1
        word = np.where(np.asarray(read["special_tokens_mask"], bool), -1, word.clip(min=0))
        return Pieces(torch.tensor(read["input_ids"]), torch.from_numpy(word), int(word.max()) + 1)

    def judge(self, row: int, pieces: Pieces) -> dict[str, Prediction]:
        """Return the prediction of a document with the weights of each reading in its rankings."""
        probabilities = self._probabilities(pieces.ids[None], keep=True)[0].numpy()
        readings = self._read(pieces, self._tap.weights)
        keep = _without_repetition(functools.partial(self.predict_kept, pieces))
        rankings, changes = self._gradients(pieces), self._shuffle(row, pieces)
        units = drawn_units(pieces.words, np.random.default_rng((row, POSITIONS)))
        left_out = keep(~each_alone(units, pieces.words))
        rankings["leave_one_out"] = np.full(pieces.words, np.nan)
        rankings["leave_one_out"][units] = total_variation(left_out[:-1], left_out[-1]).numpy()
        judged = {}
        for name, (weights, marks) in readings.items():
            numbers = np.random.default_rng((row, ORDERS))
            own = {"attention": weights, "random": numbers.random(pieces.words)}
            measures = {"max_weight": float(weights.max()), "marks_weight": marks} | changes[name]
            judged[name] = Prediction(
                pieces.words, probabilities, rankings | own, measures, None, None, numbers, keep
            )
            if pieces.words >= REMOVAL.least_units:
                # here, in a thread of its own: the tables, which ask again, find it computed
                REMOVAL.measure_rankings(judged[name], np.zeros(pieces.words, bool), 0.0)
        return judged

    def _read(
        self, pieces: Pieces, weights: list[torch.Tensor]
    ) -> dict[str, tuple[np.ndarray, float]]:
        """Return the weight of each word by each reading, and the share of the marks."""
        layers = torch.stack([layer[0].mean(0) for layer in weights]).double()
        rolled = identity = torch.eye(len(pieces.ids), dtype=layers.dtype)
        for layer in layers:
            rolled = (layer + identity) @ rolled / 2
        query = identity[0] if self._facts.pooling == "first" else identity.mean(0)
        read = {}
        for name, matrix in zip(READINGS, (layers[-1], layers.mean(0), rolled), strict=True):
            by_word = _by_word(pieces, query @ matrix)
            read[name] = by_word[1:] / by_word[1:].sum(), float(by_word[0])
        return read

    def _gradients(self, pieces: Pieces) -> dict[str, np.ndarray]:
        """Return gradient times input of each word; HELD with constant attention weights."""
        words, rankings = self._classifier.encoder.get_input_embeddings(), {}
        for name in ("gradient", HELD):
            self._tap.start(None if name == "gradient" else lambda _, weights: weights.detach())
            embeddings = words(pieces.ids[None]).detach().requires_grad_()
            mask = torch.ones(embeddings.shape[:2], dtype=torch.long)
            logits = self._classifier.logits(inputs_embeds=embeddings, attention_mask=mask)
            rankings[name] = np.abs(_by_word(pieces, times_input(logits, embeddings)[0])[1:])
        return rankings

    def _shuffle(self, row: int, pieces: Pieces) -> dict[str, dict[str, float]]:
        """Return what the prediction changes by as weights are shuffled, for each reading."""
        of_words = (pieces.word >= 0).nonzero()[:, 0]
        generator = torch_generator(row, PERMUTATIONS)
        orders = torch.rand(SHUFFLES, len(of_words), generator=generator).argsort(1)
        keys = torch.arange(len(pieces.ids)).repeat(SHUFFLES, 1)
        keys[:, of_words] = of_words[orders]
        before, last = self._probabilities(pieces.ids[None]), self._tap.layers - 1
        effects = {}
        for first in (last, 0):
            after = [
                self._probabilities(pieces.ids.expand(len(part), -1), None, part, first)
                for part in keys.split(self._size(pieces))
            ]
            effects[first] = permutation_effect(torch.cat(after), before)
        return {name: effects[last if name == "last-layer" else 0] for name in READINGS}

    def predict_kept(self, pieces: Pieces, kept: torch.Tensor) -> torch.Tensor:
        """Return the probabilities (n, classes) of a document with `kept` (n, words) alone."""
        kept = F.pad(kept, (1, 0), value=True)[:, pieces.word + 1]  # n x pieces: marks stay
        order = (~kept).long().argsort(dim=1, stable=True)[:, : kept.sum(1).max()]
        mask = torch.arange(order.shape[1]) < kept.sum(1, keepdim=True)
        ids = torch.where(mask, pieces.ids[order], self._tokenizer.pad_token_id)
        size = self._size(pieces)
        parts = zip(ids.split(size), mask.long().split(size), strict=True)
        return torch.cat([self._probabilities(*part) for part in parts])

    @torch.no_grad()
    def _probabilities(
        self, ids: torch.Tensor, mask: torch.Tensor | None = None, keys: torch.Tensor | None = None,
        first: int = 0, keep: bool = False,
    ) -> torch.Tensor:  # fmt: skip
        """Return probabilities (n, classes); from layer `first` on keys have another order.

        The tap keeps the attention weights where `keep` says so.
        """

        def change(layer: int, weights: torch.Tensor) -> torch.Tensor:
            if keys is None or layer < first:
                return weights
            return weights.gather(-1, keys[:, None, None].expand_as(weights))

        self._tap.start(change, keep)
        mask = torch.ones_like(ids) if mask is None else mask
        return self._classifier.logits(input_ids=ids, attention_mask=mask).softmax(-1)

    def _size(self, pieces: Pieces) -> int:
        return max(1, BATCH_PIECES["cpu"] // len(pieces.ids))
