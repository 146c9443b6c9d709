"""Bring the files of the user's own for a source to data/raw, verified: tables as parquet."""

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.hub import local_path
from heed.corpora.rows import PATH, format_of, read_table, reading, write_table
from heed.files import HeedError, digest_folder, package_folder, require_readable, sha256, writing
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.declared import Source, UserFile

VECTORS = "vectors.vec"  # the word vectors of a source in data/raw/SOURCE, compressed or not


def content_hash(path: Path | str) -> str:
    """Return the SHA-256 of a file, or one over all files of a folder. Raises HeedError."""
    require_readable(Path(path), or_folder=True)
    return digest_folder(path) if Path(path).is_dir() else sha256(path)


def make_tables(name: str, source: "Source", folder: Path) -> list[str]:
    """Write the user's tables for source `name` into `folder` as parquet, and return their names.

    Raises HeedError for a file that cannot be read, is not as declared, or is in `folder`.
    """
    names = []
    for file in source.user_files():
        path = local_path(file.path)
        copy = folder / f"{file.name or re.split('[.]', path.name)[0]}.parquet"
        _verify(name, file, folder)
        with writing(copy) as temporary:
            table = read_table(path, format_of(source))
            if path != Path(file.path):  # the hub's cache is elsewhere on each machine
                table = table.replace_schema_metadata({PATH: file.path.encode()})
            write_table(table, temporary)
        print_line(f"{copy}: made from {file.path}, verified")
        names.append(copy.name)
    return names


def copy_vectors(name: str, source: "Source", folder: Path) -> list[str]:
    """Copy the word vectors of source `name` into `folder`; return the name of the copy, if any.

    Those of a folder become a file in word2vec's binary format.
    """
    file = source.vector_file()
    if file is None:
        return []
    if source.vectors_package:
        package_folder(source.vectors_package, "*.npy")  # its message
    _verify(name, file, folder)
    is_folder = Path(file.path).is_dir()
    with writing(folder / VECTORS) as temporary:
        (_write_vectors if is_folder else shutil.copyfile)(Path(file.path), temporary)
    print_line(
        f"{folder / VECTORS}: {'made' if is_folder else 'copied'} from {file.path}, verified"
    )
    return [VECTORS]


def _write_vectors(folder: Path, out: Path) -> None:
    """Write the vectors in a folder, a row of its .npy file for each word of its list."""
    import numpy as np
    from pyarrow.parquet import read_table as read_parquet

    arrays, lists = [*folder.glob("*.npy")], [*folder.glob("*.txt"), *folder.glob("*.parquet")]
    if len(arrays) != 1 or len(lists) != 1:
        raise HeedError(
            f"{folder}: expected one .npy file of word vectors and one list of the words, .txt "
            f"with a word in each line or .parquet; found {len(arrays)} and {len(lists)}"
        )
    with reading(arrays[0], None):
        vectors = np.load(arrays[0], mmap_mode="r", allow_pickle=False)
    if lists[0].suffix == ".parquet":
        words = [*map(str, read_parquet(lists[0]).column(0).to_pylist())]
    else:
        words = lists[0].read_text(encoding="utf-8").removesuffix("\n").split("\n")
    if vectors.ndim != 2 or len(vectors) != len(words) or vectors.dtype.kind != "f":
        raise HeedError(
            f"{arrays[0]}: expected a vector of fractions for each of the {len(words):,} words in "
            f"{lists[0].name}, found {vectors.dtype} {vectors.shape}"
        )
    rows = [row for row, word in enumerate(words) if " " not in word]  # which ends a word there
    with out.open("wb") as file:
        file.write(f"{len(rows)} {vectors.shape[1]}\n".encode())
        for row in rows:
            file.write(words[row].encode() + b" " + vectors[row].astype("<f4").tobytes() + b"\n")


def _verify(name: str, file: "UserFile", folder: Path) -> None:
    path = local_path(file.path)
    require_readable(path, f" (params.yaml: sources.{name}.{file.key})", or_folder=True)
    if path.resolve().is_relative_to(folder.resolve()):
        raise HeedError(
            f"{path}: is in {folder}, where heed keeps its copies and deletes every other "
            f"file. Move it elsewhere, and change sources.{name}.{file.key} in params.yaml"
        )
    if (found := content_hash(path)) != file.sha256:
        raise HeedError(
            f"{path}: changed since it was added: expected sha256:{file.sha256}, found "
            f"sha256:{found}. If the change is intended, update sources.{name}.{file.hash_key}"
        )
