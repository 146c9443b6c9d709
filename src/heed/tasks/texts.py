"""The commands that take a text of one's own: the text, and the runs."""

import os
import sys
from pathlib import Path

from heed.files import HeedError, bounded_lines, require_readable
from heed.paths import RUNS
from heed.terminal import print_line


def read_text(text: str) -> str:
    """Return the text, the content of the file it names (with . or /), or of standard input: -."""
    if text == "-":
        lines = bounded_lines("standard input", sys.stdin.buffer)
        return b"".join(lines).decode("utf-8-sig", errors="replace")
    if os.path.lexists(text) and (os.path.sep in text or "." in text):
        require_readable(Path(text))
        try:
            with Path(text).open(encoding="utf-8-sig", errors="replace") as file:
                return "".join(bounded_lines(text, file))
        except OSError as error:
            raise HeedError(f"{text}: cannot be read ({error.strerror})") from None
    if os.path.isfile(text):  # noqa: PTH113 — Path's raises for a text that is too long
        print_line(f"heed: {text} is taken as the text: the file is ./{text}", error=True)
    elif len(text.split()) == 1 and Path(text).suffix:  # a word with the suffix of a file name
        print_line(f"heed: there is no file {text}: taken as the text itself", error=True)
    return text


def trained_seeds(model: str) -> list[int]:
    """Return the seeds of a model's runs. Raises HeedError if there is none."""
    seeds = sorted(int(path.name) for path in (RUNS / model).glob("*") if path.name.isdigit())
    if not seeds:
        trained = ", ".join(sorted(path.name for path in RUNS.glob("*"))) or "none yet"
        raise HeedError(
            f"{RUNS / model}: no trained run. Trained models: {trained}. Another of params.yaml: "
            "heed train MODEL"
        )
    return seeds
