"""LaTeX: every value is escaped, columns of numbers are aligned by siunitx.

A sign that pdflatex does not print is replaced by its code point. No table is scaled: one too wide
for a line in the smallest print (7 pt) is printed in parts, each with what names its rows.
"""

import functools
import itertools
import re
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import regex

from heed import __version__
from heed.report.formats import format_coverage, read_yaml
from heed.report.tables import PAPER, Table, TableColumn

SPECIAL: dict[str, str] = read_yaml("latex")["special"]
# In the PDF's outline other characters stand for signs; hyperref knows some of the special ones.
IN_BOOKMARKS = read_yaml("latex")["outline"] | {sign: SPECIAL[sign] for sign in "\\{}$&%#_~^"}
# Tested with pdflatex, T1, lmodern and textcomp: it prints U+0020 to U+017F but for the first
# list, and the second list beyond U+017F.
NOT_PRINTED, ALSO_PRINTED = "ĦħĸĿŀŉŦŧſ", "‘’“”„‚…—•‹›€™†‡‰"
LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=,)(?=,)")  # LaTeX makes one sign of two
LONG_WORD = 20  # longer words may be broken after every fifth character that is seen
# But for words of a language, even compounds, which LaTeX breaks by its rules.
PROSE = re.compile(r"\W{0,3}[^\W\d_]{1,30}(-[^\W\d_]{1,30})*\W{0,3}")


class Signs(dict[int, str]):
    """What stands for each sign, for `str.translate`; `form`: for one that is not printed."""

    def __init__(self, signs: dict[str, str], form: str) -> None:
        super().__init__(str.maketrans(signs))
        self._form = form

    def __missing__(self, point: int) -> str:
        sign = chr(point)
        is_printed = sign.isprintable() and point < 0x180 and sign not in NOT_PRINTED
        return sign if is_printed or sign in ALSO_PRINTED else self._form.format(point)


IN_PRINT = Signs(SPECIAL, r"\allowbreak{{}}{{[}}U+{:04X}{{]}}")
IN_OUTLINE = Signs(IN_BOOKMARKS, "[U+{:04X}]")
MEASURED = Signs(dict.fromkeys([*SPECIAL, "\n"], "x"), "[U+8A9E]")  # as long as in print


class Latex(str):
    """Text that is already LaTeX, and not escaped again."""


def escape(value: Any) -> str:
    """Return LaTeX that prints the value."""
    if isinstance(value, Latex):
        return value
    text = unicodedata.normalize("NFC", str(value))
    return re.sub(r"\s+|\S+", lambda found: _escape_word(found[0]), text)


def _escape_word(word: str) -> str:
    if word.isspace():
        return "~" if word == "\u00a0" else " "
    is_whole = len(word) <= LONG_WORD or PROSE.fullmatch(word)
    pieces = [word] if is_whole else regex.findall(r"\X{1,5}", word)  # \X: a letter with its marks
    split = ("{}".join(x.translate(IN_PRINT) for x in LIGATURE.split(piece)) for piece in pieces)
    return r"\allowbreak{}".join(split)


def cell(value: Any) -> Latex:
    """Return a cell of a siunitx column: a number as it is, any other text in braces."""
    text = str(value).replace("−", "-")
    return Latex(text if re.fullmatch(r"[+-]?\d+(\.\d+)?", text) else f"{{{escape(value)}}}")


def bookmark(value: Any) -> Latex:
    """Return a text for the PDF's outline and properties, which have no commands of print."""
    return Latex(" ".join(str(value).split()).translate(IN_OUTLINE))


NUMBER = re.compile(r"([+−-]?)(\d+)(?:\.(\d+))?")
# A column with a longer text, in characters, breaks it into lines of so many millimetres: the first
# width with which the table fits a line.
LONG, BROKEN = 30, (62, 34)
# A table with more columns, or with so many of texts that break, is in smaller print.
SMALL, MANY_TEXTS = 6, 3
LINE_WIDTH = 488  # points of a line of the document, less a margin for what is only estimated
MILLIMETRE = 72.27 / 25.4  # points
# The width of a character of typewriter type, and of a digit, over that of others.
TYPEWRITER, DIGIT = 1.06, 1.12
NOTE_CHARACTER = 4  # points, of the small second line of a cell


class Print(NamedTuple):
    """A size of print; in points a character's mean width (small print has more), a space."""

    command: str
    character: float
    space: float


PRINTS = (
    Print("", 5, 6),
    Print(r"\footnotesize\setlength{\tabcolsep}{3pt}", 4, 3),
    Print(r"\scriptsize\setlength{\tabcolsep}{2.5pt}", 3.5, 2.5),
)


class Tabular(NamedTuple):
    """A table as LaTeX, or a part of its columns, which have these indices."""

    specification: Latex
    size: Latex
    indices: list[int]


@functools.cache
def environment() -> jinja2.Environment:
    """Return the jinja environment for LaTeX, with other delimiters; it escapes every value."""
    jinja: Any = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        block_start_string="<%", block_end_string="%>",
        variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
        autoescape=False, finalize=escape, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, extensions=["jinja2.ext.do"],
    )  # fmt: skip
    functions = (tabulars, compact, bookmark, merged, head_lines, breaking, unbroken)
    jinja.filters |= {function.__name__: function for function in functions}
    jinja.filters |= {"tex": Latex, "number": cell, "coverage": format_coverage}
    jinja.globals |= {"PAPER": PAPER, "version": __version__}
    return jinja


def table(it: Table) -> str:
    r"""Return the .tex file of the table, for \input."""
    macros: Any = environment().get_template("table.tex.jinja").module
    return str(macros.standalone(it))


def compact(text: str) -> Latex:
    """Return LaTeX without empty lines: in a table, a paragraph is an error."""
    return Latex("\n".join(line for line in text.split("\n") if line.strip()))


def tabulars(block: Table) -> list[Tabular]:
    """Return the columns and rows that paper has of a table, in parts that fit a line.

    The print is the largest in which all columns fit. Where none does, each part has the columns
    that name the rows: the first, and the next one where the first leaves out equal values.
    """
    indices = block.column_indices(PAPER)
    columns = [block.columns[index] for index in indices]
    for chosen, broken in itertools.product(PRINTS[_is_small(columns) :], BROKEN):
        widths = [_width(block, index, chosen, broken) for index in indices]
        if fits := sum(widths) <= LINE_WIDTH:
            break
    merging = [*itertools.takewhile(lambda column: column.merge, columns)]
    names = min(len(merging) + 1, len(indices) - 1)
    parts = [indices] if fits else _parts(indices, widths, names)
    types = {index: _specification(block, index, broken) for index in indices}
    size = Latex(chosen.command)
    return [Tabular(Latex("".join(types[index] for index in part)), size, part) for part in parts]


def _is_small(columns: list[TableColumn]) -> bool:
    """Return whether a table of these columns is in smaller print from the start."""
    is_wide = len(columns) > SMALL or sum(bool(column.width) for column in columns) >= MANY_TEXTS
    return is_wide or any(column.code for column in columns)


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
    """Return the estimated points of a column in a print."""
    column, is_text = block.columns[index], block.columns[index].format.align == "left"
    if width := _broken_width(block, index, broken):
        return width * MILLIMETRE + 2 * chosen.space
    head = column.short or column.title
    character = chosen.character * (TYPEWRITER if column.code else 1 if is_text else DIGIT)
    return 2 * chosen.space + max(
        character * _longest(block, index),
        chosen.character * max(map(len, [head] if is_text else head_lines(head))),
        NOTE_CHARACTER * max((len(row.cells[index].note) for row in block.rows), default=0),
    )


def _longest(block: Table, index: int) -> int:
    """Return the number of characters that paper has of the longest cell of a column."""
    texts = (row.cells[index].text.translate(MEASURED) for row in block.rows)
    return max(map(len, texts), default=0)


def _broken_width(block: Table, index: int, broken: int) -> int:
    """Return the millimetres of a column that breaks its text into lines; 0: it does not."""
    column = block.columns[index]
    is_text = column.format.align == "left" and not column.code
    return column.width or (broken if is_text and _longest(block, index) >= LONG else 0)


def _specification(block: Table, index: int, broken: int) -> str:
    """Return the LaTeX type of a column: for numbers their digits, for long text a width."""
    if width := _broken_width(block, index, broken):
        return breaking(width)
    align, texts = block.columns[index].format.align, (row.cells[index].text for row in block.rows)
    numbers = list(filter(None, map(NUMBER.fullmatch, texts)))
    if align != "number" or not numbers:
        return "l" if align == "left" else "r"
    signs, *digits = zip(*(number.groups("") for number in numbers), strict=True)
    whole, fraction = (max(map(len, group)) for group in digits)
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
    merging, left_out = [index for index in indices if block.columns[index].merge], [set[int]()]
    for above, row in itertools.pairwise(block.rows):
        is_equal = (row.cells[index].value == above.cells[index].value for index in merging)
        left_out.append({*itertools.compress(merging, itertools.takewhile(bool, is_equal))})
    return left_out
