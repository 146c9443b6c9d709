"""Correlation of the weights with other rankings of the same units (Jain & Wallace 2019).

Kendall's tau-b with gradients and with leave-one-out. The tau of those two is its ceiling: it is
what the agreement of two good rankings looks like. (arxiv.org/abs/1902.10186, section 4.1)
"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from scipy.stats import kendalltau

from heed.explanation.rankings import HELD
from heed.explanation.test import Axis, Column, Explained, Prediction, Series, WeightsTest

CORRELATIONS = {
    "tau_gradient": ("attention", HELD),
    "tau_leave_one_out": ("attention", "leave_one_out"),
    "tau_ceiling": (HELD, "leave_one_out"),
    "tau_replacement": ("leave_one_out", "replacement"),
}


class Correlation(WeightsTest):
    """Kendall's tau-b of pairs of rankings."""

    name = "correlation"
    measures = tuple(CORRELATIONS)
    of_weights = ("tau_gradient", "tau_leave_one_out")
    title = "Correlation with gradients and leave-one-out"
    claim = (
        "Shows whether the weights rank words as gradients and leave-one-out do. A low correlation "
        "alone is no fault: those two do not agree with each other either."
    )
    caption = "Kendall’s tau-b. The third mark is the ceiling of the others."
    axes = (Axis("tau_gradient", "Kendall’s τ-b"),)
    printed: ClassVar[Mapping[str, str]] = {
        "tau_gradient": "with gradients",
        "tau_leave_one_out": "with leave-one-out",
        "tau_ceiling": "gradients with leave-one-out",
    }
    columns = (
        Column("tau gradient", "tau_gradient"),
        Column("tau leave-one-out", "tau_leave_one_out"),
        Column("tau ceiling", "tau_ceiling"),
    )

    def measure(self, prediction: Prediction, evidence: np.ndarray) -> dict[str, float]:
        """Return the correlations whose two rankings there are."""
        # without a weighted sum there are no weights to hold: the gradient is the same
        rankings = {HELD: prediction.rankings["gradient"]} | prediction.rankings
        return {
            name: rank_correlation(rankings[first], rankings[second])
            for name, (first, second) in CORRELATIONS.items()
            if first in rankings and second in rankings
        }

    def drawn(self, explained: Explained, measure: str) -> Series:
        """Return the correlations, whatever the axis."""
        return {name: explained.means(self.name, tau) for tau, name in self.printed.items()}


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return Kendall's tau-b of two rankings (units,); NaN where one is constant.

    Units that a ranking does not have (NaN) are left out. Tau is a mean over pairs, so units drawn
    at random estimate it without bias.
    """
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 2:
        return float("nan")
    return float(kendalltau(first[known], second[known]).statistic)
