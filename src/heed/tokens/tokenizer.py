"""Clean texts, and turn them into arrays of tokens with spaCy's tokenizers.

Each kind of damage of a text has one treatment, and is counted. Texts are tokenised in memory, or
by several processes.
"""

import contextlib
import functools
import itertools
import re
import sys
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heed.annotations import Span
from heed.files import HeedError
from heed.processes import process_pool
from heed.tokens.arrays import Side, Tokens
from heed.tokens.meta import Meta, NearDuplicates, Tokenizer

C1_AS_WINDOWS_1252 = {
    code: bytes([code]).decode("windows-1252", errors="ignore") for code in range(0x80, 0xA0)
}  # "" where windows-1252 has no character either
# treatment → characters, and their replacement; in the order of application
PATTERNS: dict[str, tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = {
    "surrogates": (re.compile(r"[\ud800-\udfff]"), "\ufffd"),
    "controls": (re.compile(r"[\x00-\x08\x0b-\x1f\x7f]"), " "),
    "bidi": (re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"), ""),
    # in IMDB they are of windows-1252
    "c1": (re.compile(r"[\x80-\x9f]"), lambda match: C1_AS_WINDOWS_1252[ord(match[0])]),
    # last: a sign within a tag that is removed, or becomes a space, leaves the tag
    "breaks": (re.compile(r"<br\s*/?>", re.IGNORECASE), "\n"),
}
IN_ASCII = {name: PATTERNS[name] for name in ("controls", "breaks")}
TREATMENTS = (
    "invalid_utf8", "surrogates", "breaks", "controls", "c1", "bidi", "normalised", "cut", "empty",
)  # fmt: skip

# A tokenizer remembers the words it has seen, and what it made of each piece of text between spaces
# (spaCy's own limit of 10,000 pieces costs a third of the time). A new one starts after this many.
MAX_REMEMBERED = 200_000
# spaCy splits signs off one at a time, and looks at the rest of the piece after each. A piece of
# most characters of text between spaces, which is cut there; no published corpus has as many
LONGEST_PIECE = 256
MAX_CHARACTERS = 1_000_000  # of a text: a longer one is cut, or dropped with its translations
AHEAD = 2  # chunks that wait for each process
FEW = 6  # chunks that take no longer than starting a process
PIECE = re.compile(r"(\S+|\s)( ?)")  # white space is a word, but for one blank after each word


def clean(text: str | bytes, max_characters: int = MAX_CHARACTERS) -> tuple[str, Counter[str]]:
    """Return the cleaned text and how often each treatment was applied, in characters.

    Of `normalised` (NFC changed the text), `cut` (at `max_characters`) and `empty` it is 1 at most.
    Bytes that are not UTF-8 (`invalid_utf8`) become U+FFFD. A carriage return before a newline is
    removed.
    """
    counts: Counter[str] = Counter()
    if isinstance(text, bytes):
        replaced = text.decode("utf-8", errors="replace")
        counts["invalid_utf8"] = replaced.count("\ufffd") - text.count("\ufffd".encode())
        text = replaced
    text = text.replace("\r\n", "\n")
    for name, (pattern, replacement) in (IN_ASCII if text.isascii() else PATTERNS).items():
        text, counts[name] = pattern.subn(replacement, text)
    if not unicodedata.is_normalized("NFC", text):
        text, counts["normalised"] = unicodedata.normalize("NFC", text), 1
    if len(text) > max_characters:
        text, counts["cut"] = text[:max_characters], 1
    counts["empty"] = int(not text.strip())
    return text, +counts


def clean_spans(text: str, spans: Sequence[Span], cleaned: str, location: str) -> tuple[Span, ...]:
    """Return the spans of a text in its cleaned form, without spans of characters that are cut.

    A span has the same words before and after. Its ends move as far as the text before them gets
    shorter or longer when it is cleaned alone. `cleaned` is the same text, cleaned, and perhaps
    cut; `location` is for the message. Raises HeedError when a span begins or ends within what
    cleaning takes for one character, such as `<br />` or a letter with its accent.
    """
    if cleaned == text:
        return tuple(spans)

    def uncut(part: str) -> str:
        return clean(part, sys.maxsize)[0]

    moved, whole = [], uncut(text)
    for start, end in spans:
        first, last = len(uncut(text[:start])), len(uncut(text[:end]))
        if whole[first:last].split() != uncut(text[start:end]).split():
            raise HeedError(
                f"{location}: the rationale {start}-{end} begins or ends within what is one "
                "character when the text is cleaned: a <br />, or a letter and its accent. Let it "
                "begin and end with a word"
            )
        last = min(last, len(cleaned))
        if first < last:
            moved.append((first, last))
    return tuple(moved)


class Chunk(NamedTuple):
    """The tokens of some texts, one text after the other."""

    lexicon: list[str]  # their types, in the order in which they first occur
    ids: np.ndarray  # index of each token in `lexicon`, (tokens,)
    starts: np.ndarray  # first character of each token in its text, (tokens,)
    ends: np.ndarray  # the character after each token, (tokens,)
    counts: np.ndarray  # tokens of each text, (texts,)
    sentences: np.ndarray  # first token of each sentence, counted within its text
    sentence_counts: np.ndarray  # sentences of each text, (texts,)


@functools.cache
def blank_pipeline(name: str) -> Any:
    """Return a blank spaCy pipeline with this tokenizer, which needs no download."""
    with _without_torch():
        import spacy
    from spacy.attrs import IS_PUNCT, IS_SPACE
    from spacy.tokens import Doc

    pipeline: Any = spacy.blank("xx" if name == "whitespace" else name)
    vocab = pipeline.vocab
    # of the 23 properties of a new word two are read; all of them took half of its time
    vocab.lex_attr_getters = {key: vocab.lex_attr_getters[key] for key in (IS_PUNCT, IS_SPACE)}
    if name != "whitespace":
        pipeline.tokenizer.max_cache_size = MAX_REMEMBERED
        return pipeline

    def split(text: str) -> Doc:
        pieces = PIECE.findall(text)
        return Doc(vocab, [word for word, _ in pieces], [space == " " for _, space in pieces])

    pipeline.tokenizer = split
    return pipeline


@contextlib.contextmanager
def _without_torch() -> Iterator[None]:
    """Import spaCy without torch, which no tokenizer needs: 1.1 seconds and 0.15 GB less."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


@functools.cache
def _sentence_ends() -> np.ndarray:
    """Return the string ids of characters that end a sentence: spaCy's list, of 100 scripts."""
    from spacy.pipeline import Sentencizer
    from spacy.strings import get_string_id

    return np.asarray([get_string_id(end) for end in Sentencizer.default_punct_chars], np.uint64)


def _cuts(text: str) -> list[int]:
    """Return where pieces longer than LONGEST_PIECE are cut: before signs, never in a word."""
    cuts = []
    for piece in re.finditer(r"\S+", text):
        start, end = piece.span()
        while end - start > LONGEST_PIECE:
            limit = start + LONGEST_PIECE
            places = itertools.chain(range(limit, start, -1), range(limit + 1, end))
            signs = (place for place in places if unicodedata.category(text[place])[0] in "PS")
            start = next(signs, end)
            cuts += [start] if start < end else []
    return cuts


def _token_table(name: str, text: str, attributes: list[int]) -> np.ndarray:
    """Return spaCy's attributes of each token, the second its first character, (tokens, 5)."""
    pipeline, cuts = blank_pipeline(name), list[int]()
    if name != "whitespace" and max(map(len, text.split()), default=0) > LONGEST_PIECE:
        cuts = _cuts(text)
    parts = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
    table = pipeline.tokenizer(" ".join(parts)).to_array(attributes).reshape(-1, len(attributes))
    blanks = np.asarray(cuts) + np.arange(len(cuts))  # put between the parts
    table[:, 1] -= np.searchsorted(blanks, table[:, 1]).astype(table.dtype)
    return table


def tokenize_chunk(texts: list[str], name: str) -> Chunk:
    """Return the tokens of cleaned texts; `name` is the tokenizer's.

    A token begins a sentence when it is a word and a sentence end lies between it and the word
    before it: the rule of spaCy's Sentencizer, which itself took 30% of the time.
    """
    if len(blank_pipeline(name).vocab) > MAX_REMEMBERED:
        blank_pipeline.cache_clear()
    pipeline = blank_pipeline(name)
    from spacy.attrs import IDX, IS_PUNCT, IS_SPACE, LENGTH, ORTH

    attributes = [ORTH, IDX, LENGTH, IS_SPACE, IS_PUNCT]
    tables = [_token_table(name, text, attributes) for text in texts]
    flat = np.concatenate(tables)
    sizes = [len(table) for table in tables]
    document = np.repeat(np.arange(len(tables)), sizes)
    first = offsets(sizes)[:-1]  # token of each document
    is_end = np.isin(flat[:, 0], _sentence_ends())
    ends_before: np.ndarray = np.cumsum(is_end) - is_end
    words = np.flatnonzero(~is_end & (flat[:, 4] == 0))
    before = np.maximum(np.concatenate([[-1], words])[:-1], first[document[words]])
    begins = np.zeros(len(flat), bool)
    begins[words] = ends_before[words] > ends_before[before]
    begins[np.flatnonzero(np.diff(document, prepend=-1))] = True
    sentence = np.cumsum(begins)
    # white space is removed after this, as in spaCy
    is_token = flat[:, 3] == 0
    flat, document, sentence = flat[is_token], document[is_token], sentence[is_token]
    counts = np.bincount(document, minlength=len(texts))
    starts = np.flatnonzero(np.diff(sentence, prepend=-1))  # token of each sentence
    ids, orths = pd.factorize(flat[:, 0])  # in order of first occurrence
    lexicon = [pipeline.vocab.strings[orth] for orth in orths.tolist()]
    return Chunk(
        lexicon, ids.astype(np.int32), flat[:, 1].astype(np.int32),
        (flat[:, 1] + flat[:, 2]).astype(np.int32), counts,
        (starts - offsets(counts)[document[starts]]).astype(np.int32),
        np.bincount(document[starts], minlength=len(texts)),
    )  # fmt: skip


def offsets(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the first item of each text from the number of items of each text, (texts + 1,)."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def tokenize_in_memory(texts: list[str], tokenizer: Tokenizer) -> Tokens:
    """Return the tokens of texts, after cleaning, as a corpus that is in no file."""
    chunk = tokenize_chunk([clean(text)[0] for text in texts], tokenizer)
    meta = Meta(
        digest="", corpus="", kind="", tokenizer=tokenizer, folds=0, labels={},
        documents=len(texts), tokens=len(chunk.ids), types=len(chunk.lexicon), splits={},
        reduced=False, generated=False, duplicates={}, cleaned={},
        near_duplicates=NearDuplicates([0], complete=True),
    )  # fmt: skip
    return Tokens(
        Path(), meta, chunk.ids, offsets(chunk.counts), chunk.lexicon, chunk.sentences,
        offsets(chunk.sentence_counts),
    )  # fmt: skip


def tokenize_sentences(texts: list[str], tokenizer: Tokenizer) -> Side:
    """Return texts of one language, cleaned, and their tokens, as a parallel corpus has them."""
    cleaned = [clean(text)[0] for text in texts]
    c = tokenize_chunk(cleaned, tokenizer)
    return Side(c.ids, c.starts, c.ends, offsets(c.counts), c.lexicon, lambda: cleaned)


def tokenize_chunks(chunks: Iterable[list[str]], tokenizer: str, processes: int) -> Iterator[Chunk]:
    """Yield the tokens of each chunk of cleaned texts; the same for any number of processes.

    Few chunks are read ahead of what is yielded, so that not all are in memory. Fewer than FEW are
    tokenised in this process. Raises HeedError when a process was killed.
    """
    chunks = iter(chunks)
    first = list(itertools.islice(chunks, FEW))
    chunks = itertools.chain(first, chunks)
    if processes < 2 or len(first) < FEW:
        yield from (tokenize_chunk(texts, tokenizer) for texts in chunks)
        blank_pipeline.cache_clear()  # the words that it remembers take up to 0.3 GB
        return
    pending: deque[Future[Chunk]] = deque()
    with process_pool(processes, "spawn") as pool:
        for texts in chunks:
            pending.append(pool.submit(tokenize_chunk, texts, tokenizer))
            if len(pending) > AHEAD * processes:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
