"""Unfinished work of a stage on the DVC remote: another machine resumes it where one has died.

    with unfinished.kept(Path(".heed/work/train@imdb-attention"), "train@imdb-attention"):
        run the stage

Before the stage, the folder is fetched if there is none here. While it runs, what has changed is
sent every EVERY_S seconds; a stage that has ended well leaves nothing on the remote.
"""

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EVERY_S = 30


@contextlib.contextmanager
def kept(folder: Path, stage: str) -> Iterator[bool]:
    """Keep a folder on the default DVC remote for the block; yield whether there was one.

    Raises an error of DVC's if the remote cannot be reached before the block. An error while the
    block runs costs only the next machine's start.
    """
    from dvc.repo import Repo

    remote = Repo().cloud.get_remote()
    files, there = remote.fs, remote.fs.join(remote.path, "unfinished", stage)
    if found := not folder.exists() and files.exists(there):
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        files.get(there, str(part))
        part.rename(folder)
    ended = threading.Event()
    sender = threading.Thread(target=_send_changes, args=(folder, files, there, ended), daemon=True)
    sender.start()
    try:
        yield found
    finally:
        ended.set()
        sender.join()
    with contextlib.suppress(FileNotFoundError):
        files.remove(there, recursive=True)


def _send_changes(folder: Path, files: Any, there: str, ended: threading.Event) -> None:
    sent: dict[Path, int] = {}
    while not ended.wait(EVERY_S):
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):  # renamed meanwhile, or no connection: the next time
                changed = path.stat().st_mtime_ns
                if not path.is_file() or path.suffix == ".tmp" or sent.get(path) == changed:
                    continue
                name = files.join(there, *path.relative_to(folder).parts)
                files.makedirs(files.parent(name), exist_ok=True)
                files.put_file(str(path), f"{name}.tmp")
                files.move(f"{name}.tmp", name)
                sent[path] = changed
