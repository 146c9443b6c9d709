"""Real DVC remotes on this machine: a folder and an S3 server.

Each is a `Remote`. The server listens on loopback, at a free port, and ends with its `with` block.
"""

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.pipeline.makers import Toy

SECRET = "a-secret-of-the-tests"


@dataclass
class Remote:
    """A DVC remote: its address, the folder in which its server keeps the files, and its keys."""

    url: str
    stored: Path
    options: dict[str, str] = field(default_factory=dict)  # committed
    keys: dict[str, str] = field(default_factory=dict)  # never committed
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_folder(cls, path: Path) -> "Remote":
        """Return a folder that two clones see."""
        return cls(str(path), path)

    def declare(self, clone: Toy, verify: str = "true") -> None:
        """Make this the clone's default remote, and commit that, as docs/sharing.md has it."""
        clone.run("dvc", "remote", "add", "--default", "store", self.url)
        for name, value in (self.options | {"verify": verify}).items():
            clone.run("dvc", "remote", "modify", "store", name, value)
        clone.run("git", "commit", "--all", "--quiet", "--message", "remote")
        self.give_keys(clone)

    def give_keys(self, clone: Toy) -> None:
        """Let this clone of the study use the remote: what each colleague does once."""
        clone.environment |= self.environment
        for name, value in self.keys.items():
            clone.run("dvc", "remote", "modify", "--local", "store", name, value)

    def find(self, file: Path) -> Path:
        """Return the stored copy of a file, made writable."""
        (stored,) = [path for path in self.files() if path.read_bytes() == file.read_bytes()]
        stored.chmod(0o644)
        return stored

    def files(self) -> list[Path]:
        """Return the files that are stored, by DVC's names for their contents."""
        files = [path for path in self.stored.glob("files/md5/??/*") if path.suffix != ".tmp"]
        return sorted(files)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def server(command: list[str], port: int, log: Path) -> Iterator[None]:
    """Run a server until the end of the block, with a home of its own beside its log."""
    home = os.environ | {"HOME": str(log.parent), "XDG_CACHE_HOME": str(log.parent / "cache")}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=home, stdout=output, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def folder(path: Path) -> Iterator[Remote]:
    yield Remote.of_folder(path / "a store")


@contextlib.contextmanager
def s3(path: Path) -> Iterator[Remote]:
    """Yield a bucket of an S3 server, which takes signed requests alone."""
    for package, command in (("dvc_s3", "make remotes"), ("pys3local", "make test-slow")):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is missing: `{command}` installs it")
    port = free_port()
    run = [sys.executable, "-c", "from pys3local.cli import cli; cli()", "serve"]
    keys = ["--access-key-id", "ada", "--secret-access-key", SECRET]
    listen = ["--path", str(path / "objects"), "--listen", f"127.0.0.1:{port}"]
    with server([*run, *keys, *listen], port, path / "s3.log"):
        yield Remote(
            "s3://default/heed",
            path / "objects/heed",
            {"endpointurl": f"http://127.0.0.1:{port}", "region": "us-east-1"},
            {"access_key_id": "ada", "secret_access_key": SECRET},
        )


REMOTES = {"folder": folder, "s3": s3}
