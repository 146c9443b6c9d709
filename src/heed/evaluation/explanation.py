"""What a model attended to: one weight a token for at most 200 test documents, chosen by a rule and never by hand.

Weights are not explanations by themselves (lecture 002): they say how much a position counts in the pooled vector.
"""

import itertools

import numpy as np
import pandas as pd

from heed.text.tokens import Tokens
from heed.training.run import Run

DOCUMENTS = 200


def choose(predictions: pd.DataFrame, lengths: np.ndarray, documents: int = DOCUMENTS) -> pd.DataFrame:
    """Return `row` and `rule` of the documents to explain, in the order of the corpus.

    The rule: the test documents fall into eight groups (predicted right or wrong; shorter, or as long as the median and
    longer; the more and the less certain half of those). Of each group an eighth of `documents` is taken: the most certain of
    the certain halves, the least certain of the others; ties go to the first in the corpus. Empty texts are left out.

    Args:
        predictions: `label`, `predicted` and `probability` (of the predicted class), one row a test document.
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
        for chosen, certainty in ((group.iloc[:half], "most certain"), (group.iloc[half:][::-1], "least certain")):
            parts.append(chosen.head(documents // 8).assign(rule=f"{said}, {size}, {certainty}"))
    return pd.concat(parts).sort_values("row")[["row", "rule"]]


def explain(run: Run, tokens: Tokens, predictions: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the chosen documents, and one row for each token of them that was read.

    Args:
        run: a trained run.
        tokens: its corpus.
        predictions: its predictions on the test part (docs/contracts.md).

    Returns:
        documents: `id, text, label, predicted, probability, rule`.
        tokens: `id, token, start, end, weight, sentence, sentence_weight, evidence`: token and sentence are counted from 0,
            positions are characters of the text; sentence_weight is missing for models that know no sentences; evidence says
            whether the token stands in a planted span.

    """
    columns = tokens.documents(["id", "text"])
    place = pd.Series(np.arange(len(columns)), columns["id"])
    rows = place[predictions["id"]].to_numpy()
    classes = predictions.filter(like="p:")
    table = predictions[["id", "label", "predicted"]].assign(
        text=columns["text"].to_numpy()[rows], probability=classes.max(axis=1).to_numpy()
    )
    chosen = choose(table, np.diff(tokens.offsets)[rows])
    documents = table.iloc[chosen["row"]].assign(rule=chosen["rule"].to_numpy())
    starts, ends = (np.load(tokens.path / f"{name}.npy", mmap_mode="r") for name in ("starts", "ends"))
    evidence = pd.read_parquet(tokens.path / "evidence.parquet")
    frames = [
        _of_document(run, tokens, rows[at], text, starts, ends, evidence)
        for at, text in zip(chosen["row"], documents["text"], strict=True)
    ]
    order = ["id", "text", "label", "predicted", "probability", "rule"]
    return documents[order].reset_index(drop=True), pd.concat(frames, ignore_index=True)


def _of_document(
    run: Run, tokens: Tokens, row: int, text: str, starts: np.ndarray, ends: np.ndarray, evidence: pd.DataFrame
) -> pd.DataFrame:
    alone = tokens.document(row)
    _, read, weights, of_sentences = run.predict(text, alone)
    at = tokens.offsets[row] + read
    begin, end = starts[at], ends[at]
    sentence = np.searchsorted(alone.sentences(0), read, side="right") - 1
    spans = evidence[evidence["document"] == row][["start", "end"]].to_numpy()
    planted = np.zeros(len(read), bool)
    for first, last in spans:
        planted |= (begin >= first) & (end <= last)
    numbers = np.unique(sentence, return_inverse=True)[1]  # the model counts only sentences that were read
    return pd.DataFrame(
        {
            "id": tokens.documents(["id"])["id"][row], "token": read, "start": begin, "end": end,
            "weight": weights, "sentence": sentence,
            "sentence_weight": np.nan if of_sentences is None else of_sentences[numbers], "evidence": planted,
        }
    )  # fmt: skip
