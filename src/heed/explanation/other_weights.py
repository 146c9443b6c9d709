"""Other weights of a document: permuted, and adversarial (Jain & Wallace 2019, section 4.2).

Permuted weights are given to other units of the same document, at random, and the encoder is not
run again. A small change says that the weights hardly matter for the prediction; states that
resemble each other are one cause: their conicity, the mean cosine of the vectors that attention
weighs to their mean. Where it is near 1, any weights give about the same sum (Mohankumar et al.
2020, section 3.1). (arxiv.org/abs/1902.10186, arxiv.org/abs/2004.14243)

Adversarial weights differ as much as possible from the model's own while the prediction stays
within EPSILON; they are searched by gradient descent. That they exist says that a prediction does
not determine its weights. It does not say that a model could have learned them (Wiegreffe & Pinter
2019, arxiv.org/abs/1908.04626): compare with how much the weights of two seeds differ. The search
follows the authors' program with 100 steps of size .1 in place of 500 of size .01: in trials it
found as much (.555 and .537, .573 and .588) at a seventh of the cost. A candidate is judged by the
same EPSILON that the search aims at; their program aims at .01 and accepts .05.
"""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from heed.explanation.test import (
    DIVERGENCE_ENDS,
    LARGEST_DIVERGENCE,
    NO_WEIGHTS,
    SHARE_ENDS,
    Axis,
    Column,
    Explained,
    Judged,
    Prediction,
    Series,
    Text,
    Weighted,
    WeightsTest,
    divergence_of_means,
    jensen_shannon,
    measured,
    total_variation,
)
from heed.models.recurrent import padding_mask
from heed.training.loop import AdamW

PERMUTATIONS = 100  # of the weights
ROUNDING = 1e-5  # relative: weights that differ by less are equal
MIN_CHANGE = 0.1  # total variation distance by which a prediction changes, on average, to pass

STARTS, STEPS, RATE = 5, 100, 0.1
EPSILON = 0.01  # total variation distance of the predictions
PENALTY = 500.0  # on the distance above EPSILON
START_STD = 3.0  # of the logarithms of the first weights
# weights whose divergence comes so near to the largest have nothing in common
DIFFERENT = 0.9 * math.log(2)


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


class AdversarialWeights(WeightsTest):
    """The most different weights of one document that leave its prediction."""

    name = "adversarial_weights"
    measures = of_weights = (
        "adversarial_divergence", "mean_divergence", "adversarial_found", "adversarial_change",
        "rationale_weight", "adversarial_rationale",
    )  # fmt: skip
    title = "Other weights, same prediction"
    claim = (
        "Shows how different the weights of one document may be while its prediction stays. It "
        "does not show that a trained model would have such weights."
    )
    caption = (
        "Jensen-Shannon divergence in nats from the model’s weights, of the most different weights "
        "whose prediction is within 0.01. Dotted: nothing in common. Only what exceeds the "
        "divergence of two seeds counts."
    )
    axes = (
        Axis("mean_divergence", "divergence of the weights", DIVERGENCE_ENDS, LARGEST_DIVERGENCE),
    )
    series: ClassVar[Mapping[str, str]] = {
        "searched": "weights searched for",
        "seed": "another seed",
    }
    columns = (Column("Other weights", "mean_divergence"),)

    def measure(self, prediction: Prediction, rationale: np.ndarray) -> dict[str, float]:
        """Return whether such weights were found, and the weight on rationale before and after."""
        measures = {}
        if prediction.adversarial is not None:
            divergence = prediction.measures["adversarial_divergence"]
            measures["adversarial_found"] = float(divergence > DIFFERENT)
            if rationale.any():
                measures["adversarial_rationale"] = float(prediction.adversarial[rationale].sum())
        if "attention" in prediction.rankings and rationale.any():
            measures["rationale_weight"] = float(prediction.rankings["attention"][rationale].sum())
        return measures

    def drawn(self, explained: Explained, measure: str) -> Series:
        """Return the divergence of the weights that were found, and between seeds."""
        return {
            self.series["searched"]: explained.means(self.name, measure),
            self.series["seed"]: explained.seed_divergences(),
        }


class Adversarial(NamedTuple):
    """The most different weights that were found for each document of a batch.

    divergence: Jensen-Shannon divergence from the model's weights in nats, mean over heads,
        (batch,); 0 where no other weights were found
    mean_divergence: that of the weights averaged over heads, which can be compared with seeds,
        (batch,)
    weights: (batch, time, heads)
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

    Args:
        weighted: without gradients.
        generators: one for each document, so that its result does not depend on the batch.

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
    prediction = torch.softmax(weighted.predict(), -1).detach()
    for _ in range(STEPS):
        _, divergence, change = _judge(weighted, logarithms, padding, prediction)
        loss = (PENALTY * F.relu(change - EPSILON) - divergence).sum()
        optimizer.zero_grad()
        (logarithms.grad,) = torch.autograd.grad(loss, [logarithms])
        optimizer.step()
    with torch.no_grad():
        return _best(weighted, *_judge(weighted, logarithms, padding, prediction))


def _judge(
    weighted: Weighted,
    logarithms: torch.Tensor,
    padding: torch.Tensor,
    prediction: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return weights, their divergence from the model's and the change of the prediction."""
    weights = torch.softmax(logarithms.masked_fill(padding, -1e9), 2).masked_fill(padding, 0.0)
    change = total_variation(torch.softmax(weighted.predict(weights), -1), prediction)
    divergence = jensen_shannon(weights, weighted.weights, dim=-2).mean(-1)
    return weights, divergence, change


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
