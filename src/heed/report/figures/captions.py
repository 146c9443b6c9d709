"""The long texts of figures, in captions.yaml."""

import functools
from collections.abc import Mapping
from pathlib import Path

import yaml


@functools.cache
def captions() -> Mapping[str, str]:
    """Return the texts in English, by key."""
    text = Path(__file__).with_name("captions.yaml").read_text(encoding="utf-8")
    loaded: dict[str, str] = yaml.safe_load(text)
    return loaded


def described(key: str, **values: object) -> str:
    """Return a text with `values` for their names in braces."""
    return captions()[key].format(**values)
