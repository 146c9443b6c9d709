"""Read the JSON-lines files of publications, in which broken characters are replaced."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heed.files import HeedError


def read_published_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSON-lines file.

    Raises HeedError, naming the line, when one is not a JSON object; for a broken .gz file, too.
    """
    # not at the top: tarfile takes longer to import than all declarations together
    from heed.corpora.archive import open_compressed

    with open_compressed(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8", errors="replace"))
            except (ValueError, RecursionError) as error:
                raise HeedError(f"{path}:{number}: not a JSON object ({error})") from None
            if not isinstance(row, dict):
                raise HeedError(
                    f"{path}:{number}: expected a JSON object, found {type(row).__name__}"
                )
            yield number, row


def text_field(path: Path, number: int, row: dict[str, Any], key: str) -> str:
    """Return `row[key]`. Raises HeedError, naming file and line, when it is not a string."""
    value = row.get(key)
    if not isinstance(value, str):
        raise HeedError(
            f"{path}:{number}: expected text under {key!r}, found {type(value).__name__}"
        )
    return value
