"""The predictions of a trained classifier: class probabilities, and the weights of tokens."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import Vocabulary
from heed.models.classifier import Classifier
from heed.paths import WEIGHTS
from heed.recipe import Recipe
from heed.task.interface import Predictor
from heed.tasks.classification.head_weights import head_table
from heed.tasks.classification.learning import (
    VOCABULARY,
    class_indices,
    linear_features,
    make_model,
    probabilities,
    read_texts,
    softmax,
)
from heed.tasks.classification.metrics import (
    predicted_probability,
    prediction_table,
    statistics_table,
)
from heed.tasks.classification.recipe import Data, Hyperparameters, Prediction
from heed.tasks.classification.token_weights import WeightedDocument, weight_tables
from heed.tokens.arrays import Tokens
from heed.training.checkpoint import load_weights, whole_run


@dataclasses.dataclass
class ClassificationPredictor(Predictor):
    """A trained classifier with its vocabulary, in evaluation mode."""

    model: Classifier
    vocabulary: Vocabulary
    recipe: Recipe[Data, Hyperparameters]
    device: str
    # the last corpus that was encoded, to encode its lexicon once for all its parts
    _corpus: tuple[Tokens, EncodedCorpus] | None = dataclasses.field(
        default=None, init=False, repr=False
    )

    def predict(self, tokens: Tokens, rows: np.ndarray) -> pd.DataFrame:
        """Return `id, label, predicted` and the probability `p:CLASS` of each class."""
        classes = self.recipe.data.classes
        predicted = self.probabilities(tokens, rows)
        label = np.asarray(classes, object)[class_indices(tokens, self.recipe.data, rows)[rows]]
        ids = tokens.documents(["id"], rows)["id"].to_numpy()
        return prediction_table(ids, label, predicted, classes)

    def probabilities(
        self, tokens: Tokens, rows: np.ndarray, texts: list[str] | None = None
    ) -> np.ndarray:
        """Return the class probabilities of the documents `rows`, float32 (rows, classes).

        `texts` are those of all documents, for a corpus that is only in memory.
        """
        batches = self._encode(tokens, rows, texts).evaluation_batches(rows)
        return probabilities(self.model, batches, rows, self.device, self.activation)

    @staticmethod
    def activation(logits: torch.Tensor) -> torch.Tensor:
        """Return the probability of each class from logits (..., classes)."""
        return softmax(logits)

    def decide(self, probabilities: np.ndarray) -> list[Any]:
        """Return what is predicted from probabilities (documents, classes): the largest's class."""
        return [self.recipe.data.classes[i] for i in probabilities.argmax(1)]

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the statistics of each document, as metrics.py defines them."""
        return statistics_table(predictions, self.recipe.data.classes)

    def explain(self, tokens: Tokens, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return the tables `documents`, at most 200, `weights` of their tokens, and `heads`.

        token_weights.py and head_weights.py have the rules by which the documents are chosen.
        """
        certainties = self.certainties(predictions)
        documents, weights = weight_tables(
            lambda rows: self.reader(tokens, rows), tokens, certainties
        )
        heads = head_table(
            lambda row: self._read_heads(tokens, row), tokens, certainties, self.max_tokens
        )
        return {"documents": documents, "weights": weights, "heads": heads}

    def certainties(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return `id, label, predicted` and the probability of each prediction."""
        return predictions[["id", "label", "predicted"]].assign(
            probability=predicted_probability(predictions)
        )

    def reader(
        self, tokens: Tokens, rows: np.ndarray, texts: list[str] | None = None
    ) -> Callable[[int], WeightedDocument]:
        """Return a function from a document in `rows` to its prediction and weights.

        `texts` are those of all documents, for a corpus that is only in memory.
        """
        encoded = self._encode(tokens, rows, texts)
        return lambda row: self._read(encoded, np.asarray([row], np.int64))

    @property
    def max_tokens(self) -> int:
        """The length cap: how many tokens of a document are read."""
        return self.recipe.hyperparameters.max_tokens

    def _read_heads(self, tokens: Tokens, row: int) -> np.ndarray | None:
        """Return the weights of each head, (heads, tokens, tokens); None without self-attention."""
        rows = np.asarray([row], np.int64)
        batch = self._encode(tokens, rows).batch(rows).to(self.device)
        with torch.inference_mode():
            weights = self.model.head_weights(batch)
        return None if weights is None else weights[0].float().cpu().numpy()

    def _read(self, encoded: EncodedCorpus, rows: np.ndarray) -> WeightedDocument:
        positions, token_mask = encoded.positions(rows)
        batch = encoded.batch(rows).to(self.device)
        with torch.inference_mode():
            probability = self.activation(self.model(batch).float())[0]
            weights = self.model.token_weights(batch)[0].float()
            sentence_weights = self.model.sentence_weights(batch)
        return WeightedDocument(
            probability.cpu().numpy(),
            positions[token_mask],
            weights.cpu().numpy()[token_mask[0]],
            None if sentence_weights is None else sentence_weights[0].float().cpu().numpy(),
        )

    def _encode(
        self, tokens: Tokens, rows: np.ndarray, texts: list[str] | None = None
    ) -> EncodedCorpus:
        """Return the encoded corpus; `rows` have the features of the model's linear branch."""
        h, branch = self.recipe.hyperparameters, self.model.branch
        if self._corpus is None or self._corpus[0] is not tokens:
            self._corpus = tokens, EncodedCorpus(tokens, self.vocabulary, h)
        encoded = self._corpus[1]
        if branch is None:
            return encoded
        texts = read_texts(tokens, rows) if texts is None else texts
        return encoded.with_linear(linear_features(branch, texts, h))


def load_predictor(
    folder: Path,
    recipe: Recipe[Data, Hyperparameters],
    settings: Prediction,
    device: str,
    command: str,
    kind: type[ClassificationPredictor] = ClassificationPredictor,
) -> ClassificationPredictor:
    """Return the run in `folder`, ready to predict on `device`; a classifier has no settings.

    Raises:
        HeedError: a file is missing or broken, or its tensors are not those of the recipe's model;
            `command` makes the run again.

    """
    with whole_run(folder, command):
        vocabulary = _read_vocabulary(folder / VOCABULARY, recipe.hyperparameters)
        model = load_weights(folder / WEIGHTS, lambda: make_model(vocabulary, recipe))
    return kind(model.eval().to(device), vocabulary, recipe, device)


def _read_vocabulary(path: Path, h: Hyperparameters) -> Vocabulary:
    """Return the vocabulary of a run. Raises ValueError if it is larger than the recipe allows."""
    words = tuple(path.read_text(encoding="utf-8").split("\n")[:-1])
    if len(words) > h.vocabulary_size:
        raise ValueError(
            f"{path.name} has {len(words):,} words, and vocabulary_size is {h.vocabulary_size:,}"
        )
    return Vocabulary(words, h.lowercase)
