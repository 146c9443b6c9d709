"""The tables of `heed explain` (docs/contracts.md): by document, by ranking, by unit, and means."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from heed.explanation.rankings import HELD, RANKINGS, WEIGHT_RANKINGS
from heed.explanation.registry import EXPLAINED
from heed.explanation.test import Prediction, WeightsTest
from heed.explanation.unexplained import SUMMARY

NOT_MEASURED = (
    "no document has this measure: its rankings are constant or were not computed for these "
    "documents, or the documents have one unit"
)
UNIFORM = (
    "answered by `heed compare`: the gain of the weights over equal weights (variants mean and "
    "uniform). Without a gain there is nothing for weights to explain"
)
UnitPositions = dict[str, np.ndarray]  # start, end and evidence of each unit, by column
Row = dict[str, object]


def unit_table(prediction: Prediction, name: str, positions: UnitPositions) -> pd.DataFrame:
    """Return a row for each unit of a document: `id, unit, start, end, evidence`, each ranking."""
    nothing = np.full(prediction.units, np.nan)
    columns: dict[str, object] = {
        "id": name,
        "unit": np.arange(prediction.units, dtype=np.int32),
        **positions,
    }
    for ranking in RANKINGS:
        columns[ranking] = prediction.rankings.get(ranking, nothing).astype(np.float32)
    adversarial = nothing if prediction.adversarial is None else prediction.adversarial
    return pd.DataFrame(columns | {"adversarial": adversarial.astype(np.float32)})


def document_measures(prediction: Prediction, evidence: np.ndarray) -> dict[str, float]:
    """Return all measures of a document; `evidence` is True for units with some, (units,)."""
    measures: dict[str, float] = {"units": prediction.units} | prediction.measures
    for test in EXPLAINED:
        measures |= test.measure(prediction, evidence)
    return measures


def summarize(
    documents: pd.DataFrame,
    rankings: pd.DataFrame,
    seeds: pd.DataFrame,
    reasons: dict[str, str],
    recency: pd.DataFrame,
) -> pd.DataFrame:
    """Return the means over documents, with a row and a reason for what is not defined.

    Args:
        documents, rankings, seeds, recency: the tables of docs/contracts.md.
        reasons: test, measure or ranking → why it is not defined; `weights` → why tests of weights
            and the rankings by weights are not.

    """
    if "weights" in reasons:
        reasons = dict.fromkeys((*WEIGHT_RANKINGS, HELD), reasons["weights"]) | reasons
    rows: list[Row] = [{"test": "uniform", "reason": reasons.get("uniform", UNIFORM)}]
    tables = {"documents": documents, "rankings": rankings, "seeds": seeds, "recency": recency}
    for test in EXPLAINED:
        if reason := _reason(test, reasons):
            rows.append({"test": test.name, "reason": reason})
            continue
        for measure in test.measures:
            rows += _rows(test, measure, tables[test.table], reasons)
    summary = pd.DataFrame(rows).reindex(columns=SUMMARY)
    return summary.astype({"seed": "Int64", "documents": "Int64"})


def _reason(test: WeightsTest, reasons: dict[str, str]) -> str:
    """Return why a whole test is not defined, if there is a reason."""
    needs_weights = test.of_weights == test.measures
    return reasons.get(test.name, reasons.get("weights", "") if needs_weights else "")


def _rows(
    test: WeightsTest, measure: str, table: pd.DataFrame, reasons: dict[str, str]
) -> Iterator[Row]:
    """Yield the rows of a measure."""
    if measure in test.of_weights and "weights" in reasons:
        reasons = {measure: reasons["weights"]} | reasons
    if test.table == "recency":
        found = table[table["measure"] == measure].drop(columns="at")
        rows = [{str(key): value for key, value in row.items()} for row in found.to_dict("records")]
    else:
        known = table.dropna(subset=measure) if measure in table else table.iloc[:0]
        keys = ["seed", "ranking"] if test.table == "rankings" else ["seed"]
        rows = _means(known, measure, keys)
        if rows:
            rows += _missing_rankings(test, measure, set(known.get("ranking", ())), reasons)
        if test.by_class and "label" in table:
            rows += _means(known, measure, [*keys, "label"])
    # a group by class has no reason of its own
    if not any("documents" in row for row in rows):
        rows = [{"measure": measure, "reason": reasons.get(measure, NOT_MEASURED)}]
    for row in rows:
        yield {"test": test.name} | row


def _means(known: pd.DataFrame, measure: str, keys: list[str]) -> list[Row]:
    """Return the mean of a measure in each group of documents that has it."""
    rows: list[Row] = []
    for key, group in known.groupby(keys, sort=True) if len(known) else ():
        values = group[measure].astype(np.float64)
        row: Row = dict(zip(keys, key, strict=True)) if isinstance(key, tuple) else {}
        if "label" in row:
            row["class"] = row.pop("label")
        row |= {"measure": measure, "documents": len(values)}
        rows.append(row | {"mean": values.mean(), "std": values.std()})
    return rows


def _missing_rankings(
    test: WeightsTest, measure: str, known: set[str], reasons: dict[str, str]
) -> list[Row]:
    """Return a row with the reason for each ranking that has no document with this measure."""
    return [
        {
            "measure": measure,
            "ranking": ranking,
            "reason": reasons.get(ranking, test.missing(ranking) or NOT_MEASURED),
        }
        for ranking in test.rankings
        if ranking not in known
    ]
