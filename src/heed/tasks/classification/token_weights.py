"""The weights of tokens in at most 200 test documents, which a rule chooses, never a person.

Weights are not explanations by themselves (lecture 002): they are the weights of positions in the
pooled vector.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from heed.tokens.arrays import MarkedTokens, Tokens

DOCUMENTS = 200


def choose_documents(
    predictions: pd.DataFrame, lengths: np.ndarray, documents: int = DOCUMENTS
) -> pd.DataFrame:
    """Return `row` and `rule` of the chosen documents, in the order of `predictions`.

    The rule: the test documents fall into eight groups (predicted right or wrong; shorter, or as
    long as the median and longer; the more and the less certain half of those). Of each group an
    eighth of `documents` is taken: the most certain of the certain halves, the least certain of the
    others; ties go to the first in the corpus. Empty texts are left out.

    Args:
        predictions: `label`, `predicted` and `probability` (of the predicted class), one row a test
            document.
        lengths: tokens of each document, (documents,)
        documents: the largest number of documents chosen.

    """
    table = predictions.assign(row=np.arange(len(predictions)), length=lengths)
    table = table[table["length"] > 0]
    right = table["label"] == table["predicted"]
    short = table["length"] < table["length"].median()
    groups = []
    for (is_right, correctness), (is_short, size) in itertools.product(
        ((True, "right"), (False, "wrong")), ((True, "short"), (False, "long"))
    ):
        group = table[(right == is_right) & (short == is_short)].sort_values(
            "probability", ascending=False, kind="stable"
        )
        half = (len(group) + 1) // 2
        for candidates, certainty in (
            (group.iloc[:half], "most certain"),
            (group.iloc[half:].sort_values("probability", kind="stable"), "least certain"),
        ):
            rule = f"{correctness}, {size}, {certainty}"
            groups.append(candidates.head(documents // 8).assign(rule=rule))
    return pd.concat(groups).sort_values("row")[["row", "rule"]]


class WeightedDocument(NamedTuple):
    """A model's prediction of a document, and the weights of its tokens.

    probability: of each class, (classes,)
    positions: of the tokens that were read, counted from 0, (tokens read,)
    weights: of these tokens, (tokens read,)
    sentence_weights: of the sentences read, or None for a model that is not hierarchical
    """

    probability: np.ndarray
    positions: np.ndarray
    weights: np.ndarray
    sentence_weights: np.ndarray | None


def weight_tables(
    reader: Callable[[np.ndarray], Callable[[int], WeightedDocument]],
    tokens: Tokens,
    predictions: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the chosen documents, and one row for each of their tokens that was read.

    Args:
        reader: maps documents (rows of the corpus) to a function that reads one of them.
        tokens: the corpus.
        predictions: `id, label, predicted, probability` of the test part by the same model.

    Returns:
        documents: `id, text, label, predicted, probability, rule`.
        weights: `id, token, start, end, weight, sentence, sentence_weight, evidence`. Token and
            sentence are counted from 0, start and end are characters of the text; sentence_weight
            is missing for models that are not hierarchical; evidence is true for a token of
            known evidence.

    """
    rows = tokens.rows_of(predictions["id"])
    chosen = choose_documents(predictions, np.diff(tokens.offsets)[rows])
    chosen_rows = rows[chosen["row"]]
    documents = predictions.iloc[chosen["row"]].assign(
        rule=chosen["rule"].to_numpy(),
        text=tokens.documents(["text"], chosen_rows)["text"].to_numpy(),
    )
    marked = MarkedTokens(tokens)
    read = reader(chosen_rows)
    frames = [
        _token_table(name, tokens, row, read(row), marked)
        for name, row in zip(documents["id"], chosen_rows, strict=True)
    ]
    order = ["id", "text", "label", "predicted", "probability", "rule"]
    return documents[order].reset_index(drop=True), pd.concat(frames, ignore_index=True)


def _token_table(
    name: str,
    tokens: Tokens,
    row: int,
    document: WeightedDocument,
    marked: MarkedTokens,
) -> pd.DataFrame:
    """Return a row for each token that was read of the document `row`, whose id is `name`."""
    starts, ends = marked.spans(row)
    sentence = np.searchsorted(tokens.sentences(row), document.positions, side="right") - 1
    # weights are only of the sentences that were read, numbered without gaps
    numbers = np.unique(sentence, return_inverse=True)[1]
    return pd.DataFrame(
        {
            "id": name, "token": document.positions,
            "start": starts[document.positions], "end": ends[document.positions],
            "weight": document.weights, "sentence": sentence,
            "sentence_weight": (
                np.nan if document.sentence_weights is None else document.sentence_weights[numbers]
            ),
            "evidence": marked.mask(row)[document.positions],
        }
    )  # fmt: skip
