"""Recency: whether a model reads the end of a document more than its middle (Maini et al. 2020).

The importance of each tenth of a document beside its rationale; accuracy by the place of the
rationale, and with noise; and how much more gradient reaches the last states than the middle ones
(arxiv.org/abs/2005.00159). The table is recency.csv.

The gradient of a state h_t is dL/dh_t with L the negative log probability of the predicted class.
For what reaches h_t through the states after it, a disturbance d_t is added to the state that step
t starts from: its gates read W_ih x_t + W_hh (h_{t-1} + d_t), and dL/dd_t is what h_{t-1} passes
on. That is an ordinary LSTM with inputs [x_t; d_t] and the matrix [W_ih, W_hh]; cell states are
held, as in the authors' program. L is scaled so that its gradient with respect to the logits has
length 1: a certain prediction, with a gradient near 0, then counts as much as any other.

Noise is the tokens outside rationale of training documents, whole documents in random order joined:
on the left of a text, on its right, or on both sides. All sides get the same words, so that only
their place differs.
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from heed.explanation.rankings import (
    BatchDocument,
    Subject,
    each_alone,
    group_size,
    predict_replaced,
    read_documents,
)
from heed.files import HeedError
from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch, EncodedCorpus
from heed.inputs.vocabulary import UNKNOWN
from heed.models.classifier import Classifier, Network
from heed.models.recurrent import Bidirectional, reverse_within_length
from heed.tokens.arrays import MarkedTokens, Tokens

# name → (how many times the text's length, share of it that stands on the left)
NOISES = {
    "none": (0, 0.0),
    "left 1": (1, 1.0), "right 1": (1, 0.0), "both 1": (1, 0.5),
    "left 4": (4, 1.0), "right 4": (4, 0.0), "both 4": (4, 0.5),
}  # fmt: skip
MOST = 4
DRAW = 23  # seeds the words of each document

TENTHS = 10
WINDOWED, NOISED = 150, 60  # documents at scale 1
MIDDLE, LAST = slice(4, 6), 9  # tenths
MIN_DOCUMENTS = 20  # with a rationale in a tenth: the quotient of fewer is chance
MIN_SHARE = 0.05  # of the rationale: over less, importance that is spread evenly looks like a bias
COLUMNS = ["measure", "at", "documents", "mean", "std"]
NO_NOISE = "no corpus of noise is named: explain.models.NAME.noise in params.yaml"
NOISE_HAS_LABELS = (
    "noise is the model's own corpus, which has no rationale that could be left out: its words "
    "would carry the label"
)
NOTHING_FITS = (
    f"no document is so short that {MOST} times as many words of noise fit beside it: this model "
    "knows positions, and those after max_tokens ({}) were never trained"
)
NO_LSTM = "encoder `{}` is not a BiLSTM; the gradient is measured between states of a BiLSTM alone"
NO_GRADIENT = "no document has three recurrent states, or no gradient reaches those of the middle"
ALL_SHORT = (
    f"all documents have fewer than {TENTHS} tokens, or no tenth of them changes their predictions"
)
Row = dict[str, object]


class Recency(NamedTuple):
    """The measures of documents of at least TENTHS tokens.

    rows: of the corpus, (documents,)
    importance: of each tenth, the largest 1, (documents, TENTHS); NaN where none changes it
    gradients: lengths of the gradient at the ends and in the middle, (documents, 2), or NaN
    """

    rows: np.ndarray
    importance: np.ndarray
    gradients: np.ndarray


def explain_recency(
    subject: Subject, h: Architecture, fold: int, labels: np.ndarray, tokens: Tokens,
    noise: Tokens | None, rows: np.ndarray, scale: float, rationale: dict[int, np.ndarray],
    documents: pd.DataFrame, report_progress: Callable[[int], None],
) -> tuple[pd.DataFrame, dict[str, str]]:  # fmt: skip
    """Return the table recency.csv of one seed, and measure → why it is not defined.

    `subject` has a network, `h` and `fold` are of its training, `labels` class indices (documents
    of the corpus,). `noise` is the corpus that the words of noise are from, `rows` are test
    documents that are not empty, in the order of their draw; `scale` multiplies their numbers.
    `rationale` maps the row of a document with some to a mask (tokens,); `documents` has `id,
    label, predicted` of those explained.
    """
    drawn = rows[: group_size(WINDOWED, scale)]
    is_right = dict(zip(documents["id"], documents["label"] == documents["predicted"], strict=True))
    names = dict(enumerate(tokens.documents(["id"])["id"]))
    right = {row: bool(is_right[name]) for row, name in names.items() if name in is_right}
    tables = [
        positions_table(measure_recency(subject, drawn, report_progress), rationale, len(drawn)),
        places_table(rationale, right),
    ]
    reasons = {
        "vanishing_ratio": NO_GRADIENT if h.encoder == "bilstm" else NO_LSTM.format(h.encoder),
        "last_minus_middle": ALL_SHORT,
    }
    known = fitting_rows(subject.encoded, h, rows)[: group_size(NOISED, scale)]
    if why := _without_noise(noise, tokens, known, h):
        reasons["accuracy_lost"] = why
    elif noise is not None:
        words = Noise(noise, noise.rows("train", fold if noise.path == tokens.path else 0))
        classes, unknown = predict_with_noise(subject, tokens, words, known, h)
        tables.append(noise_table(classes == labels[known][:, None], unknown))
    report_progress(count_documents(rows, scale))
    table = pd.concat([table for table in tables if len(table)], ignore_index=True)
    there = set(table["measure"])
    return table, {measure: why for measure, why in reasons.items() if measure not in there}


def _without_noise(noise: Tokens | None, tokens: Tokens, rows: np.ndarray, h: Architecture) -> str:
    """Return why words of `noise` cannot be added to the documents `rows`; "" where they can."""
    if noise is None:
        return NO_NOISE
    if noise.path == tokens.path and not MarkedTokens(noise):
        return NOISE_HAS_LABELS
    return "" if len(rows) else NOTHING_FITS.format(h.max_tokens)


def count_documents(rows: np.ndarray, scale: float) -> int:
    """Return how many documents the test of recency reports as done in the end."""
    return sum(min(len(rows), group_size(number, scale)) for number in (WINDOWED, NOISED))


def measure_recency(
    subject: Subject, rows: np.ndarray, report_progress: Callable[[int], None]
) -> Recency:
    """Return the measures of the documents `rows`, but for ones of fewer than TENTHS tokens."""
    network = subject.model.network
    is_recurrent = network.document_encoder.lstm is not None
    disturbed = with_disturbed_states(network) if is_recurrent else None
    known, importance, gradients = list[int](), list[np.ndarray](), list[np.ndarray]()
    for batch in subject.encoded.evaluation_batches(rows[subject.encoded.lengths(rows) >= TENTHS]):
        known += batch.rows.tolist()
        importance += [
            importance_by_tenth(subject.model, document)
            for document in read_documents(subject.model, batch)
        ]
        if disturbed is not None:
            gradients += [*end_and_middle(disturbed, batch)]
        report_progress(len(known))
    lengths = np.array(gradients) if gradients else np.full((len(known), 2), np.nan)
    return Recency(np.array(known, int), np.array(importance).reshape(-1, TENTHS), lengths)


def tenths(tokens: int) -> np.ndarray:
    """Return the tenth that each of `tokens` tokens stands in, (tokens,)."""
    return np.arange(tokens) * TENTHS // tokens


def importance_by_tenth(model: Classifier, document: BatchDocument) -> np.ndarray:
    """Return |log p - log p'| of each tenth, divided by the largest, (TENTHS,) (their algorithm 1).

    p is the probability of the predicted class, p' the same while the words of the tenth are the
    unknown word. NaN where no tenth changes it.
    """
    replaced = each_alone(np.arange(TENTHS), TENTHS)[:, tenths(len(document.ids))]
    logits = predict_replaced(model, document, replaced).double()
    log_p = torch.log_softmax(logits, -1)[:, logits[-1].argmax()]
    changes = (log_p[:-1] - log_p[-1]).abs()
    return (changes / changes.max()).numpy()


def end_and_middle(disturbed: Network, batch: Batch) -> np.ndarray:
    """Return the lengths of the gradients at the ends and in the middle, (batch, 2).

    Each direction has its own end, the state that has read the whole document. The middle is the
    mean over the states from 45 to 55% of the document. Both directions of a position are one
    vector. NaN for a document of fewer than three states. `disturbed` is of
    `with_disturbed_states`.
    """
    lengths = state_gradients(disturbed, batch).double().numpy()
    sequences = disturbed.sequence_lengths(batch)
    times = (sequences > 0).sum(1) if sequences.dim() == 2 else sequences
    pairs = np.full((len(times), 2), np.nan)
    for i, time in enumerate(times.tolist()):
        if time >= 3:
            both = np.hypot(*lengths[i, :time].T)
            end = np.hypot(lengths[i, time - 1, 0], lengths[i, 0, 1])
            pairs[i] = end, both[int(0.45 * time) : math.ceil(0.55 * time)].mean()
    return pairs


class _DisturbedBiLSTM(nn.Module):
    """A BiLSTM with a disturbance of 0 added to each state before its next step."""

    def __init__(self, lstm: Bidirectional) -> None:
        super().__init__()
        self.hidden_size = lstm.hidden_size
        self.layers = nn.ModuleList(_with_disturbance(layer) for layer in lstm.children())
        self.states: torch.Tensor
        self.disturbances: list[torch.Tensor]
        self.lengths: torch.Tensor

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        self.lengths = lengths
        self.disturbances = [
            inputs.new_zeros(*inputs.shape[:2], self.hidden_size).requires_grad_() for _ in range(2)
        ]
        read = (inputs, reverse_within_length(inputs, lengths))
        states, reversed_states = (
            layer(torch.cat([x, d], -1))[0]
            for layer, x, d in zip(self.layers, read, self.disturbances, strict=True)
        )
        self.states = torch.cat([states, reverse_within_length(reversed_states, lengths)], -1)
        return self.states


def _with_disturbance(layer: nn.Module) -> nn.LSTM:
    """Return a layer for inputs [x; d], where d is added to the previous state."""
    assert isinstance(layer, nn.LSTM)
    size = layer.input_size + layer.hidden_size
    extended = nn.LSTM(size, layer.hidden_size, batch_first=True)
    values = {name: value.detach() for name, value in layer.named_parameters()}
    values["weight_ih_l0"] = torch.cat([values["weight_ih_l0"], values["weight_hh_l0"]], 1)
    extended.load_state_dict(values)
    return extended.to(values["weight_ih_l0"].dtype).requires_grad_(False)


def with_disturbed_states(network: Network) -> Network:
    """Return a copy of a network for `state_gradients`; its encoder of documents is recurrent."""
    network = copy.deepcopy(network).requires_grad_(False)
    lstm = network.document_encoder.lstm
    assert lstm is not None
    network.document_encoder.lstm = _DisturbedBiLSTM(lstm)  # type: ignore[assignment]
    return network


def state_gradients(network: Network, batch: Batch) -> torch.Tensor:
    """Return the length of the gradient of each state, (batch, time, 2): forwards and backwards.

    In a hierarchical model time counts sentences. Values at padding have no meaning.
    """
    lstm = network.document_encoder.lstm
    assert isinstance(lstm, _DisturbedBiLSTM)
    with torch.enable_grad():
        logits = network(batch)
        loss = (logits * _loss_gradient(logits)).sum()
        direct, *passed = torch.autograd.grad(loss, [lstm.states, *lstm.disturbances])
    # a disturbance belongs to the state before it; the time of the second runs backwards
    after, before = (nn.functional.pad(gradient[:, 1:], (0, 0, 0, 1)) for gradient in passed)
    forwards, backwards = direct.chunk(2, -1)
    backwards = backwards + reverse_within_length(before, lstm.lengths)
    return torch.stack([(forwards + after).norm(dim=-1), backwards.norm(dim=-1)], -1)


def _loss_gradient(logits: torch.Tensor) -> torch.Tensor:
    """Return dL/dlogits, scaled to length 1, (batch, classes); float64 within, for p near 1."""
    probabilities = torch.softmax(logits.detach().double(), -1)
    predicted = probabilities.argmax(1, keepdim=True)
    gradient = probabilities.scatter(1, predicted, 0.0)
    gradient.scatter_(1, predicted, -gradient.sum(1, keepdim=True))  # p - 1, exact for p near 1
    return nn.functional.normalize(gradient, eps=1e-300).to(logits.dtype)


def positions_table(
    measured: Recency, rationale: dict[int, np.ndarray], drawn: int
) -> pd.DataFrame:
    """Return importance and rationale by tenth, and the ratio of gradients.

    `rationale` maps rows to masks (tokens,); of `drawn` documents short ones were left out.
    """
    is_known = np.isfinite(measured.importance).all(1)
    importance, documents = measured.importance[is_known], measured.rows[is_known]
    rows = [_row("short", "", np.arange(drawn) >= len(measured.rows))]
    rows += _by_tenth("importance", importance)
    rows.append(_row("last_minus_middle", "", importance[:, LAST] - importance[:, MIDDLE].mean(1)))
    has_some = np.isin(documents, [*rationale])
    if has_some.any():
        shares = np.stack([rationale_by_tenth(rationale[row]) for row in documents[has_some]])
        rows += _by_tenth("rationale_share", shares)
        rows += _by_density(importance[has_some], shares)
    gradients = measured.gradients[np.isfinite(measured.gradients).all(1)]
    if len(gradients) and gradients[:, 1].any():
        # a ratio of means, as the authors have it: of one document the middle's may be 0
        ratio = gradients[:, 0].mean() / gradients[:, 1].mean()
        rows.append(
            {"measure": "vanishing_ratio", "at": "", "documents": len(gradients), "mean": ratio}
        )
    return _table(rows)


def rationale_by_tenth(rationale: np.ndarray) -> np.ndarray:
    """Return the share of a document's rationale (tokens,) in each tenth, (TENTHS,)."""
    counts = np.bincount(tenths(len(rationale))[rationale], minlength=TENTHS)
    return counts / counts.sum()


def _by_density(importance: np.ndarray, shares: np.ndarray) -> list[Row]:
    """Return the mean share of importance divided by the rationale's, 1 if it follows rationale.

    Both are (documents, TENTHS), and shares of a document: else one with rationale in many tenths
    would count for more above the line than below. MIN_DOCUMENTS and MIN_SHARE say which tenths
    have a row.
    """
    of_importance = importance / importance.sum(1, keepdims=True)
    documents = (shares > 0).sum(0)
    is_known = (documents >= MIN_DOCUMENTS) & (shares.mean(0) >= MIN_SHARE)
    return [
        {
            "measure": "importance_by_rationale", "at": str(tenth), "documents": documents[tenth],
            "mean": of_importance[:, tenth].mean() / shares[:, tenth].mean(),
        }
        for tenth in np.flatnonzero(is_known).tolist()
    ]  # fmt: skip


def places_table(rationale: dict[int, np.ndarray], right: dict[int, bool]) -> pd.DataFrame:
    """Return accuracy by the tenth of the rationale's mean position; `right`: by row."""
    known = [row for row in rationale if row in right]
    places = np.array([mean_place(rationale[row]) for row in known])
    is_right = np.array([right[row] for row in known], bool)
    return _table(
        _row("accuracy_by_place", str(tenth), is_right[places == tenth]) for tenth in range(TENTHS)
    )


def mean_place(rationale: np.ndarray) -> int:
    """Return the tenth in which the mean position of the rationale (tokens,) lies."""
    middle = np.flatnonzero(rationale).mean() + 0.5
    return int(middle * TENTHS / len(rationale))


def noise_table(right: np.ndarray, unknown: np.ndarray) -> pd.DataFrame:
    """Return the accuracy with noise, (documents, NOISES), and its unknown words, (documents,)."""
    by_noise = dict(zip(NOISES, right.T, strict=True))
    rows = [_row("noise", name, is_right) for name, is_right in by_noise.items()]
    lost = by_noise["none"].astype(float) - by_noise["both 4"]
    return _table([*rows, _row("accuracy_lost", "", lost), _row("noise_unknown", "", unknown)])


def _by_tenth(measure: str, values: np.ndarray) -> list[Row]:
    return [_row(measure, str(tenth), values[:, tenth]) for tenth in range(TENTHS)]


def _row(measure: str, at: str, values: np.ndarray) -> Row:
    row: Row = {"measure": measure, "at": at, "documents": len(values)}
    if len(values):
        row |= {"mean": values.mean(), "std": pd.Series(values, dtype=float).std()}
    return row


def _table(rows: Iterable[Row]) -> pd.DataFrame:
    return pd.DataFrame([row for row in rows if row["documents"]]).reindex(columns=COLUMNS)


# --- words of other documents beside a text -------------------------------------------------------


class Noise:
    """The words of a corpus's training documents `rows`. HeedError if all are rationale."""

    def __init__(self, tokens: Tokens, rows: np.ndarray) -> None:
        self.lexicon = tokens.lexicon
        self._tokens, self._rows, self._rationale = tokens, rows, MarkedTokens(tokens)
        if not any(self._words(row).size for row in rows.tolist()):
            raise HeedError(f"{tokens.path}: no training document has a word outside its rationale")

    def draw(self, row: int, count: int) -> np.ndarray:
        """Return `count` tokens for document `row` of another corpus, which seeds their draw.

        They are (2, count): indices of the lexicon, and whether they begin a sentence.
        """
        generator = np.random.default_rng((DRAW, row))
        pieces, missing = list[np.ndarray](), count
        while True:  # a small corpus is read more than once
            for document in generator.permutation(self._rows).tolist():
                pieces.append(_part(self._words(document), 0, missing))
                missing -= pieces[-1].shape[1]
                if missing <= 0:
                    return np.concatenate(pieces, 1)

    def _words(self, row: int) -> np.ndarray:
        return _read(self._tokens, row, np.flatnonzero(~self._rationale.mask(row)))


def fitting_rows(encoded: EncodedCorpus, h: Architecture, rows: np.ndarray) -> np.ndarray:
    """Return the documents that the model can read with the most noise beside them.

    The cap `max_tokens` does not hold for texts with noise: a recurrent layer reads any length. It
    does where a model knows positions, because those after the cap were never trained.
    """
    if h.encoder != "transformer" and "location" not in h.score_functions:
        return rows
    return rows[encoded.lengths(rows) * (1 + MOST) <= h.max_tokens]


def add_noise(
    encoded: EncodedCorpus, tokens: Tokens, noise: Noise, rows: np.ndarray, h: Architecture
) -> tuple[EncodedCorpus, np.ndarray]:
    """Return documents with each of NOISES, and the share of unknown words in their noise, (rows,).

    A text is what the model reads of a document, read whole. The documents, which are not empty,
    belong to the first row, then to the second, ...
    """
    positions, token_mask = encoded.positions(rows)
    is_unknown = encoded.vocabulary.encode(noise.lexicon) == UNKNOWN
    pieces: list[np.ndarray] = []
    unknown = np.zeros(len(rows))
    for i, row in enumerate(rows.tolist()):
        text = _read(tokens, row, positions[i][token_mask[i]])
        words = noise.draw(row, MOST * text.shape[1])
        unknown[i] = is_unknown[words[0]].mean()
        words[0] += len(tokens.lexicon)  # the lexicon of the noise follows the texts' own
        for times, share in NOISES.values():
            count = times * text.shape[1]
            left = int(share * count)
            sides = _part(words, 0, left), text, _part(words, left, count)
            pieces.append(np.concatenate(sides, 1))
    corpus = _as_corpus(pieces, tokens, [*tokens.lexicon, *noise.lexicon])
    h = dataclasses.replace(h, max_tokens=max(piece.shape[1] for piece in pieces))
    return EncodedCorpus(corpus, encoded.vocabulary, h), unknown


@torch.no_grad()
def predict_with_noise(
    subject: Subject, tokens: Tokens, noise: Noise, rows: np.ndarray, h: Architecture
) -> tuple[np.ndarray, np.ndarray]:
    """Return the predicted classes with noise (rows, NOISES), and the share of unknown words in it.

    `rows` are of `fitting_rows`.
    """
    noisy, unknown = add_noise(subject.encoded, tokens, noise, rows, h)
    classes = np.zeros(len(rows) * len(NOISES), np.int64)
    for batch in noisy.evaluation_batches(np.arange(len(classes))):
        logits = subject.model.network(batch)
        classes[batch.rows] = logits.argmax(-1).numpy()
    return classes.reshape(len(rows), len(NOISES)), unknown


def _read(tokens: Tokens, row: int, positions: np.ndarray) -> np.ndarray:
    """Return the tokens of a document at `positions`, (2, tokens), in their sentences."""
    types = tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]][positions]
    sentence = np.searchsorted(tokens.sentences(row), positions, side="right")
    return np.stack([types.astype(np.int64), np.diff(sentence, prepend=-1) > 0])


def _part(tokens: np.ndarray, start: int, end: int) -> np.ndarray:
    part = tokens[:, start:end].copy()
    part[1, :1] = True
    return part


def _as_corpus(pieces: list[np.ndarray], tokens: Tokens, lexicon: list[str]) -> Tokens:
    types, ids = np.unique(np.concatenate([piece[0] for piece in pieces]), return_inverse=True)
    starts = [np.flatnonzero(piece[1]) for piece in pieces]
    return dataclasses.replace(
        tokens,
        ids=ids.astype(np.int32),
        offsets=np.cumsum([0, *(piece.shape[1] for piece in pieces)]),
        lexicon=[lexicon[i] for i in types.tolist()],
        sentence_starts=np.concatenate(starts),
        sentence_offsets=np.cumsum([0, *map(len, starts)]),
    )
