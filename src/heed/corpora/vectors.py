"""The word vectors of a source, a file of the user's own."""

from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.user_files import copy_user_file

if TYPE_CHECKING:
    from heed.study import Source

VECTORS = "vectors.vec"  # in data/raw/SOURCE, compressed or not


def copy_vectors(name: str, source: "Source", folder: Path) -> list[str]:
    """Copy the word vectors of source `name` into `folder`; return the name of the copy, if any.

    Raises HeedError when the file is missing, or its hash is not the one in params.yaml.
    """
    if not source.vectors or not source.vectors_sha256:
        return []
    copy_user_file(
        Path(source.vectors), source.vectors_sha256, folder / VECTORS,
        (f"sources.{name}.vectors", f"sources.{name}.vectors_sha256"),
    )  # fmt: skip
    return [VECTORS]
