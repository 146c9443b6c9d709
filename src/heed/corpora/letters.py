"""Letters of seven authors in five languages, cut into pieces by the course."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, require_file
from heed.files import HeedError

COMMIT = "b68c6f1380638917461bd86cf200fc3b92a386f6"
HOST = f"https://raw.githubusercontent.com/Jamesmin90/Multiclass-classification-with-Huggin-Face-Transformer/{COMMIT}"
TRAIN, EVAL = "classifier_data_train.json", "classifier_data_eval.json"
FILES = (
    File(
        TRAIN,
        f"letters/{TRAIN}",
        ("blob:a74f24be4b3d21cd066b7f727bc51f260fb03bd3",),
        f"{HOST}/{TRAIN}",
    ),
    File(
        EVAL,
        f"letters/{EVAL}",
        ("blob:aec9a12a6c90cb71a9f365dee792e50ff50d5a1f",),
        f"{HOST}/{EVAL}",
    ),
)


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
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


def read_pieces(path: Path, split: str = "") -> Documents:
    """Yield the pieces in one of the course's files; their group is the letter they come from."""
    for number, row in read_json_lines(path):
        text, author, language, letter = (
            text_field(path, number, row, key) for key in ("text", "author", "lang", "file")
        )
        yield Document(
            f"{path.stem}/{number}", text, {"author": author, "language": language}, letter, split
        )


def read_train_and_eval(raw: Path) -> Documents:
    """Yield the pieces of both published files: split train, and eval as split test."""
    train, test = require_file(raw, TRAIN), require_file(raw, EVAL)
    yield from read_pieces(train, "train")
    yield from read_pieces(test, "test")


def read_eval(raw: Path) -> Documents:
    """Yield the 4,881 pieces of the eval file, without a split."""
    yield from read_pieces(require_file(raw, EVAL))


SOURCE = SourceKind(name="letters", files=FILES, size=60e6)
LABELS = ("author", "language")
KINDS = (
    Kind(
        name="letters",
        source=SOURCE,
        read=lambda raw, _: read_train_and_eval(raw),
        splits=("given",),
        labels=LABELS,
        documents=43_958,
        tokens_per_document=62,
    ),
    Kind(
        name="letters-pieces",
        source=SOURCE,
        read=lambda raw, _: read_eval(raw),
        grouped=True,
        labels=LABELS,
        documents=4_881,
        tokens_per_document=62,
    ),
)
