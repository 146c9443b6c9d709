"""T8: the losses of a model that is trained to have other weights than its base.

A model's weights are no explanation if another model predicts the same from other weights. Such a
model starts from the weights of its base; from scratch these losses are learned badly.
"""

import torch
import torch.nn.functional as F

from heed.explanation.distances import SMALLEST, kullback_leibler, total_variation
from heed.models.weighted_sum import WeightedSum


def differ_loss(weighted: WeightedSum, base: WeightedSum, strength: float) -> torch.Tensor:
    """Return TVD(p, p_base) - strength KL(a || a_base) of each document, (batch,).

    The divergence of the weights a is the mean over heads. (Wiegreffe & Pinter 2019, section 4,
    arxiv.org/abs/1908.04626; their program sums both over the batch, so that its strength depends
    on the batch's size)

    Args:
        weighted: of the model that is trained.
        base: of its base, without gradients, for the same documents.
        strength: lambda; with a larger one the weights differ more, and so may the predictions.

    """
    predictions = (torch.softmax(each.predict(), -1) for each in (weighted, base))
    divergence = kullback_leibler(weighted.weights, base.weights, dim=1).mean(-1)
    return total_variation(*predictions) - strength * divergence


def deceive_loss(
    weighted: WeightedSum,
    targets: torch.Tensor,
    evidence: torch.Tensor,
    strength: float,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Return cross entropy - strength log(1 - the weight on evidence) of each document, (batch,).

    The logarithm is the mean over heads. A document without evidence has the cross entropy alone.
    (Pruthi et al. 2020, section 3, arxiv.org/abs/1909.07913)

    Args:
        weighted: of the model that is trained.
        targets: class indices, (batch,)
        evidence: True for units with evidence, (batch, time)
        strength: lambda.
        label_smoothing: of the cross entropy, as the base was trained.

    """
    elsewhere = weighted.weights.masked_fill(evidence[..., None], 0.0).sum(1)  # batch x heads
    # weights of an empty document are all 0
    elsewhere = torch.where(evidence.any(1)[:, None], elsewhere, 1.0)
    penalty = elsewhere.clamp(min=SMALLEST).log().mean(-1)
    entropy = F.cross_entropy(
        weighted.predict(), targets, reduction="none", label_smoothing=label_smoothing
    )
    return entropy - strength * penalty
