"""Word vectors from a file: the rows of a corpus's own types, and how much of it they cover."""

import contextlib
import gzip
import itertools
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from heed.corpora.parts import PARTS
from heed.corpora.user_files import VECTORS
from heed.files import HeedError
from heed.hyperparameters import MAX_SIZE
from heed.progress import Bar, progress_bar
from heed.tokens.arrays import TYPE_VECTORS
from heed.tokens.meta import Vectors
from heed.tokens.writer import WrittenTokens

AT_ONCE = 20_000  # documents whose tokens are counted together; lines between two updates
GZIP, MARK = b"\x1f\x8b", b"\xef\xbb\xbf"  # the first bytes of a gzip file; a byte order mark


class Entry(NamedTuple):
    """A line of a file: its number with the file's name, its word, and the text of its numbers."""

    location: str
    word: str
    numbers: bytes


def write_vectors(
    raw: Path, out: Path, tokens: WrittenTokens, parts: np.ndarray, title: str
) -> Vectors | None:
    """Write vectors.npy, float32 (types, size), and return how much of the corpus it covers.

    Row i is the vector of type i: that of the word as it is written, or else of the word in lower
    case. Of a word that is in the file twice the first counts. A type without a vector has zeros,
    and a vector of zeros counts as none. The file is read line by line.

    Args:
        raw: the folder of the source; None is returned if it has no word vectors.
        out: the folder of the tokens.
        tokens: the tokens, whose files are complete.
        parts: the part of each document, (documents,)
        title: of the progress bar.

    Raises:
        HeedError: the file cannot be read, or a line does not fit, with its number.

    """
    path = raw / VECTORS
    if not path.is_file():
        return None
    with progress_bar(title) as bar, _reading(path) as file:
        first = file.readline().removeprefix(MARK)
        words, size = _parse_header(path, first)
        lines = itertools.chain([first], file) if words is None else file
        vectors = np.lib.format.open_memmap(
            out / TYPE_VECTORS, mode="w+", dtype=np.float32, shape=(len(tokens.lexicon), size)
        )
        entries = _read_entries(path, lines, words, size, bar)
        has_vector = _fill(vectors, tokens.lexicon, entries)
        vectors.flush()
    return Vectors(size, float(has_vector.mean()), _token_shares(tokens, has_vector, parts))


def read_vector_size(path: Path) -> int:
    """Return the size of the vectors in a file, by its first line.

    Raises HeedError when the file cannot be read, or its first line does not fit.
    """
    if not path.is_file():
        raise HeedError(f"{path}: not there")
    with _reading(path) as file:
        return _parse_header(path, file.readline().removeprefix(MARK))[1]


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file, decompressed if it is gzip's. Raises HeedError when it cannot be read."""
    try:
        with path.open("rb") as file:
            if file.peek(2).startswith(GZIP):
                with gzip.open(file) as decompressed:
                    yield cast(IO[bytes], decompressed)
            else:
                yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise HeedError(f"{path}: not a whole gzip file ({error}). Make it again") from None


def _parse_header(path: Path, line: bytes) -> tuple[int | None, int]:
    """Return how many words a file has, and the size of their vectors, from its first line.

    In word2vec's format the line has both; in GloVe's it is the first word, and the number of words
    is None.
    """
    fields = line.split()
    has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
    words, size = map(int, fields) if has_header else (None, len(fields) - 1)
    if not 0 < size <= MAX_SIZE:
        raise HeedError(
            f"{path}:1: expected the number of words and the size of their vectors, or a word and "
            f"its vector, found {line[:40]!r}. heed reads the text format of word2vec and GloVe"
        )
    return words, size


def _read_entries(
    path: Path, lines: Iterable[bytes], words: int | None, size: int, bar: Bar
) -> Iterator[Entry]:
    """Yield the lines that have a word and a vector of `size`; `words` is their number, if known.

    Raises HeedError for a line that does not fit, and for more or fewer lines than `words`.
    """
    count = 0
    for number, line in enumerate(lines, 1 if words is None else 2):
        if not line.strip():
            continue
        count += 1
        if count % AT_ONCE == 0:
            bar.update(count, words)
        if entry := _parse_line(f"{path}:{number}", line.strip(), size):
            yield entry
    if words not in (None, count):
        raise HeedError(
            f"{path}: its first line says {words:,} words, and it has {count:,}: not a whole file. "
            "Make it again"
        )


def _parse_line(location: str, line: bytes, size: int) -> Entry | None:
    """Return the entry of a line, or None for a word with spaces, as GloVe's files have some.

    Only ASCII's white space separates: a word may have a no-break space.
    """
    if line.count(b" ") == size:
        word, _, numbers = line.partition(b" ")
    else:
        word, *fields = line.split()
        if not all(map(_is_number, fields[: len(fields) - size])):
            return None
        if len(fields) != size:
            raise _wrong_size(location, size, len(fields))
        numbers = b" ".join(fields)
    try:
        return Entry(location, unicodedata.normalize("NFC", word.decode()), numbers)
    except UnicodeDecodeError as error:
        raise HeedError(
            f"{location}: the word is not UTF-8 (byte 0x{word[error.start]:02x}). Convert the file"
        ) from None


def _fill(vectors: np.ndarray, lexicon: list[str], entries: Iterator[Entry]) -> np.ndarray:
    """Put the vector of each type into its row; return which have one, (types,)."""
    as_written = {word: row for row, word in enumerate(lexicon)}
    in_lower_case: dict[str, list[int]] = {}
    for row, word in enumerate(lexicon):
        if (lower := word.lower()) != word:
            in_lower_case.setdefault(lower, []).append(row)
    has_vector = np.zeros(len(lexicon), bool)
    for entry in entries:
        # what was found is removed, so that the first of two lines counts
        rows = [as_written.pop(entry.word)] if entry.word in as_written else []
        rows += [row for row in in_lower_case.pop(entry.word, ()) if lexicon[row] in as_written]
        if rows:
            vector = _parse_numbers(entry, vectors.shape[1])
            vectors[rows], has_vector[rows] = vector, vector.any()
    return has_vector


def _parse_numbers(entry: Entry, size: int) -> np.ndarray:
    """Return the vector of an entry, float32 (size,). Raises HeedError unless all are numbers."""
    fields = entry.numbers.split()
    if len(fields) != size:
        raise _wrong_size(entry.location, size, len(fields))
    wrong = next((field for field in fields if not _is_number(field)), None)
    if wrong is None:
        with np.errstate(over="ignore"):
            vector = np.array(list(map(float, fields))).astype(np.float32)
        if np.isfinite(vector).all():
            return vector
        wrong = fields[int(np.isfinite(vector).argmin())]
    raise HeedError(
        f"{entry.location}: expected a finite number, found {wrong.decode(errors='replace')[:40]!r}"
    )


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _wrong_size(location: str, size: int, found: int) -> HeedError:
    return HeedError(
        f"{location}: expected a word and {size} numbers, as in the first line, found {found} "
        "numbers. If the file was cut off, make it again"
    )


def _token_shares(
    tokens: WrittenTokens, has_vector: np.ndarray, parts: np.ndarray
) -> dict[str, float]:
    """Return the share of the tokens of each part whose type has a vector, 0 to 1."""
    ids, offsets = tokens.array("ids"), tokens.offsets
    covered, all_tokens = dict.fromkeys(PARTS, 0), dict.fromkeys(PARTS, 0)
    for start in range(0, len(parts), AT_ONCE):
        ends = offsets[start : start + AT_ONCE + 1]
        found = has_vector[ids[ends[0] : ends[-1]]]
        part_of = np.repeat(parts[start : start + AT_ONCE], np.diff(ends))
        for part in PARTS:
            covered[part] += int(found[part_of == part].sum())
            all_tokens[part] += int((part_of == part).sum())
    return {part: covered[part] / max(1, all_tokens[part]) for part in PARTS}
