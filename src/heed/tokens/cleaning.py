"""Clean the text of documents: each kind of damage has one treatment, and is counted."""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from heed.annotations import Span
from heed.files import HeedError

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
    "invalid_utf8",
    "surrogates",
    "breaks",
    "controls",
    "c1",
    "bidi",
    "normalised",
    "cut",
    "empty",
)


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

    Args:
        text: as in its source.
        spans: of `text`.
        cleaned: the same text, cleaned, and perhaps cut.
        location: of the document, for the message.

    Raises:
        HeedError: a span begins or ends within what cleaning takes for one character, such as
            `<br />` or a letter with its accent.

    """
    if cleaned == text:
        return tuple(spans)
    moved, uncut = [], _uncut(text)
    for start, end in spans:
        first, last = len(_uncut(text[:start])), len(_uncut(text[:end]))
        if uncut[first:last].split() != _uncut(text[start:end]).split():
            raise HeedError(
                f"{location}: the evidence {start}-{end} begins or ends within what is one "
                "character when the text is cleaned: a <br />, or a letter and its accent. Let it "
                "begin and end with a word"
            )
        last = min(last, len(cleaned))
        if first < last:
            moved.append((first, last))
    return tuple(moved)


def _uncut(text: str) -> str:
    return clean(text, sys.maxsize)[0]
