"""The language of the report: English in code and templates, translations in .po files.

They are locale/LANGUAGE/LC_MESSAGES/heed.po.
"""

import contextlib
import functools
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from gettext import GNUTranslations, NullTranslations
from pathlib import Path

from jinja2 import Environment

LOCALE = Path(__file__).parent / "locale"
NAMED = re.compile(r"\{(\w+)\}")
_language: ContextVar[str] = ContextVar("language", default="en")


@contextlib.contextmanager
def use_language(language: str) -> Iterator[None]:
    """Translate every text within into this language: en or de."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


def current_language() -> str:
    """Return the language that texts are translated into."""
    return _language.get()


def once_a_language(make: Callable[[str], Environment]) -> Callable[[], Environment]:
    """Return a function that makes the environment of the report's language, once for each.

    It keeps its templates compiled, which takes longer than to fill them in.
    """
    made = functools.cache(make)
    return functools.wraps(make)(lambda: made(current_language()))


@functools.cache
def translations(language: str) -> NullTranslations:
    """Return the translations into a language, compiled in memory; English has none."""
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
    """Return the text in the current language, with `values` for their names in braces."""
    # The empty text has a translation, the header of the .po file.
    translated = translations(current_language()).gettext(text) if text else text
    return _fill(translated, values)


def say_count(singular: str, plural: str, count: int, **values: object) -> str:
    """Return the text for this count in the current language; both texts may name {count}."""
    translated = translations(current_language()).ngettext(singular, plural, count)
    return _fill(translated, {"count": count, **values})


def say_runs(name: str, seeds: Sequence[int]) -> str:
    """Return the name of a model with the seeds of some of its runs."""
    listed = ", ".join(map(str, seeds))
    return say_count(
        "{name} with seed {seeds}", "{name} with seeds {seeds}", len(seeds), name=name, seeds=listed
    )


def _fill(text: str, values: dict[str, object]) -> str:
    return NAMED.sub(lambda name: str(values[name[1]]), text)
