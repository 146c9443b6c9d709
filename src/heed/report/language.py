"""The report's words: English in the code and the templates, other languages in
locale/LANGUAGE/LC_MESSAGES/heed.po.
"""

import contextlib
import functools
import io
import re
from collections.abc import Iterator
from contextvars import ContextVar
from gettext import GNUTranslations, NullTranslations
from pathlib import Path

LOCALE = Path(__file__).parent / "locale"
NAMED = re.compile(r"\{(\w+)\}")
_language: ContextVar[str] = ContextVar("language", default="en")


@contextlib.contextmanager
def speaking(language: str) -> Iterator[None]:
    """Say everything within in this language: en or de."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


def language() -> str:
    """Return the language spoken now."""
    return _language.get()


@functools.cache
def translations(language: str) -> NullTranslations:
    """Return the texts of a language; English has none.

    The .po file is compiled in memory, in 0.1 s with Babel's import: a compiled file beside it
    could be out of date.
    """
    path = LOCALE / language / "LC_MESSAGES/heed.po"
    if not path.exists():
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)


def say(text: str, **values: object) -> str:
    """Return the text in the language spoken now, with `values` in place of their names in
    braces.
    """
    # the empty text is the file's header
    translated = translations(language()).gettext(text) if text else text
    return NAMED.sub(lambda name: str(values[name[1]]), translated)


def whole(value: int) -> str:
    """Return a whole number in groups of three: a comma between them in English, in German a narrow
    space.
    """
    grouped = (
        # not Babel's format_decimal: its German has points, which read as decimals beside
        # accuracies
        f"{value:,}"
    )
    return grouped.replace(",", "\u202f") if language() == "de" else grouped
