"""T10 of a trained classifier: its table, of one seed."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from heed.explanation.judgement import Subject, group_size
from heed.explanation.noise import MOST, Noise, fitting_rows, predict_with_noise
from heed.explanation.recency import NOISED, TENTHS, WINDOWED, measure_recency
from heed.explanation.recency_table import noise_table, places_table, positions_table
from heed.files import HeedError
from heed.tasks.classification.learning import class_indices
from heed.tokens.arrays import Tokens
from heed.tokens.marked import MarkedTokens
from heed.training.run import RunInfo

NO_NOISE = "no corpus of noise is named: explain.models.NAME.noise in params.yaml"
NOISE_HAS_LABELS = (
    "noise is the model's own corpus, which has no evidence that could be left out: its words "
    "would carry the label"
)
NOTHING_FITS = (
    f"no document is so short that {MOST} times as many words of noise fit beside it: this model "
    "knows positions, and those after max_tokens ({}) were never trained"
)
NO_LSTM = "encoder `{}` is no BiLSTM, between whose states alone the gradient is measured"
NO_GRADIENT = "no document has three recurrent states, or no gradient reaches those of the middle"
ALL_SHORT = (
    f"all documents have fewer than {TENTHS} tokens, or no tenth of them changes their predictions"
)


def count_documents(rows: np.ndarray, scale: float) -> int:
    """Return how many documents `explain_recency` reports as done in the end."""
    return sum(min(len(rows), group_size(number, scale)) for number in (WINDOWED, NOISED))


def explain_recency(
    subject: Subject,
    run: RunInfo,
    tokens: Tokens,
    noise: Tokens | None,
    rows: np.ndarray,
    scale: float,
    evidence: dict[int, np.ndarray],
    documents: pd.DataFrame,
    report_progress: Callable[[int], None],
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the table recency.csv of one seed, and measure → why it is not defined.

    Args:
        subject: the run's model, which has a network.
        run: the run.
        tokens: its corpus.
        noise: the corpus that the words of noise are from.
        rows: test documents that are not empty, in the order of their draw.
        scale: multiplies the numbers of documents.
        evidence: row → True for tokens of evidence, (tokens,), of documents that have some.
        documents: `id, label, predicted` of documents that were explained.
        report_progress: called with the documents that are done.

    """
    drawn = rows[: group_size(WINDOWED, scale)]
    measured = list(measure_recency(subject, drawn, report_progress))
    tables = [
        positions_table(measured, evidence, len(drawn)),
        places_table(evidence, _right(documents, tokens)),
    ]
    reasons = _missing(tables[0], run)
    h = run.recipe.hyperparameters
    known = fitting_rows(subject.encoded, h, rows)[: group_size(NOISED, scale)]
    try:
        words = _read_noise(run, tokens, noise, known)
    except HeedError as error:
        reasons["accuracy_lost"] = str(error)
    else:
        classes, unknown = predict_with_noise(subject, tokens, words, known, h)
        labels = class_indices(tokens, run.recipe.data, known)[known]
        tables.append(noise_table(classes == labels[:, None], unknown))
    report_progress(count_documents(rows, scale))
    return pd.concat([table for table in tables if len(table)], ignore_index=True), reasons


def _right(documents: pd.DataFrame, tokens: Tokens) -> dict[int, bool]:
    """Return row of the corpus → whether its prediction is right, of these documents."""
    is_right = dict(zip(documents["id"], documents["label"] == documents["predicted"], strict=True))
    names = tokens.documents(["id"])["id"]
    return {row: bool(is_right[name]) for row, name in enumerate(names) if name in is_right}


def _missing(positions: pd.DataFrame, run: RunInfo) -> dict[str, str]:
    """Return the reasons for measures of positions that the table does not have."""
    reasons = {}
    if "vanishing_ratio" not in set(positions["measure"]):
        encoder = run.recipe.hyperparameters.encoder
        reasons["vanishing_ratio"] = NO_GRADIENT if encoder == "bilstm" else NO_LSTM.format(encoder)
    if "importance" not in set(positions["measure"]):
        reasons["last_minus_middle"] = ALL_SHORT
    return reasons


def _read_noise(run: RunInfo, tokens: Tokens, noise: Tokens | None, known: np.ndarray) -> Noise:
    """Return the words of noise. Raises HeedError, with the reason, where there can be none."""
    if noise is None:
        raise HeedError(NO_NOISE)
    if not isinstance(noise, Tokens):
        raise HeedError(f"{noise.path}: has sentence pairs: noise is of documents with labels")
    is_own = noise.path == tokens.path
    if is_own and not MarkedTokens(noise):
        raise HeedError(NOISE_HAS_LABELS)
    if not len(known):
        raise HeedError(NOTHING_FITS.format(run.recipe.hyperparameters.max_tokens))
    return Noise(noise, noise.rows("train", run.fold if is_own else 0))
