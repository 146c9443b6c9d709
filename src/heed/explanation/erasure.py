"""Erasure of weights (Serrano & Smith 2019) and removal of words (ERASER, DeYoung et al. 2020).

A weight is erased by setting it to 0 and dividing the others by their sum; the encoder is not run
again (arxiv.org/abs/1906.03731). Comprehensiveness and sufficiency are of the prediction without
the highest words, and with them alone (section 4.2, arxiv.org/abs/1911.03429).
"""

from typing import TYPE_CHECKING

import numpy as np

from heed.explanation.test import (
    ALL_UNITS,
    DRAWN_UNITS,
    RANKINGS,
    REMOVAL_RANKINGS,
    Column,
    Generator,
    Prediction,
    Weighted,
    WeightsTest,
    descending,
    jensen_shannon,
)

if TYPE_CHECKING:
    from heed.models.classifier import WeightedSum

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of a document's units that are removed from its text
RANDOM_RANKINGS = 5
NOT_ALL_UNITS = (
    f"the documents have more than {ALL_UNITS} units, of which {DRAWN_UNITS} were removed from the "
    "input: this test needs the order of all"
)


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
    title = "Weights removed until the decision changes"
    claim = (
        "Shows which ranking finds first what the decision rests on: fewer is better. It does not "
        "show that people would choose the same words."
    )
    columns = (Column("Share removed", "removed_share", "attention"),)

    def measure_rankings(
        self, prediction: Prediction, rationale: np.ndarray, share: float
    ) -> dict[str, dict[str, float]]:
        """Return the outcome for each ranking of all units; for `random` the mean of several."""
        weighted = prediction.weighted
        if weighted is None:
            return {}
        tried = {name: [each] for name, each in prediction.rankings.items()}
        tried["random"] = [
            prediction.numbers.random(prediction.units) for _ in range(RANDOM_RANKINGS)
        ]
        outcomes = {
            name: np.asarray([remove_until_flip(weighted, ranking) for ranking in each]).mean(0)
            for name, each in tried.items()
            if np.isfinite(each).all()
        }
        return {
            name: dict(zip(self.measures, map(float, outcome), strict=True))
            for name, outcome in outcomes.items()
        }

    def missing(self, ranking: str) -> str:
        """Return why a ranking of only some of the units cannot be judged."""
        return NOT_ALL_UNITS if ranking in REMOVAL_RANKINGS else ""


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
        Column("Compr.", "comprehensiveness", "attention"),
        Column("Suff.", "sufficiency", "attention"),
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
