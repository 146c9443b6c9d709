"""Ray nodes on hosts that share nothing but a network: network namespaces on a switch.

All but the first also have file systems of their own: they see neither the folder from which jobs
are submitted, nor Ray's files of the first."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.pipeline.makers import wait_for

BINARIES = Path(sys.executable).parent
PORT = 6399


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class RayNodes:
    """Hosts by number, from 1, which has the head of Ray; only that one sees `folder`."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.mark = f"ray-{secrets.token_hex(3)}"
        self.files = Path("/tmp", self.mark)  # short: Ray puts sockets here
        self.switch = f"{self.mark}-switch"
        self.address = f"10.79.0.1:{PORT}"
        self.hosts: set[int] = set()
        token = self.files / "token"
        self.environment = {
            "PATH": f"{BINARIES}:/usr/bin:/bin", "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token), "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
        }  # fmt: skip
        self.files.mkdir()
        token.write_text(secrets.token_hex(32))

    def name(self, number: int) -> str:
        return f"{self.mark}-{number}"

    def plug(self, number: int) -> None:
        name, cable = self.name(number), f"cable{number}"
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        peer = ["type", "veth", "peer", "name", "eth0", "netns", name]
        ip("-n", self.switch, "link", "add", cable, *peer)
        ip("-n", self.switch, "link", "set", cable, "master", "br0", "up")
        ip("-n", name, "addr", "add", f"10.79.0.{number}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        self.hosts.add(number)

    def host(self, number: int) -> str:
        return f"10.79.0.{number}"

    def on(self, number: int, own_processes: bool = False) -> list[str]:
        """Return the words that run a command on a host, apart from others' processes if asked."""
        apart = ["unshare", "--pid", "--fork", "--mount-proc"] if own_processes else []
        return ["ip", "netns", "exec", self.name(number), *apart]

    def start(self, number: int, cpus: int = 1, gpus: int = 0, **environment: str) -> None:
        """Start Ray on a host, also again after a `kill`. GPUs are declared only."""
        if number not in self.hosts:
            self.plug(number)
        own, ray = self.files / f"home{number}", self.files / "ray"
        for path in (own, own / "ray", ray):
            path.mkdir(exist_ok=True)
        head = ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={ray}"]
        where = head if number == 1 else [f"--address={self.address}"]
        command = [
            str(BINARIES / "ray"), "start", *where, f"--node-ip-address=10.79.0.{number}",
            f"--num-cpus={cpus}", f"--num-gpus={gpus}", "--object-store-memory=80000000",
        ]  # fmt: skip
        apart = 'mount -t tmpfs none "$1" && mount --bind "$2" "$3" && shift 3 && exec "$@"'
        if number > 1 and self.folder:
            places = map(str, (self.folder, own / "ray", ray))
            command = ["unshare", "--mount", "bash", "-c", apart, "bash", *places, *command]
        variables = self.environment | {"HOME": str(own)} | environment
        kept = {"env": variables, "cwd": "/", "capture_output": True, "text": True}
        done = subprocess.run([*self.on(number), *command], **kept)
        assert done.returncode == 0, done.stdout + done.stderr

    def cut(self, number: int) -> None:
        ip("-n", self.switch, "link", "set", f"cable{number}", "down")

    def mend(self, number: int) -> None:
        ip("-n", self.switch, "link", "set", f"cable{number}", "up")

    def processes(self, number: int) -> dict[int, str]:
        listed = subprocess.run(["ip", "netns", "pids", self.name(number)], capture_output=True)
        commands = {}
        for pid in map(int, listed.stdout.split()):
            with contextlib.suppress(OSError):
                commands[pid] = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        return commands

    def kill(self, number: int) -> None:
        """Kill -9 all that runs on a host, as a power cut would."""
        for pid in self.processes(number):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


class OnRay:
    """What snakemake prints that submits jobs from the first host, into a file."""

    printed: Path

    def output(self) -> str:
        return self.printed.read_text()

    def start_logged(
        self, command: list[str], folder: Path, **environment: str
    ) -> subprocess.Popen:
        with self.printed.open("w") as log:
            into = {"stdout": log, "stderr": subprocess.STDOUT}
            return subprocess.Popen(command, cwd=folder, env=environment, **into)

    def until(self, happened: Callable[[], object], process: subprocess.Popen) -> None:
        wait_for(happened, process, 400, self.output)

    def finish(self, process: subprocess.Popen) -> str:
        """Wait for the end of a run that succeeds; return what it has printed."""
        assert process.wait(900) == 0, self.output()
        return self.output()


@contextlib.contextmanager
def ray_nodes(folder: Path | None = None) -> Iterator[RayNodes]:
    """Yield hosts, none of which runs yet; skip the test where there are no network namespaces."""
    nodes = RayNodes(folder)
    try:
        try:
            ip("netns", "add", nodes.switch)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("needs root and the right to make network namespaces")
        ip("-n", nodes.switch, "link", "add", "br0", "type", "bridge")
        ip("-n", nodes.switch, "link", "set", "br0", "up")
        yield nodes
    finally:
        for number in nodes.hosts:
            nodes.kill(number)
            ip("netns", "del", nodes.name(number))
        subprocess.run(["ip", "netns", "del", nodes.switch], capture_output=True)
        shutil.rmtree(nodes.files, ignore_errors=True)
