"""The reference models: a linear model on TF-IDF features, tuned on validation, and the majority.

A report without them would mislead: on the talk's own corpora a linear model is often better (IMDB:
accuracy .9231 against the talk's best .8789). It is a support vector machine, for rows that may not
fit in memory. The problem is LinearSVC's of scikit-learn: ½‖w‖² + C Σ max(0, 1 − y w·x)² for each
class against the others, with a constant feature 1 for the intercept (Fan et al. 2008, LIBLINEAR).
Its optimum is unique. LIBLINEAR finds it in memory; for more rows L-BFGS does, which needs only the
sum of the losses and its gradient: a pass over the rows, a chunk at a time. C is chosen by the
metric that compares the models; where that is a macro average, also whether all classes count
alike, as scikit-learn's class_weight="balanced", for networks may balance them too.
"""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.optimize
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from heed.files import HeedError
from heed.hyperparameters.pretrained import PRETRAINED
from heed.inputs.tfidf import SparseFile, TfIdfFile, count_ngrams, write_tfidf, write_vectors
from heed.paths import WORK
from heed.progress import Bar, progress_bar
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.classification.metrics import make_metrics, statistics
from heed.tasks.classification.recipe import Data
from heed.terminal import print_line
from heed.tokens.arrays import Tokens

STRENGTHS = (0.1, 0.5, 1.0, 2.0)  # C, chosen on validation; ties: the smallest
SPLITS = ("train", "validation", "test")
# Values of the rows that LIBLINEAR may hold: it copies them, 40 bytes each. On small corpora it is
# faster than L-BFGS (letters by author: 14.6 CPU s in place of 20.4), and all at hand fit.
IN_MEMORY = 16_000_000
MAX_WEIGHTS = 3_000_000  # that L-BFGS searches for at once: 300 bytes each
MAX_TARGETS = 25_000_000  # documents times classes of such a search: 4 bytes each, as scores do
# L-BFGS stops when the last steps together lowered the objective by less than this share of it.
STEPS, TOLERANCE = 5, 1e-3
MAX_PASSES = 300  # of L-BFGS, for one C
CORRECTIONS = 10  # L-BFGS's memory: pairs of vectors
# The diagonal of the Hessian is 1 + 2C times the squares of a column, summed over the rows that
# violate the margin. Scaled with this share of all rows, L-BFGS needs a fifth of the passes on
# IMDB: 97 in place of 526 for four values of C. Larger shares are no better.
VIOLATING = 0.1

Labels = dict[str, pd.Series]  # of the documents of each split
Shares = dict[str, np.ndarray]  # probability of each class on validation and test
Rows = dict[str, np.ndarray]  # of the documents of each split, in the order of the corpus
FittedFold = tuple[dict[str, Shares], dict[str, Any]]  # by reference model, and how it was chosen


def fit(tokens: Tokens, data: Data, experiment: DeclaredExperiment) -> Fitted:
    """Return the predictions of both reference models on each fold, and how they were chosen."""
    features: str = experiment.options.linear_features
    with progress_bar("linear reference model") as bar:

        def report(what: str, done: int, total: int) -> None:
            bar.update(done, total, what)

        def fit_fold(rows: Rows, labels: Labels) -> FittedFold:
            every = {
                name: np.bincount(chosen, minlength=documents) > 0 for name, chosen in rows.items()
            }
            file = write_tfidf(counts, every, WORK, report)
            linear, chosen, _ = fit_linear(labels, file, data.classes, experiment.metric, bar)
            shares = majority_shares(labels["train"], data.classes)
            tiled = {split: np.tile(shares, (len(labels[split]), 1)) for split in SPLITS[1:]}
            return {"majority": tiled, "linear": linear}, chosen

        documents = tokens.meta.documents
        counts = count_ngrams(tokens.texts(), documents, features, WORK, report)
        selection = {"features": features, "tried": list(STRENGTHS)}
        return fit_folds(tokens, data, experiment, selection, fit_fold)


def fit_pretrained(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, vectors: np.ndarray
) -> tuple[Fitted, np.ndarray]:
    """Return what `fit` returns, of the linear model on the documents' vectors, (documents, size).

    Their mean length is made 1, as that of TF-IDF's rows, for which the values of C are. Returns
    too the weights of the first fold, of the vectors as they are (see Optimum).
    """
    of_folds = list[np.ndarray]()
    with progress_bar("pretrained reference model") as bar:

        def fit_fold(rows: Rows, labels: Labels) -> FittedFold:
            scale = float(1 / np.linalg.norm(vectors[rows["train"]], axis=1).mean())
            file = write_vectors(vectors, rows, WORK, scale)
            shares, chosen, weights = fit_linear(labels, file, data.classes, experiment.metric, bar)
            of_folds.append(np.vstack([weights[:-1] * scale, weights[-1:]]))
            return {PRETRAINED: shares}, chosen

        fitted = fit_folds(tokens, data, experiment, {"tried": list(STRENGTHS)}, fit_fold)
    return fitted, of_folds[0]


def linear_head(tokens: Tokens, data: Data, weights: np.ndarray) -> np.ndarray:
    """Return the weights of `fit_pretrained` expanded to all classes, float32 (classes, size + 1).

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
        of_split = ids[split].to_numpy(), labels[split].to_numpy()
        tables.append(metrics.prediction_table(*of_split, values, classes))
        tables[-1].insert(1, "split", split)
    return pd.concat(tables, ignore_index=True)


def fit_linear(
    labels: Labels, file: TfIdfFile, classes: list[str], metric: str | None, bar: Bar
) -> tuple[Shares, dict[str, Any], np.ndarray]:
    """Return the linear model's class shares, uncalibrated softmax, how it was chosen, its weights.

    The weights are those of `select_linear`, for the classes with training documents. `metric`:
    the task's that chooses; None is accuracy.
    """
    label, truth = labels["train"], labels["validation"].to_numpy()
    present = [name for name in classes if (label == name).any()]
    if len(present) < 2:
        raise HeedError(
            f"{label.name}: the training split has one class only ({label.iloc[0]}): nothing to "
            "learn. Mend `split`"
        )

    def score(scores: np.ndarray) -> dict[str, float]:
        predicted = np.asarray(present, object)[scores.argmax(1)]
        return make_metrics(Data("", classes)).compute(statistics(truth, predicted, classes))

    codes = pd.Categorical(label, categories=present).codes.astype(np.int64)
    decided, chosen, kept = select_linear(
        str(label.name), file, codes, metric or "accuracy", score, bar
    )
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
    score: Callable[[np.ndarray], dict[str, float]], bar: Bar,
) -> tuple[dict[str, np.ndarray], dict[str, Any], np.ndarray]:  # fmt: skip
    """Return the best decision function by `metric` of `score`, how it was chosen, its weights.

    The weights are as of Optimum, and empty on TF-IDF features, where they are gigabytes.
    """
    if not file.features:
        raise HeedError(
            f"{column}: no linear reference model: no word occurs in {file.min_documents} training "
            "documents: the corpus is too small, or has no words"
        )
    fits = _fit(file, labels, None, bar)
    if balances := metric.startswith("macro_"):
        fits += _fit(file, labels, compute_sample_weight("balanced", labels)[:, None], bar)
    if failed := ", ".join(f"{fit.c} in {fit.passes} passes" for fit in fits if not fit.converged):
        print_line(
            f"{column}: the linear reference model ({fits[0].solver}) did not converge with C = "
            f"{failed}: its accuracy may be too low"
        )
    validated = [score(fit.scores["validation"])[metric] for fit in fits]
    best = int(np.argmax(validated))
    chosen = {
        "C": fits[best].c, f"validation_{metric}": validated, "columns": file.features,
        "min_documents": file.min_documents, "solver": fits[0].solver,
        "passes": [fit.passes for fit in fits], "converged": not failed,
    }  # fmt: skip
    if balances:
        chosen["class_weights"] = "balanced" if best >= len(STRENGTHS) else "none"
    return fits[best].scores, chosen, fits[best].kept


@dataclasses.dataclass
class _Fit:
    """What is kept of the optimum of one C, while its classes are fitted group by group."""

    c: float
    kept: np.ndarray  # weights, as of Optimum
    scores: dict[str, np.ndarray]  # the decision function on validation and test
    passes: int = 0
    converged: bool = True
    solver: str = ""


def _fit(file: TfIdfFile, labels: np.ndarray, weights: np.ndarray | None, bar: Bar) -> list[_Fit]:
    """Return the fits of all C, with documents of these weights."""
    none = np.empty((0 if file.min_documents else file.features + 1, 0))
    fits = {c: _Fit(c, none, {}) for c in STRENGTHS}

    def report(strength: float, passes: int) -> None:
        bar.update(passes, text=f"C = {strength}, {passes} passes")

    for optimum in optima(file.splits["train"], file.features, labels, STRENGTHS, report, weights):
        fit = fits[optimum.strength]
        fit.solver, fit.passes = optimum.solver, max(fit.passes, optimum.passes)
        fit.converged &= optimum.converged
        fit.kept = np.hstack([fit.kept, optimum.weights[: len(none)]])
        for split in SPLITS[1:]:
            values = decide(file.splits[split], optimum.weights)
            if labels.max() == 1:  # of two classes only the second has weights
                values = np.hstack([-values, values])
            fit.scores[split] = np.hstack([fit.scores.get(split, values[:, :0]), values])
    return [*fits.values()]


@dataclasses.dataclass(frozen=True)
class Optimum:
    """Weights for one C, (columns + 1, classes), intercepts last; of two classes one has any."""

    strength: float
    weights: np.ndarray
    solver: str
    passes: int
    converged: bool


def optima(
    rows: SparseFile, columns: int, labels: np.ndarray, strengths: Sequence[float],
    report: Callable[[float, int], None] = lambda strength, passes: None,
    weights: np.ndarray | None = None,
) -> Iterator[Optimum]:  # fmt: skip
    """Yield the optimum of each C; where classes are fitted in groups, one group at a time.

    rows: features of the training documents, (documents, columns).
    labels: the class of each document, int (documents,).
    report: called with C and the finished passes; LIBLINEAR tells none.
    weights: of the documents' losses, (documents, 1).
    """
    if rows.values <= IN_MEMORY:
        matrix = scipy.sparse.vstack([*rows], format="csr", dtype=np.float64)
        for strength in strengths:
            report(strength, 0)
            yield _liblinear(matrix, labels, strength, weights)
        return
    count = labels.max() + 1
    classes = range(1, 2) if count == 2 else range(count)
    at_once = max(1, min(MAX_WEIGHTS // columns, MAX_TARGETS // len(labels)))
    for first in range(0, len(classes), at_once):
        group = np.asarray(classes[first : first + at_once])
        targets = np.where(labels[:, None] == group, np.float32(1), np.float32(-1))
        problem = _Problem(rows, columns, targets, weights)
        found = np.zeros((columns + 1, len(group)))
        for strength in strengths:
            optimum = problem.solve(strength, found, report)
            found = optimum.weights
            yield optimum


def decide(rows: SparseFile, weights: np.ndarray) -> np.ndarray:
    """Return the decision function of `weights` (columns + 1, classes): float32 (rows, classes)."""
    narrow = weights.astype(np.float32)
    return np.concatenate([_scores(chunk, narrow) for chunk in rows])


def _liblinear(
    matrix: scipy.sparse.csr_matrix, labels: np.ndarray, strength: float, weights: np.ndarray | None
) -> Optimum:
    model = LinearSVC(C=strength, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `converged` says it
        model.fit(matrix, labels, None if weights is None else weights[:, 0])
    found = np.vstack([model.coef_.T, model.intercept_])
    passes = int(np.max(model.n_iter_))
    return Optimum(strength, found, "LIBLINEAR", passes, passes < model.max_iter)


def _scores(chunk: scipy.sparse.csr_matrix, weights: np.ndarray) -> np.ndarray:
    return chunk @ weights[:-1] + weights[-1]


class _Problem:
    """The problem of some classes, each against the others, on the same rows, for L-BFGS."""

    def __init__(
        self, rows: SparseFile, columns: int, targets: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Read the rows once. `targets` are 1 or -1, float32 (documents, classes)."""
        self._rows, self._targets = rows, targets
        self._of_rows = np.ones((len(targets), 1)) if weights is None else weights
        self._shape = (columns + 1, targets.shape[1])
        self._squares = np.zeros((columns + 1, 1))  # of each column, summed over the rows
        self._squares[-1] = rows.rows
        for chunk in rows:
            self._squares[:-1, 0] += np.bincount(chunk.indices, chunk.data**2, columns)

    def solve(
        self, strength: float, start: np.ndarray, report: Callable[[float, int], None]
    ) -> Optimum:
        """Return the optimum for C, searched from the weights `start`."""
        scale = 1 / np.sqrt(1 + 2 * strength * VIOLATING * self._squares)
        passes, values = 0, list[float]()

        def objective(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal passes
            weights = scaled.reshape(self._shape) * scale
            value, gradient = self._losses(weights, strength)
            gradient += weights
            gradient *= scale
            passes += 1
            report(strength, passes)
            return value + 0.5 * float((weights**2).sum()), gradient.ravel()

        def converged() -> bool:
            return len(values) > STEPS and values[-1 - STEPS] - values[-1] < TOLERANCE * values[-1]

        def stop(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            values.append(intermediate_result.fun)
            if converged():
                raise StopIteration

        limits = {"maxfun": MAX_PASSES, "maxiter": MAX_PASSES, "ftol": 0, "gtol": 0}
        result = scipy.optimize.minimize(
            objective, (start / scale).ravel(), jac=True, method="L-BFGS-B", callback=stop,
            options={"maxcor": CORRECTIONS, **limits},
        )  # fmt: skip
        weights = result.x.reshape(self._shape) * scale
        return Optimum(strength, weights, "L-BFGS", passes, converged())

    def _losses(self, weights: np.ndarray, strength: float) -> tuple[float, np.ndarray]:
        value, gradient = 0.0, np.zeros(self._shape)
        narrow, first = weights.astype(np.float32), 0
        for chunk in self._rows:
            part = slice(first, first + chunk.shape[0])
            targets, of_rows = self._targets[part], self._of_rows[part]
            violations = np.maximum(0, 1 - targets * _scores(chunk, narrow))
            value += strength * float((of_rows * violations.astype(np.float64) ** 2).sum())
            slopes = (-2 * strength * of_rows).astype(np.float32) * targets * violations
            gradient[:-1] += chunk.T @ slopes
            gradient[-1] += slopes.sum(0, dtype=np.float64)
            first += chunk.shape[0]
        return value, gradient
