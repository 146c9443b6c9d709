"""A trained classifier for texts of one's own: for notebooks, and for `heed classify --table`."""

import contextlib
import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet

from heed.corpora.rows import Format, read_table
from heed.corpora.table import text_column
from heed.files import HeedError, writing
from heed.prediction import load_predictor
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

        Texts are cleaned and tokenised as the model's corpus was; an empty one has a prediction
        too. Memory does not grow with their number, and probabilities do not depend on the other
        texts, but for the last bits. Raises TypeError: a single str or a table, or something in the
        list that is no str.
        """
        parts = [np.zeros((0, len(self.classes)), np.float32)]
        for cleaned, tokens in self._tokenize(texts):
            parts.append(self.predictor.probabilities(tokens, np.arange(len(cleaned)), cleaned))
        probabilities = np.concatenate(parts)
        predicted = self.predictor.decide(probabilities)
        return ClassifiedTexts(self.classes, probabilities, predicted)

    def weights(self, texts: list[str]) -> list[WeightedWords]:
        """Return the words of each text that the model reads, with their weights."""
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
                kind = type(text).__name__
                raise TypeError(f"expected a list of str, found {kind} as text {number}")
        tokenizer = self.predictor.recipe.tokenizer
        for start in range(0, len(texts), AT_ONCE):
            yield tokenize_in_memory(texts[start : start + AT_ONCE], tokenizer)


def open_run(run: RunInfo, folder: Path | None = None) -> TextClassifier:
    """Return a run that is ready to classify texts on the CPU; `folder` as in load_predictor."""
    predictor = load_predictor(run, "cpu", folder=folder)
    assert isinstance(predictor, ClassificationPredictor)
    return TextClassifier(predictor)


def classify(model: str, text: str) -> str:
    """Return lines with the class probabilities and the weight of each word, means over runs.

    `text` is the text, the name of a file with it, or - for standard input. Raises HeedError: the
    model has no trained run, or is not a classifier.
    """
    runs, seeds = load_classifiers(model), trained_seeds(model)
    recipe = runs[0].recipe
    cleaned, tokens = tokenize_in_memory([read_text(text)], recipe.tokenizer)
    documents = [run.reader(tokens, np.zeros(1, np.int64), texts=cleaned)(0) for run in runs]
    lines = [f"{model}: mean of {len(runs)} runs (seeds {', '.join(map(str, seeds))})"]
    if recipe.task != "classification":
        lines.append("any number of labels, each predicted by itself:")
    probability = np.mean([document.probability for document in documents], 0)
    for i in np.argsort(-probability):
        lines.append(f"  {recipe.data.classes[i]:24} {probability[i]:.4f}")
    branch = recipe.hyperparameters.tfidf_branch
    if branch != "none":
        lines.append(
            f"the linear branch ({branch}) contributes to these probabilities too: what it adds is "
            "in no word's weight"
        )
    lines += _format_words(tokens, documents) + _format_sentences(tokens, documents)
    return "\n".join(lines)


def load_classifiers(model: str) -> list[ClassificationPredictor]:
    """Return the trained runs of a model, in the order of their seeds, on the CPU.

    Raises HeedError: the model has no trained run, is not a classifier, or its runs were made with
    different recipes.
    """
    predictors = []
    for run in read_runs(model, trained_seeds(model)):
        predictor = load_predictor(run, "cpu")
        if not isinstance(predictor, ClassificationPredictor):
            raise HeedError(f"{model}: is a model of the task {run.recipe.task}, not a classifier")
        predictors.append(predictor)
    return predictors


def _format_words(tokens: Tokens, documents: list[WeightedDocument]) -> list[str]:
    """Return a line for each word that was read, with its mean weight over runs."""
    positions = documents[0].positions
    weights = np.mean([document.weights for document in documents], 0)
    lines = [
        f"weights over {len(positions)} words read of {len(tokens.ids)} (weights are not "
        "explanations by themselves):"
    ]
    for position, weight in zip(positions, weights, strict=True):
        lines.append(f"  {tokens.lexicon[tokens.ids[position]]:24} {weight:.4f}")
    return lines


def _format_sentences(tokens: Tokens, documents: list[WeightedDocument]) -> list[str]:
    """Return a line for each sentence that was read; none for models that are not hierarchical."""
    positions = documents[0].positions
    weights = [each.sentence_weights for each in documents if each.sentence_weights is not None]
    if not weights or not len(positions):
        return []
    sentences = np.searchsorted(tokens.sentences(0), positions, side="right")
    lines = ["weights of the sentences read:"]
    for number, weight in zip(np.unique(sentences), np.mean(weights, 0), strict=False):
        in_sentence = positions[sentences == number]
        words = " ".join(tokens.lexicon[tokens.ids[position]] for position in in_sentence)
        lines.append(f"  {words[:60]:60} {weight:.4f}")
    return lines


@dataclasses.dataclass(frozen=True)
class TextTable:
    """A table with texts, whose labels are not known.

    text_columns: the columns whose texts are joined by `separator`.
    id_column: the column with a name of each row; empty: rows are numbered from 1.
    encoding: of a file that is text; empty: UTF-8.
    delimiter: between two fields; None: by the ending of the file.
    quotes: false: a double quote is a character as any other.
    """

    path: Path
    text_columns: tuple[str, ...]
    separator: str = " "
    id_column: str = ""
    encoding: str = ""
    delimiter: str | None = None
    quotes: bool | None = None

    def read(self) -> Iterator[tuple[str | int, str]]:
        """Yield the id and the text of each row; a missing text is an empty one.

        Raises HeedError as `read_table` does, and for a cell that is no text.
        """
        quote = "" if self.quotes is False else None
        table = read_table(self.path, Format("", self.encoding or None, self.delimiter, quote))
        names = [*self.text_columns, *filter(None, [self.id_column])]
        numbers = itertools.count(1)
        for batch in table.to_batches(AT_ONCE):
            columns = [text_column(str(self.path), batch, name) for name in names]
            for row in zip(*columns, strict=True):
                texts = row[: len(self.text_columns)]
                text = self.separator.join(texts) if any(texts) else ""
                yield row[-1] if self.id_column else next(numbers), text


def classify_table(model: str, table: TextTable, output: Path | None) -> str:
    """Write a prediction for each row of a table; return a line that says what was done.

    The result has the columns `id` (or `row`, its number), `predicted` and `p:CLASS` for each
    class: means over the model's runs. Several labels of a row are joined by "; ". Memory does not
    grow with the table. `output` is a file that ends in one of SUFFIXES, which is written whole or
    not at all; None: CSV on standard output, as it is made.

    Raises HeedError: no trained run, no classifier, a table that cannot be read, another ending.
    """
    if output and output.suffix not in SUFFIXES:
        raise HeedError(f"--output {output}: expected a file that ends in {', '.join(SUFFIXES)}")
    if output and output.exists() and table.path.exists() and output.samefile(table.path):
        raise HeedError(f"--output {output}: this is the table itself. Name another file")
    runs = load_classifiers(model)
    key = "id" if table.id_column else "row"
    count, rows = 0, table.read()
    batch = list(itertools.islice(rows, AT_ONCE))  # a table that cannot be read prints no header
    with _writing_table(output) as write:
        write(_predictions(key, [], runs))
        while batch:
            write(_predictions(key, batch, runs))
            count += len(batch)
            batch = list(itertools.islice(rows, AT_ONCE))
    return f"{output or table.path}: {count:,} rows, mean of {len(runs)} runs of {model}"


def _predictions(
    key: str, rows: list[tuple[str | int, str]], runs: list[ClassificationPredictor]
) -> pd.DataFrame:
    """Return a row for each id and text: `key`, `predicted` and float32 columns `p:CLASS`."""
    classes = runs[0].recipe.data.classes
    probabilities = np.zeros((0, len(classes)), np.float32)
    if rows:
        texts, numbers = [text for _, text in rows], np.arange(len(rows))
        cleaned, tokens = tokenize_in_memory(texts, runs[0].recipe.tokenizer)
        probabilities = np.mean([run.probabilities(tokens, numbers, cleaned) for run in runs], 0)
    decided = runs[0].decide(probabilities)
    predicted = [each if isinstance(each, str) else "; ".join(each) for each in decided]
    ids = pd.Series([id_ for id_, _ in rows], dtype="int64" if key == "row" else "str")
    head = pd.DataFrame({key: ids, "predicted": pd.Series(predicted, dtype="str")})
    return head.join(pd.DataFrame(probabilities, columns=[f"p:{name}" for name in classes]))


@contextlib.contextmanager
def _writing_table(output: Path | None) -> Iterator[Callable[[pd.DataFrame], object]]:
    """Yield a function that writes the next rows; the first call has none, but the columns."""
    if output is None:
        yield lambda table: print_data(_as_csv(table).removesuffix("\n"))
        return
    with writing(output) as temporary, contextlib.ExitStack() as stack:
        if output.suffix == ".parquet":
            yield functools.partial(_write_parquet, temporary, stack, [])
        else:
            convert = _as_csv if output.suffix == ".csv" else _as_json_lines
            file = stack.enter_context(temporary.open("w", encoding="utf-8", newline="\n"))
            yield lambda table: file.write(convert(table))


def _as_csv(table: pd.DataFrame) -> str:
    """Return the rows as CSV, or the header of a table without any."""
    return table.to_csv(index=False, header=not len(table), lineterminator="\n")


def _as_json_lines(table: pd.DataFrame) -> str:
    """Return an object a line; a probability has the digits of a float32."""
    for name in table.columns[2:]:
        table[name] = [float(str(value)) for value in table[name].to_numpy()]
    rows = table.to_dict("records")
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _write_parquet(
    path: Path, stack: contextlib.ExitStack, writers: list[Any], table: pd.DataFrame
) -> None:
    """Add rows to a parquet file, a row group a call; the first call opens it."""
    rows = pyarrow.Table.from_pandas(table, preserve_index=False)
    if not writers:
        writers.append(stack.enter_context(pyarrow.parquet.ParquetWriter(path, rows.schema)))
    writers[0].write_table(rows)
