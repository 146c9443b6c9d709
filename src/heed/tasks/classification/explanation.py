"""The explanation of a trained classifier's predictions: its tables, of one seed."""

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch

from heed.explanation.rankings import (
    GROUPS,
    Subject,
    group_size,
    judge_documents,
    no_sum_reason,
    read_documents,
)
from heed.explanation.recency import TENTHS, count_documents, explain_recency
from heed.explanation.registry import (
    UnitPositions,
    document_measures,
    measure_rankings,
    summarize,
    unit_table,
)
from heed.explanation.test import Prediction as Explained
from heed.explanation.trained_models import seed_agreement as agreement
from heed.inputs.batches import EncodedCorpus
from heed.paths import run_folder, train_command
from heed.tasks.classification.learning import class_indices
from heed.tasks.classification.metrics import prediction_table
from heed.tasks.classification.prediction import load_predictor
from heed.tasks.classification.recipe import Data, Prediction
from heed.tokens.arrays import MarkedTokens, Tokens
from heed.training.run import RunInfo

SELF_ATTENTION_SCALE = 0.5  # of the documents: each costs about twice as much
NO_RATIONALE = "no explained document has rationales"


def explain_run(
    run: RunInfo, tokens: Tokens, rows: np.ndarray, scale: float,
    report_progress: Callable[[int, int], None], noise: Tokens | None = None,
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:  # fmt: skip
    """Return the tables of one seed (TABLES of stage.py), and test → why it is not defined.

    `rows` are test documents that are not empty, in the order of their draw; `scale` multiplies
    their numbers; `noise` is the corpus of words of noise. Raises HeedError: a broken run.
    """
    subject = load_subject(run, tokens)
    if subject.model.network.document_encoder.attention is not None:
        scale *= SELF_ATTENTION_SCALE
    reasons: dict[str, str] = {}
    if reason := no_sum_reason(subject, int(rows[0])):
        reasons["weights"] = reason
    spans = RationaleReader(tokens, subject.encoded)
    judged_rows = rows[: group_size(GROUPS[-1].end, scale)]
    rationale = read_units(subject, spans, judged_rows).rationale
    share = mean_share(rationale[row] for row in sorted(rationale))
    if not share:
        reasons["rationale"] = NO_RATIONALE
    further = count_documents(rows, scale)
    total = further + min(len(rows), group_size(GROUPS[-1].end, scale))
    judged = judge_documents(subject, rows, scale, lambda done, _: report_progress(done, total))
    placed = (
        (row, spans.positions(row, document.unit.numpy()), prediction)
        for row, document, prediction in judged
    )
    tables = explanation_tables(placed, tokens, run.recipe.data, share)
    labels = class_indices(tokens, run.recipe.data, rows)
    tables["recency"], missing = explain_recency(
        subject, run.recipe.hyperparameters, run.fold, labels, tokens, noise, rows, scale,
        spans.of_tokens(rows), tables["documents"],
        lambda done: report_progress(total - further + done, total),
    )  # fmt: skip
    return tables, reasons | missing


def document_offsets(tokens: Tokens, _: Data) -> np.ndarray:
    """Return the first token of each document, (documents + 1,)."""
    return tokens.offsets


def seed_agreement(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the agreement of seeds from the tables of all of them."""
    documents = tables["documents"]
    probabilities = [column for column in map(str, documents) if column.startswith("p:")]
    return agreement(tables["units"], documents, probabilities)


summarize_tables = summarize


def explanation_tables(
    documents: Iterable[tuple[int, UnitPositions, Explained]], tokens: Tokens, data: Data,
    share: float,
) -> dict[str, pd.DataFrame]:  # fmt: skip
    """Return the tables; `share` of the units is chosen to find the rationale."""
    rows, rankings, units, probabilities = [], [], [], []
    columns = tokens.documents(["id", f"label_{data.label}", "text"]).to_numpy()
    for row, positions, judged in documents:
        name, label, text = columns[row]
        rationale, head = positions["rationale"], {"id": name, "label": label}
        units.append(unit_table(judged, name, positions))
        # of the documents with all rankings: the report draws these over one of them
        kept = {"text": text if "integrated_gradients" in judged.rankings else None}
        rows.append(head | kept | document_measures(judged, rationale))
        rankings += [
            head | {"ranking": ranking} | values
            for ranking, values in measure_rankings(judged, rationale, share).items()
        ]
        probabilities.append(judged.probabilities)
    measures = pd.DataFrame(rows)
    ids, labels = (measures[name].to_numpy() for name in ("id", "label"))
    table = prediction_table(ids, labels, np.stack(probabilities), data.classes)
    table.insert(3, "probability", table.filter(like="p:").max(axis=1))
    table = table.join(measures.drop(columns=["id", "label"]))
    # a corpus without a rationale may leave no measure of any ranking
    ranked = pd.DataFrame(rankings, columns=None if rankings else ["id", "label", "ranking"])
    return {"documents": table, "rankings": ranked, "units": pd.concat(units, ignore_index=True)}


def load_subject(run: RunInfo, tokens: Tokens) -> Subject:
    """Return a run's model on the CPU with its encoded corpus."""
    name, h = run.recipe.model, run.recipe.hyperparameters
    folder, command = run_folder(name, run.seed), train_command(name, run.seed)
    predictor = load_predictor(folder, run.recipe, Prediction(), "cpu", command)
    encoded = EncodedCorpus(tokens, predictor.vocabulary, h)
    # weights are never trained here, and gradients are those of embeddings and weights
    return Subject(predictor.model.requires_grad_(False).to(torch.float32), encoded)


class RationaleReader:
    """Where the units of documents stand in their texts, and which of them hold rationale."""

    def __init__(self, tokens: Tokens, encoded: EncodedCorpus) -> None:
        """Open the positions of tokens and rationale; `encoded` says which tokens are read."""
        self._rationale, self._encoded = MarkedTokens(tokens), encoded

    def positions(self, row: int, unit: np.ndarray) -> UnitPositions:
        """Return `start, end` (characters) and `rationale` of each unit of a document, (units,)."""
        read = self._read(row)
        starts, ends = (array[read] for array in self._rationale.spans(row))
        first = np.flatnonzero(np.diff(unit, prepend=-1))
        last = np.append(first[1:], len(unit)) - 1
        return {
            "start": starts[first].astype(np.int32),
            "end": ends[last].astype(np.int32),
            "rationale": np.logical_or.reduceat(self._rationale.mask(row)[read], first),
        }

    def token_rationale(self, row: int) -> np.ndarray:
        """Return whether each token that is read belongs to the rationale, (tokens,)."""
        return self._rationale.mask(row)[self._read(row)]

    def of_tokens(self, rows: np.ndarray) -> dict[int, np.ndarray]:
        """Return row → True for rationale, (tokens,), of documents with some and TENTHS tokens."""
        masks = {row: self.token_rationale(row) for row in rows.tolist()}
        return {row: mask for row, mask in masks.items() if mask.any() and len(mask) >= TENTHS}

    def _read(self, row: int) -> np.ndarray:
        positions, token_mask = self._encoded.positions(np.asarray([row]))
        return positions[token_mask]


@dataclasses.dataclass(frozen=True)
class Units:
    """By row: the unit of each token read, and which units and tokens belong to a rationale."""

    of_token: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)
    rationale: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)
    token_rationale: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)


def read_units(subject: Subject, reader: RationaleReader, rows: np.ndarray) -> Units:
    """Return the units of some documents."""
    units = Units()
    for batch in subject.encoded.evaluation_batches(rows):
        documents = read_documents(subject.model, batch)
        for row, document in zip(batch.rows.tolist(), documents, strict=True):
            units.of_token[row] = unit = document.unit.numpy()
            units.token_rationale[row] = is_rationale = reader.token_rationale(row)
            units.rationale[row] = np.bincount(unit, is_rationale, document.units) > 0
    return units


def mean_share(rationale: Iterable[np.ndarray]) -> float:
    """Return the mean share of units with rationale (units,), over documents with any, or 0."""
    shares = [of_document.mean() for of_document in rationale]
    return float(np.mean([share for share in shares if share] or [0.0]))
