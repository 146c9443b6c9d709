"""Weights permuted, adversarial or erased, and words removed: what then becomes of a prediction.

A small change by permuted weights says that they hardly matter (Jain & Wallace 2019, section 4.2,
arxiv.org/abs/1902.10186); states that resemble each other are one cause: their conicity is the mean
cosine of the weighted vectors to their mean (Mohankumar et al. 2020, section 3.1,
arxiv.org/abs/2004.14243). A weight is erased by setting it to 0 and dividing the others by their
sum; the encoder is not run again (Serrano & Smith 2019, arxiv.org/abs/1906.03731).
Comprehensiveness and sufficiency are of the prediction without the highest words, and with them
alone (ERASER: DeYoung et al. 2020, section 4.2, arxiv.org/abs/1911.03429).
"""

from typing import TYPE_CHECKING

import numpy as np

from heed.explanation.test import (
    ALL_UNITS,
    DRAWN_UNITS,
    LARGEST_DIVERGENCE,
    NO_WEIGHTS,
    RANKINGS,
    Generator,
    Judged,
    MeansColumn,
    Prediction,
    Tensor,
    Weighted,
    WeightsTest,
    descending,
    jensen_shannon,
    measured,
    total_variation,
)

if TYPE_CHECKING:
    from heed.models.classifier import WeightedSum

PERMUTATIONS = 100  # of the weights
ROUNDING = 1e-5  # relative: weights that differ by less are equal
MIN_CHANGE = 0.1  # total variation distance by which a prediction changes, on average, to pass
# weights whose divergence comes so near to the largest have nothing in common
DIFFERENT = 0.9 * LARGEST_DIVERGENCE
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of a document's units that are removed from its text
RANDOM_RANKINGS = 5
NOT_ALL_UNITS = (
    f"the documents have more than {ALL_UNITS} units, of which {DRAWN_UNITS} were removed from the "
    "input: this test needs the order of all"
)


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
    title = "Shuffled weights"
    claim = (
        "Shows whether the prediction needs the weights to be where they are. It does not show "
        "that they are on the right words."
    )
    columns = (MeansColumn("Shuffled", "permutation_change"),)

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
    columns = (MeansColumn("Conicity", "conicity"),)

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
    columns = (MeansColumn("Other weights", "mean_divergence"),)

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


class SingleErasure(WeightsTest):
    """The removal of the highest weight, beside the removal of another at random."""

    name = "single_erasure"
    measures = of_weights = ("top_flips", "other_flips", "removal_difference")
    least_units = 2
    of_translations = False

    def measure_weights(self, weighted: Weighted, generator: Generator) -> dict[str, float]:
        """Remove the unit with the highest weight of one document, and another one at random.

        Return whether the decision changes, and how much further the first moves the prediction
        (Jensen-Shannon divergence in nats).
        """
        import torch

        units = len(weighted.weights)
        top = int(descending(weighted.weights.mean(1).numpy())[0])
        other = int(torch.randint(units - 1, (), generator=generator))
        other += other >= top  # any unit but the top one
        weights = weighted.weights.expand(2, -1, -1).clone()
        weights[0, top], weights[1, other] = 0.0, 0.0
        weights /= weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
        before = weighted.predict().softmax(-1)
        after = weighted.predict(weights).softmax(-1)
        flips = after.argmax(-1) != before.argmax(-1)
        moved = jensen_shannon(before, after)
        return {
            "top_flips": float(flips[0]),
            "other_flips": float(flips[1]),
            "removal_difference": float(moved[0] - moved[1]),
        }


class Erasure(WeightsTest):
    """The removal of weights in the order of each ranking, until the decision changes."""

    name = "erasure"
    table = "rankings"
    measures = of_weights = ("removed_share", "flipped")
    rankings = RANKINGS
    least_units = 2
    of_translations = False
    not_all_units = NOT_ALL_UNITS
    title = "Weights removed until the decision changes"
    claim = (
        "Shows which ranking finds first what the decision rests on: fewer is better. It does not "
        "show that people would choose the same words."
    )
    columns = (MeansColumn("Share removed", "removed_share", "attention"),)

    def measure_rankings(
        self, prediction: Prediction, rationale: np.ndarray, share: float
    ) -> dict[str, dict[str, float]]:
        """Return the outcome for each ranking of all units; for `random` the mean of several."""
        weighted = prediction.weighted
        if weighted is None:
            return {}
        tried = {name: [ranking] for name, ranking in prediction.rankings.items()}
        tried["random"] = [
            prediction.numbers.random(prediction.units) for _ in range(RANDOM_RANKINGS)
        ]
        outcomes = {
            name: np.asarray([remove_until_flip(weighted, ranking) for ranking in rankings]).mean(0)
            for name, rankings in tried.items()
            if np.isfinite(rankings).all()
        }
        return {
            name: dict(zip(self.measures, map(float, outcome), strict=True))
            for name, outcome in outcomes.items()
        }


def remove_until_flip(weighted: "WeightedSum", ranking: np.ndarray) -> tuple[float, bool]:
    """Remove the units of one document, two at least, the highest of `ranking` (units,) first.

    Return the share that was removed until the decision changed, 1 if it never did, and whether it
    changed. At least one unit stays. All numbers of removals are computed at once.
    """
    import torch

    order = torch.from_numpy(descending(ranking))
    weights = weighted.weights[order].double()  # units x heads
    terms = weights[..., None] * weighted.projected[order]
    remaining = terms.flip(0).cumsum(0).flip(0)[1:]  # after 1, 2, ... removals
    totals = weights.flip(0).cumsum(0).flip(0)[1:, :, None]
    sums = torch.where(totals > 0, remaining / totals, 0.0).sum(1).to(weighted.values.dtype)
    decisions = weighted.predict_from_projected(sums).argmax(-1)
    flips = (decisions != weighted.predict().argmax(-1)).nonzero()
    if not len(flips):
        return 1.0, False
    return (int(flips[0]) + 1) / len(ranking), True


class InputRemoval(WeightsTest):
    """The fall of the predicted class's probability when words are removed from the text."""

    name = "input_removal"
    table = "rankings"
    measures = ("comprehensiveness", "sufficiency")
    rankings = ("attention", "gradient", "random")  # each costs ten predictions a document
    least_units = 2
    of_translations = False
    title = "Words removed from the text"
    claim = (
        "Shows whether the prediction needs the highest words (compr.: more is better) and whether "
        "they suffice (suff.: less is better). A text of such words is unlike any text that the "
        "model was trained on."
    )
    columns = (
        MeansColumn("Compr.", "comprehensiveness", "attention"),
        MeansColumn("Suff.", "sufficiency", "attention"),
    )

    def measure_rankings(
        self, prediction: Prediction, rationale: np.ndarray, share: float
    ) -> dict[str, dict[str, float]]:
        """Return the falls without the highest units, and with them alone, means over SHARES.

        The share is rounded up. Higher comprehensiveness and lower sufficiency are better.
        """
        import torch

        if prediction.predict_kept is None:
            return {}
        names = [name for name in self.rankings if name in prediction.rankings]
        counts = np.ceil(np.asarray(SHARES) * prediction.units).astype(np.int64)
        kept = [torch.ones(1, prediction.units, dtype=torch.bool)]
        for name in names:
            places = np.argsort(descending(prediction.rankings[name]))
            is_top = torch.from_numpy(places[None] < counts[:, None])
            kept += [~is_top, is_top]
        predictions = prediction.predict_kept(torch.cat(kept))
        falls = predictions[0].max() - predictions[1:, predictions[0].argmax()]
        means = falls.view(len(names), 2, len(SHARES)).mean(-1).tolist()
        return {
            name: dict(zip(self.measures, values, strict=True))
            for name, values in zip(names, means, strict=True)
        }
