"""Copy the files of the user's own for a source, verified."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.publication import File
from heed.files import HeedError, writing
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.study import Source
    from heed.study.corpora import UserFile

VECTORS = "vectors.vec"  # the word vectors of a source in data/raw/SOURCE, compressed or not


def copy_files(name: str, source: "Source", folder: Path, ending: str = "") -> list[str]:
    """Copy the user's files for source `name` into `folder`, and return their names there.

    The file of `path` keeps its name; a file of `paths` gets the name of its key, and keeps its
    ending, or gets `ending`.

    Raises:
        HeedError: a file is missing, its hash is not the one in params.yaml, or it is in `folder`,
            where other files than the copies are deleted.

    """
    names = []
    for file in source.user_files():
        path = Path(file.path)
        copy = folder / (f"{file.name}{ending or path.suffix}" if file.name else path.name)
        _copy_file(name, file, copy)
        names.append(copy.name)
    return names


def copy_vectors(name: str, source: "Source", folder: Path) -> list[str]:
    """Copy the word vectors of source `name` into `folder`; return the name of the copy, if any.

    Raises HeedError as `copy_files` does.
    """
    if (file := source.vector_file()) is None:
        return []
    _copy_file(name, file, folder / VECTORS)
    return [VECTORS]


def _copy_file(name: str, file: "UserFile", copy: Path) -> None:
    """Copy a file of source `name`. Raises HeedError as `copy_files` does."""
    path = Path(file.path)
    declared = File(copy.name, path.name, (f"sha256:{file.sha256}",))
    if path.resolve().is_relative_to(copy.parent.resolve()):
        raise HeedError(
            f"{path}: is in {copy.parent}, where heed keeps its copies and deletes every other "
            f"file. Move it elsewhere, and change sources.{name}.{file.key} in params.yaml"
        )
    if not path.is_file():
        raise HeedError(f"{path}: not there (params.yaml: sources.{name}.{file.key})")
    if mismatch := declared.mismatch(path):
        raise HeedError(
            f"{path}: changed since it was added: {mismatch}. If the change is intended, update "
            f"sources.{name}.{file.hash_key}"
        )
    with writing(copy) as temporary:
        shutil.copyfile(path, temporary)
    print_line(f"{copy}: copied from {path}, verified")
