"""Data sets on the hub of Hugging Face: their parquet files at one commit, in its local cache.

A file is named as pandas and others name it too: hf://datasets/OWNER/NAME@COMMIT/PATH.
"""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heed.corpora.rows import join_names
from heed.digests import require_installed
from heed.files import HeedError
from heed.terminal import print_line

if TYPE_CHECKING:
    from huggingface_hub import HfApi

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
    with _hub(dataset) as hub:
        return Path(hub.hf_hub_download(dataset, name, repo_type="dataset", revision=commit))


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
        file = f"{PREFIX}datasets/{dataset}@{commit}/{path}"
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
            "some 5 GB: the corpus has these rows alone"
        )
    return HubFiles("-".join([*names[:1], config] if names else [owner]).strip("-"), found[chosen])


def _list(dataset: str) -> tuple[str, list[str]]:
    """Return the commit and the parquet files of a data set, as converted or else as published."""
    with _hub(dataset) as hub:
        from huggingface_hub.errors import RevisionNotFoundError

        try:
            info = hub.dataset_info(dataset, revision=CONVERTED)
        except RevisionNotFoundError:
            info = hub.dataset_info(dataset)
    names = [file.rfilename for file in info.siblings or ()]
    return str(info.sha), [name for name in names if name.endswith(".parquet")]


def _place(path: str) -> tuple[str, str]:
    """Return the configuration and the split of CONFIG/SPLIT/0000.parquet, data/SPLIT-….parquet."""
    *folders, name = path.removesuffix(".parquet").split("/")
    split = folders.pop() if name.isdigit() and folders else SHARD.sub("", name)
    config = "/".join(folders)
    return DEFAULT if config in ("", "data") else config, split.removeprefix("partial-")


@contextlib.contextmanager
def _hub(dataset: str) -> "Iterator[HfApi]":
    """Yield the interface of the hub; whatever it raises is one HeedError."""
    require_installed(["huggingface_hub"], f"hf://{dataset}")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        yield HfApi()
    except GatedRepoError:
        raise HeedError(
            f"{PREFIX}{dataset}: the hub gives it only to those who accept its terms. Accept them "
            "on its page, run hf auth login, then add it again"
        ) from None
    except RepositoryNotFoundError:
        raise HeedError(
            f"{PREFIX}{dataset}: the hub has no such data set, or it is not public. Write its "
            "whole name, such as hf://stanfordnlp/imdb"
        ) from None
    except Exception as error:  # those of its HTTP library have no class of the hub's
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        message = f"{PREFIX}{dataset}: cannot be read from the hub ({reason})."
        raise HeedError(f"{message} {_by_hand(dataset)}") from None


def _by_hand(dataset: str) -> str:
    folder = dataset.rpartition("/")[2]
    return (
        'On a machine that can, with the package `datasets`, run python -c "from datasets import '
        f"load_dataset; [load_dataset('{dataset}', split=s).to_parquet(f'{folder}-{{s}}.parquet') "
        "for s in ('train', 'test')]\", copy both files here, and run heed corpus add "
        f"{folder}-train.parquet {folder}-test.parquet"
    )
