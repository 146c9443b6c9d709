"""Gradients of the predicted class's probability with respect to embeddings and weights."""

import torch

from heed.explanation.documents import branch_logits, network_of
from heed.inputs.batches import Batch
from heed.models.classifier import Classifier
from heed.models.weighted_sum import WeightedSum, weighted_sum

STEPS = 32  # of integrated gradients: they agree with 128 steps (Kendall's tau .999)


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
