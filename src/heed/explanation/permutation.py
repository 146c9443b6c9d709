"""T2: what remains of a prediction when its weights are permuted (Jain & Wallace 2019, section 4.2)

The weights of a document's units are given to other units of the same document, at random, and the
encoder is not run again. A small change says that the weights hardly matter for the prediction;
states that resemble each other (`conicity`) are one cause. (arxiv.org/abs/1902.10186)
"""

from typing import NamedTuple

import torch

from heed.explanation.distances import total_variation
from heed.explanation.weighted import Weighted

PERMUTATIONS = 100
ROUNDING = 1e-5  # relative: weights that differ by less are equal


class Permuted(NamedTuple):
    """The effect of permuted weights on one document.

    change: the median total variation distance of the predictions, from 0 to 1
    flips: the share of permutations that change the predicted class
    """

    change: float
    flips: float


@torch.no_grad()
def permute_weights(
    weighted: Weighted, generator: torch.Generator, permutations: int = PERMUTATIONS
) -> Permuted:
    """Return the effect of permutations, the same for all heads, on one document's prediction."""
    units = len(weighted.weights)
    orders = torch.rand(permutations, units, generator=generator).argsort(1)
    permuted = weighted.weights[orders]  # permutations x units x heads
    # equal weights stay in place exactly: rounding, also of the weights themselves, is no effect
    smallest = ROUNDING * weighted.weights.max()
    moved = ((permuted - weighted.weights).abs() > smallest).flatten(1).any(1)
    predictions = torch.softmax(weighted.predict(permuted), -1)
    prediction = torch.softmax(weighted.predict(), -1)
    changes = total_variation(predictions, prediction) * moved
    flips = moved & (predictions.argmax(-1) != prediction.argmax(-1))
    return Permuted(float(changes.quantile(0.5)), float(flips.float().mean()))
