"""The size of a corpus before it is tokenised: of its kind, or of the user's own files."""

import dataclasses
import math
import re
import statistics
from collections import Counter
from pathlib import Path

from heed.corpora.declared import Corpus, Source
from heed.corpora.hub import local_path
from heed.corpora.kinds import KINDS, corpus_languages
from heed.corpora.publication import Kind, split_of, split_of_key
from heed.corpora.rows import format_of, is_table, no_column, read_table
from heed.corpora.table import split_labels
from heed.files import HeedError, bounded_lines, require_readable
from heed.study.schema import Params

# A word, a letter of a script without spaces between words, or another sign: about a token each.
SCRIPTS_WITHOUT_SPACES = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
TOKEN = re.compile(rf"[{SCRIPTS_WITHOUT_SPACES}]|[^\W{SCRIPTS_WITHOUT_SPACES}]+|[^\w\s]")
# types = 10 x tokens^.6 (Heaps' law): 5 to 24 on the corpora at hand
HEAPS_FACTOR, HEAPS_EXPONENT = 10, 0.6
GENERATED_TYPES = 1000
UNKNOWN_TEST_SHARE = 0.2  # of a given split
UNKNOWN_CLASSES = 10  # of a label whose values are not known


def count_tokens(text: str, tokenizer: str) -> int:
    """Return about how many tokens a corpus's tokenizer finds in a text; exact for `whitespace`."""
    return len(text.split()) if tokenizer == "whitespace" else len(TOKEN.findall(text))


@dataclasses.dataclass(frozen=True)
class CorpusSize:
    """The size of a corpus, exactly or about; of its parts: of one fold where there are folds."""

    train: float  # documents
    validation: float
    test: float
    mean_length: float  # tokens of a text
    texts: int  # of a document: one, or one in each of its languages
    types: float
    values: dict[str, int]  # label → number of its values, where it is known
    folds: int = 0  # of all repeats together
    repeats: int = 1

    @property
    def documents(self) -> float:
        """The documents of all parts."""
        return self.train + self.validation + self.test

    @property
    def tokens(self) -> float:
        """The tokens of all texts of all documents."""
        return self.documents * self.texts * self.mean_length


@dataclasses.dataclass(frozen=True)
class _Rows:
    """The documents of a source, as far as they are known, before some are left out."""

    documents: float
    mean_length: float
    values: dict[str, int] = dataclasses.field(default_factory=dict)
    splits: dict[str, float] = dataclasses.field(default_factory=dict)  # shares of the documents


def corpus_size(params: Params, name: str) -> CorpusSize:
    """Return the size of a corpus. Raises HeedError: the user's file is missing or broken."""
    corpus = params.corpora[name]
    source, kind = params.sources[corpus.source], KINDS[corpus.kind]
    texts = max(1, len(corpus_languages(corpus, source)))
    if kind.tokens_per_document:
        count = kind.documents or (source.documents or 0) / kind.joined
        count += kind.added if corpus.split.kind == "given" else 0
        rows = _Rows(count, kind.tokens_per_document / texts)
    else:
        rows = _read_files(source, corpus)
    parts, split = _divide(corpus, kind, rows), corpus.split
    tokens = sum(parts) * rows.mean_length * texts
    types = GENERATED_TYPES if kind.generated else HEAPS_FACTOR * tokens**HEAPS_EXPONENT
    return CorpusSize(
        *parts, rows.mean_length, texts, types, rows.values, split.folds, split.repeats
    )


def _divide(corpus: Corpus, kind: Kind, rows: _Rows) -> tuple[float, float, float]:
    """Return how many documents are in train, validation and test, of one fold."""
    split, documents = corpus.split, min(rows.documents, corpus.sample or math.inf)
    validation = 0.0
    if rows.splits:
        test, validation = (documents * rows.splits.get(part, 0) for part in ("test", "validation"))
    elif split.kind == "given" and kind.learned:
        test = documents * (1 - kind.learned / rows.documents)
        validation = documents * kind.validated / rows.documents
    elif split.kind == "given":
        test = documents * UNKNOWN_TEST_SHARE
    elif split.kind == "folds":
        test = documents / (split.k or 1)
    else:
        test = split.test if isinstance(split.test, int) else documents * (split.test or 0)
    test = min(test, documents)
    validation = validation or split.validation * (documents - test)
    combinations = math.prod(rows.values.values()) if rows.values else UNKNOWN_CLASSES
    most = split.train or (split.train_per_class or math.inf) * combinations
    return min(documents - test - validation, most), validation, test


def _read_files(source: Source, corpus: Corpus) -> _Rows:
    files = list(source.user_files())
    lines = [file for file in files if not source.format and not is_table(Path(file.path))]
    if lines:  # a language each; all have equally many lines
        return _read_lines(Path(lines[0].path), corpus, source.encoding)
    names = corpus.text_names or [*(corpus.columns or {}).values()][:1]
    tokens, documents = 0, 0
    splits: Counter[str] = Counter()
    values: dict[str, set[str]] = {name: set() for name in corpus.label_names}
    for file in files:
        path = local_path(file.path)
        table = read_table(path, format_of(source))
        if not table.num_rows:
            raise HeedError(f"{path}: no row below the names of the columns")
        for name in [*names, *values, *filter(None, [corpus.split_column])]:
            if name not in table.column_names:
                raise HeedError(no_column(path, name, table.column_names))
        documents += table.num_rows
        columns = [table.column(name).to_pylist() for name in names]
        for cells in zip(*columns, strict=True):
            text = " ".join(str(cell) for cell in cells if cell)
            tokens += count_tokens(text, corpus.tokenizer)
        for name, found in values.items():
            for cell in table.column(name).to_pylist():
                found.update(split_labels(name, cell, corpus.label_separator or "\n"))
        parts = [split_of_key(file.name)] * table.num_rows
        if corpus.split_column:
            parts = [split_of(each or "") for each in table.column(corpus.split_column).to_pylist()]
        splits.update(part or "" for part in parts)
    shares = {split: count / documents for split, count in splits.items()}
    counts = {label: len(found) for label, found in values.items()}
    is_given = corpus.split.kind == "given"
    return _Rows(documents, tokens / documents, counts, shares if is_given else {})


def _read_lines(path: Path, corpus: Corpus, encoding: str | None) -> _Rows:
    require_readable(path)
    try:
        with path.open(encoding=encoding or "utf-8", errors="replace") as file:
            lines = [*bounded_lines(path, file)]
    except OSError as error:
        raise HeedError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not lines:
        raise HeedError(f"{path}: no line")
    return _Rows(
        len(lines), statistics.fmean(count_tokens(each, corpus.tokenizer) for each in lines)
    )
