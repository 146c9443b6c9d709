"""Rankings: how important each unit of a document is, by weights, gradients or removal.

A ranking is an array (units,) whose highest value is the most important unit.
"""

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F

from heed.explanation.documents import Document, network_of
from heed.explanation.gradients import (
    gradient_times_input,
    gradients_with_weights,
    integrated_gradients,
    weight_gradient,
)
from heed.inputs.batches import Batch
from heed.models.attention import MultiHeadAttention
from heed.models.classifier import Classifier
from heed.models.weighted_sum import WeightedSum

# the weights themselves, their gradients, and what each weight adds to the sum
WEIGHT_RANKINGS = ("attention", "weight_gradient", "product", "signed_product", "value_norm")
HELD = "gradient_held_weights"  # gradient times input, the weights being constants
GRADIENT_RANKINGS = ("gradient", HELD, "integrated_gradients")
REMOVAL_RANKINGS = ("leave_one_out", "replacement")
RANKINGS = (*WEIGHT_RANKINGS, *GRADIENT_RANKINGS, *REMOVAL_RANKINGS, "random")


def weight_rankings(model: Classifier, weighted: WeightedSum) -> dict[str, np.ndarray]:
    """Return the rankings of one document by its weighted sum.

    attention: the weights, the mean over heads
    weight_gradient: dp/da, the sum over heads (Serrano & Smith 2019)
    product, signed_product: a dp/da, the sum over heads, without and with its sign
    value_norm: the length of the vector that the unit adds to the sum, with the output projection
        of all heads (Kobayashi et al. 2020, arxiv.org/abs/2004.10102)
    """
    gradient = weight_gradient(weighted)
    product = (weighted.weights * gradient).sum(1)
    added = (weighted.weights[..., None] * weighted.values).flatten(1)  # units x heads d
    attention = network_of(model).document_encoder.attention
    if isinstance(attention, MultiHeadAttention):
        added = F.linear(added, attention.output.weight)
    rankings = {
        "attention": weighted.weights.mean(1),
        "weight_gradient": gradient.sum(1),
        "product": product.abs(),
        "signed_product": product,
        "value_norm": added.norm(dim=1),
    }
    return {name: ranking.detach().numpy() for name, ranking in rankings.items()}


def gradient_rankings(
    model: Classifier, batch: Batch, documents: list[Document], has_sum: bool, integrated: bool
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the rankings of each document by gradients: the size of gradient times input.

    Args:
        model: in evaluation mode.
        batch: the documents.
        documents: the same.
        has_sum: whether the model has a weighted sum, and so weights that can be held.
        integrated: whether to compute integrated gradients too.

    """
    by_token: dict[str, torch.Tensor] = {}
    if has_sum:
        by_token["gradient"], by_token[HELD] = gradients_with_weights(model, batch)
    else:
        by_token["gradient"] = gradient_times_input(model, batch)
    if integrated:
        by_token["integrated_gradients"] = integrated_gradients(model, batch)
    for i, document in enumerate(documents):
        yield {
            name: sum_by_unit(scores[i, : len(document.ids)], document).abs().numpy()
            for name, scores in by_token.items()
        }


def sum_by_unit(scores: torch.Tensor, document: Document) -> torch.Tensor:
    """Return the sum of the tokens' scores (tokens,) in each unit, (units,)."""
    return torch.zeros(document.units, dtype=scores.dtype).index_add(0, document.unit, scores)
