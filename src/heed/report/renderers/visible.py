"""Text that users wrote, so that all of it can be seen."""

import re
from typing import Any

from markupsafe import Markup

# Control characters, and those that turn the direction of the text after them: shown, never obeyed.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def visible(value: Any) -> Any:
    """Return text with every character that cannot be seen named by its code point; jinja escapes
    the result.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", value)
