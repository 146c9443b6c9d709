"""Signs that pdflatex does not print: the fonts that LuaLaTeX takes, their width and direction."""

import itertools
import unicodedata
from collections.abc import Iterable

# By the first word of a sign's name in Unicode: the font of Noto Sans, where it has another name
# than the script, and OpenType's tag of a script whose signs depend on their neighbours.
NOTO = {
    "LATIN": "", "GREEK": "", "CYRILLIC": "", "HIRAGANA": "CJK JP", "KATAKANA": "CJK JP",
    "HANGUL": "CJK KR", "CJK": "CJK SC", "IDEOGRAPHIC": "CJK SC", "FULLWIDTH": "CJK SC",
}  # fmt: skip
SCRIPTS = {
    "ARABIC": "arab", "HEBREW": "hebr", "SYRIAC": "syrc", "THAANA": "thaa", "DEVANAGARI": "dev2",
    "BENGALI": "bng2", "GURMUKHI": "gur2", "GUJARATI": "gjr2", "ORIYA": "ory2", "TAMIL": "tml2",
    "TELUGU": "tel2", "KANNADA": "knd2", "MALAYALAM": "mlm2", "SINHALA": "sinh", "THAI": "thai",
    "LAO": "lao ", "TIBETAN": "tibt", "MYANMAR": "mym2", "KHMER": "khmr", "MONGOLIAN": "mong",
}  # fmt: skip
SYMBOLS = (
    "Noto Color Emoji", "Noto Emoji", "Apple Color Emoji", "Segoe UI Emoji", "Symbola",
    "Noto Sans Symbols", "Noto Sans Symbols2", "Noto Sans Math",
)  # fmt: skip
LARGE = "DejaVu Sans", "FreeSerif", "Arial Unicode MS", "Latin Modern Roman"  # of many scripts


def fonts(signs: Iterable[str]) -> list[tuple[str, str]]:
    """Return the fonts in which LuaLaTeX looks for signs, each with OpenType's tag of a script.

    Noto's fonts are first, those of symbols before others, since only they join emoji.
    """
    own: dict[str, str] = {}
    symbols: tuple[str, ...] = ()
    for sign in signs:
        script = unicodedata.name(sign, " ").split(" ")[0]
        if unicodedata.category(sign)[0] in "LMNP":
            font = f"Noto Sans {NOTO.get(script, script.title())}"
            own[font.strip()] = SCRIPTS.get(script, "")
        elif unicodedata.category(sign)[0] == "S":
            symbols = SYMBOLS
    noto = sorted(own.items(), key=lambda font: font[0] == "Noto Sans CJK SC")  # Japanese before
    tags = sorted({"", *own.values()}, reverse=True)
    return [*((font, "") for font in symbols), *noto, *itertools.product(LARGE, tags)]


def letters(text: str) -> int:
    """Return how wide a text is, in Latin letters."""
    marks = sum(unicodedata.category(sign) in ("Mn", "Me") for sign in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)


def direction(text: str) -> str:
    """Return the command that sets a text from right to left, where its first letter is so."""
    directions = map(unicodedata.bidirectional, text)
    first = next((each for each in directions if each in ("L", "R", "AL")), "L")
    return "" if first == "L" else r"\ifdefined\rtl\rtl\fi{}"
