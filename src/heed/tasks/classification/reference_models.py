"""The reference models: a linear model on TF-IDF features, tuned on validation, and the majority.

A report without them would mislead: on the talk's own corpora a linear model is often better (IMDB:
accuracy .9231 against the talk's best .8789). It is a support vector machine, LinearSVC of
scikit-learn: ½‖w‖² + C Σ max(0, 1 − y w·x)² for each class against the others, with a constant
feature 1 for the intercept (Fan et al. 2008, LIBLINEAR). Of more training rows than fit in memory
each second, third, … is learned from.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from heed.files import HeedError
from heed.hyperparameters.pretrained import PRETRAINED
from heed.inputs.tfidf import SparseFile, TfIdfFile, count_ngrams, write_tfidf, write_vectors
from heed.paths import WORK
from heed.progress import Bar, progress_bar
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.classification.recipe import Data
from heed.terminal import print_line
from heed.tokens.arrays import Tokens

STRENGTHS = (0.1, 0.5, 1.0, 2.0)  # C, chosen by validation accuracy; ties: the smallest
SPLITS = ("train", "validation", "test")
# Values of the training rows that LIBLINEAR may hold, 50 bytes each: it copies them. So many have
# some 300,000 documents of 71 tokens. All corpora at hand fit.
IN_MEMORY = 40_000_000
MAX_PASSES = 1000  # of LIBLINEAR

Labels = dict[str, pd.Series]  # of the documents of each part
Shares = dict[str, np.ndarray]  # probability of each class on validation and test
Rows = dict[str, np.ndarray]  # of the documents of each split, in the order of the corpus
FittedFold = tuple[dict[str, Shares], dict[str, Any]]  # by reference model, and how it was chosen


def fit(tokens: Tokens, data: Data, experiment: DeclaredExperiment) -> Fitted:
    """Return the predictions of both reference models on each fold, and how they were chosen."""
    models, classes = task_module(experiment.task, "reference_models"), data.classes
    features: str = experiment.options.linear_features
    with progress_bar("linear reference model") as bar:

        def report(what: str, done: int, total: int) -> None:
            bar.update(done, total, what)

        def fit_fold(rows: Rows, labels: Labels) -> FittedFold:
            every = {
                name: np.bincount(each, minlength=documents) > 0 for name, each in rows.items()
            }
            file = write_tfidf(counts, every, WORK, report)
            linear, chosen, _ = models.fit_linear(labels, file, classes, bar)
            shares = models.majority_shares(labels["train"], classes)
            tiled = {split: np.tile(shares, (len(labels[split]), 1)) for split in SPLITS[1:]}
            return {"majority": tiled, "linear": linear}, chosen

        documents = tokens.meta.documents
        counts = count_ngrams(tokens.texts(), documents, features, WORK, report)
        selection = {"features": features, "tried": list(STRENGTHS)}
        return fit_folds(tokens, data, experiment, selection, fit_fold)


def fit_pretrained(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, vectors: np.ndarray
) -> tuple[Fitted, np.ndarray]:
    """Return the same of the linear model on the documents' vectors, (documents, size).

    Their mean length is made 1, as that of TF-IDF's rows, for which the values of C are. Returns
    too the weights of the first fold, of the vectors as they are (see `fit_weights`).
    """
    models, of_folds = task_module(experiment.task, "reference_models"), list[np.ndarray]()
    with progress_bar("pretrained reference model") as bar:

        def fit_fold(rows: Rows, labels: Labels) -> FittedFold:
            scale = float(1 / np.linalg.norm(vectors[rows["train"]], axis=1).mean())
            file = write_vectors(vectors, rows, WORK, scale)
            shares, chosen, weights = models.fit_linear(labels, file, data.classes, bar)
            of_folds.append(np.vstack([weights[:-1] * scale, weights[-1:]]))
            return {PRETRAINED: shares}, chosen

        fitted = fit_folds(tokens, data, experiment, {"tried": list(STRENGTHS)}, fit_fold)
    return fitted, of_folds[0]


def linear_head(tokens: Tokens, data: Data, weights: np.ndarray) -> np.ndarray:
    """Return the weights of `fit_pretrained` as those of all classes, float32 (classes, size + 1).

    Their softmax has the shares of `fit_linear`, one class a document; the bias, which comes last,
    is -inf of a class without training documents.
    """
    column = f"label_{data.label}"
    present = set(tokens.documents([column])[column].iloc[tokens.rows("train", 0)])
    head = np.zeros((len(data.classes), len(weights)), np.float32)
    head[:, -1] = -np.inf
    rows = [row for row, name in enumerate(data.classes) if name in present]
    head[rows] = np.vstack([-weights.T, weights.T]) if weights.shape[1] == 1 else weights.T
    return head


def fit_folds(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, selection: dict[str, Any],
    fit_fold: Callable[[Rows, Labels], FittedFold],
) -> Fitted:  # fmt: skip
    """Return what `fit_fold` predicts on each fold; `selection` gets how each was chosen."""
    metrics = task_module(experiment.task, "metrics")
    column, classes = f"label_{data.label}", data.classes
    documents = tokens.documents(["id", column])
    predictions: dict[tuple[str, int], pd.DataFrame] = {}
    for fold in range(tokens.meta.folds or 1):
        rows = {split: tokens.rows(split, fold) for split in SPLITS}
        ids, labels = (
            {split: documents[name].iloc[of_split] for split, of_split in rows.items()}
            for name in ("id", column)
        )
        # features are dropped before those of the next fold are written: two take twice the disk
        fitted, chosen = fit_fold(rows, labels)
        for name, shares in fitted.items():
            predictions[name, fold] = split_table(metrics, ids, labels, shares, classes)
        for key, value in chosen.items():
            selection.setdefault(key, []).append(value)
    return Fitted(predictions, lambda table: metrics.statistics_table(table, classes), selection)


def split_table(
    metrics: Any, ids: Labels, labels: Labels, predicted: Shares, classes: list[str]
) -> pd.DataFrame:
    """Return the predictions of documents of each split as a table with a column `split`."""
    tables = []
    for split, values in predicted.items():
        of_part = ids[split].to_numpy(), labels[split].to_numpy()
        tables.append(metrics.prediction_table(*of_part, values, classes))
        tables[-1].insert(1, "split", split)
    return pd.concat(tables, ignore_index=True)


def fit_linear(
    labels: Labels, file: TfIdfFile, classes: list[str], bar: Bar
) -> tuple[Shares, dict[str, Any], np.ndarray]:
    """Return the linear model's class shares, uncalibrated softmax, how it was chosen, its weights.

    The weights are those of `select_linear`, for the classes with training documents.
    """
    label = labels["train"].iloc[learned_rows(file.splits["train"])]
    truth = labels["validation"].to_numpy()
    present = [name for name in classes if (label == name).any()]
    if len(present) < 2:
        raise HeedError(
            f"{label.name}: the training split has one class only ({label.iloc[0]}): nothing to "
            "learn. Mend `split`"
        )

    def accuracy(scores: np.ndarray) -> float:
        return float((np.asarray(present)[scores.argmax(1)] == truth).mean())

    codes = pd.Categorical(label, categories=present).codes.astype(np.int64)
    decided, chosen, kept = select_linear(str(label.name), file, codes, "accuracy", accuracy, bar)
    shares = {}
    for split, scores in decided.items():
        weights = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
        shares[split] = np.zeros((len(scores), len(classes)))  # 0 of the classes not present
        of_present = [classes.index(name) for name in present]
        shares[split][:, of_present] = weights / weights.sum(1, keepdims=True)
    return shares, chosen, kept


def majority_shares(labels: pd.Series, classes: list[str]) -> np.ndarray:
    """Return the share of each class in the training split: the largest is what is predicted."""
    return labels.value_counts().reindex(classes, fill_value=0).to_numpy() / len(labels)


def select_linear(
    column: str, file: TfIdfFile, labels: np.ndarray, metric: str,
    validate: Callable[[np.ndarray], float], bar: Bar,
) -> tuple[dict[str, np.ndarray], dict[str, Any], np.ndarray]:  # fmt: skip
    """Return the decision function of the best C by `validate`, how it was chosen, its weights.

    `labels` are those of the rows that are learned from, as `fit_weights` takes them.
    The weights are as of `fit_weights`, and empty on TF-IDF features, where they are gigabytes.
    """
    if not file.features:
        raise HeedError(
            f"{column}: no linear reference model: no word occurs in {file.min_documents} training "
            "documents: the corpus is too small, or has no words"
        )
    scores, kept, passes = dict[float, Shares](), dict[float, np.ndarray](), dict[float, int]()
    matrix = read_rows(file.splits["train"])
    for c in STRENGTHS:
        bar.update(len(passes), len(STRENGTHS), f"C = {c}")
        weights, passes[c] = fit_weights(matrix, labels, c)
        kept[c] = np.empty((0, 0)) if file.min_documents else weights
        scores[c] = {split: decide(file.splits[split], weights) for split in SPLITS[1:]}
        if labels.ndim == 1 and labels.max() == 1:  # of two classes only the second has weights
            scores[c] = {split: np.hstack([-each, each]) for split, each in scores[c].items()}
    if failed := ", ".join(f"{c} in {n} passes" for c, n in passes.items() if n >= MAX_PASSES):
        print_line(
            f"{column}: the linear reference model (LIBLINEAR) did not converge with C = {failed}: "
            "its accuracy may be too low"
        )
    if matrix.shape[0] < file.splits["train"].rows:
        print_line(
            f"{column}: the linear reference model learns from {matrix.shape[0]:,} of the "
            f"{file.splits['train'].rows:,} training documents: more do not fit in memory"
        )
    validated = [validate(of_parts["validation"]) for of_parts in scores.values()]
    strength = STRENGTHS[int(np.argmax(validated))]
    chosen = {
        "C": strength, f"validation_{metric}": validated, "columns": file.features,
        "min_documents": file.min_documents, "solver": "LIBLINEAR", "passes": [*passes.values()],
        "converged": not failed,
    }  # fmt: skip
    return scores[strength], chosen, kept[strength]


def learned_rows(rows: SparseFile) -> slice:
    """Return the rows that are learned from, evenly spread: as many as fit in memory."""
    return slice(0, rows.rows, max(1, -(-rows.values // IN_MEMORY)))


def read_rows(rows: SparseFile) -> scipy.sparse.csr_matrix:
    """Return the rows that are learned from."""
    first, chunks, every = 0, [], learned_rows(rows).step
    for chunk in rows:
        chunks.append(chunk[-first % every :: every])
        first += chunk.shape[0]
    return scipy.sparse.vstack(chunks, format="csr", dtype=np.float64)


def decide(rows: SparseFile, weights: np.ndarray) -> np.ndarray:
    """Return the decision function of `weights` (columns + 1, classes): float32 (rows, classes)."""
    narrow = weights.astype(np.float32)
    return np.concatenate([chunk @ narrow[:-1] + narrow[-1] for chunk in rows])


def fit_weights(
    matrix: scipy.sparse.csr_matrix, labels: np.ndarray, strength: float
) -> tuple[np.ndarray, int]:
    """Return the weights for one C, (columns + 1, classes), intercepts last, and the most passes.

    labels: the class of each row, int (rows,), of two classes one has weights; or whether each
        class is one of the row's, bool (rows, classes): each class is fitted by itself.
    """
    if labels.ndim == 2:
        each, passes = zip(
            *(fit_weights(matrix, of_class, strength) for of_class in labels.T), strict=True
        )
        return np.hstack(each), max(passes)
    model = LinearSVC(C=strength, random_state=0, max_iter=MAX_PASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `converged` says it
        model.fit(matrix, labels)
    return np.vstack([model.coef_.T, model.intercept_]), int(np.max(model.n_iter_))
