"""Copy a file of the user's own, whose hash is in params.yaml."""

import shutil
from pathlib import Path

from heed.corpora.publication import File
from heed.files import HeedError, writing
from heed.terminal import print_line


def copy_user_file(path: Path, sha256: str, copy: Path, keys: tuple[str, str]) -> None:
    """Copy the file at `path` to `copy`, verified.

    Args:
        path: the file.
        sha256: its hash, hexadecimal.
        copy: where it goes.
        keys: the keys of the path and of the hash in params.yaml, for messages.

    Raises:
        HeedError: the file is missing, or its hash is another one.

    """
    declared = File(copy.name, path.name, (f"sha256:{sha256}",))
    if not path.is_file():
        raise HeedError(f"{path}: not there (params.yaml: {keys[0]})")
    if mismatch := declared.mismatch(path):
        raise HeedError(
            f"{path}: changed since it was added: {mismatch}. If the change is intended, update "
            f"{keys[1]}"
        )
    with writing(copy) as temporary:
        shutil.copyfile(path, temporary)
    print_line(f"{copy}: copied from {path}, verified")
