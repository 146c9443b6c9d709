"""Invisible characters in texts of users, replaced by their code points."""

from typing import Any

from markupsafe import Markup

from heed import terminal


def visible(value: Any) -> Any:
    """Return the text with the code point of each invisible character; jinja escapes it later."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return terminal.visible(value)
