"""LaTeX: every value is escaped, columns of numbers are aligned by siunitx.

A sign that pdflatex does not print is replaced by its code point. No table is scaled: one that is
too wide for a line in the smallest print (7 pt) is printed in parts, each with the columns that
name its rows.
"""

import dataclasses
import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import regex

from heed import __version__
from heed.report.tables import PAPER, Row, Table

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


NUMBER = re.compile(r"([+−-]?)(\d+)(?:\.(\d+))?")
# A column with a longer text, in characters, breaks it into lines of so many millimetres: the first
# width with which the table fits a line.
LONG, BROKEN = 30, (62, 34)
# A table with more columns, or with so many of texts that break, is in smaller print.
SMALL, MANY_TEXTS = 6, 3
FIGURE_HEIGHT = 0.75  # at most, in pages
LINE_WIDTH = 488  # points of a line of the document, less a margin for what is only estimated
POINTS_OF_INCH = 72.27
MILLIMETRE = POINTS_OF_INCH / 25.4  # points
# The width of a character of typewriter type, and of a digit, over that of others.
TYPEWRITER, DIGIT = 1.06, 1.12


@dataclasses.dataclass(frozen=True)
class Print:
    """A size of print: its command; in points a character's mean width, the space at a column.

    Latin Modern is wider in small print: a digit has 4.0 points at 7. Letters have less.
    """

    command: str
    character: float
    space: float


PRINTS = (
    Print("", 5, 6),
    Print(r"\footnotesize\setlength{\tabcolsep}{3pt}", 4, 3),
    Print(r"\scriptsize\setlength{\tabcolsep}{2.5pt}", 3.5, 2.5),
)


NOTE_CHARACTER = 4  # points, of the small second line of a cell


@dataclasses.dataclass(frozen=True)
class Tabular:
    """A table as LaTeX, or a part of its columns."""

    specification: Latex
    size: Latex
    indices: list[int]  # of its columns


@functools.cache
def environment() -> jinja2.Environment:
    """Return the jinja environment for LaTeX, with other delimiters; it escapes every value."""
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        block_start_string="<%", block_end_string="%>",
        variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
        autoescape=False, finalize=escape, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, extensions=["jinja2.ext.do"],
    )  # fmt: skip
    functions = (
        tabulars, compact, heading, bookmark, legend, merged, head_lines, breaking, unbroken,
    )  # fmt: skip
    jinja.filters |= {"tex": Latex, "number": cell}
    jinja.filters |= {each.__name__: each for each in functions}
    jinja.globals |= {"PAPER": PAPER, "version": __version__, "FIGURE_HEIGHT": FIGURE_HEIGHT}
    return jinja


def legend(names: list[str]) -> Latex:
    """Return the names of the numbers in a figure."""
    return Latex("; ".join(rf"{{[}}{n}{{]}}~{escape(name)}" for n, name in enumerate(names, 1)))


def table(it: Table) -> str:
    r"""Return the .tex file of the table, for \input."""
    macros: Any = environment().get_template("table.tex.jinja").module
    return str(macros.standalone(it))


def compact(text: str) -> Latex:
    """Return LaTeX without empty lines: in a table, a paragraph is an error."""
    return Latex("\n".join(line for line in text.split("\n") if line.strip()))


def heading(text: str) -> Latex:
    """Return a heading, with its text in the PDF's bookmarks."""
    return Latex(rf"\texorpdfstring{{{escape(text)}}}{{{bookmark(text)}}}")


def tabulars(block: Table) -> list[Tabular]:
    """Return the columns and rows that paper has of a table, in parts that fit a line."""
    chosen, broken, parts = _fit(block, block.column_indices(PAPER))
    return [
        Tabular(
            Latex("".join(_specification(block, index, broken) for index in part)),
            Latex(chosen.command),
            part,
        )
        for part in parts
    ]


def _fit(block: Table, indices: list[int]) -> tuple[Print, int, list[list[int]]]:
    """Return the largest print in which the columns fit a line, the width of columns that break in
    millimetres, and the parts as indices of columns.

    Where none does, the smallest, and the columns in parts that do, each with the columns that
    name its rows: the first, and the next one where the first leaves out equal values.
    """
    columns = [block.columns[index] for index in indices]
    texts = sum(bool(column.width) for column in columns)
    large = len(indices) <= SMALL and texts < MANY_TEXTS
    large = large and not any(column.code for column in columns)
    for chosen, broken in itertools.product(PRINTS if large else PRINTS[1:], BROKEN):
        widths = [_width(block, index, chosen, broken) for index in indices]
        if sum(widths) <= LINE_WIDTH:
            return chosen, broken, [indices]
    merged = [*itertools.takewhile(lambda column: column.merge, columns)]
    names = min(len(merged) + 1, len(indices) - 1)
    return chosen, broken, _parts(indices, widths, names)


def _parts(indices: list[int], widths: list[float], names: int) -> list[list[int]]:
    """Return columns in parts that fit a line, of about equal widths, each with the first ones."""
    room, others = LINE_WIDTH - sum(widths[:names]), widths[names:]
    count = -(-int(sum(others)) // int(room))
    share = min(room, max(1.1 * sum(others) / count, *others))
    parts, filled = [indices[:names]], 0.0
    for index, width in zip(indices[names:], others, strict=True):
        if len(parts[-1]) > names and filled + width > share:
            parts.append(indices[:names])
            filled = 0.0
        parts[-1].append(index)
        filled += width
    return parts


def _width(block: Table, index: int, chosen: Print, broken: int) -> float:
    column, cells = block.columns[index], [row.cells[index] for row in block.rows]
    if width := _broken_width(block, index, broken):
        return width * MILLIMETRE + 2 * chosen.space
    head = column.short or column.title
    heads = [head] if column.format.align == "left" else head_lines(head)
    notes = [len(cell.note) for cell in cells]
    digits = 1 if column.format.align == "left" else DIGIT
    character = chosen.character * (TYPEWRITER if column.code else digits)
    return 2 * chosen.space + max(
        character * max(_lengths(block, index), default=0),
        chosen.character * max(map(len, heads)),
        NOTE_CHARACTER * max(notes, default=0),
    )


def _lengths(block: Table, index: int) -> Iterator[int]:
    """Yield the number of characters that paper has of each cell of a column."""
    return (printed_length(row.cells[index].text) for row in block.rows)


def _broken_width(block: Table, index: int, broken: int) -> int:
    """Return the millimetres of a column that breaks its text into lines; 0: it does not."""
    column = block.columns[index]
    longest = max(_lengths(block, index), default=0)
    is_long = column.format.align == "left" and not column.code and longest >= LONG
    return column.width or (broken if is_long else 0)


def _specification(block: Table, index: int, broken: int) -> str:
    """Return the LaTeX type of a column: for numbers their digits, for long text a width."""
    column, texts = block.columns[index], [row.cells[index].text for row in block.rows]
    if width := _broken_width(block, index, broken):
        return breaking(width)
    numbers = list(filter(None, map(NUMBER.fullmatch, texts)))
    if column.format.align != "number" or not numbers:
        return "l" if column.format.align == "left" else "r"
    signs, *digits = zip(*(number.groups("") for number in numbers), strict=True)
    whole, fraction = (max(map(len, each)) for each in digits)
    plus, option = ("+", ",retain-explicit-plus") if any(signs) else ("", "")
    return f"S[table-format={plus}{whole}.{fraction}{option},group-digits=none]"


def breaking(width: int) -> Latex:
    """Return the type of a column that breaks its text into lines."""
    return Latex(rf">{{\raggedright\arraybackslash}}p{{{width}mm}}")


def head_lines(text: str) -> list[str]:
    """Return the lines of a heading over numbers: its words, and the parts of long compounds."""
    return re.split(r" |(?<=\w{4}-)(?=\w{4})", text)


def unbroken(text: str) -> Latex:
    """Return a text that no line may break within a word."""
    return Latex(escape(text).replace(r"\allowbreak{}", ""))


def merged(block: Table, indices: list[int]) -> list[set[int]]:
    """Return the columns of each row that leave out a value as above, like all merged before it."""
    merging = [index for index in indices if block.columns[index].merge]

    def equal(row: Row, above: Row) -> set[int]:
        same = (index for index in merging if row.cells[index].value == above.cells[index].value)
        pairs = zip(same, merging, strict=False)
        return {index for index, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)}

    return [set(), *(equal(row, above) for above, row in itertools.pairwise(block.rows))]
