"""One job on a node of the Ray cluster, whose logs go back while it runs."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SEND_S = 1  # seconds between two looks at the logs
# Waits until Ray's worker has ended, however it did, and ends all that the job has started.
WATCH = "(read -r; kill -KILL 0) <&0 & exec </dev/null\n"


class Feed:
    """An actor that holds what jobs report until the driver takes it."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def add(self, *event: Any) -> None:
        """Add ("start", job, node, task) or ("log", path, offset, bytes)."""
        self.events.append(event)

    def take(self) -> list[tuple[Any, ...]]:
        """Return all events since the last time."""
        events, self.events = self.events, []
        return events


def pack(paths: Iterable[str]) -> bytes:
    """Return files and folders as an archive; a path that does not exist is left out."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as archive:
        for path in filter(os.path.exists, paths):
            archive.add(path)
    return buffer.getvalue()


def unpack(content: bytes) -> None:
    """Write an archive's files into the present folder, with the time at which that is done."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        for member in archive:
            member.mtime = time.time()  # clocks differ
            archive.extract(member)


def write(path: str, offset: int, content: bytes) -> None:
    """Write a piece of a log; the first one replaces what an earlier start has logged."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()
    with Path(path).open("r+b") as file:
        file.truncate(offset)
        file.seek(offset)
        file.write(content)


def run_job(
    name: str, command: str, folder: str, inputs: bytes, outputs: list[str], logs: list[str],
    feed: Any,
) -> tuple[int, bytes]:  # fmt: skip
    """Run a job; return its exit status, and its outputs as an archive.

    What it prints goes to the first of `logs`. A relative `folder` is one of the folder that Ray
    has sent.
    """
    import ray

    os.chdir(folder)
    unpack(inputs)
    for path in logs:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).unlink(missing_ok=True)
    task = ray.get_runtime_context().get_task_id()
    feed.add.remote("start", name, ray.util.get_node_ip_address(), task)
    # ignored where Ray's raylets reap orphans: each command would seem to succeed
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # programs of this node's environment
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with Path(logs[0]).open("wb") as printed:
        job = subprocess.Popen(
            ["bash", "-c", WATCH + command], stdin=subprocess.PIPE, stdout=printed,
            stderr=subprocess.STDOUT, start_new_session=True, env=os.environ | {"PATH": path},
        )  # fmt: skip
    sent = dict.fromkeys(logs, 0)
    status = None
    while status is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = job.wait(SEND_S)
        last = [_send(path, sent, feed) for path in logs]
    ray.get([task for task in last if task])
    return status, pack(outputs) if status == 0 else b""


def _send(path: str, sent: dict[str, int], feed: Any) -> Any:
    """Send what is new in a log; return the reference of the call."""
    with contextlib.suppress(FileNotFoundError), Path(path).open("rb") as file:
        file.seek(sent[path])
        if content := file.read():
            offset, sent[path] = sent[path], sent[path] + len(content)
            return feed.add.remote("log", path, offset, content)
    return None
