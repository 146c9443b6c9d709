"""ERASER movies: film reviews whose evidence people marked.

DeYoung et al. 2020 (ERASER), of the reviews of Pang and Lee 2004 and the rationales of Zaidan and
Eisner 2008.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind, require_file
from heed.evidence import Span
from heed.files import HeedError

ARCHIVE = "movies.tar.gz"
FILES = (
    File(
        ARCHIVE,
        f"eraser_movies/{ARCHIVE}",
        (
            # the official archive
            "sha256:66e18d4e6c9df9e9f5544572b0bfe92a39673f74ecbfc3859b46cedb2f5b2dee",
            # a rebuilt archive, whose train.jsonl has the reviews of val.jsonl too
            "sha256:e880e04bbe0fc9fd15dcfa5f781fe3b4ddd8aac9080a004925123817b458c920",
        ),
        f"https://www.eraserbenchmark.com/zipped/{ARCHIVE}",
    ),
)
PARTS = {"val": "validation", "test": "test", "train": "train"}
SENTIMENT = {"NEG": "negative", "POS": "positive"}


def read_reviews(raw: Path) -> Documents:
    """Yield the reviews with the official split; those of val are not in train.

    A span of evidence goes from the first to the last word of a phrase; words are what white space
    separates. 20 phrases of the test part have no word and are left out.

    Raises:
        HeedError: the archive is missing or broken, or lacks a file.

    """
    # not at the top: tarfile takes longer to import than all declarations together
    from heed.corpora.archive import read_members

    path = require_file(raw, ARCHIVE)
    texts: dict[str, str] = {}
    annotations: dict[str, bytes] = {}
    for name, content in read_members(path):
        match PurePosixPath(name).parts:
            case (_, "docs", file):
                texts[file] = content.decode("utf-8", errors="replace")
            case (_, file) if file.removesuffix(".jsonl") in PARTS:
                annotations[file.removesuffix(".jsonl")] = content
    for part in PARTS:
        if part not in annotations:
            raise HeedError(
                f"{path}: there is no {part}.jsonl in it. Run: heed download {raw.name}"
            )
    read: set[str] = set()
    for part, split in PARTS.items():
        for row in _read_rows(path, part, annotations[part]):
            id_ = row["annotation_id"]
            if id_ not in read:
                read.add(id_)
                yield Document(
                    id_,
                    texts[id_],
                    {"sentiment": SENTIMENT[row["classification"]]},
                    split=split,
                    evidence=tuple(_spans(texts[id_], row["evidences"])),
                )


def _read_rows(path: Path, part: str, content: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(content.splitlines(), 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise HeedError(f"{path}: {part}.jsonl:{number}: not a JSON object ({error})") from None


def _spans(text: str, phrases: list[list[dict[str, Any]]]) -> list[Span]:
    """Return the characters of the phrases, each span once, in the order of the text."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    ranges = {(phrase["start_token"], phrase["end_token"]) for group in phrases for phrase in group}
    return [(words[start][0], words[end - 1][1]) for start, end in sorted(ranges) if start < end]


SOURCE = SourceKind(name="movies", files=FILES, size=3.9e6)
KINDS = (
    Kind(
        name="movies",
        source=SOURCE,
        read=lambda raw, _: read_reviews(raw),
        # no other: test is marked by another rule than train and validation
        splits=("given",),
        labels=("sentiment",),
        evidence="human",
        documents=1_999,
        learned=1_800,
        validated=200,
        tokens_per_document=774,
    ),
)
