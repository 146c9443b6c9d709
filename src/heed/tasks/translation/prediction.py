"""The predictions of a trained translator: translations by search, and alignments.

The sentences that the report shows are chosen by a rule that no model has a part in: of the test
sentences, sorted by the number of source words and then in the order of the corpus, those in the
middle of GROUPS groups of equal size. So the same sentences can be compared between models, and
none was picked because it suits.

Of SPREAD_SENTENCES groups, which are spread evenly over all lengths, there are two more tables: the
gradient that reaches each word of the source (models/dependence.py defines it), and the state
of the source, which is all that a decoder without attention knows of it. Lecture 001 recalls its
projection to a plane (Sutskever et al. 2014, arxiv.org/abs/1409.3215, figure 2).
"""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from heed.inputs.pairs import EncodedPairs
from heed.inputs.segmentation import Segmenter, encode_pairs, read_segmenter
from heed.inputs.vocabulary import UNKNOWN
from heed.models import beam
from heed.models.beam import Hypothesis
from heed.models.dependence import SourceGradients, source_gradients
from heed.models.translator import Translator
from heed.models.translators import RecurrentTranslator
from heed.paths import WEIGHTS
from heed.recipe import Recipe
from heed.task.interface import Predictor
from heed.tasks.translation.learning import SOURCE, TARGET, make_model
from heed.tasks.translation.metrics import (
    TRUNCATION,
    Links,
    format_links,
    gold_links,
    links_from_weights,
    read_links,
    sentence_table,
    sides,
    statistics_table,
    weights_of_words,
)
from heed.tasks.translation.recipe import Data, Hyperparameters, Prediction
from heed.tokens.arrays import ParallelTokens, Side
from heed.training.checkpoint import load_weights, whole_run

GROUPS = 6
SPREAD_SENTENCES = 120  # at most: of what is measured over all lengths
PREDICTED = [
    "id", "source", "reference", "further_references", "hypothesis", "score", "links", "gold",
    "source_words", "unknown_words",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Aligned:
    """The weights of attention between the units of a source and of its translation.

    source_words, target_words: the index of the word of each unit
    weights: (target units, source units); None for a model without attention
    """

    source_words: np.ndarray
    target_words: np.ndarray
    weights: np.ndarray | None

    @property
    def links(self) -> Links:
        """The links of the words; none without attention."""
        if self.weights is None:
            return set()
        return links_from_weights(self.weights, self.source_words, self.target_words)

    @property
    def by_words(self) -> np.ndarray | None:
        """The weights between words, (target words, source words); None without attention."""
        if self.weights is None:
            return None
        return weights_of_words(self.weights, self.source_words, self.target_words)


@dataclasses.dataclass(frozen=True)
class Translation:
    """A translation of a text.

    score, log_probability: as of `beam.Hypothesis`
    source_words, target_words: the words that weights and links are of
    unknown_units: of the source, which the model has never seen
    align: computes the attention between the units of both, which is not needed for the text
    """

    text: str
    score: float
    log_probability: float
    source_words: list[str]
    target_words: list[str]
    unknown_units: int
    align: Callable[[], Aligned] = dataclasses.field(repr=False, compare=False)

    @functools.cached_property
    def aligned(self) -> Aligned:
        """The attention between the units of both."""
        return self.align()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to be pickled: the attention, without the model that computes it."""
        return self.__dict__ | {"aligned": self.aligned, "align": None}

    @property
    def links(self) -> str:
        """The links of the words in Pharaoh's format; empty for a model without attention."""
        return format_links(self.aligned.links)

    @property
    def weights(self) -> np.ndarray | None:
        """The weights between words, (target words, source words); None without attention."""
        return self.aligned.by_words


@dataclasses.dataclass
class TranslationPredictor(Predictor):
    """A trained translator with the units of its languages, in evaluation mode."""

    model: Translator
    source: Segmenter
    target: Segmenter
    recipe: Recipe[Data, Hyperparameters]
    settings: Prediction
    device: str

    def predict(self, tokens: ParallelTokens, rows: np.ndarray) -> pd.DataFrame:
        """Return `id, source, reference, hypothesis, score, links, gold, …` (docs/contracts.md).

        The links are those of the source and its reference, which the model is given: gold links
        join the same two. A row without gold links has None there.
        """
        data, pairs = self.recipe.data, self.encode(tokens, rows)
        best = [hypotheses[0] for hypotheses in self.search(pairs.sources(rows))]
        links = gold_links(tokens, data, rows) or [None] * len(rows)
        gold: Any = [None if each is None else format_links(*each) for each in links]
        unknown = [count_unknown_words(self.source, ids) for ids in pairs.sources(rows)]
        table = sentence_table(tokens, data, self.settings, rows).assign(
            hypothesis=[self.target.decode(np.asarray(each.tokens, np.int64)) for each in best],
            score=np.asarray([hypothesis.score for hypothesis in best], np.float64),
            links=[format_links(each.links) for each in self.align(pairs, rows)],
            gold=gold,
            unknown_words=unknown,
        )
        return table[PREDICTED]

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the additive statistics of each sentence, as metrics.py defines them."""
        data, gold = self.recipe.data, read_links(predictions.set_index("id")["gold"])
        return statistics_table(
            predictions, gold if data.has_gold_alignment else None, data, self.settings
        )

    def explain(self, tokens: ParallelTokens, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return `sentences` and `weights`, `gradients` and `states`.

        The sentences are chosen by their lengths alone, so they are the same for every model.
        """
        data = self.recipe.data
        rows = displayed_rows(tokens, data, predictions)
        aligned = self.align(self.encode(tokens, rows), rows)
        tables = displayed_tables(tokens, data, predictions, rows, aligned, self.words)
        rows = displayed_rows(tokens, data, predictions, SPREAD_SENTENCES)
        pairs = self.encode(tokens, rows)
        sentences = sentence_table(tokens, data, self.settings, rows)[["id", "source_words"]]
        states = pd.Series(states_of(self.model, pairs, rows, self.device))
        return tables | {
            "gradients": gradient_table(self.model, pairs, rows, sentences, self.device),
            "states": sentences.assign(state=states),
        }

    def encode(self, tokens: ParallelTokens, rows: np.ndarray) -> EncodedPairs:
        """Return the pairs of these rows as indices."""
        data = self.recipe.data
        languages, segmenters = (data.source, data.target), (self.source, self.target)
        return encode_pairs(tokens, rows, languages, segmenters)

    def words(self, side: Side, row: int) -> list[str]:
        """Return the words of a row of a corpus that links and weights count.

        They are its tokens, or for a model that reads pieces what white space separates.
        """
        if self.recipe.hyperparameters.segmentation == "words":
            return side.tokens(row)
        return side.texts(np.asarray([row]))[0].split()

    def search(self, sources: list[np.ndarray], n_best: int = 1) -> list[list[Hypothesis]]:
        """Return the best translations of each source, best first, by the run's settings."""
        width, penalty = max(self.settings.beam, n_best), self.settings.length_penalty
        return beam.translate(self.model, sources, width, penalty, self.device, n_best)

    def align(self, pairs: EncodedPairs, rows: np.ndarray) -> list[Aligned]:
        """Return the attention between each source and its target, which the model is given."""
        weights: dict[int, np.ndarray] = {}
        attending = rows if self.recipe.hyperparameters.learns_weights else rows[:0]
        with torch.inference_mode():
            for batch in pairs.evaluation_batches(attending):
                attention = self.model.weights(batch.to(self.device))
                assert attention is not None
                for i, row in enumerate(batch.rows.tolist()):
                    target, source = int(batch.target_lengths[i]), int(batch.source_lengths[i])
                    # without the row of EOS, which is no word
                    weights[row] = attention[i, : target - 2, :source].float().cpu().numpy()
        both = pairs.sources(rows), pairs.targets(rows)
        return [
            Aligned(self.source.words_of(source), self.target.words_of(target), weights.get(row))
            for row, source, target in zip(rows.tolist(), *both, strict=True)
        ]

    def translate(self, side: Side, n_best: int = 1) -> list[list[Translation]]:
        """Return the `n_best` translations of each text of the source language, best first."""
        rows = np.arange(len(side.offsets) - 1)
        sources = self.source.encode(side, rows)
        return [
            [self._translation(side, row, sources[row], each) for each in hypotheses]
            for row, hypotheses in enumerate(self.search(sources, n_best))
        ]

    def score(self, source: Side, target: Side) -> list[Translation]:
        """Return given translations with their scores, weights and links.

        A translation of a text of `source` is the text of `target` in the same row, in the units of
        the model.
        """
        rows = np.arange(len(source.offsets) - 1)
        sources, targets = self.source.encode(source, rows), self.target.encode(target, rows)
        pairs, scored = EncodedPairs(rows, sources, targets), []
        for row in rows:
            batch = pairs.batch(rows[row : row + 1]).to(self.device)
            log_p, score = beam.score(self.model, batch, self.settings.length_penalty)
            hypothesis = Hypothesis(targets[row].tolist(), float(score[0]), float(log_p[0]))
            translation = self._translation(source, int(row), sources[row], hypothesis)
            given = target.texts(rows[row : row + 1])[0]
            scored.append(dataclasses.replace(translation, text=given))
        return scored

    def _translation(
        self, side: Side, row: int, source: np.ndarray, hypothesis: Hypothesis
    ) -> Translation:
        """Return a hypothesis as text, with the weights of its words."""
        ids = np.asarray(hypothesis.tokens, np.int64)
        row_of_pair = np.zeros(1, np.int64)
        pair = EncodedPairs(row_of_pair, [source], [ids])
        text = self.target.decode(ids)
        is_words = self.recipe.hyperparameters.segmentation == "words"
        return Translation(
            text,
            hypothesis.score,
            hypothesis.log_probability,
            self.words(side, row),
            self.target.units(ids) if is_words else text.split(),
            int((source == UNKNOWN).sum()),
            lambda: self.align(pair, row_of_pair)[0],
        )


def displayed_rows(
    tokens: ParallelTokens, data: Data, predictions: pd.DataFrame, groups: int = GROUPS
) -> np.ndarray:
    """Return the rows that are shown, in the order of their lengths: one of each group.

    `predictions` are those of the test split.
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
    aligned: list[Aligned],
    split: Callable[[Side, int], list[str]],
) -> dict[str, pd.DataFrame]:
    """Return `sentences` (a row each) and `weights` (a row for each pair of words).

    `predictions` are those of the test split; `aligned` has the attention between each source and
    its reference; `split` returns the words of a row that the weights are of.
    """
    ids = tokens.documents(["id"])["id"].to_numpy()[rows]
    columns = ["id", "source", "reference", "hypothesis", "score", "gold"]
    sentences = predictions.set_index("id", drop=False).loc[ids, columns].reset_index(drop=True)
    for column, side in zip(("source_words", "reference_words"), sides(tokens, data), strict=True):
        sentences[column] = [split(side, int(row)) for row in rows]
    tables = []
    for id_, each in zip(ids, aligned, strict=True):
        if (weights := each.by_words) is not None:
            target, source = (index.ravel() for index in np.indices(weights.shape))
            pairs = {"id": id_, "target": target, "source": source, "weight": weights.ravel()}
            tables.append(pd.DataFrame(pairs))
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
            tables.append(sentence_gradients(id_, int(words), truncation, norms))
    return pd.concat(tables, ignore_index=True)


def sentence_gradients(
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


def count_unknown_words(segmenter: Segmenter, ids: np.ndarray) -> int:
    """Return the number of words, as `Segmenter.words_of` counts them, with an unknown unit."""
    return len({*segmenter.words_of(ids)[ids == UNKNOWN].tolist()})


def load_predictor(
    folder: Path,
    recipe: Recipe[Data, Hyperparameters],
    settings: Prediction,
    device: str,
    command: str,
) -> TranslationPredictor:
    """Return the run in `folder`, ready to translate on `device`.

    Raises HeedError: a file is missing or broken, or its tensors are not those of the recipe's
    model; `command` makes the run again.
    """
    h = recipe.hyperparameters
    with whole_run(folder, command):
        source, target = (read_segmenter(folder, name, h) for name in (SOURCE, TARGET))
        model = load_weights(folder / WEIGHTS, lambda: make_model((source, target), h))
    return TranslationPredictor(model.eval().to(device), source, target, recipe, settings, device)
