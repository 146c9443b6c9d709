"""A trained classifier for texts of one's own: in Python, and for `heed classify`."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.files import HeedError, read_text
from heed.prediction import load_predictor
from heed.tasks.classification.prediction import ClassificationPredictor, WeightedDocument
from heed.tokens.arrays import Tokens
from heed.tokens.tokenizer import tokenize_in_memory
from heed.training.run import RunInfo, read_runs, trained_seeds

AT_ONCE = 1000  # texts that are tokenised and predicted together


@dataclasses.dataclass(frozen=True)
class ClassifiedTexts:
    """The predictions of some texts, in their order; probabilities are float32 (texts, classes).

    A text without a visible word that the model knows has the prediction None and probabilities
    NaN.
    """

    classes: list[str]
    probabilities: np.ndarray
    predicted: list[Any]


@dataclasses.dataclass(frozen=True)
class WeightedWords:
    """The words of a text that were read, and the weight of each: no explanation by itself."""

    words: list[str]
    weights: np.ndarray


@dataclasses.dataclass(frozen=True)
class TextClassifier:
    """A run that classifies texts, on the CPU. `predictor` reads corpora, with the same model."""

    predictor: ClassificationPredictor

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of the probabilities."""
        return list(self.predictor.recipe.data.classes)

    def predict(self, texts: list[str]) -> ClassifiedTexts:
        """Return the class probabilities of each text, as `heed score` computes them.

        Raises TypeError: a single str or a table, or an item of the list that is not a str.
        """
        run, parts = self.predictor, [np.zeros((0, len(self.classes)), np.float32)]
        for tokens in _tokenize(run, _require_texts(texts)):
            parts.append(run.probabilities(tokens, np.arange(len(tokens.offsets) - 1)))
            parts[-1][~run.knows(tokens)] = np.nan
        probabilities = np.concatenate(parts)
        predicted = run.decide(np.nan_to_num(probabilities))
        for row in np.flatnonzero(np.isnan(probabilities).any(1)):
            predicted[row] = None
        return ClassifiedTexts(self.classes, probabilities, predicted)

    def weights(self, texts: list[str]) -> list[WeightedWords]:
        """Return the words of each text that the model reads, with their weights."""
        weighted = []
        for tokens in _tokenize(self.predictor, _require_texts(texts)):
            read = self.predictor.reader(tokens)
            for row in range(len(tokens.offsets) - 1):
                document = read(row)
                weighted.append(WeightedWords(_words(tokens, row, document), document.weights))
        return weighted


def open_run(run: RunInfo, folder: Path | None = None) -> TextClassifier:
    """Return a run that is ready to classify texts on the CPU; `folder` as in load_predictor."""
    predictor = load_predictor(run, "cpu", folder=folder)
    assert isinstance(predictor, ClassificationPredictor)
    return TextClassifier(predictor)


def _require_texts(texts: Any) -> list[str]:
    is_list = not isinstance(texts, str | Mapping) and getattr(texts, "ndim", 1) == 1
    found = list(texts) if is_list else [texts]
    wrong = [type(text).__name__ for text in found if not (is_list and isinstance(text, str))]
    if wrong:
        raise TypeError(
            f"expected a list of str, found {wrong[0]}: put a single text into a list, and give "
            "one column of a table"
        )
    return found


def _tokenize(predictor: ClassificationPredictor, texts: Sequence[str]) -> Iterator[Tokens]:
    for start in range(0, len(texts), AT_ONCE):
        yield tokenize_in_memory([*texts[start : start + AT_ONCE]], predictor.recipe.tokenizer)


def _words(tokens: Tokens, row: int, document: WeightedDocument) -> list[str]:
    types = tokens.ids[tokens.offsets[row] :]
    return [tokens.lexicon[types[position]] for position in document.positions]


def classify(model: str, text: str) -> str:
    """Return lines with class probabilities and the weights of words.

    Raises HeedError: no run, or no word that the model knows.
    """
    seeds = trained_seeds(model)
    runs: Any = [load_predictor(run, "cpu") for run in read_runs(model, seeds)]
    recipe = runs[0].recipe
    tokens = tokenize_in_memory([read_text(text)], recipe.tokenizer)
    if not any(run.knows(tokens)[0] for run in runs):
        raise HeedError(f"{model}: the text has no word that the model knows: it has no class")
    documents = [run.reader(tokens)(0) for run in runs]
    lines = [f"{model}: mean of {len(runs)} runs (seeds {', '.join(map(str, seeds))})"]
    probability = np.mean([document.probability for document in documents], 0)
    lines += [
        f"  {recipe.data.classes[i]:24} {probability[i]:.4f}" for i in np.argsort(-probability)
    ]
    return "\n".join(lines + _format_weights(tokens, documents))


def _format_weights(tokens: Tokens, documents: list[WeightedDocument]) -> list[str]:
    words = _words(tokens, 0, documents[0])
    lines = [
        f"weights over {len(words)} words read of {len(tokens.ids)} (weights are not explanations "
        "by themselves):"
    ]
    weights = np.mean([document.weights for document in documents], 0)
    lines += [f"  {word:24} {weight:.4f}" for word, weight in zip(words, weights, strict=True)]
    of_sentences = [
        document.sentence_weights for document in documents if document.sentence_weights is not None
    ]
    if words and of_sentences:
        sentence = np.searchsorted(tokens.sentences(0), documents[0].positions, side="right")
        texts = pd.Series(words).groupby(sentence).agg(" ".join)
        lines.append("weights of the sentences read:")
        for text, weight in zip(texts, np.mean(of_sentences, 0), strict=False):
            lines.append(f"  {text[:60]:60} {weight:.4f}")
    return lines
