"""What a trained classifier predicts: the probability of each class, and the weights behind it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from heed.files import HeedError
from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import Vocabulary
from heed.models.classifier import Classifier
from heed.paths import WEIGHTS
from heed.recipe import Recipe
from heed.tasks.classification.learning import (
    VOCABULARY,
    class_indices,
    linear_features,
    make_model,
    probabilities,
    texts_of,
)
from heed.tasks.classification.probabilities import prediction_table, statistics_table
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tasks.classification.shown import Reading, shown_documents
from heed.tasks.interface import Predictor
from heed.tokens.arrays import Tokens


@dataclasses.dataclass(frozen=True)
class ClassificationPredictor(Predictor):
    """A trained classifier with its vocabulary, in evaluation mode."""

    model: Classifier
    vocabulary: Vocabulary
    recipe: Recipe[Data, Hyperparameters]
    device: str

    def predict(self, tokens: Tokens, rows: np.ndarray) -> pd.DataFrame:
        """Return `id, label, predicted` and the probability `p:CLASS` of each class."""
        classes = self.recipe.data.classes
        found = probabilities(
            self.model, self._encoded(tokens, rows).evaluation_batches(rows), rows, self.device
        )
        label = np.asarray(classes)[class_indices(tokens, self.recipe.data, rows)[rows]]
        return prediction_table(
            tokens.documents(["id"])["id"].to_numpy()[rows], label, found, classes
        )

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return what metrics.py adds up of each document."""
        return statistics_table(predictions, self.recipe.data.classes)

    def show(self, tokens: Tokens, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return `documents`, at most 200 that shown.py's rule chose, and `weights`, a row for each
        token of them.
        """
        documents, weights = shown_documents(
            lambda rows: self.reader(tokens, rows), tokens, predictions
        )
        return {"documents": documents, "weights": weights}

    def reader(
        self, tokens: Tokens, rows: np.ndarray, texts: list[str] | None = None
    ) -> Callable[[int], Reading]:
        """Return what reads one of the documents `rows` of a corpus: its prediction, and the
        weights that it rests on.

        `texts` are those of all documents, for a corpus that is in memory alone.
        """
        encoded = self._encoded(tokens, rows, texts)
        return lambda row: self._read(encoded, np.asarray([row], np.int64))

    def _read(self, encoded: EncodedCorpus, rows: np.ndarray) -> Reading:
        positions, token_mask = encoded.positions(rows)
        batch = encoded.batch(rows).to(self.device)
        with torch.inference_mode():
            probability = torch.softmax(self.model(batch).float(), -1)[0]
            weights = self.model.token_weights(batch)[0].float()
            sentences = self.model.sentence_weights(batch)
        return Reading(
            probability.cpu().numpy(),
            positions[token_mask],
            weights.cpu().numpy()[token_mask[0]],
            None if sentences is None else sentences[0].float().cpu().numpy(),
        )

    def _encoded(
        self, tokens: Tokens, rows: np.ndarray, texts: list[str] | None = None
    ) -> EncodedCorpus:
        """Return a corpus as this model reads it; only the documents `rows` have the features of a
        linear branch.
        """
        h, branch, linear = self.recipe.hyperparameters, self.model.branch, None
        if branch is not None:
            linear = linear_features(branch, texts_of(tokens, rows) if texts is None else texts, h)
        return EncodedCorpus(tokens, self.vocabulary, h, linear)


def load_predictor(
    folder: Path, recipe: Recipe[Data, Hyperparameters], device: str, command: str
) -> ClassificationPredictor:
    """Return the run in `folder`, ready to predict on `device`.

    Raises:
        HeedError: it is not whole; `command` makes it again.

    """
    try:
        words = tuple((folder / VOCABULARY).read_text(encoding="utf-8").split("\n")[:-1])
        vocabulary = Vocabulary(words, recipe.hyperparameters.lowercase)
        model = make_model(vocabulary, recipe)
        model.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise HeedError(f"{folder}: not a whole run ({reason}). Run again: {command}") from None
    return ClassificationPredictor(model.eval().to(device), vocabulary, recipe, device)
