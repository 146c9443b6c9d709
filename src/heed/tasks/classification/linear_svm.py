"""A linear support vector machine for rows that may not fit in memory.

The problem is LinearSVC's of scikit-learn: ½‖w‖² + C Σ max(0, 1 − y w·x)² for each class against
the others, with a constant feature 1 for the intercept (Fan et al. 2008, LIBLINEAR). Its optimum is
unique. LIBLINEAR finds it in memory; for more rows L-BFGS does, which needs only the sum of the
losses and its gradient: a pass over the rows, a chunk at a time.
"""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.optimize
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from heed.inputs.tfidf import SparseFile

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


@dataclasses.dataclass(frozen=True)
class Optimum:
    """The weights of some classes for one C, and how they were found.

    weights: (columns + 1, classes), the intercepts last; of two classes only the second has any.
    solver: LIBLINEAR or L-BFGS.
    passes: over the rows, of the slowest class.
    """

    strength: float
    weights: np.ndarray
    solver: str
    passes: int
    converged: bool


def optima(
    rows: SparseFile,
    columns: int,
    labels: np.ndarray,
    strengths: Sequence[float],
    report: Callable[[float, int], None] = lambda strength, passes: None,
) -> Iterator[Optimum]:
    """Yield the optimum of each C; where classes are fitted in groups, those of a group at a time.

    Args:
        rows: features of the training documents, (documents, columns)
        columns: number of features.
        labels: the class of each document, int (documents,); each of 0 to the largest occurs. Or
            whether each class is one of the document's, bool (documents, classes); of each class
            both occur, and then two classes have weights each.
        strengths: the values of C, ascending.
        report: called with C and the number of finished passes; LIBLINEAR tells none.

    """
    if rows.values <= IN_MEMORY:
        matrix = scipy.sparse.vstack([*rows], format="csr", dtype=np.float64)
        for strength in strengths:
            report(strength, 0)
            yield _liblinear(matrix, labels, strength)
        return
    has_several = labels.ndim == 2
    count = labels.shape[1] if has_several else labels.max() + 1
    classes = range(1, 2) if not has_several and count == 2 else range(count)
    at_once = max(1, min(MAX_WEIGHTS // columns, MAX_TARGETS // len(labels)))
    for first in range(0, len(classes), at_once):
        group = np.asarray(classes[first : first + at_once])
        is_of = labels[:, group] if has_several else labels[:, None] == group
        targets = np.where(is_of, np.float32(1), np.float32(-1))
        problem = _Problem(rows, columns, targets)
        weights = np.zeros((columns + 1, len(group)))
        for strength in strengths:
            optimum = problem.solve(strength, weights, report)
            weights = optimum.weights
            yield optimum


def decide(rows: SparseFile, weights: np.ndarray) -> np.ndarray:
    """Return the decision function of `weights` (columns + 1, classes): float32 (rows, classes)."""
    narrow = weights.astype(np.float32)
    return np.concatenate([_scores(chunk, narrow) for chunk in rows])


def _liblinear(matrix: scipy.sparse.csr_matrix, labels: np.ndarray, strength: float) -> Optimum:
    if labels.ndim == 2:  # each class by itself
        each = [_liblinear(matrix, labels[:, i], strength) for i in range(labels.shape[1])]
        weights = np.hstack([optimum.weights for optimum in each])
        passes = max(optimum.passes for optimum in each)
        is_optimum = all(optimum.converged for optimum in each)
        return Optimum(strength, weights, each[0].solver, passes, is_optimum)
    model = LinearSVC(C=strength, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `converged` says it
        model.fit(matrix, labels)
    weights = np.vstack([model.coef_.T, model.intercept_])
    passes = int(np.max(model.n_iter_))
    return Optimum(strength, weights, "LIBLINEAR", passes, passes < model.max_iter)


def _scores(chunk: scipy.sparse.csr_matrix, weights: np.ndarray) -> np.ndarray:
    return chunk @ weights[:-1] + weights[-1]


class _Problem:
    """The problem of some classes, each against the others, on the same rows, for L-BFGS."""

    def __init__(self, rows: SparseFile, columns: int, targets: np.ndarray) -> None:
        """Read the rows once. `targets` are 1 or -1, float32 (documents, classes)."""
        self._rows, self._targets = rows, targets
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

        result = scipy.optimize.minimize(
            objective,
            (start / scale).ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options={
                "maxcor": CORRECTIONS,
                "maxfun": MAX_PASSES,
                "maxiter": MAX_PASSES,
                "ftol": 0,
                "gtol": 0,
            },
        )
        weights = result.x.reshape(self._shape) * scale
        return Optimum(strength, weights, "L-BFGS", passes, converged())

    def _losses(self, weights: np.ndarray, strength: float) -> tuple[float, np.ndarray]:
        """Return the sum of the losses and its gradient (columns + 1, classes)."""
        value, gradient = 0.0, np.zeros(self._shape)
        narrow, first = weights.astype(np.float32), 0
        for chunk in self._rows:
            targets = self._targets[first : first + chunk.shape[0]]
            violations = np.maximum(0, 1 - targets * _scores(chunk, narrow))
            value += strength * float((violations.astype(np.float64) ** 2).sum())
            slopes = -2 * strength * targets * violations
            gradient[:-1] += chunk.T @ slopes
            gradient[-1] += slopes.sum(0, dtype=np.float64)
            first += chunk.shape[0]
        return value, gradient
