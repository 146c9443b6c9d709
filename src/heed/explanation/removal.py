"""Predictions from inputs of which units are removed, and T9: comprehensiveness and sufficiency.

A text without one of its words is unlike any training text, so removal is compared with the
replacement by the unknown word (`replace_one`): they rank words differently.
"""

from typing import NamedTuple

import numpy as np
import torch

from heed.explanation.distances import total_variation
from heed.explanation.documents import Document, network_of, predict_kept
from heed.explanation.order import descending
from heed.inputs.batches import Batch
from heed.inputs.vocabulary import UNKNOWN
from heed.models.classifier import Classifier

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of a document's units


class Faithfulness(NamedTuple):
    """How much of a probability rests on the highest units of a ranking (DeYoung et al. 2020).

    comprehensiveness: how far the predicted class's probability falls without them
    sufficiency: how far it falls with them alone
    """

    comprehensiveness: float
    sufficiency: float


def leave_one_out(model: Classifier, document: Document, units: np.ndarray) -> np.ndarray:
    """Return the total variation distance of the prediction without each of `units`, (units,)."""
    kept = torch.ones(len(units) + 1, document.units, dtype=torch.bool)
    kept[torch.arange(len(units)), torch.from_numpy(units)] = False
    predictions = predict_kept(model, document, kept)
    return total_variation(predictions[:-1], predictions[-1]).numpy()


def replace_one(
    model: Classifier, batch: Batch, index: int, document: Document, units: np.ndarray
) -> np.ndarray:
    """Return the same distances when the tokens of each unit are replaced by the unknown word.

    Args:
        model: in evaluation mode.
        batch: documents.
        index: of the document in the batch.
        document: the same document.
        units: those that are replaced, one at a time.

    """
    replaced = torch.zeros(len(units) + 1, len(document.ids), dtype=torch.bool)
    replaced[:-1] = document.unit[None] == torch.from_numpy(units)[:, None]
    predictions = torch.softmax(predict_replaced(model, batch, index, document, replaced), -1)
    return total_variation(predictions[:-1], predictions[-1]).numpy()


@torch.no_grad()
def predict_replaced(
    model: Classifier, batch: Batch, index: int, document: Document, replaced: torch.Tensor
) -> torch.Tensor:
    """Return the logits (n, classes) of a document of which tokens are the unknown word.

    Args:
        model: in evaluation mode.
        batch: documents.
        index: of the document in the batch.
        document: the same document.
        replaced: True for the tokens that are replaced, (n, tokens)

    """
    network = network_of(model)
    embeddings = network.embed(batch)[index, : len(document.ids)].repeat(len(replaced), 1, 1)
    embeddings[replaced] = network.embedding.word.weight[UNKNOWN]
    lengths = network.sequence_lengths(batch)[index : index + 1].repeat_interleave(
        len(embeddings), 0
    )
    return network.classify(network.encoder(embeddings, lengths)) + document.constant


def faithfulness(
    model: Classifier, document: Document, rankings: dict[str, np.ndarray]
) -> dict[str, Faithfulness]:
    """Return T9 for each ranking (units,), the mean over the five SHARES of units.

    The share is rounded up, so that at least one unit counts. Higher comprehensiveness and lower
    sufficiency are better.
    """
    counts = np.ceil(np.asarray(SHARES) * document.units).astype(np.int64)
    kept = [torch.ones(1, document.units, dtype=torch.bool)]
    for ranking in rankings.values():
        places = np.argsort(descending(ranking))
        is_top = torch.from_numpy(places[None] < counts[:, None])
        kept += [~is_top, is_top]
    predictions = predict_kept(model, document, torch.cat(kept))
    falls = predictions[0].max() - predictions[1:, predictions[0].argmax()]
    means = falls.view(len(rankings), 2, len(SHARES)).mean(-1).tolist()
    return {name: Faithfulness(*values) for name, values in zip(rankings, means, strict=True)}
