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
    "breaks": (re.compile(r"<br\s*/?>", re.IGNORECASE), "\n"),
    "controls": (re.compile(r"[\x00-\x08\x0b-\x1f\x7f]"), " "),
    "bidi": (re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"), ""),
    "c1": (re.compile(r"[\x80-\x9f]"), lambda match: C1_AS_WINDOWS_1252[ord(match[0])]),
}
IN_ASCII = {name: PATTERNS[name] for name in ("breaks", "controls")}
TREATMENTS = (
    "invalid_utf8", "surrogates", "breaks", "controls", "c1", "bidi", "normalised", "cut", "empty",
)  # fmt: skip

# A tokenizer remembers the words it has seen, and what it made of each piece of text between spaces
# (spaCy's own limit of 10,000 pieces costs a third of the time). A new one starts after so many.
MAX_REMEMBERED = 200_000
AHEAD = 2  # chunks that wait for each process
FEW = 6  # chunks that take no longer than starting a process
PIECE = re.compile(r"(\S+|\s)( ?)")


def clean(text: str | bytes, max_characters: int = 1_000_000) -> tuple[str, Counter[str]]:
    """Return the cleaned text and how often each treatment was applied.

    - `invalid_utf8`: bytes that are not UTF-8 become U+FFFD.
    - `surrogates`: lone surrogates become U+FFFD.
    - `breaks`: `<br />` becomes a newline; other HTML stays as text.
    - `controls`: C0 controls except tab and newline become a space; a carriage return before a
      newline is removed.
    - `c1`: C1 controls are read as windows-1252, which they are in IMDB.
    - `bidi`: direction marks are removed.
    - `normalised`: 1 when NFC changed the text.
    - `cut`: 1 when the text was longer than `max_characters`.
    - `empty`: 1 when nothing is left.

    The counts are of characters, except the last three.
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
    shorter or longer when it is cleaned alone.

    `cleaned` is the same text, cleaned, and perhaps cut; `location` is for the message.

    Raises HeedError when a span begins or ends within what cleaning takes for one character, such
    as `<br />` or a letter with its accent.
    """
    if cleaned == text:
        return tuple(spans)
    moved, uncut = [], _uncut(text)
    for start, end in spans:
        first, last = len(_uncut(text[:start])), len(_uncut(text[:end]))
        if uncut[first:last].split() != _uncut(text[start:end]).split():
            raise HeedError(
                f"{location}: the rationale {start}-{end} begins or ends within what is one "
                "character when the text is cleaned: a <br />, or a letter and its accent. Let it "
                "begin and end with a word"
            )
        last = min(last, len(cleaned))
        if first < last:
            moved.append((first, last))
    return tuple(moved)


def _uncut(text: str) -> str:
    return clean(text, sys.maxsize)[0]


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
def blank_tokenizer(name: str) -> Any:
    """Return the tokenizer of a blank spaCy pipeline, which needs no download."""
    with _without_torch():
        import spacy
    from spacy.attrs import IS_PUNCT, IS_SPACE
    from spacy.tokens import Doc

    pipeline = spacy.blank("xx" if name == "whitespace" else name)
    vocab: Any = pipeline.vocab
    # of the 23 properties of a new word two are read; all of them took half of its time
    vocab.lex_attr_getters = {key: vocab.lex_attr_getters[key] for key in (IS_PUNCT, IS_SPACE)}
    if name == "whitespace":
        return _WhitespaceTokenizer(vocab, lambda text: Doc(vocab, *_split_at_white_space(text)))
    tokenizer: Any = pipeline.tokenizer
    tokenizer.max_cache_size = MAX_REMEMBERED
    return tokenizer


@contextlib.contextmanager
def _without_torch() -> Iterator[None]:
    """Let spaCy be imported without torch, which it looks for, and which no tokenizer needs.

    This saves 1.1 seconds and 0.15 GB in each process. Meanwhile an import of torch in another
    thread would fail.
    """
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


class _WhitespaceTokenizer:
    """Splits at white space only; called like spaCy's tokenizers."""

    def __init__(self, vocab: Any, split: Callable[[str], Any]) -> None:
        self.vocab, self._split = vocab, split

    def __call__(self, text: str) -> Any:
        return self._split(text)


@functools.cache
def _sentence_ends() -> np.ndarray:
    """Return the string ids of characters that end a sentence: spaCy's list, of 100 scripts."""
    from spacy.pipeline import Sentencizer
    from spacy.strings import get_string_id

    return np.asarray([get_string_id(end) for end in Sentencizer.default_punct_chars], np.uint64)


def sentence_starts(enders: np.ndarray, punctuation: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Find the tokens that begin a sentence by the rule of spaCy's Sentencizer, (tokens,).

    All documents at once, since the Sentencizer itself took 30% of the time. A token begins a
    sentence when it is a word and a sentence end lies between it and the word before it.

    `enders` says whether a token is a character that ends a sentence, `punctuation` whether spaCy
    calls it punctuation, (tokens,) each; `first` is the first token of each document, (documents,).
    """
    starts = np.zeros(len(enders), bool)
    ends_so_far = np.cumsum(enders)
    words = np.flatnonzero(~enders & ~punctuation)
    starts[words[1:]] = np.diff(ends_so_far[words]) > 0
    document = np.zeros(len(enders), np.int64)
    document[first] = 1
    document = np.cumsum(document)
    if len(words):
        # the first word of a document has no word before it: sentence ends count from the start of
        # the document
        leads = words[np.flatnonzero(np.diff(document[words], prepend=-1))]
        begin = first[document[leads] - 1]
        starts[leads] = ends_so_far[leads] > ends_so_far[begin] - enders[begin]
    starts[first] = True
    return starts


def _split_at_white_space(text: str) -> tuple[list[str], list[bool]]:
    """Return the words and spaces of a spaCy Doc, which joined give `text`.

    White space is a word, but for one blank after each word.
    """
    pieces = PIECE.findall(text)
    return [word for word, _ in pieces], [space == " " for _, space in pieces]


def tokenize_chunk(texts: list[str], name: str) -> Chunk:
    """Return the tokens of cleaned texts; `name` is the tokenizer's."""
    tokenizer = blank_tokenizer(name)
    from spacy.attrs import IDX, IS_PUNCT, IS_SPACE, LENGTH, ORTH

    if len(tokenizer.vocab) > MAX_REMEMBERED:
        blank_tokenizer.cache_clear()
        tokenizer = blank_tokenizer(name)
    tables = [
        tokenizer(text).to_array([ORTH, IDX, LENGTH, IS_SPACE, IS_PUNCT]).reshape(-1, 5)
        for text in texts
    ]
    flat = np.concatenate(tables)
    document = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    first = np.flatnonzero(np.diff(document, prepend=-1))
    enders = np.isin(flat[:, 0], _sentence_ends())
    # before white space is removed, as in spaCy
    sentence = np.cumsum(sentence_starts(enders, flat[:, 4] == 1, first))
    is_token = flat[:, 3] == 0
    flat, document, sentence = flat[is_token], document[is_token], sentence[is_token]
    counts = np.bincount(document, minlength=len(texts))
    begins = np.flatnonzero(np.diff(sentence, prepend=-1))
    offsets = np.cumsum(counts) - counts
    sentences = begins - offsets[document[begins]]
    sentence_counts = np.bincount(document[begins], minlength=len(texts))
    ids, orths = pd.factorize(flat[:, 0])  # in order of first occurrence
    strings = tokenizer.vocab.strings
    lexicon = [strings[orth] for orth in orths.tolist()]
    begin = flat[:, 1].astype(np.int32)
    end = (flat[:, 1] + flat[:, 2]).astype(np.int32)
    return Chunk(
        lexicon, ids.astype(np.int32), begin, end, counts, sentences.astype(np.int32),
        sentence_counts,
    )  # fmt: skip


def offsets(counts: np.ndarray) -> np.ndarray:
    """Return the first item of each text from the number of items of each text, (texts + 1,)."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def tokenize_in_memory(texts: list[str], tokenizer: Tokenizer) -> tuple[list[str], Tokens]:
    """Return texts, cleaned, and their tokens as a corpus that is in no file."""
    cleaned = [clean(text)[0] for text in texts]
    chunk = tokenize_chunk(cleaned, tokenizer)
    meta = Meta(
        digest="", corpus="", kind="", tokenizer=tokenizer, folds=0, labels={},
        documents=len(texts), tokens=len(chunk.ids), types=len(chunk.lexicon), splits={},
        reduced=False, generated=False, duplicates={}, cleaned={},
        near_duplicates=NearDuplicates([0], complete=True),
    )  # fmt: skip
    return cleaned, Tokens(
        Path(), meta, chunk.ids, offsets(chunk.counts), chunk.lexicon, chunk.sentences,
        offsets(chunk.sentence_counts),
    )  # fmt: skip


def tokenize_sentences(texts: list[str], tokenizer: Tokenizer) -> Side:
    """Return texts of one language, cleaned, and their tokens, as a parallel corpus has them."""
    cleaned = [clean(text)[0] for text in texts]
    chunk = tokenize_chunk(cleaned, tokenizer)
    return Side(
        chunk.ids, chunk.starts, chunk.ends, offsets(chunk.counts), chunk.lexicon, lambda: cleaned
    )


def tokenize_chunks(chunks: Iterable[list[str]], tokenizer: str, processes: int) -> Iterator[Chunk]:
    """Yield the tokens of each chunk of cleaned texts; the same for any number of processes.

    Few chunks are read ahead of what is yielded, so that not all are in memory. Fewer than FEW
    are tokenised in this process.

    Raises HeedError when a process was killed.
    """
    chunks = iter(chunks)
    first = list(itertools.islice(chunks, FEW))
    chunks = itertools.chain(first, chunks)
    if processes < 2 or len(first) < FEW:
        yield from (tokenize_chunk(texts, tokenizer) for texts in chunks)
        blank_tokenizer.cache_clear()  # the words that it remembers take up to 0.3 GB
        return
    pending: deque[Future[Chunk]] = deque()
    with process_pool(processes, "spawn") as pool:
        for texts in chunks:
            pending.append(pool.submit(tokenize_chunk, texts, tokenizer))
            if len(pending) > AHEAD * processes:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
