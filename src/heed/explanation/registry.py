"""The tests of weights, in the order of the report, and the tables of `heed explain`.

docs/internals/contracts.md describes the tables: by document, by ranking, by unit, and means.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from heed.explanation.agreement import Correlation, Plausibility
from heed.explanation.interventions import (
    AdversarialWeights,
    Conicity,
    Erasure,
    InputRemoval,
    Permutation,
    SingleErasure,
)
from heed.explanation.sections import SUMMARY
from heed.explanation.test import (
    HELD,
    RANKINGS,
    REMOVAL_RANKINGS,
    WEIGHT_RANKINGS,
    Generator,
    Prediction,
    Weighted,
    WeightsTest,
)
from heed.explanation.trained_models import AdversarialModels, DiagnosticNetworks, Seeds


class RecencyTest(WeightsTest):
    """The places in a text where words count, and the effect of noise: `recency` measures it."""

    name = "recency"
    table = "recency"
    measures = ("vanishing_ratio", "last_minus_middle", "accuracy_lost")
    of_translations = False


TESTS: tuple[WeightsTest, ...] = (
    Correlation(), Permutation(), AdversarialWeights(), SingleErasure(), Erasure(), Seeds(),
    DiagnosticNetworks(), AdversarialModels(), InputRemoval(), Plausibility(), Conicity(),
    RecencyTest(),
)  # fmt: skip
CRITERIA = {test.name: test for test in TESTS if test.criterion}
# the order of summary.csv: tests of each seed, of pairs of seeds, and those with their own table
EXPLAINED = tuple(
    test
    for tables in (("documents", "rankings"), ("seeds",), ("recency",))
    for test in TESTS
    if test.table in tables
)
TRANSLATED = tuple(test for test in EXPLAINED if test.of_translations)

NOT_MEASURED = (
    "no document has this measure: its rankings are constant or were not computed for these "
    "documents, or the documents have one unit"
)
UNIFORM = (
    "answered by `heed compare`: the gain of the weights over equal weights (variants mean and "
    "uniform). Without a gain there is nothing for weights to explain"
)
UnitPositions = dict[str, np.ndarray]  # start, end and rationale of each unit, by column
Row = dict[str, object]


def measure_weights(
    weighted: Weighted, generator: Generator, tests: Sequence[WeightsTest] = EXPLAINED
) -> dict[str, float]:
    """Return the measures of one prediction's weights; tests of two units and more come last."""
    units = len(weighted.weights)
    measures = {"max_weight": float(weighted.weights.mean(1).max())}
    for test in sorted(tests, key=lambda test: test.least_units):
        if units >= test.least_units:
            measures |= test.measure_weights(weighted, generator)
    return measures


def measure_rankings(
    prediction: Prediction, rationale: np.ndarray, share: float
) -> dict[str, dict[str, float]]:
    """Return the measures of each ranking of a prediction, as `WeightsTest.measure_rankings`."""
    measures: dict[str, dict[str, float]] = {name: {} for name in prediction.rankings}
    for test in EXPLAINED:
        if prediction.units >= test.least_units:
            found = test.measure_rankings(prediction, rationale, share)
            for name, values in found.items():
                measures[name] |= values
    return {name: values for name, values in measures.items() if values}


def document_measures(prediction: Prediction, rationale: np.ndarray) -> dict[str, float]:
    """Return all measures of a document; `rationale` is True for units with some, (units,)."""
    measures: dict[str, float] = {"units": prediction.units} | prediction.measures
    for test in EXPLAINED:
        measures |= test.measure(prediction, rationale)
    return measures


def unit_table(prediction: Prediction, name: str, positions: UnitPositions) -> pd.DataFrame:
    """Return a row for each unit of a document: `id, unit, start, end, rationale`, each ranking."""
    nothing = np.full(prediction.units, np.nan)
    rankings = {ranking: prediction.rankings.get(ranking, nothing) for ranking in RANKINGS}
    rankings["adversarial"] = nothing if prediction.adversarial is None else prediction.adversarial
    unit = np.arange(prediction.units, dtype=np.int32)
    columns = {key: values.astype(np.float32) for key, values in rankings.items()}
    return pd.DataFrame({"id": name, "unit": unit, **positions, **columns})


def summarize(tables: dict[str, pd.DataFrame], reasons: dict[str, str]) -> pd.DataFrame:
    """Return the means over documents, with a row and a reason for what is not defined.

    `reasons` maps a test, measure or ranking to why it is not defined, and `weights` to why tests
    of weights and rankings by weights are not.
    """
    if "weights" in reasons:
        reasons = dict.fromkeys((*WEIGHT_RANKINGS, HELD), reasons["weights"]) | reasons
    rows: list[Row] = [{"test": "uniform", "reason": reasons.get("uniform", UNIFORM)}]
    for test in EXPLAINED:
        needs_weights = test.of_weights == test.measures
        if reason := reasons.get(test.name, reasons.get("weights", "") if needs_weights else ""):
            rows.append({"test": test.name, "reason": reason})
            continue
        for measure in test.measures:
            found = _rows(test, measure, tables[test.table], reasons)
            rows += ({"test": test.name, "measure": measure} | row for row in found)
    summary = pd.DataFrame(rows).reindex(columns=SUMMARY)
    return summary.astype({"seed": "Int64", "documents": "Int64"})


def _rows(
    test: WeightsTest, measure: str, table: pd.DataFrame, reasons: dict[str, str]
) -> list[Row]:
    if measure in test.of_weights and "weights" in reasons:
        reasons = {measure: reasons["weights"]} | reasons
    if test.table == "recency":
        known = table[table["measure"] == measure].drop(columns="at")
        rows: list[Row] = known.to_dict("records")  # type: ignore[assignment]  # keys are text
    else:
        known = table.dropna(subset=measure) if measure in table else table.iloc[:0]
        keys = ["seed", "ranking"] if test.table == "rankings" else ["seed"]
        rows = _means(known, measure, keys)
        if rows:
            rows += _without_ranking(test, {*known.get("ranking", ())}, reasons)
        if test.by_class and "label" in table:
            rows += _means(known.rename(columns={"label": "class"}), measure, [*keys, "class"])
    return rows or [{"reason": reasons.get(measure, NOT_MEASURED)}]


def _without_ranking(test: WeightsTest, there: set[str], reasons: dict[str, str]) -> list[Row]:
    by_removal = dict.fromkeys(REMOVAL_RANKINGS, test.not_all_units)
    return [
        {"ranking": name, "reason": reasons.get(name, by_removal.get(name) or NOT_MEASURED)}
        for name in test.rankings
        if name not in there
    ]


def _means(known: pd.DataFrame, measure: str, keys: list[str]) -> list[Row]:
    rows: list[Row] = []
    for key, group in known.groupby(keys) if len(known) else ():
        values = group[measure].astype(np.float64)
        assert isinstance(key, tuple)
        row: Row = dict(zip(keys, key, strict=True))
        rows.append(row | {"documents": len(values), "mean": values.mean(), "std": values.std()})
    return rows
