"""Documents with words of other documents on their left, their right, or both sides.

Noise is the tokens outside rationale of training documents, whole documents in random order joined.
All sides of a document get the same words, so that only their place differs.
"""

import dataclasses

import numpy as np
import torch

from heed.explanation.rankings import Subject
from heed.files import HeedError
from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import UNKNOWN
from heed.tokens.arrays import MarkedTokens, Tokens

# name → (how many times the text's length, share of it that stands on the left)
NOISES = {
    "none": (0, 0.0),
    "left 1": (1, 1.0), "right 1": (1, 0.0), "both 1": (1, 0.5),
    "left 4": (4, 1.0), "right 4": (4, 0.0), "both 4": (4, 0.5),
}  # fmt: skip
MOST = 4
DRAW = 23  # seeds the words of each document


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
