"""Hosts that share nothing with this one but a DVC remote, and which of them takes a stage.

HEED_HOSTS names a YAML file: for each host the folder of its clone, and how many cores and GPUs the
run may use there. No file of a study names a host: a study may come from elsewhere.
"""

import contextlib
import dataclasses
import fcntl
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.files import HeedError

VARIABLE = "HEED_HOSTS"
SSH = "ssh -T -o BatchMode=yes -o ServerAliveInterval=15"
SLOTS = Path(".heed/hosts")  # a file for each core and GPU, locked while a stage has it
# a shell may read them; a host that begins with - would be an option of ssh
NAME = re.compile(r"[A-Za-z0-9][\w.@-]*")
FOLDER = re.compile(r"/[\w./@+-]*")
POLL = 0.5  # seconds


@dataclasses.dataclass(frozen=True)
class Host:
    """Another host, with a clone of its own."""

    name: str
    folder: str  # of its clone
    cores: int  # that the run may use
    gpus: int  # GPU jobs at once
    command: str  # runs a program on the host
    python: str  # of the environment there

    def launch(self, program: str, threads: int, gpu: int) -> list[str]:
        """Return the command that runs a Python program of the clone there."""
        words = self.command.replace("{threads}", str(threads)).replace("{gpu}", str(gpu))
        return [*shlex.split(words), self.python, f"{self.folder}/{program}"]


def read_hosts() -> list[Host]:
    """Return the hosts that stages may run on; none: they run on this machine.

    Raises HeedError: a mistake in the file.
    """
    if not (name := os.environ.get(VARIABLE)):
        return []
    from heed.study.syntax import read_yaml  # here: only a run reads the file, not its jobs

    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HeedError(f"{VARIABLE}={name}: cannot be read: {error}") from None
    sections = read_yaml(text, path)[1]
    if not sections:
        raise HeedError(f"{path}: names no host: write gpu1: {{folder: /heed, cores: 16}}")
    return [_read_host(f"{path}: {key}", key, values) for key, values in sections.items()]


def _read_host(where: str, name: Any, values: Any) -> Host:
    """Return a host from its section. Raises HeedError: a mistake in it."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise HeedError(f"{where}: expected a host: letters, digits, and inside also _ . @ -")
    if not isinstance(values, dict):
        raise HeedError(f"{where}: expected folder and cores, found {values!r}")
    keys = [field.name for field in dataclasses.fields(Host)][1:]
    for key in values:
        if key not in keys:
            raise HeedError(f"{where}.{key}: unknown key; known are {', '.join(keys)}")
    for key in ("folder", "cores"):
        if key not in values:
            raise HeedError(f"{where}.{key}: is missing")
    host: dict[str, Any] = {"gpus": 0, "command": f"{SSH} {name}"} | values
    host.setdefault("python", f"{host['folder']}/.venv/bin/python")
    for key, least in (("cores", 1), ("gpus", 0)):
        if type(host[key]) is not int or host[key] < least:
            raise HeedError(
                f"{where}.{key}: expected a whole number from {least}, found {host[key]!r}"
            )
    for key, form, expected in (
        ("folder", FOLDER, "an absolute path of letters, digits, and / . _ - + @"),
        ("python", re.compile(rf"{FOLDER.pattern}|{NAME.pattern}"), "a program, or its path"),
        ("command", re.compile(r"\S.*"), "the command that runs a program on the host"),
    ):
        if not isinstance(host[key], str) or not form.fullmatch(host[key]):
            raise HeedError(f"{where}.{key}: expected {expected}, found {host[key]!r}")
    _check_command(f"{where}.command", host["command"])
    return Host(name, **host)


def _check_command(where: str, command: str) -> None:
    """Raise HeedError if a command has a quote that does not end, or a first word that is empty."""
    try:
        first = shlex.split(command)[:1]
    except ValueError as error:
        raise HeedError(f"{where}: {error}: {command}") from None
    if not any(first):
        raise HeedError(f"{where}: begins with an empty word: {command}")


@contextlib.contextmanager
def claim_host(hosts: list[Host], threads: int, gpu: int) -> Iterator[tuple[Host, int]]:
    """Hold cores and GPUs of the host with most free cores; yield it and the number of its cores.

    A host with fewer cores than `threads` gives all it has. Waits until a host has them, in the
    order in which stages ask, so that one with many threads is not overtaken for ever. The kernel
    frees the slots when this process ends.
    """
    SLOTS.mkdir(parents=True, exist_ok=True)
    with (SLOTS / "queue").open("a") as queue:
        fcntl.flock(queue, fcntl.LOCK_EX)
        while not (claim := _claim(hosts, threads, gpu)):
            time.sleep(POLL)
    host, slots = claim
    try:
        yield host, min(threads, host.cores)
    finally:
        for slot in slots:
            slot.close()


def _claim(hosts: list[Host], threads: int, gpu: int) -> tuple[Host, list[IO[str]]] | None:
    """Return the host with most free cores, and its locked slots; None where no host has them."""
    free = {
        host: (_lock_free(host, "core", host.cores), _lock_free(host, "gpu", host.gpus))
        for host in hosts
    }
    able = [
        host
        for host, (cores, gpus) in free.items()
        if len(cores) >= min(threads, host.cores) and len(gpus) >= gpu
    ]
    host = max(able, key=lambda each: len(free[each][0])) if able else None
    kept = [] if host is None else free[host][0][: min(threads, host.cores)] + free[host][1][:gpu]
    for slots in free.values():
        for slot in [*slots[0], *slots[1]]:
            if slot not in kept:
                slot.close()
    return None if host is None else (host, kept)


def _lock_free(host: Host, kind: str, number: int) -> list[IO[str]]:
    """Return the files of a host's free cores or GPUs, locked."""
    locked: list[IO[str]] = []
    for index in range(number):
        file = (SLOTS / f"{host.name}-{kind}-{index}").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            locked.append(file)
    return locked
