"""How important each unit of a source is for the next word of its translation.

The reference is given to the decoder. A unit is what the encoder reads: a word, or a piece of one.
"""

import dataclasses

import numpy as np
import torch

from heed.explanation.distances import total_variation
from heed.inputs.batches import MAX_PADDED_TOKENS
from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import UNKNOWN
from heed.models.target_steps import read_target
from heed.models.translator import Translator

MAX_PROBABILITIES = 4_000_000  # that are in memory at once: 16 MB


@torch.no_grad()
def leave_out_sources(model: Translator, pair: PairBatch, units: np.ndarray) -> np.ndarray:
    """Return how much each unit of a source matters for each unit of its target.

    The unit is removed and the source is read again, shorter by one. A source of one unit becomes
    an unknown unit, as an empty text is read.

    Args:
        model: in evaluation mode.
        pair: a batch of one pair.
        units: of the source, those that are left out, one at a time.

    Returns:
        changes: total variation distances of the distributions of the next unit, (target units,
            units); the end of the sentence is left out

    """
    source, words = pair.source[0], pair.target[:, :-1]
    whole = next_units(model, pair, words)[0]
    shortened = source.repeat(len(units), 1)[~_one_of_each(len(source), units)]
    sources = shortened.view(len(units), -1) if len(source) > 1 else torch.tensor([[UNKNOWN]])
    size = max(1, MAX_PADDED_TOKENS // (len(source) + words.shape[1]))
    size = max(1, min(size, MAX_PROBABILITIES // whole.numel()))
    changes = []
    for part in sources.split(size):
        copies = dataclasses.replace(
            pair, source=part, source_lengths=torch.full((len(part),), part.shape[1])
        )
        changes.append(
            total_variation(next_units(model, copies, words.expand(len(part), -1)), whole)
        )
    return torch.cat(changes)[:, :-1].T.numpy()


def _one_of_each(length: int, units: np.ndarray) -> torch.Tensor:
    """Return the mask (units, length), True at the unit of each row."""
    return torch.arange(length)[None] == torch.from_numpy(units)[:, None]


def next_units(model: Translator, batch: PairBatch, words: torch.Tensor) -> torch.Tensor:
    """Return the probabilities of the unit after each of `words`, (batch, time, vocabulary)."""
    memory, state = model.encode(batch.source, batch.source_lengths)
    return torch.softmax(model.logits(model.decode(words, memory, state).features), -1)


def step_gradients(
    model: Translator, batch: PairBatch, pairs: torch.Tensor, positions: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Return |sum_d e_id dp/de_id| of each source unit i, p of the unit predicted at each step.

    Args:
        model: in evaluation mode.
        batch: pairs.
        pairs, positions: the steps, as of `target_steps`

    Returns:
        gradient: (steps, source time)
        gradient_held_weights: the same while the weights of all steps are constants (of a
            transformer those of the last layer over the source); only of a model with attention

    """
    words = batch.target[pairs, : int(positions.max()) + 1]
    embedded = model.embed(batch.source[pairs]).detach().requires_grad_()
    memory, state = model.read(embedded, batch.source_lengths[pairs])
    features, weights = read_target(model, words, memory, state)
    steps = torch.arange(len(pairs)), positions
    scores = {"gradient": _times_input(model, features[steps], embedded)}
    if weights is not None:
        features, _ = read_target(model, words, memory, state, weights.detach())
        scores["gradient_held_weights"] = _times_input(model, features[steps], embedded)
    return scores


def _times_input(model: Translator, features: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
    probabilities = torch.softmax(model.logits(features), -1)
    (gradient,) = torch.autograd.grad(probabilities.amax(-1).sum(), [embedded], retain_graph=True)
    return (gradient * embedded).sum(-1).abs().detach()
