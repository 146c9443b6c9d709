"""Other weights of a document: permuted, and adversarial (Jain & Wallace 2019, section 4.2).

A small change by permuted weights says that they hardly matter; states that resemble each other are
one cause: their conicity is the mean cosine of the weighted vectors to their mean (Mohankumar et
al. 2020, section 3.1). (arxiv.org/abs/1902.10186, arxiv.org/abs/2004.14243)
"""

import numpy as np

from heed.explanation.test import (
    LARGEST_DIVERGENCE,
    NO_WEIGHTS,
    Column,
    Generator,
    Judged,
    Prediction,
    Tensor,
    Weighted,
    WeightsTest,
    measured,
    total_variation,
)

PERMUTATIONS = 100  # of the weights
ROUNDING = 1e-5  # relative: weights that differ by less are equal
MIN_CHANGE = 0.1  # total variation distance by which a prediction changes, on average, to pass
# weights whose divergence comes so near to the largest have nothing in common
DIFFERENT = 0.9 * LARGEST_DIVERGENCE


class Permutation(WeightsTest):
    """The change of predictions when weights are shuffled within their document."""

    name = "permutation"
    measures = of_weights = ("permutation_change", "permutation_flips")
    criterion = "Shuffled"
    rule = (
        "pass if in every seed shuffling a document’s weights changes the prediction by "
        f"{MIN_CHANGE:g} or more (total variation distance, the median of 100 shuffles, mean "
        "over documents)."
    )
    least = MIN_CHANGE
    reasons = (NO_WEIGHTS,)
    title = "Shuffled weights"
    claim = (
        "Shows whether the prediction needs the weights to be where they are. It does not show "
        "that they are on the right words."
    )
    columns = (Column("Shuffled", "permutation_change"),)

    def measure_weights(self, weighted: Weighted, generator: Generator) -> dict[str, float]:
        """Return the median change of the prediction, and the share of changed decisions."""
        return permute_weights(weighted, generator)

    def score(self, judged: Judged) -> float | str:
        """Return the mean of the seed with the smallest change; equal weights change nothing."""
        changes = measured(judged.summary, self.name, "permutation_change")["mean"]
        return NO_WEIGHTS if changes.empty else float(changes.min())


def permute_weights(
    weighted: Weighted, generator: Generator, permutations: int = PERMUTATIONS
) -> dict[str, float]:
    """Return the effect of permutations, the same for all heads, on one document's prediction.

    permutation_change: the median total variation distance of the predictions, from 0 to 1
    permutation_flips: the share of permutations that change the predicted class
    """
    import torch

    units = len(weighted.weights)
    orders = torch.rand(permutations, units, generator=generator).argsort(1)
    permuted = weighted.weights[orders]  # permutations x units x heads
    # equal weights stay in place exactly: rounding, also of the weights themselves, is no effect
    smallest = ROUNDING * weighted.weights.max()
    moved = ((permuted - weighted.weights).abs() > smallest).flatten(1).any(1)
    predictions = weighted.predict(permuted).softmax(-1)
    return permutation_effect(predictions, weighted.predict().softmax(-1), moved)


def permutation_effect(
    predictions: Tensor, prediction: Tensor, moved: "Tensor | bool" = True
) -> dict[str, float]:
    """Return the measures of predictions (permutations, classes) beside that of the model.

    `moved` is whether a permutation has changed any weight.
    """
    changes = total_variation(predictions, prediction) * moved
    flips = (predictions.argmax(-1) != prediction.argmax(-1)) & moved
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
        "weights matter. It judges no weights."
    )
    columns = (Column("Conicity", "conicity"),)

    def measure_weights(self, weighted: Weighted, generator: Generator) -> dict[str, float]:
        """Return the conicity of one document's values, from -1 to 1, the mean over heads."""
        from torch.nn.functional import cosine_similarity

        mean = weighted.values.mean(0, keepdim=True)
        return {"conicity": float(cosine_similarity(weighted.values, mean, dim=-1).mean())}


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
