"""The weights of each head of self-attention in two short test documents (lecture 000).

The documents are chosen by their length and their class, never by what a model made of them, so
that all models of a corpus are shown on the same ones.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from heed.tokens.arrays import MarkedTokens, Tokens

DOCUMENTS = 2
SHORTEST, LONGEST = 8, 40  # tokens: a heat map of more cannot be read word by word
COLUMNS = (
    "id", "label", "predicted", "head", "query", "key", "query_word", "key_word", "evidence",
    "weight",
)  # fmt: skip


def choose_short_documents(
    labels: np.ndarray, lengths: np.ndarray, has_evidence: Callable[[int], bool]
) -> list[int]:
    """Return the indices of at most two documents, of different classes.

    The rule: of the documents with 8 to 40 tokens those with evidence before those without, the
    shorter before the longer, then the first of the corpus; of each class the first one.

    Args:
        labels: the true class of each document, (documents,)
        lengths: tokens of each document, (documents,)
        has_evidence: whether a document, by its index, has a token of known evidence.

    """
    candidates = np.flatnonzero((lengths >= SHORTEST) & (lengths <= LONGEST))
    by_length = candidates[np.argsort(lengths[candidates], kind="stable")]
    with_evidence = [index for index in map(int, by_length) if has_evidence(index)]
    chosen: dict[str, int] = {}
    for index in [*with_evidence, *map(int, by_length)]:
        chosen.setdefault(labels[index], index)
    return list(chosen.values())[:DOCUMENTS]


def head_table(
    read: Callable[[int], np.ndarray | None],
    tokens: Tokens,
    predictions: pd.DataFrame,
    max_tokens: int,
) -> pd.DataFrame:
    """Return a row for each head and each pair of tokens of the chosen documents.

    Args:
        read: maps a document (row of the corpus) to the weights of each head, (heads, queries,
            keys), or to None for a model without self-attention.
        tokens: the corpus.
        predictions: `id, label, predicted` of the test part by the same model.
        max_tokens: longer documents are not read whole, and are not chosen.

    Returns:
        `id, label, predicted, head, query, key, query_word, key_word, evidence, weight`. Heads,
        queries and keys are counted from 0; evidence is of the key; the weights of a query sum to 1
        over the keys. No rows for a model without self-attention, or without a short document.

    """
    rows = tokens.rows_of(predictions["id"])
    lengths = np.diff(tokens.offsets)[rows]
    marked = MarkedTokens(tokens)
    chosen = choose_short_documents(
        predictions["label"].to_numpy(),
        np.where(lengths <= max_tokens, lengths, 0),
        lambda index: bool(marked and marked.mask(rows[index]).any()),
    )
    frames = [pd.DataFrame(columns=list(COLUMNS))]
    for index in chosen:
        weights = read(rows[index])
        if weights is not None:
            document = predictions.iloc[index]
            ids = tokens.ids[tokens.offsets[rows[index]] : tokens.offsets[rows[index] + 1]]
            words = np.asarray([tokens.lexicon[i] for i in ids.tolist()], object)
            table = _pairs(weights, words, marked.mask(rows[index]))
            named = table.assign(**{name: document[name] for name in COLUMNS[:3]})
            frames.append(named[list(COLUMNS)])
    return pd.concat(frames[1:] or frames, ignore_index=True)


def _pairs(weights: np.ndarray, words: np.ndarray, evidence: np.ndarray) -> pd.DataFrame:
    """Return a row for each head, query and key of one document."""
    head, query, key = (index.ravel() for index in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "head": head,
            "query": query,
            "key": key,
            "query_word": words[query],
            "key_word": words[key],
            "evidence": evidence[key],
            "weight": weights.ravel().astype(np.float32),
        }
    )
