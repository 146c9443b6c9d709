"""The predictions of a trained translator: translations by search, and alignments.

The report shows the sentences in the middle of GROUPS groups by source length. For
SPREAD_SENTENCES it has the gradients that reach each source word and the state of the source, all
that a decoder without attention knows of it (Sutskever et al. 2014, figure 2).
"""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from heed.inputs.pairs import WORD_BEGIN, EncodedPairs, Segmenter, encode_pairs, read_segmenter
from heed.inputs.vocabulary import UNKNOWN
from heed.models import beam
from heed.models.beam import Hypothesis
from heed.models.dependence import SourceGradients, source_gradients
from heed.models.translator import Translator
from heed.models.translators import RecurrentTranslator
from heed.paths import WEIGHTS
from heed.recipe import Recipe
from heed.records import is_visible
from heed.task.interface import Predictor
from heed.tasks.translation import metrics
from heed.tasks.translation.learning import SOURCE, TARGET, make_model
from heed.tasks.translation.recipe import Data, Hyperparameters, Prediction
from heed.tokens.arrays import ParallelTokens, Side
from heed.tokens.tokenizer import tokenize_sentences
from heed.training.checkpoint import load_weights, whole_run

GROUPS = 6
SPREAD_SENTENCES = 120  # at most: of what is measured over all lengths
PREDICTED = [
    "id", "source", "reference", "hypothesis", "score", "links", "gold", "source_words",
    "unknown_words",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Translation:
    """A translation of a text, scored as `beam.Hypothesis`; weights are (target, source words)."""

    text: str
    score: float
    log_probability: float
    source_words: list[str]
    target_words: list[str]
    unknown_units: int
    weights: np.ndarray | None = dataclasses.field(repr=False, compare=False)

    @property
    def links(self) -> str:
        """The links of the words in Pharaoh's format; empty for a model without attention."""
        return _links(self.weights)


def _links(weights: np.ndarray | None) -> str:
    return "" if weights is None else metrics.format_links(metrics.links_from_weights(weights))


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
        """Return `id, source, reference, hypothesis, links, …` (docs/internals/contracts.md)."""
        data, pairs = self.recipe.data, self.encode(tokens, rows)
        sources = pairs.sources(rows)
        best = [hypotheses[0] for hypotheses in self.search(sources)]
        gold = metrics.gold_links(tokens, data, rows) or [None] * len(rows)
        formatted = [None if links is None else metrics.format_links(*links) for links in gold]
        table = metrics.sentence_table(tokens, data, rows).assign(
            hypothesis=[self.target.decode(np.asarray(found.tokens, np.int64)) for found in best],
            score=np.asarray([hypothesis.score for hypothesis in best], np.float64),
            links=[*map(_links, self.align(pairs, rows))],
            gold=pd.Series(formatted),
            unknown_words=[count_unknown_words(self.source, ids) for ids in sources],
        )
        return table[PREDICTED]

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the additive statistics of each sentence, as metrics.py defines them."""
        data, gold = self.recipe.data, metrics.read_links(predictions.set_index("id")["gold"])
        return metrics.statistics_table(
            predictions, gold if data.has_gold_alignment else None, data, self.settings
        )

    def explain(self, tokens: ParallelTokens, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return `sentences`, `weights` for each pair of their words, and `gradients`."""
        data = self.recipe.data
        rows = displayed_rows(tokens, data, predictions, GROUPS)
        ids = tokens.documents(["id"])["id"].to_numpy()
        columns = ["id", "source", "reference", "hypothesis", "score", "gold"]
        by_id = predictions.set_index("id", drop=False)
        sentences = by_id.loc[ids[rows], columns].reset_index(drop=True)
        sentences["reference"] = tokens.sides[data.target].texts(rows)  # cleaned, to be shown
        names = ("source_words", "reference_words")
        for name, side in zip(names, metrics.sides(tokens, data), strict=True):
            sentences[name] = [self.words(side, int(row)) for row in rows]
        weights = [pd.DataFrame({"id": [], "target": [], "source": [], "weight": []})]
        for row, alignment in zip(rows, self.align(self.encode(tokens, rows), rows), strict=True):
            if alignment is not None:
                target, source = (index.ravel() for index in np.indices(alignment.shape))
                columns_ = {"target": target, "source": source, "weight": alignment.ravel()}
                weights.append(pd.DataFrame({"id": ids[row], **columns_}))
        rows = displayed_rows(tokens, data, predictions, SPREAD_SENTENCES)
        pairs = self.encode(tokens, rows)
        spread = metrics.sentence_table(tokens, data, rows)[["id", "source_words"]]
        return {
            "sentences": sentences,
            "weights": pd.concat(weights[1:] or weights),
            "gradients": gradient_table(self.model, pairs, rows, spread, self.device),
        }

    def encode(self, tokens: ParallelTokens, rows: np.ndarray) -> EncodedPairs:
        """Return the pairs of these rows as indices."""
        data = self.recipe.data
        languages, segmenters = (data.source, data.target), (self.source, self.target)
        return encode_pairs(tokens, rows, languages, segmenters)

    def words(self, side: Side, row: int) -> list[str]:
        """Return the tokens of a row, or of a model of pieces what white space separates."""
        if self.recipe.hyperparameters.segmentation == "words":
            return side.tokens(row)
        return side.texts(np.asarray([row]))[0].split()

    def search(self, sources: list[np.ndarray], n_best: int = 1) -> list[list[Hypothesis]]:
        """Return the best translations of each source, best first, by the run's settings."""
        width, penalty = max(self.settings.beam, n_best), self.settings.length_penalty
        return beam.translate(self.model, sources, width, penalty, self.device, n_best)

    def align(self, pairs: EncodedPairs, rows: np.ndarray) -> list[np.ndarray | None]:
        """Return the attention between source words and given target words, (target, source)."""
        if not self.recipe.hyperparameters.learns_weights:
            return [None] * len(rows)
        weights: dict[int, np.ndarray] = {}
        with torch.inference_mode():
            for batch in pairs.evaluation_batches(rows):
                attention = self.model.weights(batch.to(self.device))
                assert attention is not None
                for i, row in enumerate(batch.rows.tolist()):
                    target, source = int(batch.target_lengths[i]), int(batch.source_lengths[i])
                    # without the row of EOS, which is no word
                    weights[row] = attention[i, : target - 2, :source].float().cpu().numpy()
        both = pairs.sources(rows), pairs.targets(rows)
        return [
            metrics.weights_of_words(
                weights[row], self.source.words_of(source), self.target.words_of(target)
            )
            for row, source, target in zip(rows.tolist(), *both, strict=True)
        ]

    def translate(self, texts: list[str], n_best: int = 1) -> list[list[Translation]]:
        """Return the `n_best` translations of each text, best first; no beam is narrower.

        A text without a visible unit that the model knows has an empty one alone.
        """
        side = tokenize_sentences(texts, self.recipe.data.tokenizer)
        sources = self.source.encode(side, np.arange(len(texts)))
        known = [ids if is_known(self.source, ids) else ids[:0] for ids in sources]
        return self._translations(side, sources, self.search(known, n_best))

    def score(self, texts: list[str], translations: list[str]) -> list[Translation]:
        """Return given translations, scored and linked. Raises ValueError: not as many as texts."""
        if len(texts) != len(translations):
            raise ValueError(f"{len(texts)} texts, and {len(translations)} translations")
        data, rows = self.recipe.data, np.arange(len(texts))
        source = tokenize_sentences(texts, data.tokenizer)
        target = tokenize_sentences(translations, data.target_tokenizer)
        pairs = EncodedPairs(
            rows, self.source.encode(source, rows), self.target.encode(target, rows)
        )
        hypotheses = []
        for row, ids in zip(rows, pairs.targets(rows), strict=True):
            batch = pairs.batch(rows[row : row + 1]).to(self.device)
            log_p, score = beam.score(self.model, batch, self.settings.length_penalty)
            hypotheses.append([Hypothesis(ids.tolist(), float(score[0]), float(log_p[0]))])
        scored = self._translations(source, pairs.sources(rows), hypotheses)
        return [
            dataclasses.replace(translation, text=text)
            for (translation,), text in zip(scored, translations, strict=True)
        ]

    def _translations(
        self, side: Side, sources: list[np.ndarray], hypotheses: list[list[Hypothesis]]
    ) -> list[list[Translation]]:
        is_words = self.recipe.hyperparameters.segmentation == "words"
        alone = np.zeros(1, np.int64)

        def translation(row: int, source: np.ndarray, found: Hypothesis) -> Translation:
            ids = np.asarray(found.tokens, np.int64)
            text = self.target.decode(ids)
            return Translation(
                text, found.score, found.log_probability, self.words(side, row),
                self.target.units(ids) if is_words else text.split(),
                int((source == UNKNOWN).sum()),
                self.align(EncodedPairs(alone, [source], [ids]), alone)[0],
            )  # fmt: skip

        return [
            [translation(row, source, hypothesis) for hypothesis in found]
            for row, (source, found) in enumerate(zip(sources, hypotheses, strict=True))
        ]


def displayed_rows(
    tokens: ParallelTokens, data: Data, predictions: pd.DataFrame, groups: int
) -> np.ndarray:
    """Return the tested rows that are shown, in the order of their lengths: one of each group."""
    rows = tokens.rows_of(predictions["id"])
    lengths = np.diff(metrics.sides(tokens, data)[0].offsets)[rows]
    order = rows[np.lexsort([rows, lengths])]
    middles = (2 * np.arange(groups) + 1) * len(order) // (2 * groups)
    return order[np.unique(middles)]


def gradient_table(
    model: Translator, pairs: EncodedPairs, rows: np.ndarray, sentences: pd.DataFrame, device: str
) -> pd.DataFrame:
    """Return the gradient that reaches each source word, also truncated, by `id` and words."""
    tables = []
    truncations = (None, metrics.TRUNCATION) if isinstance(model, RecurrentTranslator) else (None,)
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

    `relative` is `norm` over its mean over the sentence; `forward_` the same of the forward
    direction alone, missing without recurrence. `truncation` is in steps, 0 for none.
    """
    whole = gradients.whole
    forward = np.full(len(whole), np.nan) if gradients.forward is None else gradients.forward
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


def is_known(segmenter: Segmenter, ids: np.ndarray) -> bool:
    """Return whether a text has a unit that the model knows, and that is more than white space."""
    units = segmenter.units(ids[ids != UNKNOWN])
    return any(is_visible(unit.replace(WORD_BEGIN, " ")) for unit in units)


def count_unknown_words(segmenter: Segmenter, ids: np.ndarray) -> int:
    """Return the number of words, as `Segmenter.words_of` counts them, with an unknown unit."""
    return len({*segmenter.words_of(ids)[ids == UNKNOWN].tolist()})


def load_predictor(
    folder: Path, recipe: Recipe[Data, Hyperparameters], settings: Prediction, device: str,
    command: str,
) -> TranslationPredictor:  # fmt: skip
    """Return the run in `folder` on `device`. Raises HeedError: a file is broken, or another's."""
    h = recipe.hyperparameters
    with whole_run(folder, command):
        source, target = (read_segmenter(folder, name, h) for name in (SOURCE, TARGET))
        model = load_weights(folder / WEIGHTS, lambda: make_model((source, target), h))
    return TranslationPredictor(model.eval().to(device), source, target, recipe, settings, device)
