"""Escaping for Markdown, as GitHub reads it."""

import re

from heed.terminal import visible

# All that starts emphasis, code, a link, an image, HTML, an entity or another cell of a table.
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~!#@]|(?<=http)s?:|(?<=www)\.", re.IGNORECASE)


def escape(text: str) -> str:
    """Return Markdown that prints the text, in one line."""
    return SPECIAL.sub(_escape, visible(" ".join(text.split())))


def _escape(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\{match[0][-1]}"
