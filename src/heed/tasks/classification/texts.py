"""A trained classifier for texts of one's own: for notebooks, and for `heed classify --table`."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heed.prediction import load_predictor
from heed.tasks.classification.prediction import ClassificationPredictor
from heed.tokens.arrays import Tokens
from heed.tokens.tokenizer import tokenize_in_memory
from heed.training.run import RunInfo

AT_ONCE = 1000  # texts that are tokenised and predicted together


@dataclasses.dataclass(frozen=True)
class ClassifiedTexts:
    """The predictions of some texts, in their order.

    classes: the names of the classes, in the order of the columns of `probabilities`.
    probabilities: float32 (texts, classes); rows sum to 1.
    predicted: the most probable class of each text; of a multi-label model the list of its classes
        whose probability is above one half. Its rows do not sum to 1.
    """

    classes: list[str]
    probabilities: np.ndarray
    predicted: list[Any]


@dataclasses.dataclass(frozen=True)
class WeightedWords:
    """The words of a text that were read, and the weight of each in the text's vector.

    weights: float32 (words,); they sum to 1, but are 0 of a model without a network. Weights are
        not explanations by themselves.
    """

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

        Texts are cleaned and tokenised as the model's corpus was, so many at a time that memory
        does not grow with their number; the words that a model does not know are its unknown word.
        Probabilities do not depend on the other texts, but for the last bits.

        Args:
            texts: the texts; an empty one has a prediction too.

        Raises:
            TypeError: a single str or a table, or something in the list that is no str.

        """
        parts = [self.probabilities(cleaned, tokens) for cleaned, tokens in self._tokenize(texts)]
        empty = np.zeros((0, len(self.classes)), np.float32)
        probabilities = np.concatenate([empty, *parts])
        predicted = self.predictor.decide(probabilities)
        return ClassifiedTexts(self.classes, probabilities, predicted)

    def probabilities(self, texts: list[str], tokens: Tokens) -> np.ndarray:
        """Return the class probabilities of cleaned texts with these tokens, (texts, classes)."""
        return self.predictor.probabilities(tokens, np.arange(len(texts)), texts)

    def weights(self, texts: list[str]) -> list[WeightedWords]:
        """Return the words of each text that the model reads, with their weights.

        Arguments and errors are those of `predict`.
        """
        weighted = []
        for cleaned, tokens in self._tokenize(texts):
            read = self.predictor.reader(tokens, np.arange(len(cleaned)), cleaned)
            for row in range(len(cleaned)):
                document, types = read(row), tokens.ids[tokens.offsets[row] :]
                words = [tokens.lexicon[types[position]] for position in document.positions]
                weighted.append(WeightedWords(words, document.weights))
        return weighted

    def _tokenize(self, texts: list[str]) -> Iterator[tuple[list[str], Tokens]]:
        """Yield cleaned texts and their tokens, AT_ONCE at a time. Raises TypeError."""
        if isinstance(texts, str):
            raise TypeError("expected a list of texts, found a single str: put it into a list")
        if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) != 1:
            # it would be its keys, or the names of its columns, that are classified
            kind = type(texts).__name__
            raise TypeError(f"expected a list of texts, found a {kind}: give one column of it")
        texts = list(texts)
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(
                    f"expected a list of str, found {type(text).__name__} as text {number}"
                )
        tokenizer = self.predictor.recipe.tokenizer
        for start in range(0, len(texts), AT_ONCE):
            yield tokenize_in_memory(texts[start : start + AT_ONCE], tokenizer)


def open_run(run: RunInfo, folder: Path | None = None) -> TextClassifier:
    """Return a run that is ready to classify texts on the CPU; `folder` as in load_predictor."""
    predictor = load_predictor(run, "cpu", folder=folder)
    assert isinstance(predictor, ClassificationPredictor)
    return TextClassifier(predictor)
