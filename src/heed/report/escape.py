"""Escaping for LaTeX: a sign that pdflatex does not print is replaced by its code point."""

import re
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import regex
from markupsafe import Markup

from heed import terminal

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}", "−": r"\textminus{}", "–": "--", "→": r"$\rightarrow$",
    "\u202f": r"\,", "≠": r"$\neq$", "✗": r"$\times$",
    "▲": r"$\bigtriangleup$", "▼": r"$\bigtriangledown$",
    # LaTeX reads these as an argument after the \\ of a table row, and a [ also after \item.
    "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
# In the PDF's outline other characters stand for these; hyperref knows the special ones.
IN_BOOKMARKS = {"−": "-", "–": "-", "→": "->", "\u202f": " ", "\u00a0": " "}
PLAIN_SPECIAL = "\\{}$&%#_~^"
# Tested with pdflatex, T1, lmodern and textcomp: it prints U+00A1 to U+017F but for the first
# list, and the second list beyond U+017F.
NOT_PRINTED, ALSO_PRINTED = "ĦħĸĿŀŉŦŧſ", "‘’“”„‚…—•‹›€™†‡‰"
LIGATURES = "-',"  # LaTeX replaces two of them in a row by another character
LONG_WORD, STEP = 20, 5  # longer words may be broken after every fifth character that is seen
# But for words of a language, even compounds, which LaTeX breaks by its rules.
PROSE = re.compile(r"\W{0,3}[^\W\d_]{1,30}(-[^\W\d_]{1,30})*\W{0,3}")


class Latex(str):
    """Text that is already LaTeX, and not escaped again."""


def escape(value: Any) -> str:
    """Return LaTeX that prints the value."""
    if isinstance(value, Latex):
        return value
    words = re.split(r"(\s+)", unicodedata.normalize("NFC", str(value)))
    return "".join(
        ("~" if word == "\u00a0" else " ") if index % 2 else _escape_word(word)
        for index, word in enumerate(words)
    )


def cell(value: Any) -> str:
    """Return a cell of a siunitx column: a number as it is, any other text in braces."""
    text = str(value).replace("−", "-")
    return Latex(text if re.fullmatch(r"[+-]?\d+(\.\d+)?", text) else f"{{{escape(value)}}}")


def bookmark(value: Any) -> Latex:
    """Return a text for the PDF's outline and properties, which have no commands of print."""
    return Latex("".join(map(_bookmark_character, " ".join(str(value).split()))))


def _bookmark_character(character: str) -> str:
    if character in IN_BOOKMARKS:
        return IN_BOOKMARKS[character]
    if character.isascii() and character.isprintable():
        return SPECIAL[character] if character in PLAIN_SPECIAL else character
    is_seen = character not in SPECIAL and _is_printed(character)
    return character if is_seen else _code_point(character)


def _escape_word(word: str) -> str:
    if len(word) <= LONG_WORD or PROSE.fullmatch(word):
        return _escape_characters(word)
    seen = regex.findall(r"\X", word)  # a letter with its marks
    return r"\allowbreak{}".join(
        _escape_characters("".join(seen[start : start + STEP]))
        for start in range(0, len(seen), STEP)
    )


def _escape_characters(text: str) -> str:
    escaped = [_escape_character(text[0])] if text else []
    for previous, character in pairwise(text):
        escaped += ["{}"] if previous == character and character in LIGATURES else []
        escaped.append(_escape_character(character))
    return "".join(escaped)


def _escape_character(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    if _is_printed(character):
        return character
    return rf"\allowbreak{{}}{_code_point(character)}".replace("[", "{[}").replace("]", "{]}")


def _code_point(character: str) -> str:
    return f"[U+{ord(character):04X}]"


def printed_length(text: str) -> int:
    """Return the number of characters that paper has of a text."""
    is_one = (sign in SPECIAL or _is_printed(sign) for sign in text)
    return sum(1 if one else len("[U+8A9E]") for one in is_one)


def _is_printed(character: str) -> bool:
    """Return whether pdflatex prints a character."""
    printed = character.isprintable() and ord(character) < 0x180 and character not in NOT_PRINTED
    return printed or character in ALSO_PRINTED or character == "\n"


def visible(value: Any) -> Any:
    """Return the text with the code point of each invisible character; jinja escapes it later."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return terminal.visible(value)


TEMPLATES = Path(__file__).parent / "templates"


def kind(block: Any) -> str:
    """Return the kind of a block, the name of its macro: table, figure, paragraph …"""
    return type(block).__name__.lower()
