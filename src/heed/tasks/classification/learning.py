"""The training of a classifier: cross entropy, validated by accuracy, macro F1 and loss."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import nn

from heed.files import HeedError, write_text
from heed.inputs.batches import Batch, EncodedCorpus
from heed.inputs.tfidf import HashedTfIdf
from heed.inputs.vocabulary import Vocabulary, build_vocabulary, vocabulary_vectors
from heed.models.classifier import Classifier, LinearBranch
from heed.recipe import Recipe
from heed.task.interface import Learner
from heed.tasks.classification.metrics import by_class, statistics
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.arrays import Tokens

VOCABULARY = "vocabulary.txt"
Activation = Callable[[torch.Tensor], torch.Tensor]  # from logits to probabilities


def softmax(logits: torch.Tensor) -> torch.Tensor:
    """Return the probability of each class, one of which a document has: (..., classes)."""
    return torch.softmax(logits, -1)


class ClassificationLearner(Learner):
    """A classifier and the documents that it learns from.

    `labels` (documents,) are the class indices of all documents of the corpus. A subclass may have
    other labels, with its own loss and `validate`.
    """

    def __init__(
        self,
        model: nn.Module,
        encoded: EncodedCorpus,
        labels: np.ndarray,
        rows: dict[str, np.ndarray],
        hyperparameters: Hyperparameters,
        seed: int,
        device: str,
    ) -> None:
        """Store the arguments; `rows` has the documents of the train and validation parts."""
        self.model, self.encoded, self.device, self.seed = model, encoded, device, seed
        self.train, self.validation = rows["train"], rows["validation"]
        self.items = len(self.train)
        self._h, self._labels, self._targets = hyperparameters, labels, torch.from_numpy(labels)
        self._weights: torch.Tensor | None = None
        if hyperparameters.class_weights == "balanced":
            self._weights = torch.from_numpy(self.balance(labels))

    def steps(self, epoch: int, max_tokens: int | None) -> Iterator[list[Batch]]:
        """Yield the batches of each training step; see `EncodedCorpus.training_steps`."""
        return self.encoded.training_steps(
            self.train, self._h.batch_size, self.seed, epoch, max_tokens
        )

    def size(self, batch: Batch) -> int:
        """Return the number of documents in a batch."""
        return len(batch.rows)

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Return the cross entropy, summed over documents, each with the weight of its class.

        With `branch_loss: joint` it is that of the model's logits; else the sum of the losses of
        network and linear branch.
        """
        assert isinstance(model, Classifier)
        logits = model.logits_by_part(batch.to(self.device))
        if self._h.branch_loss == "joint":
            logits = [torch.stack(logits).sum(0)]
        return torch.stack([self._cross_entropy(part, batch) for part in logits]).sum()

    def _cross_entropy(self, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the cross entropy of logits (batch, classes), summed over documents."""
        return self._sum(
            F.cross_entropy(
                logits,
                self._targets[batch.rows].to(self.device),
                reduction="sum" if self._weights is None else "none",
                label_smoothing=self._h.label_smoothing,
            ),
            batch,
        )

    def balance(self, labels: np.ndarray) -> np.ndarray:
        """Return the weight of each document in the loss for `class_weights: balanced`."""
        return balanced_weights(labels, self.train)

    def _sum(self, losses: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the sum of losses of documents (batch,), by `class_weights`."""
        if self._weights is None:
            return losses.sum()
        return losses @ self._weights[batch.rows].to(losses)

    def validate(self, model: nn.Module, every: int = 1) -> dict[str, float]:
        """Return loss, accuracy and macro F1 on every `every`-th validation document."""
        rows = self.validation[::every]
        predicted = probabilities(model, self.encoded.evaluation_batches(rows), rows, self.device)
        labels = self._labels[rows]
        likelihood = np.maximum(predicted[np.arange(len(rows)), labels].astype(np.float64), 1e-30)
        classes = np.arange(predicted.shape[1])
        sums = statistics(labels, predicted.argmax(1), list(classes)).sum(0)
        return {
            "loss": float(-np.log(likelihood).mean()),
            "accuracy": float(sums[0] / len(rows)),
            "macro_f1": float(by_class(sums)["f1"].mean()),
        }

    def rate(self, parameter: str) -> float:
        """Return `branch_rate` for the linear branch, 1 for the network."""
        return self._h.branch_rate if parameter.startswith("branch.") else 1.0

    def write(self, folder: Path) -> None:
        """Write the vocabulary."""
        write_text(
            folder / VOCABULARY, "".join(f"{word}\n" for word in self.encoded.vocabulary.words)
        )


def make_learner(
    recipe: Recipe[Data, Hyperparameters],
    tokens: Tokens,
    rows: dict[str, np.ndarray],
    seed: int,
    device: str,
) -> ClassificationLearner:
    """Return the learner of a training; the caller seeds torch, which initialises the model.

    Only the documents in `rows` are read.

    Args:
        recipe: the recipe of the training.
        tokens: the recipe's corpus.
        rows: documents of the train and validation parts.
        seed: determines the order of documents.
        device: cpu or cuda.

    """
    kind = ClassificationLearner
    return assemble_learner(kind, class_indices, recipe, tokens, rows, seed, device)


def assemble_learner(
    kind: type[ClassificationLearner],
    read_labels: Callable[[Tokens, Data, np.ndarray], np.ndarray],
    recipe: Recipe[Data, Hyperparameters],
    tokens: Tokens,
    rows: dict[str, np.ndarray],
    seed: int,
    device: str,
) -> ClassificationLearner:
    """Return the learner of this kind as `make_learner` does, whose labels `read_labels` reads."""
    h = recipe.hyperparameters
    vocabulary = build_vocabulary(tokens, rows["train"], h.vocabulary_size, h.lowercase)
    labels = read_labels(tokens, recipe.data, np.concatenate([rows["train"], rows["validation"]]))
    model = make_model(vocabulary, recipe)
    if h.vectors != "none":
        assert model.network is not None
        model.network.embedding.set_words(*vocabulary_vectors(tokens, vocabulary))
    linear = _fit_branch(model.branch, tokens, rows, h) if model.branch else None
    encoded = EncodedCorpus(tokens, vocabulary, h, linear)
    return kind(model.to(device), encoded, labels, rows, h, seed, device)


def make_model(vocabulary: Vocabulary, recipe: Recipe[Data, Hyperparameters]) -> Classifier:
    """Return the recipe's model, initialised from torch's generator."""
    h = recipe.hyperparameters
    return Classifier(
        len(vocabulary), len(recipe.data.classes), h, autocast=h.precision == "bfloat16"
    )


def balanced_weights(labels: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return the weight of each document in the loss, float32 (documents,).

    That is n / (classes × n of its class), of the training part and the classes in it: the weights
    of a class's documents sum to n / classes, and their mean is 1 (King & Zeng 2001, Logistic
    regression in rare events data; scikit-learn's `balanced`). Others have 0.

    Args:
        labels: class indices, (documents,)
        train: the rows of the training part.

    """
    counts = np.bincount(labels[train])
    by_class = len(train) / (np.count_nonzero(counts) * np.maximum(counts, 1))
    weights = np.zeros(len(labels), np.float32)
    weights[train] = by_class[labels[train]]
    return weights


def class_indices(tokens: Tokens, data: Data, rows: np.ndarray) -> np.ndarray:
    """Return the class index of each document of the corpus, int64 (documents,).

    It is -1 for documents that are not in `rows`, whose labels are not read. Raises HeedError for
    a class that `data` lacks.
    """
    column = f"label_{data.label}"
    indices = np.full(len(tokens.offsets) - 1, -1, np.int64)
    labels = tokens.documents([column], rows)[column]
    codes = pd.Categorical(labels, categories=data.classes).codes
    if (codes < 0).any():
        raise HeedError(
            f"{tokens.path}: documents have the class {min(labels[codes < 0])!r}, which the recipe "
            "lacks. Run again: heed recipe"
        )
    indices[rows] = codes
    return indices


def probabilities(
    model: nn.Module,
    batches: Iterable[Batch],
    rows: np.ndarray,
    device: str,
    activation: Activation = softmax,
) -> np.ndarray:
    """Return the class probabilities in the order of `rows`, float32 (rows, classes).

    Puts the model in evaluation mode; `activation` makes probabilities of its logits.
    """
    model.eval()
    by_batch: list[np.ndarray] = []
    order: list[np.ndarray] = []
    with torch.inference_mode():
        for batch in batches:
            logits = model(batch.to(device))
            by_batch.append(activation(logits.float()).cpu().numpy())
            order.append(batch.rows)
    predicted_rows = np.concatenate(order)
    by_row = np.argsort(predicted_rows, kind="stable")
    place = by_row[np.searchsorted(predicted_rows, rows, sorter=by_row)]
    return np.concatenate(by_batch)[place]


def linear_features(
    branch: LinearBranch, texts: list[str], h: Hyperparameters
) -> scipy.sparse.csr_matrix:
    """Return the TF-IDF features of a linear branch, (texts, columns); 0 for an empty text."""
    return HashedTfIdf(h.linear_branch, h.branch_buckets, branch.idf.cpu().numpy()).transform(texts)


def _fit_branch(
    branch: LinearBranch, tokens: Tokens, rows: dict[str, np.ndarray], h: Hyperparameters
) -> scipy.sparse.csr_matrix:
    """Fit the idf of a linear branch on the training part, and store it in the branch.

    Return the features of the training and validation documents, 0 for all others.
    """
    texts = read_texts(tokens, np.concatenate([rows["train"], rows["validation"]]))
    features = HashedTfIdf(h.linear_branch, h.branch_buckets)
    features.fit([texts[row] for row in rows["train"]])
    branch.idf.copy_(torch.from_numpy(features.idf))
    return linear_features(branch, texts, h)


def read_texts(tokens: Tokens, rows: np.ndarray) -> list[str]:
    """Return the text of each document of the corpus; empty for those that are not in `rows`."""
    texts = np.full(len(tokens.offsets) - 1, "", object)
    texts[rows] = tokens.documents(["text"], rows)["text"].to_numpy()
    return list(texts)
