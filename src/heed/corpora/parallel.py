"""Parallel text of the user's own: a table, or text files with a line for each sentence.

A table has a column for each language, text files are one for each language. Either may bring gold
alignments in the Pharaoh format: `i-j` for a sure link of word i and word j, `i?j` for a possible
one, separated by spaces; an empty line or cell where the links of a sentence are not known.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heed.annotations import parse_links
from heed.corpora.parts import PartNames
from heed.corpora.publication import (
    Document,
    Documents,
    Kind,
    Links,
    SourceKind,
)
from heed.corpora.rows import AT, PATH, is_table, read_batches
from heed.corpora.table import FORMAT_KEYS, text_column
from heed.corpora.user_files import LINES, make_parallel
from heed.files import HeedError

if TYPE_CHECKING:
    from heed.study import Corpus


def read_table(path: Path, corpus: "Corpus") -> Documents:
    """Yield one document for each row of a table.

    Raises:
        HeedError: the file cannot be read or lacks a column, a cell is no text or no alignment, or
            a row names no part.

    """
    if not corpus.columns:
        raise HeedError(
            f"{path}: a table: expected `columns` of the corpus in params.yaml, the column of each "
            "language"
        )
    keys = list(corpus.columns)
    columns = list(corpus.columns.values())
    columns += [corpus.split_column] if corpus.split_column else []
    parts = PartNames(f"column {corpus.split_column!r}")
    number = 0
    for batch in read_batches(path):
        file = (batch.schema.metadata or {}).get(PATH, b"").decode() or str(path)
        places = batch.column(AT).to_pylist()
        cells = [text_column(file, batch, column) for column in columns]
        for at, *row in zip(places, *cells, strict=True):
            number, location = number + 1, f"{file}{at}"
            values = {key: cell or "" for key, cell in zip(keys, row, strict=False)}
            split = parts.read(row[-1] or "", location) if corpus.split_column else ""
            yield _document(f"row/{number}", values, corpus, dict.fromkeys(keys, location), split)
    parts.print_changes()


def read_lines(raw: Path, corpus: "Corpus") -> Documents:
    """Yield one document for each line of the files in `raw`.

    Raises:
        HeedError: a file cannot be read, the files differ in their number of lines, or a line is no
            alignment.

    """
    if corpus.columns or corpus.split_column:
        key = "columns" if corpus.columns else "split_column"
        raise HeedError(f"{raw}: files of lines: a corpus of these takes no `{key}` in params.yaml")
    files = {path.stem: path for path in sorted(raw.glob(f"*{LINES}"))}
    lines = {key: list(_read_lines(path)) for key, path in files.items()}
    counts = {key: len(texts) for key, texts in lines.items()}
    if len({*counts.values()}) > 1:
        found = ", ".join(f"{files[key].name} {count:,}" for key, count in counts.items())
        raise HeedError(
            f"{raw}: line n of each file is the same sentence: expected equal numbers of lines, "
            f"found {found}"
        )
    for number, texts in enumerate(zip(*lines.values(), strict=True), 1):
        locations = {key: f"{path}:{number}" for key, path in files.items()}
        yield _document(f"line/{number}", dict(zip(files, texts, strict=True)), corpus, locations)


def _document(
    name: str, values: dict[str, str], corpus: "Corpus", locations: dict[str, str], split: str = ""
) -> Document:
    """Return a document from its texts, by language, and alignments, by "SOURCE-TARGET"."""
    alignments = {}
    for key, text in values.items():
        if "-" in key and text.strip():
            if corpus.alignment_base is None:
                raise HeedError(
                    f"{locations[key]}: an alignment: expected `alignment_base` of the corpus in "
                    "params.yaml, the number of a sentence's first word: 0 or 1"
                )
            alignments[key] = read_links(text, corpus.alignment_base, locations[key])
    texts: dict[str, str | bytes] = {key: text for key, text in values.items() if "-" not in key}
    return Document(name, texts=texts, alignments=alignments, split=split)


def read_links(text: str, base: int, location: str) -> Links:
    """Return the links of an alignment; errors as of `heed.annotations.parse_links`."""
    sure, possible = parse_links(text, location, base)
    return Links(tuple(sure), tuple(possible))


def _read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, which end with a line feed and nowhere else."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except UnicodeError as error:
        raise HeedError(
            f"{path}: not utf-8 ({error}). Declare the encoding that the file has: the source's "
            "`encoding` in params.yaml, such as windows-1252"
        ) from None
    except OSError as error:
        raise HeedError(f"{path}: cannot be read: {error.strerror or error}") from None


def _read(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the documents of the table in `raw`, or of its files of lines."""
    tables = [path for path in sorted(raw.glob("*")) if is_table(path)]
    if tables:
        return read_table(tables[0], corpus)
    if not [*raw.glob(f"*{LINES}")]:
        raise HeedError(f"{raw}: no files. Run: heed download {raw.name}")
    return read_lines(raw, corpus)


SOURCE = SourceKind(
    name="parallel",
    make=make_parallel,
    alternative_keys=(("path", "sha256"), ("paths", "hashes")),
    optional_keys=FORMAT_KEYS,
    parallel=True,
)
KINDS = (
    Kind(
        name="parallel",
        source=SOURCE,
        read=_read,
        parallel=True,
        splits=("given", "random", "folds"),
        optional_keys=("columns", "split_column", "alignment_base"),
    ),
)  # fmt: skip
