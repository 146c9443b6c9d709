"""The tables of `heed explain` (docs/contracts.md): by document, by ranking, by unit, and means."""

import math

import numpy as np
import pandas as pd

from heed.explanation.agreement import find_evidence, rank_correlation
from heed.explanation.judgement import Judged
from heed.explanation.rankings import HELD, RANKINGS

# the largest divergence of two distributions is log 2; weights that come so near have nothing in
# common
DIFFERENT = 0.9 * math.log(2)
# pairs of rankings that are correlated; that of gradients and leave-one-out is what agreement of
# two good rankings looks like, the ceiling for those of the weights
CORRELATIONS = {
    "tau_gradient": ("attention", HELD),
    "tau_leave_one_out": ("attention", "leave_one_out"),
    "tau_ceiling": (HELD, "leave_one_out"),
    "tau_replacement": ("leave_one_out", "replacement"),
}


def unit_table(judged: Judged, name: str, positions: "UnitPositions") -> pd.DataFrame:
    """Return a row for each unit of a document: `id, unit, start, end, evidence`, each ranking."""
    nothing = np.full(judged.document.units, np.nan)
    columns: dict[str, object] = {
        "id": name,
        "unit": np.arange(judged.document.units, dtype=np.int32),
        **positions,
    }
    for ranking in RANKINGS:
        columns[ranking] = judged.rankings.get(ranking, nothing).astype(np.float32)
    adversarial = nothing if judged.adversarial is None else judged.adversarial
    return pd.DataFrame(columns | {"adversarial": adversarial.astype(np.float32)})


UnitPositions = dict[str, np.ndarray]  # start, end and evidence of each unit, by column


def document_measures(judged: Judged, evidence: np.ndarray) -> dict[str, float]:
    """Return all measures of a document; `evidence` is True for units with some, (units,)."""
    measures: dict[str, float] = {"units": judged.document.units} | judged.measures
    for name, pair in CORRELATIONS.items():
        first, second = (judged.rankings.get(ranking) for ranking in pair)
        if first is not None and second is not None:
            measures[name] = rank_correlation(first, second)
    if judged.adversarial is not None:
        measures["adversarial_found"] = float(measures["adversarial_divergence"] > DIFFERENT)
        if evidence.any():
            measures["adversarial_evidence"] = float(judged.adversarial[evidence].sum())
    if "attention" in judged.rankings and evidence.any():
        measures["evidence_weight"] = float(judged.rankings["attention"][evidence].sum())
    return measures


def ranking_measures(
    judged: Judged, evidence: np.ndarray, share: float
) -> dict[str, dict[str, float]]:
    """Return the measures of each ranking of a document.

    Args:
        judged: the document.
        evidence: True for units with some, (units,)
        share: of the units that is chosen to find the evidence: the corpus's mean share of it.

    """
    measures = {name: dict(judged.by_ranking.get(name, {})) for name in judged.rankings}
    for name, ranking in judged.rankings.items():
        found = find_evidence(ranking, evidence, share)
        if found is not None:
            measures[name] |= found._asdict()
    return {name: values for name, values in measures.items() if values}


# test → (its measures, whether they are of rankings)
TESTS: dict[str, tuple[tuple[str, ...], bool]] = {
    "correlation": (tuple(CORRELATIONS), False),
    "permutation": (("permutation_change", "permutation_flips"), False),
    "adversary": (
        (
            "adversarial_divergence", "adversarial_found", "adversarial_change",
            "evidence_weight", "adversarial_evidence",
        ),
        False,
    ),
    "single_erasure": (("top_flips", "other_flips", "removal_difference"), False),
    "erasure": (("removed_share", "flipped"), True),
    "input_removal": (("comprehensiveness", "sufficiency"), True),
    "evidence": (
        ("auc", "average_precision", "concentration", "token_f1", "span_f1"),
        True,
    ),
    "conicity": (("conicity",), False),
    "seeds": (("divergence", "change"), False),
}  # fmt: skip
OF_WEIGHTS = ("permutation", "adversary", "single_erasure", "conicity", "seeds")
NOT_MEASURED = (
    "no document has this measure: its ranking is constant, was not computed for all units, or the "
    "documents have one unit"
)
UNIFORM = (
    "answered by `heed compare`: the gain of the weights over equal weights (variants mean and "
    "uniform). Without a gain there is nothing for weights to explain"
)
SUMMARY = ["test", "measure", "ranking", "class", "seed", "documents", "mean", "std", "reason"]


def summarize(
    documents: pd.DataFrame, rankings: pd.DataFrame, seeds: pd.DataFrame, reasons: dict[str, str]
) -> pd.DataFrame:
    """Return the means over documents, with a row and a reason for what is not defined.

    Args:
        documents, rankings, seeds: the tables of docs/contracts.md.
        reasons: test → why it is not defined.

    """
    rows: list[dict[str, object]] = [{"test": "uniform", "reason": UNIFORM}]
    for test, (measures, by_ranking) in TESTS.items():
        if test in reasons:
            rows.append({"test": test, "reason": reasons[test]})
            continue
        table = rankings if by_ranking else seeds if test == "seeds" else documents
        keys = ["seed", "ranking"] if by_ranking else ["seed"]
        for measure in measures:
            rows += _means(table, test, measure, keys)
            if test == "evidence":
                rows += _means(table, test, measure, [*keys, "label"])
    summary = pd.DataFrame(rows).reindex(columns=SUMMARY)
    return summary.astype({"seed": "Int64", "documents": "Int64"})


def _means(
    table: pd.DataFrame, test: str, measure: str, keys: list[str]
) -> list[dict[str, object]]:
    """Return a row for each group of documents that has a measure, or one with the reason."""
    known = table.dropna(subset=measure) if measure in table else table.iloc[:0]
    if known.empty:
        return [{"test": test, "measure": measure, "reason": NOT_MEASURED}]
    rows = []
    for key, group in known.groupby(keys, sort=True):
        values = group[measure].astype(np.float64)
        row: dict[str, object] = dict(zip(keys, key, strict=True))
        if "label" in row:
            row["class"] = row.pop("label")
        row |= {"test": test, "measure": measure, "documents": len(values)}
        rows.append(row | {"mean": values.mean(), "std": values.std()})
    return rows
