"""Comprehensiveness and sufficiency: the prediction without the highest words, and with them alone.

(ERASER, DeYoung et al. 2020, section 4.2, arxiv.org/abs/1911.03429) A text of such words is unlike
any training text.
"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch

from heed.explanation.rankings import DRAWN_RANKINGS
from heed.explanation.test import Axis, Column, Prediction, WeightsTest, descending

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of a document's units


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
        "Shows whether the prediction needs the highest words (left: more is better) and whether "
        "they suffice (right: less is better). A text of such words is unlike any text that the "
        "model was trained on."
    )
    caption = (
        "Fall of the predicted class’s probability, the mean over 1, 5, 10, 20 and 50% of the "
        "words (ERASER, DeYoung et al. 2020)."
    )
    axes = (
        Axis("comprehensiveness", "comprehensiveness"),
        Axis("sufficiency", "sufficiency"),
    )
    series: ClassVar[Mapping[str, str]] = {ranking: DRAWN_RANKINGS[ranking] for ranking in rankings}
    columns = (
        Column("Compr.", "comprehensiveness", "attention"),
        Column("Suff.", "sufficiency", "attention"),
    )

    def measure_rankings(
        self, prediction: Prediction, evidence: np.ndarray, share: float
    ) -> dict[str, dict[str, float]]:
        """Return the falls without the highest units, and with them alone, means over SHARES.

        The share is rounded up, so that at least one unit counts. Higher comprehensiveness and
        lower sufficiency are better.
        """
        if prediction.predict_kept is None:
            return {}
        rankings = {
            name: prediction.rankings[name] for name in self.rankings if name in prediction.rankings
        }
        counts = np.ceil(np.asarray(SHARES) * prediction.units).astype(np.int64)
        kept = [torch.ones(1, prediction.units, dtype=torch.bool)]
        for ranking in rankings.values():
            places = np.argsort(descending(ranking))
            is_top = torch.from_numpy(places[None] < counts[:, None])
            kept += [~is_top, is_top]
        predictions = prediction.predict_kept(torch.cat(kept))
        falls = predictions[0].max() - predictions[1:, predictions[0].argmax()]
        means = falls.view(len(rankings), 2, len(SHARES)).mean(-1).tolist()
        return {
            name: dict(zip(self.measures, values, strict=True))
            for name, values in zip(rankings, means, strict=True)
        }
