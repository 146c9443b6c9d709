"""Agreement between rankings (T1), with known evidence (T11), and between seeds (T6).

All of it is computed from rankings and tables, without a model.
"""

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau

from heed.explanation.distances import jensen_shannon
from heed.explanation.order import descending

MATCH = 0.5  # intersection over union of a chosen span and a span of evidence that it matches


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return Kendall's tau-b of two rankings (units,); NaN where one is constant.

    Units that a ranking does not have (NaN) are left out. Tau is a mean over pairs, so units drawn
    at random estimate it without bias.
    """
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 2:
        return float("nan")
    return float(kendalltau(first[known], second[known]).statistic)


class EvidenceScore(NamedTuple):
    """How well a ranking finds a document's evidence.

    auc: the area under the ROC curve; .5 by chance
    average_precision: the area under precision and recall
    concentration: the evidence's share of the ranking's sum, divided by its share of the units;
        NaN for a ranking with negative values
    token_f1: of the highest units against the evidence
    span_f1: of their runs against those of the evidence; two match that overlap by half (MATCH)
    """

    auc: float
    average_precision: float
    concentration: float
    token_f1: float
    span_f1: float


def find_evidence(ranking: np.ndarray, evidence: np.ndarray, share: float) -> EvidenceScore | None:
    """Return how well a ranking (units,) finds the evidence (units,), True where there is some.

    `share` of the units, at least one, are chosen for the F1 scores. Units that the ranking does
    not have (NaN) are left out, and then there are no F1 scores. None where the rest are all
    evidence, or none of them.
    """
    known = np.isfinite(ranking)
    scores, is_evidence = ranking[known], evidence[known]
    if is_evidence.all() or not is_evidence.any():
        return None
    concentration = float("nan")
    if scores.min() >= 0 < scores.sum():
        concentration = float(scores[is_evidence].sum() / scores.sum() / is_evidence.mean())
    token_f1 = span_f1 = float("nan")
    if known.all():
        chosen = np.zeros(len(ranking), bool)
        chosen[descending(ranking)[: max(1, round(share * len(ranking)))]] = True
        token_f1 = _f1(chosen & evidence, chosen, evidence)
        span_f1 = match_spans(_runs(chosen), _runs(evidence))
    return EvidenceScore(*areas(scores, is_evidence), concentration, token_f1, span_f1)


def areas(scores: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Return the area under the ROC curve, and the average precision.

    They equal scikit-learn's, which checks its arguments for 4 ms a call: 25 s for a seed.

    Args:
        scores: (units,)
        right: True for the units to be found, (units,), neither all nor none

    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # of equal scores
    hits = np.cumsum(right[order])[last]
    misses = last + 1 - hits
    new_hits, new_misses = np.diff(hits, prepend=0), np.diff(misses, prepend=0)
    auc = (new_misses * (hits - new_hits / 2)).sum() / (hits[-1] * misses[-1])
    return float(auc), float((new_hits / hits[-1] * hits / (last + 1)).sum())


def _f1(both: np.ndarray, chosen: np.ndarray, right: np.ndarray) -> float:
    return float(2 * both.sum() / (chosen.sum() + right.sum()))


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Return the runs of True as (first, the one after the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def match_spans(chosen: list[tuple[int, int]], right: list[tuple[int, int]]) -> float:
    """Return the F1 of chosen spans; two spans match with intersection over union >= MATCH.

    DeYoung et al. 2020, section 4.1. A chosen span of one word does not count where all spans of
    evidence are longer: scattered words are no wrong phrases.
    """
    if min(end - first for first, end in right) > 1:
        chosen = [(first, end) for first, end in chosen if end - first > 1]
    if not chosen:
        return 0.0
    overlaps = np.array([[_overlap(span, other) for other in right] for span in chosen]) >= MATCH
    precision, recall = overlaps.any(1).mean(), overlaps.any(0).mean()
    return float(2 * precision * recall / (precision + recall)) if precision else 0.0


def _overlap(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the intersection of two spans divided by their union."""
    shared = max(0, min(first[1], second[1]) - max(first[0], second[0]))
    return shared / (first[1] - first[0] + second[1] - second[0] - shared)


def seed_agreement(
    units: pd.DataFrame, documents: pd.DataFrame, probabilities: list[str]
) -> pd.DataFrame:
    """Return T6: how much the weights of two seeds differ on the same document.

    Args:
        units: `seed, id, unit, attention`.
        documents: `seed, id` and the columns `probabilities`.
        probabilities: the columns of the classes' probabilities.

    Returns:
        `seed, other_seed, id, max_weight, divergence, change`: every pair of seeds that have the
        document; max_weight is of the first seed, divergence the Jensen-Shannon divergence of the
        weights in nats, change the total variation distance of the predictions.

    """
    rows = []
    weights = {key: group["attention"].to_numpy() for key, group in units.groupby(["id", "seed"])}
    predictions = {
        (name, seed): values
        for name, seed, values in zip(
            documents["id"],
            documents["seed"],
            documents[probabilities].to_numpy(np.float64),
            strict=True,
        )
    }
    for name, group in documents.groupby("id", sort=False):
        seeds = sorted(group["seed"])
        for i, seed in enumerate(seeds):
            for other in seeds[i + 1 :]:
                own, others = weights[name, seed], weights[name, other]
                change = np.abs(predictions[name, seed] - predictions[name, other]).sum() / 2
                rows.append((seed, other, name, own.max(), _divergence(own, others), change))
    columns = ["seed", "other_seed", "id", "max_weight", "divergence", "change"]
    return pd.DataFrame(rows, columns=columns)


def step_agreement(units: pd.DataFrame, next_units: pd.DataFrame) -> pd.DataFrame:
    """Return T6 of translations: how much two seeds differ at the same unit of the same target.

    Args:
        units: `seed, id, target, unit, attention`.
        next_units: `seed, id, target, word, p`: the probabilities of what is predicted at the drawn
            units of targets; a word that is missing has none.

    Returns:
        As `seed_agreement`, with the column `target` after `id`. Steps that only one of two seeds
        has, or whose sources have not as many units, are left out.

    """
    keys = ["id", "target"]
    steps = next_units[["seed", *keys]].drop_duplicates()
    drawn = units.merge(steps, on=["seed", *keys]).groupby(["seed", *keys])["attention"]
    weights = {key: group.to_numpy() for key, group in drawn}
    rows = []
    for seed, other in itertools.combinations(sorted(steps["seed"].unique().tolist()), 2):
        first, second = (
            next_units[next_units["seed"] == each].set_index([*keys, "word"])["p"]
            for each in (seed, other)
        )
        changes = first.sub(second, fill_value=0.0).abs().groupby(level=keys).sum() / 2
        for name, target, change in changes.reset_index().itertuples(index=False):
            own, others = (weights.get((each, name, target)) for each in (seed, other))
            if own is not None and others is not None and len(own) == len(others):
                divergence = _divergence(own, others)
                rows.append((seed, other, name, target, own.max(), divergence, change))
    columns = ["seed", "other_seed", *keys, "max_weight", "divergence", "change"]
    return pd.DataFrame(rows, columns=columns)


def _divergence(first: np.ndarray, second: np.ndarray) -> float:
    tensors = [torch.from_numpy(weights.astype(np.float64)) for weights in (first, second)]
    return float(jensen_shannon(tensors[0], tensors[1]))
