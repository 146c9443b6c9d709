"""The sentences that the report shows: the pair, its translation, the weights of its words.

They are chosen by a rule that no model has a part in: of the test sentences, sorted by the number
of source words and then in the order of the corpus, those in the middle of GROUPS groups of equal
size. So the same sentences can be compared between models, and none was picked because it suits.

Of SPREAD_SENTENCES groups, which are spread evenly over all lengths, there are two more tables: the
gradient that reaches each word of the source (models/source_gradients.py defines it), and the state
of the source, which is all that a decoder without attention knows of it. Lecture 001 recalls its
projection to a plane (Sutskever et al. 2014, arxiv.org/abs/1409.3215, figure 2).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from heed.inputs.pairs import EncodedPairs
from heed.models.source_gradients import SourceGradients, source_gradients
from heed.models.translator import Translator
from heed.models.translators import RecurrentTranslator
from heed.tasks.translation.alignment import sides, weights_of_words
from heed.tasks.translation.metrics import TRUNCATION
from heed.tasks.translation.recipe import Data
from heed.tokens.arrays import ParallelTokens, Side

if TYPE_CHECKING:
    from heed.tasks.translation.prediction import Aligned

GROUPS = 6
SPREAD_SENTENCES = 120  # at most: of what is measured over all lengths


def displayed_rows(
    tokens: ParallelTokens, data: Data, predictions: pd.DataFrame, groups: int = GROUPS
) -> np.ndarray:
    """Return the rows that are shown, in the order of their lengths: one of each group.

    `predictions` are those of the test part.
    """
    rows = tokens.rows_of(predictions["id"])
    lengths = np.diff(sides(tokens, data)[0].offsets)[rows]
    order = rows[np.lexsort([rows, lengths])]
    middles = (2 * np.arange(groups) + 1) * len(order) // (2 * groups)
    return order[np.unique(middles)]


def displayed_tables(
    tokens: ParallelTokens,
    data: Data,
    predictions: pd.DataFrame,
    rows: np.ndarray,
    aligned: "list[Aligned]",
    split: Callable[[Side, int], list[str]],
) -> dict[str, pd.DataFrame]:
    """Return `sentences` (a row each) and `weights` (a row for each pair of words).

    Args:
        tokens: the corpus.
        data: the languages.
        predictions: of the test part.
        rows: from `displayed_rows`.
        aligned: the attention between each source and its reference.
        split: returns the words of a row that the weights are of.

    """
    ids = tokens.documents(["id"])["id"].to_numpy()[rows]
    columns = ["id", "source", "reference", "hypothesis", "score", "gold"]
    sentences = predictions.set_index("id", drop=False).loc[ids, columns].reset_index(drop=True)
    for column, side in zip(("source_words", "reference_words"), sides(tokens, data), strict=True):
        sentences[column] = [split(side, int(row)) for row in rows]
    tables = []
    for id_, each in zip(ids, aligned, strict=True):
        if each.weights is not None:
            weights = weights_of_words(each.weights, each.source_words, each.target_words)
            target, source = (index.ravel() for index in np.indices(weights.shape))
            columns_ = {"id": id_, "target": target, "source": source, "weight": weights.ravel()}
            tables.append(pd.DataFrame(columns_))
    empty = pd.DataFrame({"id": [], "target": [], "source": [], "weight": []})
    return {"sentences": sentences, "weights": pd.concat(tables) if tables else empty}


def states_of(
    model: Translator, pairs: EncodedPairs, rows: np.ndarray, device: str
) -> list[np.ndarray]:
    """Return the state of the source of each row, (size,) float32 each.

    Of a recurrent translator it is what the decoder starts from, h of all its layers side by side;
    an LSTM's cell starts as h, and is left out. A transformer's decoder starts from no state: of
    it, the mean of the encoder's states over the sentence. The model is in evaluation mode, on
    `device`.
    """
    states: dict[int, np.ndarray] = {}
    with torch.inference_mode():
        for batch in pairs.evaluation_batches(rows):
            read = batch.to(device)
            memory, state = model.encode(read.source, read.source_lengths)
            if isinstance(model, RecurrentTranslator):
                first = state[:: model.decoder.stack.tensors]
                computed = torch.cat([layer.to(read.source.device) for layer in first], -1)
            else:
                kept = memory.states.masked_fill(memory.padding[..., None], 0.0)
                computed = kept.sum(1) / read.source_lengths.to(kept.device)[:, None]
            states |= dict(zip(batch.rows.tolist(), computed.float().cpu().numpy(), strict=True))
    return [states[row] for row in rows.tolist()]


def gradient_table(
    model: Translator,
    pairs: EncodedPairs,
    rows: np.ndarray,
    sentences: pd.DataFrame,
    device: str,
) -> pd.DataFrame:
    """Return the gradient that reaches each word of these sources, also truncated.

    `sentences` has `id` and `source_words` of each row.
    """
    tables = []
    truncations = (None, TRUNCATION) if isinstance(model, RecurrentTranslator) else (None,)
    for i, (id_, words) in enumerate(sentences.itertuples(index=False)):
        pair = pairs.batch(rows[i : i + 1]).to(device)
        for truncation in truncations:
            norms = source_gradients(model, pair, truncation)
            tables.append(sentence_table(id_, int(words), truncation, norms))
    return pd.concat(tables, ignore_index=True)


def sentence_table(
    id_: str, source_words: int, truncation: int | None, gradients: SourceGradients
) -> pd.DataFrame:
    """Return the gradients of one sentence, a row for each position that the encoder reads.

    Columns: `id`; `source_words`, its length in words; `position` of the unit, from 0;
    `truncation` in steps, 0 for none; `norm` and `relative`, the norm divided by its mean over the
    sentence (0 where all are 0); `forward_norm` and `forward_relative`, the same of the forward
    direction alone, which are missing for a model without recurrence.
    """
    whole, forward = gradients.whole, gradients.forward
    if forward is None:
        forward = np.full(len(whole), np.nan)
    return pd.DataFrame(
        {
            "id": id_,
            "source_words": source_words,
            "position": np.arange(len(whole)),
            "truncation": truncation or 0,
            "norm": whole,
            "relative": whole / (whole.mean() or 1.0),
            "forward_norm": forward,
            "forward_relative": forward / (forward.mean() or 1.0),
        }
    )
