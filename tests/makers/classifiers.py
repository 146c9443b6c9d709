"""Small classifiers with random parameters, and batches of texts for them."""

import dataclasses

import numpy as np
import torch

from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Bags, Batch, character_ngrams
from heed.models.classifier import Classifier
from tests.conftest import HYPERPARAMETERS


def fill(rows: list[list[int]], length: int) -> np.ndarray:
    """Return rows of `length` numbers, each filled with zeros at its end."""
    return np.array([[*row, *[0] * (length - len(row))] for row in rows], np.int64)


def make_batch(
    texts: list[list[int]], sentences: list[list[int]] | None = None, padding: int = 0,
    h: Architecture = HYPERPARAMETERS,
) -> Batch:  # fmt: skip
    """Return texts of vocabulary indices as a batch, with every feature that `h` asks for.

    The batch is `padding` positions longer than the longest text."""
    lengths = [len(text) for text in texts]
    ids = fill(texts, max(1, *lengths) + padding)
    token_mask = np.arange(ids.shape[1])[None] < np.asarray(lengths)[:, None]
    more = {}
    if sentences is not None:
        more["sentences"] = torch.from_numpy(fill(sentences, max(1, *map(len, sentences))))
    if h.character_buckets:
        ngrams = character_ngrams([f"w{i}" for i in range(30)], h.character_buckets)
        occurring, bag = np.unique(ids[token_mask], return_inverse=True)
        bags = np.zeros(ids.shape, np.int64)
        bags[token_mask] = bag
        more["characters"] = Bags(*map(torch.from_numpy, ngrams.look_up(occurring)))
        more["character_of"] = torch.from_numpy(bags)
    return Batch(torch.from_numpy(ids), torch.tensor(lengths), np.arange(len(texts)), **more)


def random_texts(lengths: list[int]) -> list[list[int]]:
    return [torch.randint(2, 30, (length,)).tolist() for length in lengths]


def make(**changes) -> Classifier:
    torch.manual_seed(3)
    return Classifier(30, 4, dataclasses.replace(HYPERPARAMETERS, **changes)).double().eval()


def batch_for(model: Classifier, lengths: tuple[int, ...] = (9, 1, 4, 0)) -> Batch:
    """Texts of these lengths, in sentences of at most three words."""
    torch.manual_seed(0)
    sentences = [[min(3, length - start) for start in range(0, length, 3)] for length in lengths]
    return make_batch(random_texts(list(lengths)), sentences, padding=1)
