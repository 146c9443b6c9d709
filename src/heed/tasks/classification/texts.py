"""A trained classifier for texts of one's own: for notebooks, and for `heed classify --table`."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.corpora.rows import Format, read_table
from heed.corpora.table import text_column
from heed.files import HeedError, kind_of, require_readable, writing
from heed.prediction import load_predictor
from heed.tables import csv_text, write_csv
from heed.tasks.classification.prediction import ClassificationPredictor, WeightedDocument
from heed.tasks.texts import read_text, trained_seeds
from heed.terminal import print_data
from heed.tokens.arrays import Tokens
from heed.tokens.tokenizer import tokenize_in_memory
from heed.training.run import RunInfo, read_runs

AT_ONCE = 1000  # texts that are tokenised and predicted together
SUFFIXES = (".csv", ".jsonl", ".parquet")  # of a table of predictions


@dataclasses.dataclass(frozen=True)
class ClassifiedTexts:
    """The predictions of some texts, in their order; probabilities are float32 (texts, classes).

    A multi-label model predicts a list: the classes whose probability is above one half. A text
    without a visible word that the model knows has the prediction None and probabilities NaN.
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

        Raises TypeError: a single str or a table, or something in the list that is no str.
        """
        probabilities = _probabilities([self.predictor], _require_texts(texts))
        return ClassifiedTexts(self.classes, probabilities, _decide(self.predictor, probabilities))

    def score_probabilities(self, texts: list[str]) -> np.ndarray:
        """Return the probabilities of texts, also of those of which the model knows no word."""
        return _probabilities([self.predictor], _require_texts(texts), unknown=True)

    def weights(self, texts: list[str]) -> list[WeightedWords]:
        """Return the words of each text that the model reads, with their weights."""
        weighted = []
        for cleaned, tokens in _tokenize(self.predictor, _require_texts(texts)):
            read = self.predictor.reader(tokens, np.arange(len(cleaned)), cleaned)
            for row in range(len(cleaned)):
                document = read(row)
                weighted.append(WeightedWords(_words(tokens, row, document), document.weights))
        return weighted


def open_run(run: RunInfo, folder: Path | None = None) -> TextClassifier:
    """Return a run that is ready to classify texts on the CPU; `folder` as in load_predictor."""
    predictor = load_predictor(run, "cpu", folder=folder)
    assert isinstance(predictor, ClassificationPredictor)
    return TextClassifier(predictor)


def load_classifiers(model: str) -> list[ClassificationPredictor]:
    """Return a model's runs by seed, on the CPU. Raises HeedError: none, or no classifier."""
    predictors = [load_predictor(run, "cpu") for run in read_runs(model, trained_seeds(model))]
    classifiers = [each for each in predictors if isinstance(each, ClassificationPredictor)]
    if not classifiers:
        raise HeedError(f"{model}: is not a classifier")
    return classifiers


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


def _tokenize(
    predictor: ClassificationPredictor, texts: Sequence[str]
) -> Iterator[tuple[list[str], Tokens]]:
    for start in range(0, len(texts), AT_ONCE):
        yield tokenize_in_memory([*texts[start : start + AT_ONCE]], predictor.recipe.tokenizer)


def _probabilities(
    runs: list[ClassificationPredictor], texts: Sequence[str], unknown: bool = False
) -> np.ndarray:
    """Return the mean probabilities of runs; NaN where none knows a word, but with `unknown`."""
    parts = [np.zeros((0, len(runs[0].recipe.data.classes)), np.float32)]
    for cleaned, tokens in _tokenize(runs[0], texts):
        rows = np.arange(len(cleaned))
        parts.append(np.mean([run.probabilities(tokens, rows, cleaned) for run in runs], 0))
        if not unknown:
            parts[-1][~np.any([run.knows(tokens) for run in runs], 0)] = np.nan
    return np.concatenate(parts)


def _decide(run: ClassificationPredictor, probabilities: np.ndarray) -> list[Any]:
    unknown = np.isnan(probabilities).any(1).tolist()
    decided = run.decide(np.nan_to_num(probabilities))
    return [None if each else found for each, found in zip(unknown, decided, strict=True)]


def _words(tokens: Tokens, row: int, document: WeightedDocument) -> list[str]:
    types = tokens.ids[tokens.offsets[row] :]
    return [tokens.lexicon[types[position]] for position in document.positions]


def classify(model: str, text: str) -> str:
    """Return lines with class probabilities and the weights of words.

    Raises HeedError: no run, or no word that the model knows.
    """
    runs, seeds = load_classifiers(model), trained_seeds(model)
    recipe = runs[0].recipe
    cleaned, tokens = tokenize_in_memory([read_text(text)], recipe.tokenizer)
    if not any(run.knows(tokens)[0] for run in runs):
        raise HeedError(f"{model}: the text has no word that the model knows: it has no class")
    documents = [run.reader(tokens, np.zeros(1, np.int64), texts=cleaned)(0) for run in runs]
    lines = [f"{model}: mean of {len(runs)} runs (seeds {', '.join(map(str, seeds))})"]
    if recipe.task != "classification":
        lines.append("any number of labels, each predicted by itself:")
    probability = np.mean([document.probability for document in documents], 0)
    lines += [
        f"  {recipe.data.classes[i]:24} {probability[i]:.4f}" for i in np.argsort(-probability)
    ]
    branch = recipe.hyperparameters.tfidf_branch
    if branch != "none":
        lines.append(
            f"the linear branch ({branch}) contributes to these probabilities too: what it adds is "
            "in no word's weight"
        )
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
        each.sentence_weights for each in documents if each.sentence_weights is not None
    ]
    if words and of_sentences:
        sentence = np.searchsorted(tokens.sentences(0), documents[0].positions, side="right")
        texts = pd.Series(words).groupby(sentence).agg(" ".join)
        lines.append("weights of the sentences read:")
        for text, weight in zip(texts, np.mean(of_sentences, 0), strict=False):
            lines.append(f"  {text[:60]:60} {weight:.4f}")
    return lines


@dataclasses.dataclass(frozen=True)
class TextTable:
    """A table with texts, joined from columns, and how it is read; rows without id are numbered."""

    path: Path
    text_columns: tuple[str, ...]
    separator: str = " "
    id_column: str = ""
    encoding: str = ""
    delimiter: str | None = None
    quote: str | None = None

    def read(self) -> tuple[pd.Series, list[str]]:
        """Return the ids and the texts, a missing one empty. Raises HeedError as `read_table`."""
        form = Format("", self.encoding or None, self.delimiter, self.quote)
        table = read_table(self.path, form)
        names = [*self.text_columns, *filter(None, [self.id_column])]
        rows: list[tuple[Any, ...]] = []
        if len(table):  # a table without rows has no columns either
            columns = [text_column(str(self.path), table, name) for name in names]
            rows = [*zip(*columns, strict=True)]
        count = len(self.text_columns)
        texts = [
            self.separator.join(cell or "" for cell in row[:count]) if any(row[:count]) else ""
            for row in rows
        ]
        if self.id_column:
            return pd.Series([row[-1] or "" for row in rows], dtype="str", name="id"), texts
        return pd.Series(range(1, len(rows) + 1), dtype="int64", name="row"), texts


def classify_table(model: str, table: TextTable, output: Path | None) -> str:
    """Write a prediction for each row of a table; return a line that says what was done.

    The result has `id` (or `row`), `predicted` (several labels joined by "; ") and `p:CLASS`, means
    over the runs. Raises HeedError: no trained run, no classifier, a table that cannot be read, an
    `output` of another ending; None is CSV on standard output.
    """
    if output and output.suffix not in SUFFIXES:
        raise HeedError(f"--output {output}: expected a file that ends in {', '.join(SUFFIXES)}")
    require_readable(table.path)
    if output and output.exists():
        if not output.is_file():
            raise HeedError(f"--output {output}: is {kind_of(output)}. Name a file")
        if output.samefile(table.path):
            raise HeedError(f"--output {output}: this is the table itself. Name another file")
    runs = load_classifiers(model)
    ids, texts = table.read()
    probabilities = _probabilities(runs, texts)
    labels = _decide(runs[0], probabilities)
    predicted = ["; ".join(each) if isinstance(each, list) else each for each in labels]
    names = [f"p:{name}" for name in runs[0].recipe.data.classes]
    head = pd.DataFrame({ids.name: ids, "predicted": pd.Series(predicted, dtype="str")})
    _write(head.join(pd.DataFrame(probabilities, columns=names)), output)
    unknown = predicted.count(None)
    without = f"; {unknown:,} without a prediction: the model knows no word of it"
    rows = f"{output or table.path}: {len(texts):,} rows"
    return f"{rows}, mean of {len(runs)} runs of {model}{without if unknown else ''}"


def _write(table: pd.DataFrame, output: Path | None) -> None:
    if output is None:
        print_data(csv_text(table).removesuffix("\n"))
        return
    with writing(output) as temporary:
        if output.suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        elif output.suffix == ".csv":
            write_csv(temporary, table)
        else:
            for name in table.columns[2:]:  # a probability has the digits of a float32
                table[name] = [float(str(value)) for value in table[name].to_numpy()]
            table = table.astype(object).where(table.notna(), None)
            lines = (json.dumps(row, ensure_ascii=False) for row in table.to_dict("records"))
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
