"""What a model attended to: one weight a token for at most 200 test documents, chosen by a rule and
never by hand.

Weights are not explanations by themselves (lecture 002): they say how much a position counts in the
pooled vector.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from heed.tasks.classification.probabilities import certainty
from heed.tokens.arrays import Tokens

DOCUMENTS = 200


def choose(
    predictions: pd.DataFrame, lengths: np.ndarray, documents: int = DOCUMENTS
) -> pd.DataFrame:
    """Return `row` and `rule` of the documents to explain, in the order of the corpus.

    The rule: the test documents fall into eight groups (predicted right or wrong; shorter, or as
    long as the median and longer; the more and the less certain half of those). Of each group an
    eighth of `documents` is taken: the most certain of the certain halves, the least certain of the
    others; ties go to the first in the corpus. Empty texts are left out.

    Args:
        predictions: `label`, `predicted` and `probability` (of the predicted class), one row a test
            document.
        lengths: tokens of each, (documents,)
        documents: how many at most.

    """
    table = predictions.assign(row=np.arange(len(predictions)), length=lengths)
    table = table[table["length"] > 0]
    right = table["label"] == table["predicted"]
    short = table["length"] < table["length"].median()
    parts = []
    for (is_right, said), (is_short, size) in itertools.product(
        ((True, "right"), (False, "wrong")), ((True, "short"), (False, "long"))
    ):
        group = table[(right == is_right) & (short == is_short)].sort_values(
            "probability", ascending=False, kind="stable"
        )
        half = (len(group) + 1) // 2
        for chosen, how_certain in (
            (group.iloc[:half], "most certain"),
            (group.iloc[half:][::-1], "least certain"),
        ):
            parts.append(chosen.head(documents // 8).assign(rule=f"{said}, {size}, {how_certain}"))
    return pd.concat(parts).sort_values("row")[["row", "rule"]]


class Reading(NamedTuple):
    """What a model makes of one document.

    probability: of each class, (classes,). read: which of its tokens were read, counted from 0,
        (tokens read,). weights: how much each of these counts, (tokens read,). sentences: the same
        of each sentence read, or None for a model that knows none.
    """

    probability: np.ndarray
    read: np.ndarray
    weights: np.ndarray
    sentences: np.ndarray | None


def shown_documents(
    reader: Callable[[np.ndarray], Callable[[int], Reading]],
    tokens: Tokens,
    predictions: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the chosen documents, and one row for each token of them that was read.

    Args:
        reader: returns, for the documents (rows of the corpus) that will be read, what reads each
            of them.
        tokens: the corpus.
        predictions: of the test part by the same model (docs/contracts.md).

    Returns:
        documents: `id, text, label, predicted, probability, rule`.
        tokens: `id, token, start, end, weight, sentence, sentence_weight, evidence`: token and
            sentence are counted from 0, positions are characters of the text; sentence_weight is
            missing for models that know no sentences; evidence says whether the token stands in a
            planted span.

    """
    columns = tokens.documents(["id", "text"])
    place = pd.Series(np.arange(len(columns)), columns["id"])
    rows = place[predictions["id"]].to_numpy()
    table = predictions[["id", "label", "predicted"]].assign(
        text=columns["text"].to_numpy()[rows], probability=certainty(predictions)
    )
    chosen = choose(table, np.diff(tokens.offsets)[rows])
    documents = table.iloc[chosen["row"]].assign(rule=chosen["rule"].to_numpy())
    starts, ends = (
        np.load(tokens.path / f"{name}.npy", mmap_mode="r") for name in ("starts", "ends")
    )
    evidence = pd.read_parquet(tokens.path / "evidence.parquet")
    read = reader(rows[chosen["row"]])
    frames = [
        _tokens_of(name, tokens, rows[at], read(rows[at]), starts, ends, evidence)
        for name, at in zip(documents["id"], chosen["row"], strict=True)
    ]
    order = ["id", "text", "label", "predicted", "probability", "rule"]
    return documents[order].reset_index(drop=True), pd.concat(frames, ignore_index=True)


def _tokens_of(
    name: str,
    tokens: Tokens,
    row: int,
    reading: Reading,
    starts: np.ndarray,
    ends: np.ndarray,
    evidence: pd.DataFrame,
) -> pd.DataFrame:
    """Return a row for each token of document `row` (called `name`) that was read."""
    at = tokens.offsets[row] + reading.read
    begin, end = starts[at], ends[at]
    sentence = np.searchsorted(tokens.sentences(row), reading.read, side="right") - 1
    spans = evidence[evidence["document"] == row][["start", "end"]].to_numpy()
    planted = np.zeros(len(at), bool)
    for first, last in spans:
        planted |= (begin >= first) & (end <= last)
    # the model counts only sentences that were read
    numbers = np.unique(sentence, return_inverse=True)[1]
    return pd.DataFrame(
        {
            "id": name, "token": reading.read, "start": begin, "end": end,
            "weight": reading.weights, "sentence": sentence,
            "sentence_weight": np.nan if reading.sentences is None else reading.sentences[numbers],
            "evidence": planted,
        }
    )  # fmt: skip
