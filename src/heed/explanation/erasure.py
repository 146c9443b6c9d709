"""T4: how many weights must be removed until the decision changes (Serrano & Smith 2019).

A weight is removed by setting it to 0 and dividing the others by their sum; the encoder is not run
again. The better a ranking, the fewer removals from its top change the decision.
(arxiv.org/abs/1906.03731)
"""

from typing import NamedTuple

import numpy as np
import torch

from heed.explanation.distances import jensen_shannon
from heed.explanation.order import descending
from heed.models.weighted_sum import WeightedSum


class Removed(NamedTuple):
    """The removal of units in the order of a ranking, until the decision changes.

    share: of the units that were removed; 1 if the decision never changed
    flipped: whether it changed
    """

    share: float
    flipped: bool


class SingleRemoval(NamedTuple):
    """The removal of the highest weight, and of another at random.

    top_flips, other_flips: whether the decision changes
    difference: how much further the first moves the prediction (Jensen-Shannon divergence in nats)
    """

    top_flips: bool
    other_flips: bool
    difference: float


@torch.no_grad()
def remove_until_flip(weighted: WeightedSum, ranking: np.ndarray) -> Removed:
    """Remove the units of one document, the highest of `ranking` (units,) first.

    At least one unit stays. All numbers of removals are computed at once, from cumulative sums of
    what remains.

    Raises ValueError for a document of one unit.
    """
    units = len(ranking)
    if units < 2:
        raise ValueError("a document of one unit has none to remove")
    order = torch.from_numpy(descending(ranking))
    weights = weighted.weights[order].double()  # units x heads
    terms = weights[..., None] * weighted.projected[order]
    remaining = terms.flip(0).cumsum(0).flip(0)[1:]  # after 1, 2, ... removals
    totals = weights.flip(0).cumsum(0).flip(0)[1:, :, None]
    sums = torch.where(totals > 0, remaining / totals, 0.0).sum(1).to(weighted.values.dtype)
    decisions = weighted.predict_from_projected(sums).argmax(-1)
    flips = (decisions != weighted.predict().argmax(-1)).nonzero()
    if not len(flips):
        return Removed(1.0, False)
    return Removed((int(flips[0]) + 1) / units, True)


@torch.no_grad()
def remove_one(weighted: WeightedSum, generator: torch.Generator) -> SingleRemoval:
    """Remove the unit with the highest weight of one document, and another one at random.

    Raises ValueError for a document of one unit.
    """
    units = len(weighted.weights)
    if units < 2:
        raise ValueError("a document of one unit has none to remove")
    top = int(descending(weighted.weights.mean(1).numpy())[0])
    other = int(torch.randint(units - 1, (), generator=generator))
    other += other >= top  # any unit but the top one
    weights = weighted.weights.expand(2, -1, -1).clone()
    weights[0, top], weights[1, other] = 0.0, 0.0
    weights /= weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
    before = torch.softmax(weighted.predict(), -1)
    after = torch.softmax(weighted.predict(weights), -1)
    flips = after.argmax(-1) != before.argmax(-1)
    moved = jensen_shannon(before, after)
    return SingleRemoval(bool(flips[0]), bool(flips[1]), float(moved[0] - moved[1]))
