"""The tests of weights, in the order of the report, and the tables of `heed explain`.

`judge_documents` makes the predictions of a classifier with all that the tests ask of them, batch
by batch; of a translator `translations` does. docs/contracts.md describes the tables: by document,
by ranking, by unit, and means.
"""

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
import torch

from heed.explanation.adversarial_attention import AdversarialModels
from heed.explanation.agreement import Correlation, Plausibility
from heed.explanation.diagnostic_mlp import DiagnosticNetworks
from heed.explanation.erasure import Erasure, InputRemoval, SingleErasure
from heed.explanation.other_weights import (
    AdversarialWeights,
    Conicity,
    Permutation,
    find_adversarial_weights,
)
from heed.explanation.rankings import (
    ADVERSARIAL,
    GROUPS,
    HELD,
    ORDERS,
    PERMUTATIONS,
    RANKINGS,
    WEIGHT_RANKINGS,
    Document,
    Group,
    Subject,
    by_group,
    gradient_rankings,
    group_size,
    left_out,
    no_sum_reason,
    predict_kept,
    read_documents,
    replace_one,
    torch_generator,
    weight_rankings,
)
from heed.explanation.recency import RecencyTest
from heed.explanation.seeds import Seeds
from heed.explanation.test import Judged, Outcome, Prediction, Weighted, WeightsTest
from heed.explanation.unexplained import SUMMARY
from heed.inputs.batches import Batch
from heed.models.classifier import Classifier, weighted_sum

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


def judge(judged: Judged) -> dict[str, Outcome]:
    """Return the outcome of each criterion for a model, by the name of its test."""
    return {name: test.judge(judged) for name, test in CRITERIA.items()}


def judge_documents(
    subject: Subject, rows: np.ndarray, scale: float, report_progress: Callable[[int, int], None]
) -> Iterator[tuple[int, Document, Prediction]]:
    """Yield the row, the document and the prediction of each of `rows`, the first with most tests.

    Args:
        subject: the model.
        rows: documents with at least one token, in the order of their draw.
        scale: multiplies the sizes of GROUPS.
        report_progress: called with the documents that are done, and their number.

    """
    has_sum = not no_sum_reason(subject, int(rows[0]))
    done, total = 0, min(len(rows), group_size(GROUPS[-1].end, scale))
    for group, chosen in by_group(rows, scale):
        for batch in subject.encoded.evaluation_batches(chosen):
            yield from _judge_batch(subject.model, batch, has_sum, group)
            done += len(batch.rows)
            report_progress(done, total)


def _judge_batch(
    model: Classifier, batch: Batch, has_sum: bool, group: Group
) -> Iterator[tuple[int, Document, Prediction]]:
    """Yield the documents of a batch with the outcome of their tests."""
    documents = read_documents(model, batch)
    weighted = adversarial = None
    with torch.no_grad():
        probabilities = torch.softmax(model(batch), -1)
        if has_sum:
            weighted = weighted_sum(model, batch)
    if weighted is not None and group.removes:
        generators = [torch_generator(int(row), ADVERSARIAL) for row in batch.rows]
        adversarial = find_adversarial_weights(weighted, generators)
    gradients = gradient_rankings(model, batch, documents, has_sum, group.integrates)
    for i, (document, rankings) in enumerate(zip(documents, gradients, strict=True)):
        row, units = int(batch.rows[i]), document.units
        numbers = np.random.default_rng((row, ORDERS))
        rankings["random"] = numbers.random(units)
        if group.removes:
            rankings["leave_one_out"] = left_out(model, document, row)
        if group.changes_inputs:
            known = np.flatnonzero(np.isfinite(rankings["leave_one_out"]))
            rankings["replacement"] = np.full(units, np.nan)
            rankings["replacement"][known] = replace_one(model, document, known)
        measures: dict[str, float] = {}
        if weighted is not None:
            rankings |= weight_rankings(model, weighted[i])
            measures = measure_weights(weighted[i], torch_generator(row, PERMUTATIONS))
        found = None
        if adversarial is not None:
            measures |= adversarial.measures(i)
            found = adversarial.weights[i, :units].mean(1).numpy()
        prediction = Prediction(
            units, probabilities[i].numpy(), rankings, measures,
            None if weighted is None else weighted[i], found, numbers,
            functools.partial(predict_kept, model, document) if group.changes_inputs else None,
        )  # fmt: skip
        yield row, document, prediction


def measure_weights(
    weighted: Weighted, generator: torch.Generator, tests: Sequence[WeightsTest] = EXPLAINED
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
    unit = np.arange(prediction.units, dtype=np.int32)
    columns: dict[str, object] = {"id": name, "unit": unit, **positions}
    for ranking in RANKINGS:
        columns[ranking] = prediction.rankings.get(ranking, nothing).astype(np.float32)
    adversarial = nothing if prediction.adversarial is None else prediction.adversarial
    return pd.DataFrame(columns | {"adversarial": adversarial.astype(np.float32)})


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
        needs_weights = test.of_weights == test.measures
        if reason := reasons.get(test.name, reasons.get("weights", "") if needs_weights else ""):
            rows.append({"test": test.name, "reason": reason})
            continue
        for measure in test.measures:
            found = _rows(test, measure, tables[test.table], reasons)
            rows += ({"test": test.name} | row for row in found)
    summary = pd.DataFrame(rows).reindex(columns=SUMMARY)
    return summary.astype({"seed": "Int64", "documents": "Int64"})


def _rows(
    test: WeightsTest, measure: str, table: pd.DataFrame, reasons: dict[str, str]
) -> list[Row]:
    """Return the rows of a measure, or one with the reason why there is none."""
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
            measured = set(known.get("ranking", ()))
            rows += (
                {"measure": measure, "ranking": ranking,
                 "reason": reasons.get(ranking, test.missing(ranking) or NOT_MEASURED)}
                for ranking in test.rankings if ranking not in measured
            )  # fmt: skip
        if test.by_class and "label" in table:
            rows += _means(known, measure, [*keys, "label"])
    # a group by class has no reason of its own
    if not any("documents" in row for row in rows):
        return [{"measure": measure, "reason": reasons.get(measure, NOT_MEASURED)}]
    return rows


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
