"""Invisible characters in texts of users, replaced by their code points."""

import re
from typing import Any

from markupsafe import Markup

# Control characters, and those that change the direction of the text after them.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def visible(value: Any) -> Any:
    """Return the text with the code point of each invisible character; jinja escapes it later."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return INVISIBLE.sub(lambda match: f"[U+{ord(match[0]):04X}]", value)
