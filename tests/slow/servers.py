"""Real DVC remotes on this machine: a folder, an SSH server, an S3 server and a web server.

Each is a `Remote`. Servers listen on loopback, at a free port, with keys of their own, and end with
the `with` block that started them.
"""

import contextlib
import getpass
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.pipeline.makers import Toy

SSHD = """
ListenAddress 127.0.0.1
Port {port}
HostKey "{folder}/{host_key}"
AuthorizedKeysFile "{folder}/authorized_keys"
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
"""
# docs/sharing.md: `checked` reaches the host through a connection to the host itself, which
# asyncssh checks against known_hosts; dvc-ssh checks no key of a host that it reaches directly
SSH_CONFIG = """
Host checked direct
    HostName 127.0.0.1
    Port {port}
    User {user}
    IdentityFile "{folder}/login"
Host checked
    ProxyJump {user}@127.0.0.1:{port}
Host 127.0.0.1
    IdentityFile "{folder}/login"
"""
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

    def push(self, clone: Toy) -> None:
        """Push by the remote itself, or into the folder that its server only shows."""
        if self.url.startswith("http"):
            clone.run("dvc", "remote", "add", "--force", "--local", "folder", str(self.stored))
            clone.run("dvc", "push", "--remote", "folder")
        else:
            clone.run("dvc", "push")

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
def http(path: Path) -> Iterator[Remote]:
    """Yield a web server that shows a folder, and takes nothing."""
    port, stored = free_port(), path / "shown"
    stored.mkdir()
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    with server([*command, "--directory", str(stored)], port, path / "http.log"):
        yield Remote(f"http://127.0.0.1:{port}", stored)


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


class SshServer:
    """An sshd that lets one key in, and the home of a user who knows its host key."""

    def __init__(self, path: Path) -> None:
        self.path, self.port, self.user = path, free_port(), getpass.getuser()
        path.mkdir()
        (path / "home/.ssh").mkdir(parents=True)
        for name in ("host", "other-host", "login", "other-login"):
            key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path / name)]
            subprocess.run(key, check=True)
        names = {"port": self.port, "user": self.user, "folder": path}
        (path / "home/.ssh/config").write_text(SSH_CONFIG.format(**names))
        shutil.copy(path / "login.pub", path / "authorized_keys")
        self.trust("host")

    def trust(self, *host_keys: str) -> None:
        """Let the user's known_hosts name these keys of the host, and no other."""
        lines = [
            f"[127.0.0.1]:{self.port} {(self.path / f'{k}.pub').read_text()}" for k in host_keys
        ]
        (self.path / "home/.ssh/known_hosts").write_text("".join(lines))

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run sshd until the end of the block."""
        sshd, config = (
            shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin"),
            self.path / "sshd",
        )
        config.write_text(SSHD.format(port=self.port, folder=self.path, host_key="host"))
        test = subprocess.run([sshd, "-t", "-f", config], capture_output=True, text=True)
        if "privilege separation directory" in test.stderr:
            pytest.skip(f"sshd does not start: {test.stderr.strip()} (root makes it with mkdir)")
        assert test.returncode == 0, test.stderr
        with server([sshd, "-D", "-e", "-f", str(config)], self.port, self.path / "sshd.log"):
            yield

    def remote(self, host: str = "checked") -> Remote:
        """Return the remote by a name of ~/.ssh/config: `checked` or `direct`."""
        stored = self.path / "store"
        environment = {"HOME": str(self.path / "home"), "SSH_AUTH_SOCK": ""}
        return Remote(f"ssh://{host}{stored}", stored, environment=environment)


@contextlib.contextmanager
def ssh_server(path: Path) -> Iterator[SshServer]:
    """Yield a running SSH server, or skip the test and say what is missing."""
    if importlib.util.find_spec("dvc_ssh") is None:
        pytest.skip("the package dvc_ssh is missing: `make remotes` installs it")
    if not shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin"):
        pytest.skip("there is no sshd (Debian: openssh-server)")
    ssh = SshServer(path / "ssh-server")
    with ssh.running():
        yield ssh


@contextlib.contextmanager
def ssh(path: Path) -> Iterator[Remote]:
    """Yield a folder behind SSH, whose host key is checked."""
    with ssh_server(path) as running:
        yield running.remote()


REMOTES = {"folder": folder, "ssh": ssh, "s3": s3, "http": http}
