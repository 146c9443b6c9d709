"""The predictions of a trained translator: translations by search, and alignments."""

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
from heed.models.dependence import source_gradients
from heed.models.translator import Translator
from heed.models.translators import RecurrentTranslator
from heed.paths import WEIGHTS
from heed.recipe import Recipe
from heed.task.interface import Predictor
from heed.tasks.translation import gradients
from heed.tasks.translation.alignment import (
    Links,
    format_links,
    gold_links,
    links_from_weights,
    parse_links,
    weights_of_words,
)
from heed.tasks.translation.displayed import (
    SPREAD_SENTENCES,
    displayed_rows,
    displayed_tables,
)
from heed.tasks.translation.learning import SOURCE, TARGET, make_model
from heed.tasks.translation.recipe import Data, Hyperparameters, Prediction
from heed.tasks.translation.references import further_references
from heed.tasks.translation.states import states_of
from heed.tasks.translation.statistics import statistics_table
from heed.tokens.arrays import ParallelTokens, Side
from heed.training.checkpoint import load_weights, whole_run


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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the attention itself, without the model that computes it."""
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return _restore, (given | {"align": None}, self.aligned)

    @property
    def links(self) -> str:
        """The links of the words in Pharaoh's format; empty for a model without attention."""
        return format_links(self.aligned.links)

    @property
    def weights(self) -> np.ndarray | None:
        """The weights between words, (target words, source words); None without attention."""
        if self.aligned.weights is None:
            return None
        return weights_of_words(
            self.aligned.weights, self.aligned.source_words, self.aligned.target_words
        )


def _restore(fields: dict[str, Any], aligned: Aligned) -> Translation:
    """Return a translation that was pickled."""
    return Translation(**fields | {"align": lambda: aligned})


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
        data = self.recipe.data
        source, target = (tokens.sides[language] for language in (data.source, data.target))
        pairs = self.encode(tokens, rows)
        best = [hypotheses[0] for hypotheses in self.search(pairs.sources(rows))]
        gold = gold_links(tokens, data, rows) or [None] * len(rows)
        return pd.DataFrame(
            {
                "id": tokens.documents(["id"])["id"].to_numpy()[rows],
                "source": source.texts(rows),
                "reference": target.texts(rows),
                "further_references": further_references(tokens, self.settings.references, rows),
                "hypothesis": [self.detokenize(hypothesis) for hypothesis in best],
                "score": np.asarray([hypothesis.score for hypothesis in best], np.float64),
                "links": [format_links(each.links) for each in self.align(pairs, rows)],
                "gold": [None if links is None else format_links(*links) for links in gold],
                "source_words": np.diff(source.offsets)[rows],
                "unknown_words": [
                    count_unknown_words(self.source, ids) for ids in pairs.sources(rows)
                ],
            }
        )

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the additive statistics of each sentence, as metrics.py defines them."""
        gold = None
        if self.recipe.data.has_gold_alignment:
            gold = [
                parse_links(links, f"gold links of {id_}") if isinstance(links, str) else None
                for id_, links in zip(predictions["id"], predictions["gold"], strict=True)
            ]
        return statistics_table(predictions, gold, self.recipe.data, self.settings)

    def explain(self, tokens: ParallelTokens, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return `sentences` and `weights` (displayed.py), `gradients` and `states`.

        The sentences are chosen by their lengths alone, so they are the same for every model.
        """
        data = self.recipe.data
        rows = displayed_rows(tokens, data, predictions)
        aligned = self.align(self.encode(tokens, rows), rows)
        tables = displayed_tables(tokens, data, predictions, rows, aligned, self.words)
        rows = displayed_rows(tokens, data, predictions, SPREAD_SENTENCES)
        pairs = self.encode(tokens, rows)
        sentences = pd.DataFrame(
            {
                "id": tokens.documents(["id"])["id"].to_numpy()[rows],
                "source_words": np.diff(tokens.sides[data.source].offsets)[rows],
            }
        )
        states = states_of(self.model, pairs, rows, self.device)
        return tables | {
            "gradients": self.gradient_table(pairs, rows, sentences),
            "states": sentences.assign(state=pd.Series(states)),
        }

    def gradient_table(
        self, pairs: EncodedPairs, rows: np.ndarray, sentences: pd.DataFrame
    ) -> pd.DataFrame:
        """Return the gradient that reaches each word of these sources, also truncated.

        `sentences` has `id` and `source_words` of each row.
        """
        tables = []
        is_recurrent = isinstance(self.model, RecurrentTranslator)
        truncations = (None, gradients.TRUNCATION) if is_recurrent else (None,)
        for i, (id_, words) in enumerate(sentences.itertuples(index=False)):
            pair = pairs.batch(rows[i : i + 1]).to(self.device)
            for truncation in truncations:
                norms = source_gradients(self.model, pair, truncation)
                tables.append(gradients.sentence_table(id_, int(words), truncation, norms))
        return pd.concat(tables, ignore_index=True)

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
        return beam.translate(
            self.model,
            sources,
            max(self.settings.beam, n_best),
            self.settings.length_penalty,
            self.device,
            n_best,
        )

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
        sides = pairs.sources(rows), pairs.targets(rows)
        return [
            Aligned(self.source.words_of(source), self.target.words_of(target), weights.get(row))
            for row, source, target in zip(rows.tolist(), *sides, strict=True)
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

    def detokenize(self, hypothesis: Hypothesis) -> str:
        """Return the text of a translation."""
        return self.target.decode(np.asarray(hypothesis.tokens, np.int64))


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

    Raises:
        HeedError: a file is missing or broken, or its tensors are not those of the recipe's model;
            `command` makes the run again.

    """
    h = recipe.hyperparameters
    with whole_run(folder, command):
        source, target = (read_segmenter(folder, name, h) for name in (SOURCE, TARGET))
        model = load_weights(folder / WEIGHTS, lambda: make_model((source, target), h))
    return TranslationPredictor(model.eval().to(device), source, target, recipe, settings, device)
