"""Agreement of rankings of the same units: with each other, and with rationales.

Kendall's tau-b of the weights with gradients and with leave-one-out (Jain & Wallace 2019,
arxiv.org/abs/1902.10186, section 4.1); the tau of those two is its ceiling. Plausibility: does a
ranking find the words that are known to decide, planted or marked by people (DeYoung et al. 2020,
arxiv.org/abs/1911.03429, section 4.1)?
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from heed.explanation.test import (
    HELD,
    RANKINGS,
    Judged,
    MeansColumn,
    Prediction,
    WeightsTest,
    descending,
    no_weights,
)

CORRELATIONS = {
    "tau_gradient": ("attention", HELD), "tau_leave_one_out": ("attention", "leave_one_out"),
    "tau_ceiling": (HELD, "leave_one_out"), "tau_replacement": ("leave_one_out", "replacement"),
}  # fmt: skip
MATCH = 0.5  # intersection over union of a chosen span and a span of rationale that it matches
MIN_AUC = 0.9  # area under the ROC curve of the weights, by class and seed, to pass
NO_RATIONALE = "no rationale"
NOT_PLANTED = "rationale not planted"


class Correlation(WeightsTest):
    """Kendall's tau-b of pairs of rankings."""

    name = "correlation"
    measures = tuple(CORRELATIONS)
    of_weights = ("tau_gradient", "tau_leave_one_out")
    title = "Correlation with gradients and leave-one-out"
    claim = (
        "Shows whether the weights rank words as gradients and leave-one-out do. A low correlation "
        "alone does not mean a fault: those two do not agree with each other either."
    )
    columns = (
        MeansColumn("tau gradient", "tau_gradient"),
        MeansColumn("tau leave-one-out", "tau_leave_one_out"),
        MeansColumn("tau ceiling", "tau_ceiling"),
    )

    def measure(self, prediction: Prediction, rationale: np.ndarray) -> dict[str, float]:
        """Return the correlations whose two rankings there are."""
        # without a weighted sum there are no weights to hold: the gradient is the same
        rankings = {HELD: prediction.rankings["gradient"]} | prediction.rankings
        return {
            name: rank_correlation(rankings[first], rankings[second])
            for name, (first, second) in CORRELATIONS.items()
            if first in rankings and second in rankings
        }


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return Kendall's tau-b of two rankings (units,); NaN where one is constant.

    Units that a ranking does not have (NaN) are left out: drawn at random, they leave no bias.
    """
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 2:
        return float("nan")
    return float(kendalltau(first[known], second[known]).statistic)


class Plausibility(WeightsTest):
    """The agreement of each ranking with the rationales."""

    name = "rationale"
    table = "rankings"
    measures = ("auc", "average_precision", "concentration", "token_f1", "span_f1")
    rankings = RANKINGS
    by_class = True
    criterion = "Rationale"
    rule = (
        "pass if in every class and seed the weights find planted cues with an area under the "
        f"ROC curve of {MIN_AUC:g} or more. Other rationale is printed, and not judged: what "
        "people marked, or a passage."
    )
    least = MIN_AUC
    title = "Rationale found"
    claim = (
        "Shows whether a ranking finds the words that are marked as rationale for the label. It "
        "does not show that the model uses no others."
    )
    columns = (MeansColumn("AUC", "auc", "attention"),)

    def measure_rankings(
        self, prediction: Prediction, rationale: np.ndarray, share: float
    ) -> dict[str, dict[str, float]]:
        """Return how well each ranking finds the rationale."""
        found = {
            name: find_rationale(ranking, rationale, share)
            for name, ranking in prediction.rankings.items()
        }
        return {name: score._asdict() for name, score in found.items() if score is not None}

    def score(self, judged: Judged) -> float | str:
        """Return the smallest area of a class and seed, of planted rationale alone.

        A model may be right for reasons other than those that people mark.
        """
        summary = judged.summary
        rows = summary[(summary["test"] == self.name) & (summary["measure"] == "auc")]
        rows = rows.dropna(subset="mean")
        if rows.empty:
            return NO_RATIONALE
        if not judged.planted:
            return NOT_PLANTED
        rows = rows[rows["ranking"] == "attention"]
        if rows["class"].notna().any():  # steps of a translation have no class
            rows = rows.dropna(subset="class")
        if reason := no_weights(summary):
            return reason
        return NO_RATIONALE if rows.empty else float(rows["mean"].min())


class RationaleScore(NamedTuple):
    """The scores of a ranking that has to find a document's rationale.

    auc: the area under the ROC curve; .5 by chance
    average_precision: the area under precision and recall
    concentration: the rationale's share of the ranking's sum, divided by its share of the units;
        NaN for a ranking with negative values
    token_f1, span_f1: of the highest units, and of their runs, against the rationale's; two match
        that overlap by half (MATCH)
    """

    auc: float
    average_precision: float
    concentration: float
    token_f1: float
    span_f1: float


def find_rationale(
    ranking: np.ndarray, rationale: np.ndarray, share: float
) -> RationaleScore | None:
    """Return how well a ranking (units,) finds the rationale (units,), True where some is.

    `share` of the units, at least one, are chosen for the F1 scores, which need a ranking of all
    units; else those it does not have (NaN) are left out. None where the rest are all rationale, or
    none.
    """
    known = np.isfinite(ranking)
    scores, is_rationale = ranking[known], rationale[known]
    if is_rationale.all() or not is_rationale.any():
        return None
    concentration = float("nan")
    if scores.min() >= 0 < scores.sum():
        concentration = float(scores[is_rationale].sum() / scores.sum() / is_rationale.mean())
    token_f1 = span_f1 = float("nan")
    if known.all():
        chosen = np.zeros(len(ranking), bool)
        chosen[descending(ranking)[: max(1, round(share * len(ranking)))]] = True
        token_f1 = float(2 * (chosen & rationale).sum() / (chosen.sum() + rationale.sum()))
        span_f1 = match_spans(_runs(chosen), _runs(rationale))
    return RationaleScore(*areas(scores, is_rationale), concentration, token_f1, span_f1)


def areas(scores: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Return the area under the ROC curve, and the average precision, as scikit-learn does.

    Its checks of arguments would take 25 s for a seed. `right` is neither all True nor all False.
    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # of equal scores
    hits = np.cumsum(right[order])[last]
    misses = last + 1 - hits
    new_hits, new_misses = np.diff(hits, prepend=0), np.diff(misses, prepend=0)
    auc = (new_misses * (hits - new_hits / 2)).sum() / (hits[-1] * misses[-1])
    return float(auc), float((new_hits / hits[-1] * hits / (last + 1)).sum())


def _runs(mask: np.ndarray) -> np.ndarray:
    """Return the runs of True as (first, the one after the last), (runs, 2)."""
    return np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)


def match_spans(chosen: np.ndarray, right: np.ndarray) -> float:
    """Return the F1 of chosen spans; two spans match with intersection over union >= MATCH.

    Spans are (first, the one after the last), (spans, 2). A chosen span of one word does not count
    where all of the rationale are longer. (DeYoung et al. 2020, section 4.1)
    """
    if np.diff(right).min() > 1:
        chosen = chosen[np.diff(chosen)[:, 0] > 1]
    if not len(chosen):
        return 0.0
    (first, end), (others, ends) = chosen.T[..., None], right.T[:, None]
    shared = np.maximum(0, np.minimum(end, ends) - np.maximum(first, others))
    matches = shared / (end - first + ends - others - shared) >= MATCH
    precision, recall = matches.any(1).mean(), matches.any(0).mean()
    return float(2 * precision * recall / (precision + recall)) if precision else 0.0
