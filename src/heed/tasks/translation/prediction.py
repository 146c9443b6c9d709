"""The predictions of a trained translator: translations by search, and alignments."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from heed.files import HeedError
from heed.inputs.pairs import UNKNOWN, EncodedPairs
from heed.inputs.segmentation import Segmenter, encode_pairs, read_segmenter
from heed.models.beam import Hypothesis, translate
from heed.models.translator import Translator
from heed.paths import WEIGHTS
from heed.recipe import Recipe
from heed.tasks.interface import Predictor
from heed.tasks.translation.alignment import (
    Links,
    format_links,
    gold_links,
    links_from_weights,
    parse_links,
)
from heed.tasks.translation.displayed import displayed_rows, displayed_tables
from heed.tasks.translation.learning import SOURCE, TARGET, make_model
from heed.tasks.translation.recipe import Data, Hyperparameters, Prediction
from heed.tasks.translation.statistics import statistics_table
from heed.tokens.arrays import ParallelTokens
from heed.training.weights import ERRORS, load_weights


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
                "hypothesis": [self.detokenize(hypothesis) for hypothesis in best],
                "score": np.asarray([hypothesis.score for hypothesis in best], np.float64),
                "links": [format_links(each.links) for each in self.align(pairs, rows)],
                "gold": [None if links is None else format_links(*links) for links in gold],
                "source_words": np.diff(source.offsets)[rows],
                "unknown_words": [int((ids == UNKNOWN).sum()) for ids in pairs.sources(rows)],
            }
        )

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the additive statistics of each sentence, as metrics.py defines them."""
        gold = None
        if self.recipe.data.has_gold_alignment:
            gold = [
                None if links is None else parse_links(links, f"gold links of {id_}")
                for id_, links in zip(predictions["id"], predictions["gold"], strict=True)
            ]
        return statistics_table(predictions, gold, self.recipe.data, self.settings)

    def explain(self, tokens: ParallelTokens, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return the tables `sentences` and `weights` (displayed.py).

        The sentences are chosen by their lengths alone, so they are the same for every model.
        """
        rows = displayed_rows(tokens, self.recipe.data, predictions)
        aligned = self.align(self.encode(tokens, rows), rows)
        return displayed_tables(tokens, self.recipe.data, predictions, rows, aligned)

    def encode(self, tokens: ParallelTokens, rows: np.ndarray) -> EncodedPairs:
        """Return the pairs of these rows as indices."""
        data = self.recipe.data
        languages, segmenters = (data.source, data.target), (self.source, self.target)
        return encode_pairs(tokens, rows, languages, segmenters)

    def search(self, sources: list[np.ndarray], n_best: int = 1) -> list[list[Hypothesis]]:
        """Return the best translations of each source, best first, by the run's settings."""
        beam = max(self.settings.beam, n_best)
        penalty = self.settings.length_penalty
        return translate(self.model, sources, beam, penalty, self.device, n_best)

    def align(self, pairs: EncodedPairs, rows: np.ndarray) -> list[Aligned]:
        """Return the attention between each source and its target, which the model is given."""
        weights: dict[int, np.ndarray] = {}
        with torch.inference_mode():
            for batch in pairs.evaluation_batches(rows):
                attention = self.model.weights(batch.to(self.device))
                if attention is None:
                    continue
                for i, row in enumerate(batch.rows.tolist()):
                    target, source = int(batch.target_lengths[i]), int(batch.source_lengths[i])
                    # without the row of EOS, which is no word
                    weights[row] = attention[i, : target - 2, :source].float().cpu().numpy()
        sides = pairs.sources(rows), pairs.targets(rows)
        return [
            Aligned(self.source.words_of(source), self.target.words_of(target), weights.get(row))
            for row, source, target in zip(rows.tolist(), *sides, strict=True)
        ]

    def detokenize(self, hypothesis: Hypothesis) -> str:
        """Return the text of a translation."""
        return self.target.decode(np.asarray(hypothesis.tokens, np.int64))


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
    try:
        source, target = (read_segmenter(folder, name, h) for name in (SOURCE, TARGET))
        model = load_weights(folder / WEIGHTS, lambda: make_model((source, target), h))
    except ERRORS as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise HeedError(f"{folder}: not a whole run ({reason}). Run again: {command}") from None
    return TranslationPredictor(model.eval().to(device), source, target, recipe, settings, device)
