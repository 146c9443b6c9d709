"""Lines for a terminal, a log or another program: heed prints by this module only.

A label, a title or the message of a server may have characters that control a terminal: it would
hide lines, or write others. They are printed as their code points; data for another program are
written as they are.
"""

import re
import sys

# Control characters but tab and newline, those that change the direction of the text after them,
# and lone surrogates, which cannot be printed.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return the text with the code point of each invisible character, such as [U+001B]."""
    return INVISIBLE.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def print_line(text: str, error: bool = False) -> None:
    """Print a line at once, on stderr if it is an `error`."""
    print(visible(text), file=sys.stderr if error else sys.stdout, flush=True)


def print_data(text: str) -> None:
    """Write lines that another program may read, as they are; on a terminal `print_line`."""
    if sys.stdout.isatty():
        print_line(text)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode(errors="replace"))
    sys.stdout.buffer.flush()
