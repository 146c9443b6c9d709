"""What is known of a tokenised corpus without opening its arrays: meta.json."""

import dataclasses
from pathlib import Path

from heed.files import HeedError, read_json
from heed.records import read_record


@dataclasses.dataclass(frozen=True)
class Meta:
    """The content of meta.json (docs/contracts.md)."""

    digest: str  # of all the corpus's other files
    corpus: str
    kind: str
    tokenizer: str
    folds: int  # 0: a fixed split
    labels: dict[str, list[str]]  # the values that each label has, sorted
    documents: int
    tokens: int
    types: int
    parts: dict[str, int]  # documents by split
    reduced: bool  # a sample of its source
    generated: bool  # its text was made by heed
    duplicates: dict[str, int]
    treated: dict[str, int]  # what cleaning did, counted


def read_meta(corpus: Path) -> Meta:
    """Return what data/tokens/CORPUS/meta.json says.

    Raises HeedError when it is missing or broken.
    """
    path, command = corpus / "meta.json", f"heed tokenize {corpus.name}"
    try:
        return read_record(Meta, read_json(path, command))
    except ValueError as error:
        raise HeedError(
            f"{path}: not as this heed writes it ({error}). Run again: {command}"
        ) from None
