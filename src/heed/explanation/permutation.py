"""Permuted weights: what remains of a prediction (Jain & Wallace 2019, section 4.2).

The weights of a document's units are given to other units of the same document, at random, and the
encoder is not run again. A small change says that the weights hardly matter for the prediction;
states that resemble each other are one cause: their conicity, the mean cosine of the vectors that
attention weighs to their mean. Where it is near 1, any weights give about the same sum
(Mohankumar et al. 2020, section 3.1). (arxiv.org/abs/1902.10186, arxiv.org/abs/2004.14243)
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F

from heed.explanation.test import (
    NO_WEIGHTS,
    SHARE_ENDS,
    Axis,
    Column,
    Judged,
    Text,
    Weighted,
    WeightsTest,
    measured,
    total_variation,
)

PERMUTATIONS = 100
ROUNDING = 1e-5  # relative: weights that differ by less are equal
MIN_CHANGE = 0.1  # total variation distance by which a prediction changes, on average, to pass


class Permutation(WeightsTest):
    """The change of predictions when weights are shuffled within their document."""

    name = "permutation"
    measures = of_weights = ("permutation_change", "permutation_flips")
    criterion = "Shuffled"
    rule = Text(
        "pass if in every seed shuffling a document’s weights changes the prediction by {limit} or "
        "more (total variation distance, the median of 100 shuffles, mean over documents).",
        (("limit", f"{MIN_CHANGE:g}"),),
    )
    reasons = (NO_WEIGHTS,)
    title = "Shuffled weights"
    claim = (
        "Shows whether the prediction needs the weights to be where they are. It does not show "
        "that they are on the right words."
    )
    caption = (
        "Total variation distance of the predictions: the median of 100 shuffles, the mean over "
        "documents by their largest weight. Dotted: the limit of the table."
    )
    has_groups = True
    axes = (Axis("permutation_change", "change of the prediction", limit=MIN_CHANGE),)
    columns = (Column("Shuffled", "permutation_change"),)

    def measure_weights(self, weighted: Weighted, generator: torch.Generator) -> dict[str, float]:
        """Return the median change of the prediction, and the share of changed decisions."""
        return permute_weights(weighted, generator)

    def score(self, judged: Judged) -> float | str:
        """Return the mean of the seed with the smallest change; equal weights change nothing."""
        changes = measured(judged.summary, self.name, "permutation_change")["mean"]
        return NO_WEIGHTS if changes.empty else float(changes.min())

    def passes(self, value: float, judged: Judged) -> bool:
        """Return whether in every seed predictions change by MIN_CHANGE or more."""
        return value >= MIN_CHANGE


@torch.no_grad()
def permute_weights(
    weighted: Weighted, generator: torch.Generator, permutations: int = PERMUTATIONS
) -> dict[str, float]:
    """Return the effect of permutations, the same for all heads, on one document's prediction.

    permutation_change: the median total variation distance of the predictions, from 0 to 1
    permutation_flips: the share of permutations that change the predicted class
    """
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
    return {
        "permutation_change": float(changes.quantile(0.5)),
        "permutation_flips": float(flips.float().mean()),
    }


class Conicity(WeightsTest):
    """The likeness of the weighted vectors of a document; it judges no weights."""

    name = "conicity"
    measures = of_weights = ("conicity",)
    title = "Conicity"
    claim = (
        "Shows how alike the vectors are that are weighted: the nearer to 1, the less can any "
        "weights matter. It explains the figure of shuffled weights, and judges no weights."
    )
    caption = "The mean cosine of a document’s vectors to their mean."
    axes = (Axis("conicity", "conicity", SHARE_ENDS),)
    series: ClassVar[Mapping[str, str]] = {"": "mean cosine"}
    columns = (Column("Conicity", "conicity"),)

    def measure_weights(self, weighted: Weighted, generator: torch.Generator) -> dict[str, float]:
        """Return the conicity of one document's values, from -1 to 1, the mean over heads."""
        mean = weighted.values.mean(0, keepdim=True)
        return {"conicity": float(F.cosine_similarity(weighted.values, mean, dim=-1).mean())}
