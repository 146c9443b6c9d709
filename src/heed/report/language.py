"""The report's words in English and German. English is the key; german.py has the other, and a test that none is missing."""

import contextlib
import re
from collections.abc import Iterator
from contextvars import ContextVar

from heed.report.german import GERMAN

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


def say(text: str, **values: object) -> str:
    """Return the text in the language spoken now, with `values` in place of their names in braces."""
    found = GERMAN.get(text, text) if language() == "de" else text
    return NAMED.sub(lambda name: str(values[name[1]]), found)


def whole(value: int) -> str:
    """Return a whole number in groups of three: a comma between them in English, in German a narrow space."""
    grouped = f"{value:,}"
    return grouped.replace(",", "\u202f") if language() == "de" else grouped
