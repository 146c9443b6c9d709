"""Lines for a terminal, a log or another program: heed prints by this module only.

A label, a title or the message of a server may have characters that control a terminal: it would
hide lines, or write others. They are printed as their code points; data for another program are
written as they are.
"""

import contextlib
import errno
import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import TextIO

STDOUT, STDERR = "standard output", 2  # in messages, and the last descriptor of the three streams
# Half a character, as JSON may have; Python shows so a byte of an argument that is not UTF-8.
MAX_WIDTH = 100  # of a sentence, however wide the terminal is
SURROGATES = re.compile("[\ud800-\udfff]")
# Control characters but tab and newline, those that change the direction of the text after them,
# and lone surrogates, which cannot be printed.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return the text with the code point of each invisible character, such as [U+001B]."""
    return INVISIBLE.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def open_streams() -> None:
    """Let every character be printed, and no file that is opened take a closed stream's place.

    Raises OSError: standard output is closed.
    """
    while (unused := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(unused)
    if sys.stdout is None:
        raise OSError(errno.EBADF, "is closed", STDOUT)
    sys.stderr = sys.stderr or io.TextIOWrapper(io.BytesIO(), "utf-8")  # which nobody reads


def _with_escapes(stream: TextIO) -> TextIO:
    """Return a stream that writes the escape of a character that its encoding lacks."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
        stream.reconfigure(errors="backslashreplace")
    return stream


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:  # what could not be written is written when Python ends, and lost
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, STDOUT) from None


def print_line(text: str, error: bool = False) -> None:
    """Print a line at once, on stderr if it is an `error`; what stderr cannot take is dropped."""
    with contextlib.suppress(OSError) if error else _writing():
        print(visible(text), file=_with_escapes(sys.stderr if error else sys.stdout), flush=True)


def wrap(lines: Iterable[str]) -> str:
    """Return sentences, each from a new line, in lines that fit the terminal and a reader."""
    width = min(shutil.get_terminal_size().columns, MAX_WIDTH)
    return "\n".join(textwrap.fill(visible(line), width, subsequent_indent="  ") for line in lines)


def print_data(text: str) -> None:
    """Write lines that another program may read, as they are; on a terminal `print_line`."""
    if sys.stdout.isatty():
        print_line(text)
        return
    with _writing():
        sys.stdout.flush()
        sys.stdout.buffer.write(f"{text}\n".encode(errors="replace"))
        sys.stdout.buffer.flush()


# All that starts emphasis, code, a link, an image, HTML, an entity or another cell of a table.
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~!#@]|(?<=http)s?:|(?<=www)\.", re.IGNORECASE)


def escape_markdown(text: str) -> str:
    """Return Markdown that prints the text, in one line."""
    line = visible(" ".join(text.split()))
    return SPECIAL.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", line)
