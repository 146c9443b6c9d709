"""LaTeX from values that users wrote: every value is escaped, and whatever pdflatex cannot print is
named by its code point.
"""

import re
from itertools import pairwise
from typing import Any

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}", "−": r"\textminus{}", "–": "--", "→": r"$\rightarrow$",
    "\u202f": r"\,",
    # After the \\ of a table row these would be read as its argument; so would a [ after \item.
    "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
# Tried with pdflatex, T1, lmodern and textcomp: of U+00A1 to U+017F all but these, and these
# beyond.
NOT_PRINTED, ALSO_PRINTED = "ĦħĸĿŀŉŦŧſ", "‘’“”„‚…—•‹›€™†‡‰"
LIGATURES = "-',"  # two of them in a row would become another character
LONG_WORD, STEP = 20, 5  # words longer than this may be broken after every fifth character


class Latex(str):
    """Text that is LaTeX already."""


def escape(value: Any) -> str:
    """Return the value as LaTeX that prints it."""
    if isinstance(value, Latex):
        return value
    words = re.split(r"(\s+)", str(value))
    return "".join(_space(word) if index % 2 else _word(word) for index, word in enumerate(words))


def cell(value: Any) -> str:
    """Return a number as it stands in a siunitx column, any other text in braces."""
    text = str(value).replace("−", "-")
    return Latex(text if re.fullmatch(r"[+-]?\d+(\.\d+)?", text) else f"{{{escape(value)}}}")


def _space(text: str) -> str:
    return "~" if text == "\u00a0" else " "


def _word(word: str) -> str:
    if len(word) <= LONG_WORD:
        return _characters(word)
    return r"\allowbreak{}".join(
        _characters(word[at : at + STEP]) for at in range(0, len(word), STEP)
    )


def _characters(text: str) -> str:
    out = [_character(text[0])] if text else []
    for before, character in pairwise(text):
        out += ["{}"] if before == character and character in LIGATURES else []
        out.append(_character(character))
    return "".join(out)


def _character(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    printed = character.isprintable() and ord(character) < 0x180 and character not in NOT_PRINTED
    return (
        character
        if printed or character in ALSO_PRINTED
        else rf"\allowbreak{{}}{{[}}U+{ord(character):04X}{{]}}"
    )
