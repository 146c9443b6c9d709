"""The size of a corpus before it is tokenised: what it costs to train on it depends on that.

It is read from data/tokens where the corpus has been tokenised, and is else that of its kind, or
of the user's own files, which are read in about a second; of larger ones a part is read.
"""

import dataclasses
import math
import re
import statistics
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from heed.corpora.declared import Corpus, Source
from heed.corpora.kinds import KINDS, corpus_languages
from heed.corpora.publication import SPLITS, Kind, split_of, split_of_key
from heed.corpora.rows import AT, Format, format_of, is_table, no_column, read_table, suffix_of
from heed.corpora.table import split_labels
from heed.files import HeedError
from heed.paths import TOKENS
from heed.study.schema import Params
from heed.tokens.meta import Meta, read_meta

# A word, a letter of a script without spaces between words, or another sign: about a token each.
SCRIPTS_WITHOUT_SPACES = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
TOKEN = re.compile(rf"[{SCRIPTS_WITHOUT_SPACES}]|[^\W{SCRIPTS_WITHOUT_SPACES}]+|[^\w\s]")
LENGTHS = 500  # documents whose lengths stand for all
SPREAD = 0.5  # of the logarithm of lengths, where only their mean is known: .3 to .64
# types = 10 x tokens^.6 (Heaps' law): 5 to 24 on the corpora at hand
HEAPS_FACTOR, HEAPS_EXPONENT = 10, 0.6
GENERATED_TYPES = 1000
UNKNOWN_TEST_SHARE = 0.2  # of a given split
UNKNOWN_CLASSES = 10  # of a label whose values are not known
MAX_BYTES, MAX_ROWS = 40_000_000, 200_000  # of larger files of the user's so many rows are read


def count_tokens(text: str, tokenizer: str) -> int:
    """Return about how many tokens a corpus's tokenizer finds in a text; exact for `whitespace`."""
    return len(text.split()) if tokenizer == "whitespace" else len(TOKEN.findall(text))


@dataclasses.dataclass(frozen=True)
class CorpusSize:
    """The size of a corpus, exactly or about.

    train, validation, test: documents of each part; of one fold where there are folds.
    lengths: tokens of each text of some documents.
    texts: of a document: one, or one in each of its languages.
    types: different tokens.
    values: label → number of its values, where it is known.
    note: for the user, where only a part of a file was read.
    """

    train: float
    validation: float
    test: float
    lengths: tuple[int, ...]
    texts: int
    types: float
    values: dict[str, int]
    folds: int = 0
    note: str = ""

    @property
    def documents(self) -> float:
        """The documents of all parts."""
        return self.train + self.validation + self.test

    @property
    def mean_length(self) -> float:
        """The tokens of a text, on average."""
        return statistics.fmean(self.lengths)

    @property
    def tokens(self) -> float:
        """The tokens of all texts of all documents."""
        return self.documents * self.texts * self.mean_length


def corpus_size(params: Params, name: str) -> CorpusSize:
    """Return the size of a corpus.

    Raises HeedError where it is not known: the user's file is missing or broken.
    """
    corpus = params.corpora[name]
    source, kind = params.sources[corpus.source], KINDS[corpus.kind]
    texts = max(1, len(corpus_languages(corpus, source)))
    if meta := _tokenized(TOKENS / name, corpus):
        lengths = _read_lengths(TOKENS / name, meta)
        train, validation, test = (meta.splits.get(split, 0) for split in SPLITS)
        values = {label: len(names) for label, names in meta.labels.items()}
        # `train` and `train_per_class` of the split may have been changed since
        is_kept = bool(corpus.split.train_per_class and meta.left_out)
        kept = train if is_kept else _keep(corpus, values, train + meta.left_out)
        return CorpusSize(kept, validation, test, lengths, texts, meta.types, values, meta.folds)
    if kind.tokens_per_document:
        count = kind.documents or (source.documents or 0) / kind.joined
        count += kind.added if corpus.split.kind == "given" else 0
        rows = _Rows(count, _spread_lengths(kind.tokens_per_document / texts))
    else:
        rows = _read_files(source, corpus)
    documents = min(rows.documents, corpus.sample or math.inf)
    splits = _divide(corpus, kind, rows, documents)
    tokens = documents * statistics.fmean(rows.lengths) * texts
    types = GENERATED_TYPES if kind.generated else HEAPS_FACTOR * tokens**HEAPS_EXPONENT
    folds = corpus.split.k or 0
    return CorpusSize(*splits, rows.lengths, texts, types, rows.values, folds, rows.note)


@dataclasses.dataclass(frozen=True)
class _Rows:
    """The documents of a source, as far as they are known.

    splits: share of the documents in each, where they have a split.
    """

    documents: float
    lengths: tuple[int, ...]
    values: dict[str, int] = dataclasses.field(default_factory=dict)
    splits: dict[str, float] = dataclasses.field(default_factory=dict)
    note: str = ""


def _tokenized(folder: Path, corpus: Corpus) -> Meta | None:
    """Return the meta.json of a corpus, or None where there is none that fits the section."""
    try:
        meta = read_meta(folder)
    except HeedError:
        return None
    found = meta.kind, meta.tokenizer, meta.folds
    fits = found == (corpus.kind, corpus.tokenizer, corpus.split.k or 0)
    return meta if fits and meta.documents <= (corpus.sample or math.inf) else None


def _read_lengths(folder: Path, meta: Meta) -> tuple[int, ...]:
    """Return the lengths of some documents of a tokenised corpus, of its first language."""
    path = folder / next(iter(meta.languages), "") / "offsets.npy"
    try:
        lengths = np.diff(np.load(path))
    except (OSError, ValueError):
        return _spread_lengths(meta.tokens / max(1, meta.documents * (len(meta.languages) or 1)))
    return _thin_out(lengths.tolist())


def _thin_out(lengths: list[int]) -> tuple[int, ...]:
    """Return some of the lengths, at least one, of evenly spaced ranks, sorted."""
    ranks = (np.arange(min(LENGTHS, max(1, len(lengths)))) + 0.5) / LENGTHS
    ranks *= LENGTHS / len(ranks)
    drawn = np.quantile(np.asarray(lengths or [0]), ranks, method="nearest")
    return tuple(max(1, int(length)) for length in drawn)


def _spread_lengths(mean: float) -> tuple[int, ...]:
    """Return lengths with this mean, log-normal with SPREAD."""
    normal = statistics.NormalDist(math.log(max(1.0, mean)) - SPREAD**2 / 2, SPREAD)
    ranks = ((i + 0.5) / 100 for i in range(100))
    return tuple(max(1, round(math.exp(normal.inv_cdf(rank)))) for rank in ranks)


def _divide(
    corpus: Corpus, kind: Kind, rows: _Rows, documents: float
) -> tuple[float, float, float]:
    """Return how many of the documents are in train, validation and test, of one fold."""
    split, validation = corpus.split, 0.0
    if split.kind == "given":
        tested = rows.splits.get("test", 0.0) if rows.splits else UNKNOWN_TEST_SHARE
        validated = rows.splits.get("validation", 0.0)
        if kind.learned:
            tested = 1 - kind.learned / rows.documents
            validated = kind.validated / rows.documents
        test, validation = documents * tested, documents * validated
    elif split.kind == "folds":
        test = documents / (split.k or 1)
    else:
        test = split.test if isinstance(split.test, int) else documents * (split.test or 0)
    test = min(test, documents)
    validation = validation or split.validation * (documents - test)
    return _keep(corpus, rows.values, documents - test - validation), validation, test


def _keep(corpus: Corpus, values: dict[str, int], documents: float) -> float:
    """Return how many of the training documents the split keeps; `values` as of CorpusSize."""
    split, combinations = corpus.split, math.prod(values.values()) if values else UNKNOWN_CLASSES
    most = split.train or (split.train_per_class or math.inf) * combinations
    return min(documents, most)


def _read_files(source: Source, corpus: Corpus) -> _Rows:
    """Return the documents of the user's own files. Raises HeedError when one is broken."""
    files = list(source.user_files())
    lines = [file for file in files if not source.format and not is_table(Path(file.path))]
    if lines:  # a language each; all have equally many lines
        return _count_lines(Path(lines[0].path), corpus, source.encoding)
    counted = _CountedRows(corpus)
    for file in files:
        counted.read(file.name, Path(file.path), format_of(source))
    rows = sum(counted.splits.values())
    splits = {split: count / rows for split, count in counted.splits.items()}
    values = {label: len(names) for label, names in counted.values.items()}
    note = _note(len(counted.lengths) / rows)
    return _Rows(rows, _thin_out(counted.lengths), values, splits, note)


class _CountedRows:
    """Lengths, labels and splits of the rows of tables; of a large file `splits` are estimated."""

    def __init__(self, corpus: Corpus) -> None:
        """Count rows as this section says they are to be read."""
        self._corpus = corpus
        self._texts = corpus.text_names or [*(corpus.columns or {}).values()][:1]
        self.splits: dict[str, float] = defaultdict(float)
        self.lengths: list[int] = []
        self.values: dict[str, set[str]] = {name: set() for name in corpus.label_names}

    def read(self, key: str, path: Path, form: Format) -> None:
        """Count the rows of a table. Raises HeedError when it is missing or broken."""
        is_large = path.is_file() and path.stat().st_size > MAX_BYTES
        corpus, table = self._corpus, read_table(path, form, MAX_ROWS if is_large else None)
        if not table.num_rows:
            raise HeedError(f"{path}: no row below the names of the columns")
        share = _share(path, str(table.column(AT)[-1])) if table.num_rows == MAX_ROWS else 1.0
        for name in [*self._texts, *self.values, *filter(None, [corpus.split_column])]:
            if name not in table.column_names:
                raise HeedError(no_column(path, name, table.column_names))
        texts = [table.column(name).to_pylist() for name in self._texts]
        for cells in zip(*texts, strict=True):
            text = " ".join(str(cell) for cell in cells if cell)
            self.lengths.append(count_tokens(text, corpus.tokenizer))
        for name, values in self.values.items():
            for cell in table.column(name).to_pylist():
                values.update(split_labels(name, cell, corpus.label_separator or "\n"))
        splits = [split_of_key(key)] * table.num_rows
        if corpus.split_column:
            splits = [
                split_of(name or "") for name in table.column(corpus.split_column).to_pylist()
            ]
        for split, count in Counter(splits).items():
            self.splits[split or ""] += count / share


def _share(path: Path, at: str) -> float:
    """Return the share of a table up to the place of a row, above 0 to 1.

    It is 1 of a file that was read whole for its first rows.
    """
    number = int("".join(filter(str.isdigit, at)))
    if suffix_of(path) == ".parquet":
        import pyarrow.parquet  # not at the top: only a large file of this kind needs it

        return number / max(number, pyarrow.parquet.read_metadata(path).num_rows)
    if suffix_of(path) == ".json" or path.suffix == ".gz":
        return 1.0
    with path.open("rb") as lines:
        read = sum(len(line) for line, _ in zip(lines, range(number), strict=False))
    return read / max(read, path.stat().st_size)


def _count_lines(path: Path, corpus: Corpus, encoding: str | None) -> _Rows:
    """Return the size of a text file with a sentence a line. Raises HeedError without the file."""
    try:
        text = path.read_bytes()[:MAX_BYTES].decode(encoding or "utf-8", "replace")
        share = min(1.0, MAX_BYTES / max(1, path.stat().st_size))
    except OSError as error:
        raise HeedError(f"{path}: cannot be read: {error.strerror or error}") from None
    lengths = [count_tokens(line, corpus.tokenizer) for line in text.splitlines()]
    if not lengths:
        raise HeedError(f"{path}: no line")
    return _Rows(len(lengths) / share, _thin_out(lengths), note=_note(share))


def _note(share: float) -> str:
    return "" if share >= 1 else f"from about {share:.0%} of its rows"
