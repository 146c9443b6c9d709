"""The search for adversarial weights: as different as possible, the prediction within EPSILON.

By gradient descent (Jain & Wallace 2019, section 4.2). That they exist does not say that a model
could have learned them (Wiegreffe & Pinter 2019, arxiv.org/abs/1908.04626): compare with how much
the weights of two seeds differ. The authors' program takes 500 steps of size .01; 100 of .1 found
as much (.555 and .537, .573 and .588) at a seventh of the cost. It aims at .01 and accepts .05.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from heed.explanation.test import Weighted, divergence_of_means, jensen_shannon, total_variation
from heed.models.recurrent import padding_mask
from heed.training.loop import AdamW

STARTS, STEPS, RATE = 5, 100, 0.1
EPSILON = 0.01  # total variation distance of the predictions
PENALTY = 500.0  # on the distance above EPSILON
START_STD = 3.0  # of the logarithms of the first weights


class Adversarial(NamedTuple):
    """The most different weights (batch, time, heads) that were found for documents.

    divergence: Jensen-Shannon from the model's weights in nats, mean over heads, (batch,); 0: none
    mean_divergence: of weights averaged over heads, which can be compared with seeds, (batch,)
    change: total variation distance of the predictions, (batch,)
    """

    divergence: torch.Tensor
    mean_divergence: torch.Tensor
    weights: torch.Tensor
    change: torch.Tensor

    def measures(self, index: int) -> dict[str, float]:
        """Return the measures of one document, by their names in docs/contracts.md."""
        return {
            "adversarial_divergence": float(self.divergence[index]),
            "mean_divergence": float(self.mean_divergence[index]),
            "adversarial_change": float(self.change[index]),
        }


def find_adversarial_weights(weighted: Weighted, generators: list[torch.Generator]) -> Adversarial:
    """Return the most different weights with the same prediction, for each document of a batch.

    `weighted` has no gradients. Each document has a generator: its result depends on no other.
    """
    time, heads = weighted.weights.shape[1:]
    padding = padding_mask(weighted.lengths, time)[..., None]
    starts = weighted.weights.new_zeros(STARTS, len(generators), time, heads)
    for i, generator in enumerate(generators):
        length = int(weighted.lengths[i])
        starts[:, i, :length] = torch.randn(STARTS, length, heads, generator=generator)
    logarithms = (START_STD * starts).requires_grad_()
    # without decay it is Adam: torch's own Adam imports its compiler, for 1.6 seconds
    optimizer = AdamW([logarithms], lr=RATE, amsgrad=True, weight_decay=0.0)
    prediction = weighted.predict().softmax(-1).detach()

    def judge() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return weights, their divergence from the model's and the change of the prediction."""
        weights = logarithms.masked_fill(padding, -1e9).softmax(2).masked_fill(padding, 0.0)
        change = total_variation(weighted.predict(weights).softmax(-1), prediction)
        divergence = jensen_shannon(weights, weighted.weights, dim=-2).mean(-1)
        return weights, divergence, change

    for _ in range(STEPS):
        _, divergence, change = judge()
        loss = (PENALTY * F.relu(change - EPSILON) - divergence).sum()
        optimizer.zero_grad()
        (logarithms.grad,) = torch.autograd.grad(loss, [logarithms])
        optimizer.step()
    with torch.no_grad():
        return _best(weighted, *judge())


def _best(
    weighted: Weighted, weights: torch.Tensor, divergence: torch.Tensor, change: torch.Tensor
) -> Adversarial:
    """Return the most divergent candidates within EPSILON; the model's own weights are one."""
    weights = torch.cat([weights, weighted.weights[None]])
    own = torch.zeros_like(divergence[:1])
    divergence = torch.cat([divergence.masked_fill(change > EPSILON, 0.0), own])
    change = torch.cat([change.masked_fill(change > EPSILON, 2.0), own])
    # where no other weights were found, divergences are 0 and the model's own have change 0
    best = (divergence - change * 1e-6).argmax(0)
    rows = torch.arange(len(best))
    found = weights[best, rows]
    apart = divergence_of_means(found, weighted.weights)
    return Adversarial(divergence[best, rows], apart, found, change[best, rows])
