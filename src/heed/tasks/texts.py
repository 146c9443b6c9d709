"""What the commands that take a text of one's own have in common: the text, and the runs."""

import os
import sys
from pathlib import Path

from heed.files import HeedError
from heed.paths import RUNS
from heed.terminal import print_line


def read_text(text: str) -> str:
    """Return the text itself, the content of the file it names, or standard input for `-`."""
    if text == "-":
        return sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        is_file = os.path.sep in text or "." in text
        if is_file and Path(text).is_file():
            return Path(text).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # too long for a file name, or with a NUL: it is text
        return text
    if len(text.split()) == 1 and Path(text).suffix:  # one word with the suffix of a file name
        print_line(f"heed: there is no file {text}: taken as the text itself", error=True)
    return text


def trained_seeds(model: str) -> list[int]:
    """Return the seeds of a model's runs. Raises HeedError if there is none."""
    seeds = sorted(int(path.name) for path in (RUNS / model).glob("*") if path.name.isdigit())
    if not seeds:
        trained = ", ".join(sorted(path.name for path in RUNS.glob("*"))) or "none yet"
        raise HeedError(
            f"{RUNS / model}: no trained run. Trained models: {trained}. Another of params.yaml: "
            "heed train MODEL --seed 1"
        )
    return seeds
