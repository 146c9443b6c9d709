"""The opponents: a linear model on TF-IDF features, tuned on validation, and the majority class.

Opponents are reference models from outside. A report without them would mislead: on the talk's own
corpora a linear model is often better (IMDB: accuracy .9231 against the talk's best .8789).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from heed.files import HeedError
from heed.inputs.tfidf import TfIdfFile, count_ngrams, write_tfidf
from heed.paths import WORK
from heed.progress import Bar, progress_bar
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.classification import linear_svm
from heed.tasks.classification.metrics import prediction_table, statistics_table
from heed.tasks.classification.recipe import Data
from heed.terminal import print_line
from heed.tokens.arrays import Tokens

STRENGTHS = (0.1, 0.5, 1.0, 2.0)  # C, chosen by validation accuracy; ties: the smallest
PARTS = ("train", "validation", "test")
Parts = dict[str, pd.DataFrame]  # id and label of the documents of each part
Shares = dict[str, np.ndarray]  # probability of each class on validation and test


@dataclasses.dataclass(frozen=True)
class Rules:
    """What the opponents of a task do with labels: the linear model, the constant one, tables."""

    fit_linear: Callable[[Parts, str, TfIdfFile, list[str], Bar], tuple[Shares, dict[str, Any]]]
    predict_majority: Callable[[Parts, str, list[str]], Shares]
    prediction_table: Callable[[np.ndarray, np.ndarray, np.ndarray, list[str]], pd.DataFrame]
    statistics_table: Callable[[pd.DataFrame, list[str]], pd.DataFrame]


def fit(tokens: Tokens, data: Data, experiment: DeclaredExperiment) -> Fitted:
    """Return the predictions of both opponents on each fold, and how they were chosen.

    Args:
        tokens: the corpus.
        data: the label that is predicted and its classes.
        experiment: has the features of the linear model in its options; its task has `RULES`.

    """
    rules: Rules = task_module(experiment.task, "opponents").RULES
    features: str = experiment.options.opponent_features
    column, classes = f"label_{data.label}", data.classes
    documents = tokens.documents(["id", column])
    predictions: dict[tuple[str, int], pd.DataFrame] = {}
    selection: dict[str, Any] = {"features": features, "tried": list(STRENGTHS)}
    with progress_bar("linear opponent") as bar:

        def report(what: str, done: int, total: int) -> None:
            bar.update(done, total, what)

        counts = count_ngrams(tokens.texts(), tokens.meta.documents, features, WORK, report)
        for fold in range(tokens.meta.folds or 1):
            rows = {part: _is_one_of(tokens.rows(part, fold), len(documents)) for part in PARTS}
            parts = {part: documents[rows[part]] for part in PARTS}
            file = write_tfidf(counts, rows, WORK, report)
            linear, chosen = rules.fit_linear(parts, column, file, classes, bar)
            del file  # before that of the next fold is written: two would take twice the disk
            majority = rules.predict_majority(parts, column, classes)
            for name, shares in (("majority", majority), ("linear", linear)):
                table = _table_of_parts(rules.prediction_table, parts, column, shares, classes)
                predictions[name, fold] = table
            for key, value in chosen.items():
                selection.setdefault(key, []).append(value)
    return Fitted(predictions, lambda table: rules.statistics_table(table, classes), selection)


def _is_one_of(rows: np.ndarray, documents: int) -> np.ndarray:
    """Return which of the documents are in `rows`, bool (documents,)."""
    members = np.zeros(documents, bool)
    members[rows] = True
    return members


def _fit_linear(
    parts: Parts, column: str, file: TfIdfFile, classes: list[str], bar: Bar
) -> tuple[Shares, dict[str, Any]]:
    """Return the linear model's class shares on validation and test, and how it was chosen.

    Shares are the softmax of the decision function, and not calibrated. Raises HeedError if the
    training part has one class only, or no words.
    """
    label = parts["train"][column]
    present = [name for name in classes if (label == name).any()]
    if len(present) < 2:
        raise HeedError(
            f"{column}: the training part has one class only ({label.iloc[0]}): nothing to learn. "
            "Mend `split`"
        )
    truth = parts["validation"][column].to_numpy()

    def accuracy(scores: np.ndarray) -> float:
        return float((np.asarray(present)[scores.argmax(1)] == truth).mean())

    labels = pd.Categorical(label, categories=present).codes.astype(np.int64)
    scores, chosen = select_linear(column, file, labels, "accuracy", accuracy, bar)
    class_columns = [classes.index(name) for name in present]
    shares = {
        part: _class_shares(values, class_columns, len(classes)) for part, values in scores.items()
    }
    return shares, chosen


def select_linear(
    column: str,
    file: TfIdfFile,
    labels: np.ndarray,
    figure: str,
    validate: Callable[[np.ndarray], float],
    bar: Bar,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the decision function of the best C on validation and test, and how it was chosen.

    Args:
        column: the name of the label, for messages.
        file: the features.
        labels: of the training documents, as `linear_svm.optima` takes them.
        figure: the name of what `validate` returns.
        validate: from the decision function on validation to the figure that decides.
        bar: shows the progress.

    Raises:
        HeedError: the training part has no words.

    """
    if not file.features:
        raise HeedError(
            f"{column}: no linear opponent can be fitted: no word occurs in "
            f"{file.min_documents} training documents. The corpus is too small or has no words"
        )
    optima = _find_optima(file, labels, bar)
    _warn_unless_converged(column, optima)
    figures = [validate(scores["validation"]) for scores in optima.scores.values()]
    strength = STRENGTHS[int(np.argmax(figures))]
    chosen = {
        "C": strength,
        f"validation_{figure}": figures,
        "columns": file.features,
        "min_documents": file.min_documents,
        "solver": optima.solver,
        "passes": list(optima.passes.values()),
        "converged": all(optima.converged.values()),
    }
    return optima.scores[strength], chosen


@dataclasses.dataclass
class _Optima:
    """The optima of all C and classes.

    scores: C → part → decision function, (documents, classes)
    passes: C → passes over the training documents, of the slowest class.
    converged: C → whether every class did.
    """

    scores: dict[float, dict[str, np.ndarray]]
    passes: dict[float, int]
    converged: dict[float, bool]
    solver: str = ""


def _find_optima(file: TfIdfFile, labels: np.ndarray, bar: Bar) -> _Optima:
    scores: dict[float, dict[str, np.ndarray]] = {c: {} for c in STRENGTHS}
    optima = _Optima(scores, dict.fromkeys(STRENGTHS, 0), dict.fromkeys(STRENGTHS, True))

    def report(strength: float, passes: int) -> None:
        bar.update(passes, text=f"C = {strength}, {passes} passes")

    train = file.parts["train"]
    for optimum in linear_svm.optima(train, file.features, labels, STRENGTHS, report):
        c = optimum.strength
        optima.solver = optimum.solver
        optima.converged[c] = optima.converged[c] and optimum.converged
        optima.passes[c] = max(optima.passes[c], optimum.passes)
        for part in ("validation", "test"):
            values = linear_svm.decide(file.parts[part], optimum.weights)
            if labels.ndim == 1 and labels.max() == 1:  # of two classes only the second has weights
                values = np.hstack([-values, values])
            former = scores[c].get(part, values[:, :0])
            scores[c][part] = np.hstack([former, values])
    return optima


def _warn_unless_converged(column: str, optima: _Optima) -> None:
    """Print a line if the weights of some C are not the optimum."""
    passes = [
        f"C = {strength} in {optima.passes[strength]} passes"
        for strength, converged in optima.converged.items()
        if not converged
    ]
    if passes:
        print_line(
            f"{column}: the linear opponent ({optima.solver}) did not converge with "
            f"{', '.join(passes)}: its accuracy may be too low"
        )


def _class_shares(scores: np.ndarray, class_columns: list[int], classes: int) -> np.ndarray:
    """Return the softmax of `scores` in `class_columns` of (documents, classes), else 0."""
    shares = np.zeros((len(scores), classes))
    weights = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
    shares[:, class_columns] = weights / weights.sum(1, keepdims=True)
    return shares


def _predict_majority(parts: Parts, column: str, classes: list[str]) -> Shares:
    """Return the class shares of the training part, for each document of validation and test.

    The largest is the prediction; ties go to the first class.
    """
    counts = parts["train"][column].value_counts()
    shares = np.asarray([counts.get(name, 0) for name in classes]) / len(parts["train"])
    return {part: np.tile(shares, (len(parts[part]), 1)) for part in ("validation", "test")}


def _table_of_parts(
    make_table: Callable[[np.ndarray, np.ndarray, np.ndarray, list[str]], pd.DataFrame],
    parts: Parts,
    column: str,
    shares: Shares,
    classes: list[str],
) -> pd.DataFrame:
    """Return the table of predictions on validation and test, with the column `split`."""
    frames = []
    for part, values in shares.items():
        table = make_table(
            parts[part]["id"].to_numpy(), parts[part][column].to_numpy(), values, classes
        )
        table.insert(1, "split", part)
        frames.append(table)
    return pd.concat(frames, ignore_index=True)


RULES = Rules(_fit_linear, _predict_majority, prediction_table, statistics_table)
