"""Rankings: how important each unit of a document is, by weights, gradients or removal.

A ranking is an array (units,) whose highest value is the most important unit.
"""

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F

from heed.explanation.distances import total_variation
from heed.explanation.documents import (
    Document,
    branch_logits,
    network_of,
    predict_kept,
    predict_replaced,
)
from heed.inputs.batches import Batch
from heed.models.attention import MultiHeadAttention
from heed.models.classifier import Classifier, WeightedSum, weighted_sum

# the weights themselves, their gradients, and what each weight adds to the sum
WEIGHT_RANKINGS = ("attention", "weight_gradient", "product", "signed_product", "value_norm")
HELD = "gradient_held_weights"  # gradient times input, the weights being constants
GRADIENT_RANKINGS = ("gradient", HELD, "integrated_gradients")
REMOVAL_RANKINGS = ("leave_one_out", "replacement")
RANKINGS = (*WEIGHT_RANKINGS, *GRADIENT_RANKINGS, *REMOVAL_RANKINGS, "random")
# the rankings that figures compare, with their names in the report
DRAWN_RANKINGS = {
    "attention": "attention",
    "product": "|attention × gradient|",
    "value_norm": "norm of what is weighted",
    "gradient": "gradient",
    "leave_one_out": "leave-one-out",
    "random": "random",
}
ALL_UNITS = 60  # documents with at most so many units leave out each of them, longer ones ...
DRAWN_UNITS = 16  # ... so many drawn at random: about as many tokens are read
STEPS = 32  # of integrated gradients: they agree with 128 steps (Kendall's tau .999)


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


def gradient_times_input(model: Classifier, batch: Batch) -> torch.Tensor:
    """Return sum_d e_td dp/de_td of each token, (batch, time), p of the predicted class."""
    embeddings = network_of(model).embed(batch).detach().requires_grad_()
    probabilities = torch.softmax(logits_of(model, batch, embeddings), -1)
    (gradient,) = torch.autograd.grad(probabilities.amax(-1).sum(), [embeddings])
    return (gradient * embeddings).sum(-1).detach()


def gradients_with_weights(model: Classifier, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same twice: with weights that follow the embeddings, and with constant weights.

    The second is the gradient of Jain & Wallace (2019). One pass of the encoder serves both.

    Raises HeedError: the model has no weighted sum.
    """
    embeddings = network_of(model).embed(batch).detach().requires_grad_()
    weighted = weighted_sum(model, batch, embeddings)
    scores = []
    for weights in (weighted.weights, weighted.weights.detach()):
        probability = torch.softmax(weighted.predict(weights), -1).amax(-1).sum()
        (gradient,) = torch.autograd.grad(probability, [embeddings], retain_graph=True)
        scores.append((gradient * embeddings).sum(-1).detach())
    return scores[0], scores[1]


def integrated_gradients(model: Classifier, batch: Batch, steps: int = STEPS) -> torch.Tensor:
    """Return the integrated gradients of each token, (batch, time) (Sundararajan et al. 2017).

    The path leads from embeddings of 0 to the document's, by the midpoint rule; their sum is the
    change of the predicted class's probability. (arxiv.org/abs/1703.01365)
    """
    embeddings = network_of(model).embed(batch).detach()
    predicted = logits_of(model, batch, embeddings).detach().argmax(-1)[:, None]
    total = torch.zeros_like(embeddings)
    for step in range(steps):
        point = ((step + 0.5) / steps * embeddings).requires_grad_()
        probabilities = torch.softmax(logits_of(model, batch, point), -1)
        (gradient,) = torch.autograd.grad(probabilities.gather(1, predicted).sum(), [point])
        total += gradient / steps
    return (total * embeddings).sum(-1)


def weight_gradient(weighted: WeightedSum) -> torch.Tensor:
    """Return dp/da of the predicted class's probability, in the shape of the weights."""
    weights = weighted.weights.detach().requires_grad_()
    probabilities = torch.softmax(weighted.predict(weights), -1)
    return torch.autograd.grad(probabilities.amax(-1).sum(), [weights])[0]


def logits_of(model: Classifier, batch: Batch, embeddings: torch.Tensor) -> torch.Tensor:
    """Return the logits (batch, classes) of given embeddings (batch, time, embedding_dim)."""
    network = network_of(model)
    vectors = network.encoder(embeddings, network.sequence_lengths(batch))
    return network.classify(vectors) + branch_logits(model, batch)


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


def left_out(model: Classifier, document: Document, numbers: np.random.Generator) -> np.ndarray:
    """Return the ranking by leave-one-out; of a long document NaN for the units not drawn."""
    units = np.arange(document.units)
    if document.units > ALL_UNITS:
        units = np.sort(numbers.choice(document.units, DRAWN_UNITS, replace=False))
    ranking = np.full(document.units, np.nan)
    ranking[units] = leave_one_out(model, document, units)
    return ranking


def replaced(
    model: Classifier, batch: Batch, i: int, document: Document, left_out: np.ndarray
) -> np.ndarray:
    """Return the ranking by replacement, of the units that leave-one-out has, (units,)."""
    units = np.flatnonzero(np.isfinite(left_out))
    ranking = np.full(document.units, np.nan)
    ranking[units] = replace_one(model, batch, i, document, units)
    return ranking
