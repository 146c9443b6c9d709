"""A pretrained encoder as a classifier: frozen, with the linear model on its vectors, or tuned.

Tuned is the encoder together with a linear layer on its vectors, which here are not made of length
1, by heed's own training loop: AdamW with weight decay .01, a learning rate that rises over the
first tenth of all steps and falls to 0, gradients of norm 1 at most, and the best epoch on
validation. It has one seed.

Its predictions are explained by its own attention, as those of heed's models. Three readings turn
the attention A of a text's pieces, the mean over heads, into one weight a word:

- `last-layer`: A of the last layer
- `all-layers`: the mean of A over all layers
- `rollout`: the product of (A + I) / 2 over all layers (Abnar & Zuidema 2020,
  arxiv.org/abs/2005.00928)

A piece's weight is the attention it receives, averaged over the positions that are pooled into the
text vector: over all of them, or the first alone. A word's weight is the sum over its pieces. The
marks of where a text begins and ends are not words: the share of the weight on them is noted, and
the words' weights are divided by the rest, so that they sum to 1. The test of shuffled weights
exchanges those of the words' pieces, alike in all heads and queries, in the last layer or in all
layers; the encoder then computes its prediction from the shuffled weights.
"""

import dataclasses
import functools
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn

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
from heed.explanation.registry import EXPLAINED, UnitPositions, summarize
from heed.explanation.test import HELD, WEIGHT_RANKINGS, Prediction, total_variation
from heed.hyperparameters.pretrained import PRETRAINED, Encoder, Pretrained
from heed.inputs.batches import Batch, EncodedCorpus
from heed.paths import WORK
from heed.pretrained import (
    BATCH_PIECES,
    LoadedEncoder,
    cut,
    find_model,
    load_encoder,
    pooled,
    tap_attention,
)
from heed.progress import Bar, Progress, progress_bar
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.classification.explanation import NO_RATIONALE, explanation_tables, mean_share
from heed.tasks.classification.learning import probabilities, read_texts
from heed.tasks.classification.recipe import Data
from heed.tasks.classification.reference_models import (
    SPLITS,
    FittedFold,
    Labels,
    Rows,
    Shares,
    fit_folds,
    linear_head,
)
from heed.terminal import print_line
from heed.tokens.arrays import MarkedTokens, Tokens
from heed.training import machine
from heed.training.loop import train

SEED = 1


class EncoderClassifier(nn.Module):
    """An encoder and a linear layer on its vectors, drawn from torch's generator."""

    def __init__(self, loaded: LoadedEncoder, classes: int) -> None:
        super().__init__()
        self.loaded = loaded
        self.encoder, self.output = loaded.model, nn.Linear(loaded.facts.size, classes)

    def logits(self, **pieces: torch.Tensor) -> torch.Tensor:
        """Return the logits (texts, classes) of pieces, or of their embeddings."""
        logits: torch.Tensor = self.output(pooled(self.encoder, self.loaded.facts, pieces))
        return logits

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits, (batch, classes)."""
        time = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        mask = (time < batch.lengths[:, None]).long()
        return self.logits(input_ids=batch.ids, attention_mask=mask)


# the encoder as a classifier of the first fold, where it is asked for
Loads = Callable[[], EncoderClassifier]


def fit_frozen(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, vectors: np.ndarray,
    encoder: Encoder, declared: Pretrained,
) -> tuple[Fitted, Loads]:  # fmt: skip
    """Return the predictions of the linear model on the documents' vectors, on each fold."""
    part = task_module(experiment.task, "reference_models")
    fitted, weights = part.fit_pretrained(tokens, data, experiment, vectors)

    def load() -> EncoderClassifier:
        loaded = load_encoder(find_model(encoder), encoder, "cpu")
        head = torch.from_numpy(linear_head(tokens, data, weights))
        model = EncoderClassifier(loaded, len(data.classes)).requires_grad_(False)
        model.output.weight.copy_(head[:, :-1])
        model.output.bias.copy_(head[:, -1])
        return model

    return fitted, load


class EncodedPieces(EncodedCorpus):
    """The documents of a corpus as the pieces of words that an encoder reads."""

    def __init__(self, texts: list[str], loaded: LoadedEncoder) -> None:
        """Cut all documents into pieces."""
        self._pieces = [torch.tensor(ids) for ids in cut(loaded, texts)["input_ids"]]
        self._lengths = np.asarray([len(ids) for ids in self._pieces])
        self._padding = loaded.tokenizer.pad_token_id

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of pieces of each document, (rows,)."""
        return self._lengths[rows]

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the documents `rows` as one batch."""
        pieces = [self._pieces[row] for row in rows.tolist()]
        ids = nn.utils.rnn.pad_sequence(pieces, batch_first=True, padding_value=self._padding)
        return Batch(ids, torch.from_numpy(self.lengths(rows)), rows)


def tune(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, _: np.ndarray, encoder: Encoder,
    declared: Pretrained,
) -> tuple[Fitted, Loads]:  # fmt: skip
    """Return the predictions of the encoder after it was trained on each fold.

    Raises HeedError: no such device, other files than declared, a training that diverged, an
    encoder that is to be explained and has an attention that cannot be changed.
    """
    device, folder = machine.choose_device(declared.device), find_model(encoder)
    if declared.explain:  # the training takes hours, and would be lost
        tap_attention(load_encoder(folder, encoder, "cpu"))
    if device == "cpu":
        print_line(f"{experiment.corpus}: the encoder is tuned on the CPU; a GPU is faster")
    classifiers = list[EncoderClassifier]()
    with progress_bar(f"{PRETRAINED} reference model, tuned") as bar:

        def fit_fold(rows: Rows, _: Labels) -> FittedFold:
            loaded = load_encoder(folder, encoder, device)
            shares, scores, model = _tune(tokens, data, experiment, loaded, declared, rows, bar)
            if not classifiers:  # only that of the first fold is explained
                classifiers.append(model)
            return {PRETRAINED: shares}, scores

        fitted = fit_folds(tokens, data, experiment, {"epochs": declared.epochs}, fit_fold)
    return fitted, lambda: classifiers[0]


def _tune(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, loaded: LoadedEncoder,
    declared: Pretrained, rows: dict[str, np.ndarray], bar: Bar,
) -> tuple[Shares, dict[str, Any], EncoderClassifier]:  # fmt: skip
    """Train on one fold; return the probabilities of its documents, the scores and the model."""
    learning, recipe = (task_module(experiment.task, part) for part in ("learning", "recipe"))
    metrics = recipe.VALIDATION_METRICS
    monitor = experiment.metric if experiment.metric in metrics else metrics[0]
    h = recipe.Hyperparameters(
        epochs=declared.epochs, batch_size=declared.batch_size, weight_decay=0.01, warmup=0.1,
        learning_rate=declared.learning_rate, lr_schedule="linear", max_grad_norm=1.0,
        monitor=monitor,
    )  # fmt: skip
    learner = _make_learner(tokens, data, learning, loaded, h, rows)

    def report(done: Progress) -> None:
        bar.update(done.documents, done.total_documents, f"epoch {done.epoch} of {done.epochs}")

    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as work:
        history, best, kind = train(learner, h, Path(work), report)
    model, encoded, shares = learner.model, learner.encoded, {}
    for split in SPLITS[1:]:
        batches = encoded.evaluation_batches(rows[split])
        of_split = model, batches, rows[split], loaded.device, learning.activation
        shares[split] = probabilities(*of_split)
    by_epoch = [epoch[f"validation_{monitor}"] for epoch in history]
    model = model.eval().cpu()
    model.loaded = model.loaded._replace(device="cpu")
    scores = {"best_epoch": best, "machine_kind": kind, f"validation_{monitor}": by_epoch}
    return shares, scores, model


def _make_learner(
    tokens: Tokens, data: Data, learning: Any, loaded: LoadedEncoder, h: Any,
    rows: dict[str, np.ndarray],
) -> Any:  # fmt: skip
    """Return the learner of the task, with an encoder in place of heed's own network."""
    machine.seed_everything(SEED)
    loaded = loaded._replace(facts=dataclasses.replace(loaded.facts, normalized=False))
    model = EncoderClassifier(loaded, len(data.classes)).to(loaded.device)
    every = np.concatenate([*rows.values()])
    encoded = EncodedPieces(read_texts(tokens, every), loaded)
    labels = learning.LEARNER.read_labels(tokens, data, every)
    return learning.LEARNER(model, encoded, labels, rows, h, SEED, loaded.device)


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
        for done, judgement in enumerate(threads.map(judge, rows.tolist()), 1):
            judged += [judgement] if judgement[2] else []
            report(done, len(rows))
    share = mean_share(positions["rationale"] for _, positions, _ in judged)
    reasons = REASONS | ({} if share else {"rationale": NO_RATIONALE})
    return {name: _tables(name, judged, tokens, data, share, reasons) for name in READINGS}


def _tables(
    reading: str, judged: list[tuple[int, UnitPositions, dict[str, Prediction]]], tokens: Tokens,
    data: Data, share: float, reasons: dict[str, str],
) -> Tables:  # fmt: skip
    documents = ((row, positions, of[reading]) for row, positions, of in judged)
    tables = explanation_tables(documents, tokens, data, share)
    for table in tables.values():
        table.insert(0, "seed", 1)
    return tables | {"summary": summarize(tables, reasons)}


def _by_word(pieces: Pieces, scores: torch.Tensor) -> np.ndarray:
    """Return the sum of the scores (pieces,) of the marks, and then of each word, (1 + words,)."""
    sums = torch.zeros(pieces.words + 1, dtype=scores.dtype)
    return sums.index_add(0, pieces.word + 1, scores).numpy()


def _without_repetition(predict: Predict) -> Predict:
    """Return the function of kept words (n, words), computing no row of them twice."""
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
