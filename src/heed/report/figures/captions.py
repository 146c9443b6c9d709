"""The long texts of figures, in captions.yaml."""

import functools
from collections.abc import Mapping
from pathlib import Path

import yaml

MOST_WORDS = 12  # of a figure's title


@functools.cache
def captions() -> Mapping[str, str]:
    """Return the texts in English, by key."""
    text = Path(__file__).with_name("captions.yaml").read_text(encoding="utf-8")
    loaded: dict[str, str] = yaml.safe_load(text)
    return loaded


def described(key: str, **values: object) -> str:
    """Return a text with `values` for their names in braces."""
    return captions()[key].format(**values)


def message(title: str, plain: str) -> str:
    """Return a title, or the plain one where names in it make it too long to be a message."""
    return title if len(title.split()) <= MOST_WORDS else plain


def some(count: int, of: int) -> str:
    """Return how many of so many, in a word."""
    if count in (0, of):
        return "all" if count else "no"
    return "most" if 2 * count > of else "some"
