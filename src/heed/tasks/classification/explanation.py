"""The explanation of a trained classifier's predictions: its tables, of one seed."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import torch

from heed.explanation.judgement import Judged, Subject, judge, no_sum_reason
from heed.explanation.tables import (
    TESTS,
    UnitPositions,
    document_measures,
    ranking_measures,
    unit_table,
)
from heed.inputs.batches import EncodedCorpus
from heed.paths import run_folder, train_command
from heed.tasks.classification.learning import linear_features, read_texts
from heed.tasks.classification.prediction import load_predictor
from heed.tasks.classification.probabilities import predicted_probability, prediction_table
from heed.tasks.classification.recipe import Data, Prediction
from heed.tokens.arrays import Tokens
from heed.training.run import RunInfo

NO_NETWORK = (
    "encoder `none` reads no token by itself: a linear branch alone has no weights of tokens"
)
SELF_ATTENTION_SCALE = 0.5  # of the documents: each costs about twice as much
NO_EVIDENCE = "the corpus has no evidence: neither planted nor marked by people"


def explain_run(
    run: RunInfo,
    tokens: Tokens,
    rows: np.ndarray,
    scale: float,
    report_progress: Callable[[int, int], None],
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Return the tables `documents`, `rankings` and `units`, and test → why it is not defined.

    Args:
        run: the run.
        tokens: its corpus.
        rows: test documents that are not empty, in the order of their draw.
        scale: multiplies the numbers of documents.
        report_progress: called with the documents that are done, and their number.

    Raises:
        HeedError: a file of the run is missing or broken.

    """
    subject = _load_subject(run, tokens, rows)
    if subject.model.network is None:
        return _nothing(), dict.fromkeys(TESTS, NO_NETWORK)
    if subject.model.network.document_encoder.attention is not None:
        scale *= SELF_ATTENTION_SCALE
    reasons: dict[str, str] = {}
    if reason := no_sum_reason(subject, int(rows[0])):
        reasons["weights"] = reason
    spans = EvidenceReader(tokens, subject.encoded)
    share = spans.mean_share(rows)
    if not share:
        reasons["evidence"] = NO_EVIDENCE
    judged = judge(subject, rows, scale, report_progress)
    return _tables(judged, tokens, run.recipe.data, spans, share), reasons


def _tables(
    documents: Iterable[Judged], tokens: Tokens, data: Data, spans: "EvidenceReader", share: float
) -> dict[str, pd.DataFrame]:
    """Return the tables; `share` of the units is chosen to find the evidence."""
    rows, rankings, units, probabilities = [], [], [], []
    columns = tokens.documents(["id", f"label_{data.label}", "text"]).to_numpy()
    for judged in documents:
        name, label, text = columns[judged.row]
        positions = spans.positions(judged.row, judged.document.unit.numpy())
        evidence, head = positions["evidence"], {"id": name, "label": label}
        units.append(unit_table(judged, name, positions))
        # of the documents with all rankings: the report draws these over one of them
        kept = {"text": text if "integrated_gradients" in judged.rankings else None}
        rows.append(head | kept | document_measures(judged, evidence))
        rankings += [
            head | {"ranking": ranking} | values
            for ranking, values in ranking_measures(judged, evidence, share).items()
        ]
        probabilities.append(judged.probabilities)
    table = _with_predictions(rows, np.stack(probabilities), data.classes)
    # a corpus without evidence may leave no measure of any ranking
    ranked = pd.DataFrame(rankings, columns=None if rankings else ["id", "label", "ranking"])
    return {"documents": table, "rankings": ranked, "units": pd.concat(units, ignore_index=True)}


def _nothing() -> dict[str, pd.DataFrame]:
    """Return the tables without a row."""
    columns = {"documents": ["id", "label"], "rankings": ["id", "label", "ranking"]}
    tables = {name: pd.DataFrame(columns=names) for name, names in columns.items()}
    return tables | {"units": pd.DataFrame(columns=["id", "unit", "attention"])}


def _load_subject(run: RunInfo, tokens: Tokens, rows: np.ndarray) -> Subject:
    """Return a run's model on the CPU with its encoded corpus."""
    name = run.recipe.model
    predictor = load_predictor(
        run_folder(name, run.seed), run.recipe, Prediction(), "cpu", train_command(name, run.seed)
    )
    encoded = EncodedCorpus(tokens, predictor.vocabulary, run.recipe.hyperparameters)
    if predictor.model.branch is not None:
        features = linear_features(
            predictor.model.branch, read_texts(tokens, rows), run.recipe.hyperparameters
        )
        encoded = encoded.with_linear(features)
    # weights are never trained here, and gradients are those of embeddings and weights
    return Subject(predictor.model.requires_grad_(False).to(torch.float32), encoded)


def _with_predictions(
    documents: list[dict[str, Any]], probabilities: np.ndarray, classes: list[str]
) -> pd.DataFrame:
    """Return the documents' measures after their predictions."""
    measures = pd.DataFrame(documents)
    predictions = prediction_table(
        measures["id"].to_numpy(), measures["label"].to_numpy(), probabilities, classes
    )
    predictions.insert(3, "probability", predicted_probability(predictions))
    return predictions.join(measures.drop(columns=["id", "label"]))


class EvidenceReader:
    """Where the units of documents stand in their texts, and which of them hold evidence."""

    def __init__(self, tokens: Tokens, encoded: EncodedCorpus) -> None:
        """Open the positions of tokens and evidence; `encoded` says which tokens are read."""
        self._offsets, self._encoded = tokens.offsets, encoded
        self._starts, self._ends = (
            np.load(tokens.path / f"{name}.npy", mmap_mode="r") for name in ("starts", "ends")
        )
        table = pd.read_parquet(tokens.path / "evidence.parquet")
        self._spans = {
            row: group[["start", "end"]].to_numpy() for row, group in table.groupby("document")
        }

    def positions(self, row: int, unit: np.ndarray) -> UnitPositions:
        """Return `start, end` (characters) and `evidence` of each unit of a document, (units,).

        `unit` is the unit of each token that is read, (tokens,). A unit with a token of evidence is
        evidence.
        """
        starts, ends, is_evidence = self._tokens(row)
        first = np.flatnonzero(np.diff(unit, prepend=-1))
        last = np.append(first[1:], len(unit)) - 1
        return {
            "start": starts[first].astype(np.int32),
            "end": ends[last].astype(np.int32),
            "evidence": np.logical_or.reduceat(is_evidence, first),
        }

    def mean_share(self, rows: np.ndarray) -> float:
        """Return the mean share of tokens that are evidence, over documents."""
        return float(np.mean([self._tokens(row)[2].mean() for row in rows])) if self._spans else 0.0

    def _tokens(self, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return start, end and whether it is evidence of each token that is read."""
        positions, _ = self._encoded.positions(np.asarray([row]))
        indices = self._offsets[row] + positions[0]
        starts, ends = self._starts[indices], self._ends[indices]
        is_evidence = np.zeros(len(indices), bool)
        for first, last in self._spans.get(row, ()):
            is_evidence |= (starts >= first) & (ends <= last)
        return starts, ends, is_evidence
