"""The tables of `heed explain` (docs/contracts.md): by document, by ranking, by unit, and means."""

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import pandas as pd

from heed.explanation.agreement import find_evidence, rank_correlation
from heed.explanation.columns import SUMMARY
from heed.explanation.judgement import ALL_UNITS, DRAWN_UNITS, INPUT_RANKINGS
from heed.explanation.rankings import HELD, RANKINGS, REMOVAL_RANKINGS, WEIGHT_RANKINGS

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


class JudgedPrediction(Protocol):
    """The outcome of the tests of one prediction: `Judged`, or a `JudgedStep` of a translation."""

    @property
    def units(self) -> int:
        """The number of units that rankings are of."""

    @property
    def rankings(self) -> dict[str, np.ndarray]:
        """Each ranking, (units,)."""

    @property
    def measures(self) -> dict[str, float]:
        """Measures of the prediction."""

    @property
    def by_ranking(self) -> dict[str, dict[str, float]]:
        """Measures of each ranking."""

    @property
    def adversarial(self) -> np.ndarray | None:
        """The most different weights with the same prediction, (units,)."""


def unit_table(judged: JudgedPrediction, name: str, positions: "UnitPositions") -> pd.DataFrame:
    """Return a row for each unit of a document: `id, unit, start, end, evidence`, each ranking."""
    nothing = np.full(judged.units, np.nan)
    columns: dict[str, object] = {
        "id": name,
        "unit": np.arange(judged.units, dtype=np.int32),
        **positions,
    }
    for ranking in RANKINGS:
        columns[ranking] = judged.rankings.get(ranking, nothing).astype(np.float32)
    adversarial = nothing if judged.adversarial is None else judged.adversarial
    return pd.DataFrame(columns | {"adversarial": adversarial.astype(np.float32)})


UnitPositions = dict[str, np.ndarray]  # start, end and evidence of each unit, by column


def document_measures(judged: JudgedPrediction, evidence: np.ndarray) -> dict[str, float]:
    """Return all measures of a document; `evidence` is True for units with some, (units,)."""
    measures: dict[str, float] = {"units": judged.units} | judged.measures
    # without a weighted sum there are no weights to hold: the gradient is the same
    rankings = {HELD: judged.rankings["gradient"]} | judged.rankings
    for name, pair in CORRELATIONS.items():
        first, second = (rankings.get(ranking) for ranking in pair)
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
    judged: JudgedPrediction, evidence: np.ndarray, share: float
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
    "adversarial_weights": (
        (
            "adversarial_divergence", "mean_divergence", "adversarial_found",
            "adversarial_change", "evidence_weight", "adversarial_evidence",
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
    "recency": (("vanishing_ratio", "last_minus_middle", "accuracy_lost"), False),
}  # fmt: skip
# the tests, and measures of others, of a model whose prediction rests on a weighted sum
OF_WEIGHTS = (
    "permutation", "adversarial_weights", "single_erasure", "erasure", "conicity", "seeds",
    "tau_gradient", "tau_leave_one_out",
)  # fmt: skip
# test → the rankings that it judges
JUDGED_RANKINGS: dict[str, tuple[str, ...]] = {
    "erasure": RANKINGS, "input_removal": INPUT_RANKINGS, "evidence": RANKINGS,
}  # fmt: skip
NOT_MEASURED = (
    "no document has this measure: its rankings are constant or were not computed for these "
    "documents, or the documents have one unit"
)
NOT_ALL_UNITS = (
    f"the documents have more than {ALL_UNITS} units, of which {DRAWN_UNITS} were removed from the "
    "input: this test needs the order of all"
)
UNIFORM = (
    "answered by `heed compare`: the gain of the weights over equal weights (variants mean and "
    "uniform). Without a gain there is nothing for weights to explain"
)


def summarize(
    documents: pd.DataFrame,
    rankings: pd.DataFrame,
    seeds: pd.DataFrame,
    reasons: dict[str, str],
    recency: pd.DataFrame,
) -> pd.DataFrame:
    """Return the means over documents, with a row and a reason for what is not defined.

    Args:
        documents, rankings, seeds: the tables of docs/contracts.md.
        reasons: test → why it is not defined; `weights` → why those of OF_WEIGHTS and the
            rankings by weights are not; measure of T10 → why it is not.
        recency: the table of T10.

    """
    if "weights" in reasons:
        reasons = dict.fromkeys((*OF_WEIGHTS, *WEIGHT_RANKINGS, HELD), reasons["weights"]) | reasons
    rows: list[dict[str, object]] = [{"test": "uniform", "reason": reasons.get("uniform", UNIFORM)}]
    for test, (measures, by_ranking) in TESTS.items():
        if test in reasons:
            rows.append({"test": test, "reason": reasons[test]})
            continue
        if test == "recency":
            rows += _single_numbers(recency, test, measures, reasons)
            continue
        table = rankings if by_ranking else seeds if test == "seeds" else documents
        keys = ["seed", "ranking"] if by_ranking else ["seed"]
        for measure in measures:
            rows += _means(table, test, measure, keys, reasons)
            if test == "evidence" and "label" in table:
                rows += _means(table, test, measure, [*keys, "label"], {})
    summary = pd.DataFrame(rows).reindex(columns=SUMMARY)
    return summary.astype({"seed": "Int64", "documents": "Int64"})


def _single_numbers(
    recency: pd.DataFrame, test: str, measures: tuple[str, ...], reasons: dict[str, str]
) -> Iterator[dict[str, object]]:
    """Yield the rows of T10 that stand in the summary, or the reason for a missing measure."""
    for measure in measures:
        found = recency[recency["measure"] == measure].drop(columns="at")
        for row in found.to_dict("records"):
            yield {"test": test} | {str(key): value for key, value in row.items()}
        if found.empty:
            yield {"test": test, "measure": measure, "reason": reasons.get(measure, NOT_MEASURED)}


def _means(
    table: pd.DataFrame, test: str, measure: str, keys: list[str], reasons: dict[str, str]
) -> list[dict[str, object]]:
    """Return a row for each group of documents that has a measure, and the reasons for others.

    Groups by class have no reasons of their own.
    """
    known = table.dropna(subset=measure) if measure in table else table.iloc[:0]
    rows: list[dict[str, object]] = []
    for key, group in known.groupby(keys, sort=True) if len(known) else ():
        values = group[measure].astype(np.float64)
        row = dict(zip(keys, key, strict=True)) if isinstance(key, tuple) else {}
        if "label" in row:
            row["class"] = row.pop("label")
        row |= {"test": test, "measure": measure, "documents": len(values)}
        rows.append(row | {"mean": values.mean(), "std": values.std()})
    if "label" in keys:
        return rows
    if not rows:
        reason = reasons.get(measure, NOT_MEASURED)
        return [{"test": test, "measure": measure, "reason": reason}]
    return [*rows, *_missing_rankings(known, test, measure, reasons)]


def _missing_rankings(
    known: pd.DataFrame, test: str, measure: str, reasons: dict[str, str]
) -> Iterator[dict[str, object]]:
    """Yield a row with the reason for each ranking that has no document with this measure."""
    for ranking in JUDGED_RANKINGS.get(test, ()):
        if ranking not in set(known["ranking"]):
            needs_order = test == "erasure" and ranking in REMOVAL_RANKINGS
            reason = reasons.get(ranking, NOT_ALL_UNITS if needs_order else NOT_MEASURED)
            yield {"test": test, "measure": measure, "ranking": ranking, "reason": reason}
