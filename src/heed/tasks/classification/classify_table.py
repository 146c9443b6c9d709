"""Classify the texts of a table with the trained runs of a model, some rows at a time."""

import contextlib
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from heed.corpora.rows import Format, read_table
from heed.corpora.table import text_column
from heed.files import HeedError, writing
from heed.tasks.classification.classify import load_classifiers
from heed.tasks.classification.prediction import ClassificationPredictor
from heed.tasks.classification.texts import AT_ONCE
from heed.terminal import print_data
from heed.tokens.tokenizer import tokenize_in_memory

SUFFIXES = (".csv", ".jsonl", ".parquet")  # of the output

Write = Callable[[pd.DataFrame], object]


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
        number = 0
        for batch in table.to_batches(AT_ONCE):
            columns = [text_column(str(self.path), batch, name) for name in self.text_columns]
            ids = [None] * batch.num_rows
            if self.id_column:
                ids = text_column(str(self.path), batch, self.id_column)
            for name, *texts in zip(ids, *columns, strict=True):
                number += 1
                text = self.separator.join(text or "" for text in texts) if any(texts) else ""
                yield (name or "") if self.id_column else number, text


def classify_table(model: str, table: TextTable, output: Path | None) -> str:
    """Write a prediction for each row of a table; return a line that says what was done.

    The result has the columns `id` (or `row`, its number), `predicted` and `p:CLASS` for each
    class: means over the model's runs. Several labels of a row are joined by "; ". Memory does not
    grow with the table.

    Args:
        model: a model with trained runs.
        table: the table.
        output: a file that ends in one of SUFFIXES, which is written whole or not at all; None: CSV
            on standard output, as it is made.

    Raises:
        HeedError: no trained run, no classifier, a table that cannot be read, another ending.

    """
    _check_output(table.path, output)
    runs = load_classifiers(model)
    key = "id" if table.id_column else "row"
    count, rows = 0, table.read()
    batch = list(itertools.islice(rows, AT_ONCE))  # a table that cannot be read prints no header
    with _writing_table(output) as write:
        write(_predictions(key, [], [], runs))
        while batch:
            ids, texts = zip(*batch, strict=True)
            write(_predictions(key, list(ids), list(texts), runs))
            count += len(batch)
            batch = list(itertools.islice(rows, AT_ONCE))
    return f"{output or table.path}: {count:,} rows, mean of {len(runs)} runs of {model}"


def _check_output(table: Path, output: Path | None) -> None:
    """Raise HeedError for an output of another ending, or that is the table itself."""
    if output is None:
        return
    if output.suffix not in SUFFIXES:
        raise HeedError(f"--output {output}: expected a file that ends in {', '.join(SUFFIXES)}")
    if output.exists() and table.exists() and output.samefile(table):
        raise HeedError(f"--output {output}: this is the table itself. Name another file")


def _predictions(
    key: str, ids: list[str | int], texts: list[str], runs: list[ClassificationPredictor]
) -> pd.DataFrame:
    """Return a row for each text: `key`, `predicted` and a float32 column `p:CLASS` a class."""
    classes = runs[0].recipe.data.classes
    probabilities = np.zeros((0, len(classes)), np.float32)
    if texts:
        cleaned, tokens = tokenize_in_memory(texts, runs[0].recipe.tokenizer)
        rows = np.arange(len(texts))
        probabilities = np.mean([run.probabilities(tokens, rows, cleaned) for run in runs], 0)
    predicted = [
        each if isinstance(each, str) else "; ".join(each) for each in runs[0].decide(probabilities)
    ]
    head = pd.DataFrame(
        {
            key: pd.Series(ids, dtype="int64" if key == "row" else "str"),
            "predicted": pd.Series(predicted, dtype="str"),
        }
    )
    return head.join(pd.DataFrame(probabilities, columns=[f"p:{name}" for name in classes]))


@contextlib.contextmanager
def _writing_table(output: Path | None) -> Iterator[Write]:
    """Yield a function that writes the next rows; the first call has none, but the columns."""
    if output is None:
        yield lambda table: print_data(_as_csv(table).removesuffix("\n"))
        return
    with writing(output) as temporary:
        if output.suffix == ".parquet":
            with _writing_parquet(temporary) as write:
                yield write
            return
        convert = _as_csv if output.suffix == ".csv" else _as_json_lines
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
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


@contextlib.contextmanager
def _writing_parquet(path: Path) -> Iterator[Write]:
    """Yield a function that adds rows to a parquet file: a row group a call."""
    import pyarrow
    import pyarrow.parquet

    with contextlib.ExitStack() as stack:
        writers: list[pyarrow.parquet.ParquetWriter] = []

        def write(table: pd.DataFrame) -> None:
            rows = pyarrow.Table.from_pandas(table, preserve_index=False)
            if not writers:
                writer = pyarrow.parquet.ParquetWriter(path, rows.schema)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(rows)

        yield write
