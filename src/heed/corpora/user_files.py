"""Bring the files of the user's own for a source to data/raw, verified: tables as parquet.

A file may be of a data set on the hub of Hugging Face, at one commit, in the hub's local cache. It
is named as pandas and others name it too: hf://datasets/OWNER/NAME@COMMIT/PATH.
"""

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heed import hub
from heed.corpora.rows import PATH, Format, join_names, read_table, reading, write_table
from heed.files import HeedError, digest_folder, package_folder, require_readable, sha256, writing
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.sections import Source, UserFile

VECTORS = "vectors.vec"  # the word vectors of a source in data/raw/SOURCE, compressed or not


def content_hash(path: Path | str) -> str:
    """Return the SHA-256 of a file, or one over all files of a folder. Raises HeedError."""
    require_readable(Path(path), or_folder=True)
    return digest_folder(path, "[!.]*") if Path(path).is_dir() else sha256(path)


def make_tables(name: str, source: "Source", folder: Path) -> list[str]:
    """Write a source's tables into `folder` as parquet; return their names. Raises HeedError."""
    names, header = [], tuple(source.header or ())
    form = Format(source.format or "", source.encoding, source.delimiter, source.quote, header)
    for file in source.user_files():
        path = local_path(file.path)
        copy = folder / f"{file.name or re.split('[.]', path.name.lstrip('.'))[0]}.parquet"
        _verify(name, file, folder)
        with writing(copy) as temporary:
            table = read_table(path, form)
            if path != Path(file.path):  # the hub's cache is elsewhere on each machine
                table = table.replace_schema_metadata({PATH: file.path.encode()})
            write_table(table, temporary)
        print_line(f"{copy}: made from {file.path}, verified")
        names.append(copy.name)
    return names


def copy_vectors(name: str, source: "Source", folder: Path) -> list[str]:
    """Copy the word vectors of a source, a folder in word2vec's format; return the copy's name."""
    if (file := source.vector_file()) is None:
        return []
    if source.vectors_package:
        package_folder(source.vectors_package, "*.npy")  # its message
    _verify(name, file, folder)
    is_folder, copy = Path(file.path).is_dir(), folder / VECTORS
    with writing(copy) as temporary:
        (_write_vectors if is_folder else shutil.copyfile)(Path(file.path), temporary)
    print_line(f"{copy}: {'made' if is_folder else 'copied'} from {file.path}, verified")
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
    with reading(lists[0], None):
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


# --- the hub

PREFIX = "hf://"
CONVERTED = "refs/convert/parquet"  # where the hub keeps a data set of any format as parquet
FILE = re.compile(r"hf://datasets/([^@]+)@([0-9a-f]{40})/(.+)")
DEFAULT = "default"  # the configuration of a data set that has no other
PARTIAL = re.compile("/partial-[^/]+/[^/]+$")  # the hub converts 5 GB of a split, and no more
SHARD = re.compile(r"-\d+(-of-\d+)?(-[0-9a-f]+)?$")


class HubFiles(NamedTuple):
    """The files of a data set's configuration, by the names that it gives to its splits."""

    name: str  # for a corpus
    splits: dict[str, list[str]]


def local_path(path: str) -> Path:
    """Return a file of the user's own; one of the hub is downloaded once. Raises HeedError."""
    if not (match := FILE.fullmatch(path)):
        return Path(path)
    dataset, commit, name = match.groups()
    address, place = f"{PREFIX}{dataset}", {"repo_type": "dataset", "revision": commit}
    return hub.fetch(address, _by_hand(dataset), repo_id=dataset, filename=name, **place)


def describe(address: str) -> str:
    """Return the data set of a file of the hub, and its commit, for messages."""
    match = FILE.fullmatch(address)
    return f"{PREFIX}{match[1]} (commit {match[2][:7]})" if match else address


def find_files(address: str) -> HubFiles:
    """Return the parquet files of hf://OWNER/NAME or hf://OWNER/NAME/CONFIG, at today's commit.

    Raises HeedError: no such data set, or none of parquet; several configurations, and none named.
    """
    owner, *names = address.removeprefix(PREFIX).removeprefix("datasets/").strip("/").split("/")
    dataset, config = "/".join([owner, *names[:1]]), "/".join(names[1:])
    commit, paths = _list(dataset)
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted(paths):
        of_config, split = _place(path)
        file = _address_of(dataset, commit, path)
        found.setdefault(of_config, {}).setdefault(split, []).append(file)
    if not found:
        raise HeedError(f"{address}: the hub has no parquet files of it. {_by_hand(dataset)}")
    chosen = config or (next(iter(found)) if len(found) == 1 else DEFAULT)
    if chosen not in found:
        raise HeedError(
            f"{address}: its configurations are {join_names(sorted(found))}. Name one: heed corpus "
            f"add {PREFIX}{dataset}/{sorted(found)[0]}"
        )
    cut = [name for name, files in found[chosen].items() if any(map(PARTIAL.search, files))]
    if cut:
        print_line(
            f"{PREFIX}{dataset}: the hub has only the first part of {join_names(cut)} as parquet, "
            "some 5 GB: the corpus has only these rows"
        )
    return HubFiles("-".join([*names[:1], config] if names else [owner]).strip("-"), found[chosen])


def _address_of(dataset: str, commit: str, path: str) -> str:
    address = f"{PREFIX}datasets/{dataset}@{commit}/{path}"
    if not FILE.fullmatch(address):
        raise HeedError(f"{PREFIX}{dataset}: the hub names a file that cannot be: {address!r}")
    return address


def _list(dataset: str) -> tuple[str, list[str]]:
    """Return the commit and the parquet files of a data set, as converted or else as published."""
    with hub.connect(f"{PREFIX}{dataset}", _by_hand(dataset)) as api:
        from huggingface_hub.errors import RevisionNotFoundError

        try:
            info = api.dataset_info(dataset, revision=CONVERTED)
        except RevisionNotFoundError:
            info = api.dataset_info(dataset)
    names = [file.rfilename for file in info.siblings or ()]
    return str(info.sha), [name for name in names if name.endswith(".parquet")]


def _place(path: str) -> tuple[str, str]:
    """Return the configuration and the split of CONFIG/SPLIT/0000.parquet, data/SPLIT-….parquet."""
    *folders, name = path.removesuffix(".parquet").split("/")
    split = folders.pop() if name.isdigit() and folders else SHARD.sub("", name)
    config = "/".join(folders)
    return DEFAULT if config in ("", "data") else config, split.removeprefix("partial-")


def _by_hand(dataset: str) -> str:
    folder = dataset.rpartition("/")[2]
    return (
        'On a machine that can, with the package `datasets`, run python -c "from datasets import '
        f"load_dataset; [load_dataset('{dataset}', split=s).to_parquet(f'{folder}-{{s}}.parquet') "
        "for s in ('train', 'test')]\", copy both files here, and run heed corpus add "
        f"{folder}-train.parquet {folder}-test.parquet"
    )
