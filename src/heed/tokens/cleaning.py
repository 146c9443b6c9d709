"""Clean the text of documents: each kind of damage has one treatment, and is counted."""

import re
import unicodedata
from collections import Counter

C1_AS_WINDOWS_1252 = {
    code: bytes([code]).decode("windows-1252", errors="ignore") for code in range(0x80, 0xA0)
}  # "" where windows-1252 has no character either
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
C1 = re.compile(r"[\x80-\x9f]")
BIDI = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SURROGATE = re.compile(r"[\ud800-\udfff]")
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
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
    for name, pattern, replacement in (
        ("surrogates", SURROGATE, "\ufffd"),
        ("breaks", BREAK, "\n"),
        ("controls", CONTROL, " "),
        ("bidi", BIDI, ""),
    ):
        text, counts[name] = pattern.subn(replacement, text)
    text, counts["c1"] = C1.subn(lambda match: C1_AS_WINDOWS_1252[ord(match[0])], text)
    if not unicodedata.is_normalized("NFC", text):
        text, counts["normalised"] = unicodedata.normalize("NFC", text), 1
    if len(text) > max_characters:
        text, counts["cut"] = text[:max_characters], 1
    counts["empty"] = int(not text.strip())
    return text, +counts
