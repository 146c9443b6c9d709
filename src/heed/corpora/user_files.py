"""Bring the files of the user's own for a source to data/raw, verified: tables as parquet."""

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.rows import format_of, is_table, read_table, reading, write_table
from heed.files import HeedError, digest_folder, sha256, write_text, writing
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.declared import Source, UserFile

VECTORS = "vectors.vec"  # the word vectors of a source in data/raw/SOURCE, compressed or not
LINES = ".txt"  # what a file of lines is named in the source's folder: LANGUAGE.txt


def content_hash(path: Path | str) -> str:
    """Return the SHA-256 of a file, or one over all files of a folder."""
    return digest_folder(path) if Path(path).is_dir() else sha256(path)


def make_tables(name: str, source: "Source", folder: Path) -> list[str]:
    """Write the user's tables for source `name` into `folder` as parquet, and return their names.

    The table of `path` keeps its name; a table of `paths` gets the name of its key.

    Raises HeedError when a file is missing, cannot be read, its hash is not the one in params.yaml,
    or it is in `folder`, where other files than these are deleted.
    """
    names = []
    for file in source.user_files():
        path = Path(file.path)
        copy = folder / f"{file.name or re.split('[.]', path.name)[0]}.parquet"
        _verify(name, file, copy)
        with writing(copy) as temporary:
            write_table(read_table(path, format_of(source)), temporary)
        print_line(f"{copy}: made from {path}, verified")
        names.append(copy.name)
    return names


def make_parallel(name: str, source: "Source", folder: Path) -> list[str]:
    """Bring the user's table to `folder` as `make_tables` does, or copy the files of lines."""
    files = list(source.user_files())
    if any(is_table(Path(file.path)) for file in files):
        return make_tables(name, source, folder)
    for file in files:
        _copy_lines(name, file, folder / f"{file.name}{LINES}", source.encoding)
    return [f"{file.name}{LINES}" for file in files]


def _copy_lines(name: str, file: "UserFile", copy: Path, encoding: str | None) -> None:
    """Copy a file of lines, as UTF-8. Raises HeedError where it is not in its encoding."""
    if not encoding:
        _copy_file(name, file, copy)
        return
    _verify(name, file, copy)
    with reading(Path(file.path), encoding):
        text = Path(file.path).read_bytes().decode(encoding)
    write_text(copy, text)
    print_line(f"{copy}: copied from {file.path} as UTF-8, verified")


def copy_vectors(name: str, source: "Source", folder: Path) -> list[str]:
    """Copy the word vectors of source `name` into `folder`; return the name of the copy, if any.

    Raises HeedError as `make_tables` does.
    """
    if (file := source.vector_file()) is None:
        return []
    _copy_file(name, file, folder / VECTORS)
    return [VECTORS]


def _copy_file(name: str, file: "UserFile", copy: Path) -> None:
    """Copy a file of source `name`. Raises HeedError as `make_tables` does."""
    _verify(name, file, copy)
    with writing(copy) as temporary:
        shutil.copyfile(file.path, temporary)
    print_line(f"{copy}: copied from {file.path}, verified")


def _verify(name: str, file: "UserFile", copy: Path) -> None:
    """Raise HeedError unless a file is as it was added, and outside of the folder of `copy`."""
    path = Path(file.path)
    if path.resolve().is_relative_to(copy.parent.resolve()):
        raise HeedError(
            f"{path}: is in {copy.parent}, where heed keeps its copies and deletes every other "
            f"file. Move it elsewhere, and change sources.{name}.{file.key} in params.yaml"
        )
    if not path.exists():
        raise HeedError(f"{path}: not there (params.yaml: sources.{name}.{file.key})")
    if (found := content_hash(path)) != file.sha256:
        raise HeedError(
            f"{path}: changed since it was added: expected sha256:{file.sha256}, found "
            f"sha256:{found}. If the change is intended, update sources.{name}.{file.hash_key}"
        )
