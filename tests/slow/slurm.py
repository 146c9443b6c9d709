"""A real SLURM of two nodes on this machine, for tests: daemons of its own, in a folder of its own.

Nothing of the system's SLURM is read or written: configuration, keys, sockets and ports are its
own, so that it may run beside another one. Its nodes promise more cores and memory than the machine
may have (`config_overrides`), and two GPUs each that are /dev/null: SLURM assigns them."""

import contextlib
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import psutil

from tests.pipeline.makers import wait_for

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo", "sacct")
CORES, GPUS = 4, 2  # of each node

CONFIGURATION = Path(__file__).with_name("slurm.conf").read_text()
GPU_CONFIGURATION = """\
AutoDetect=off
NodeName=n1 Name=gpu Flags=nvidia_gpu_env File={folder}/gpu/nvidia[0-1]
NodeName=n2 Name=gpu Flags=nvidia_gpu_env File={folder}/gpu/nvidia[2-3]
"""


def missing() -> str:
    """Return why no SLURM can be started here, or an empty string."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    absent = [name for name in (*DAEMONS, *COMMANDS) if not shutil.which(name, path=path)]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: slurm-wlm and munge)"
    return "" if os.geteuid() == 0 else "SLURM's nodes start jobs as root only"


class Slurm:
    """Two nodes, n1 and n2, and their controller.

    Args:
        folder: a short path (a socket has at most 107 characters), without spaces.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons: dict[str, subprocess.Popen] = {}
        for name in ("state", "gpu", "bin"):
            (folder / name).mkdir(parents=True)
        for index in range(2 * GPUS):
            os.mknod(folder / f"gpu/nvidia{index}", 0o020666, os.makedev(1, 3))  # /dev/null
        ports = dict(zip(("port", "port1", "port2"), free_ports(3), strict=True))
        values = {"host": socket.gethostname().split(".")[0], "cores": CORES, "gpus": GPUS}
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(folder=folder, **ports, **values))
        (folder / "gres.conf").write_text(GPU_CONFIGURATION.format(folder=folder))
        (folder / "munge.key").write_bytes(secrets.token_bytes(128))
        (folder / "munge.key").chmod(0o400)
        self.write_commands()

    def write_commands(self) -> None:
        """Write SLURM's commands for this cluster.

        Not SLURM_CONF alone: the jobs of Snakemake's plugin drop all variables of SLURM."""
        for name in COMMANDS:
            command = self.folder / "bin" / name
            command.write_text(
                f"#!/bin/sh\nSLURM_CONF={shlex.quote(str(self.configuration))} exec "
                f'"{shutil.which(name)}" "$@"\n'
            )
            command.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        others = {name: text for name, text in os.environ.items() if not name.startswith("SLURM_")}
        return others | {"PATH": path}

    def start(self) -> None:
        """Start the daemons, and wait until both nodes take jobs."""
        folder = self.folder
        self._daemon(
            "munged",
            *("--foreground", "--force", "--num-threads=2", f"--key-file={folder}/munge.key"),
            *(f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid"),
            *(f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"),
        )
        wait_for(lambda: (folder / "munge.socket").exists(), describe=self.logs)
        self._daemon("slurmctld", "-D", "-c", "-f", str(self.configuration))
        for node in ("n1", "n2"):
            self.start_node(node)
        wait_for(lambda: self.idle_nodes() == 2, describe=self.logs)

    def start_node(self, node: str) -> None:
        self._daemon("slurmd", "-D", "-N", node, "-f", str(self.configuration), key=node)

    def kill_node(self, node: str) -> None:
        """Kill -9 a node's daemon and all that it has started, as a power cut would."""
        daemon = self.daemons.pop(node)
        daemon.kill()
        daemon.wait()
        processes = [
            process
            for process in psutil.process_iter(["environ"])
            if (environment := process.info["environ"])
            and f"{self.folder}/bin" in environment.get("PATH", "")
            and environment.get("SLURMD_NODENAME") == node
        ]
        parents = [parent for process in processes if (parent := process.parent())]
        for process in {*(p for p in parents if p.name() == "slurmstepd"), *processes}:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _daemon(self, program: str, *arguments: str, key: str = "") -> None:
        path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        assert path
        with (self.folder / f"{key or program}.out").open("a") as output:
            environment = self.environment | {"SLURM_CONF": str(self.configuration)}
            self.daemons[key or program] = subprocess.Popen(
                [path, *arguments], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=environment,
            )  # fmt: skip

    def run(self, *command: str) -> str:
        kept = {"stderr": subprocess.PIPE, "text": True, "timeout": 60}
        return subprocess.check_output(command, env=self.environment, **kept)

    def idle_nodes(self) -> int:
        """Return how many nodes run nothing and take jobs; 0 while the controller starts."""
        with contextlib.suppress(subprocess.SubprocessError):
            return int(self.run("sinfo", "--noheader", "--states=idle", "--format=%D") or 0)
        return 0

    def jobs(self) -> list[dict[str, str]]:
        """Return SLURM's record of each job of this cluster, ended ones too."""
        records = self.run("scontrol", "--oneliner", "--details", "show", "jobs").splitlines()
        return [
            dict(word.split("=", 1) for word in shlex.split(record, posix=False) if "=" in word)
            for record in records
            if record.startswith("JobId=")
        ]

    def logs(self) -> str:
        paths = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        ends = {path.name: path.read_text(errors="replace")[-3000:] for path in paths}
        return "\n".join(f"== {name}\n{end}" for name, end in ends.items())

    def stop(self) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            self.run("scancel", "--state=PENDING", "--user=root")
            self.run("scancel", "--user=root")
            wait_for(lambda: not self.run("squeue", "--noheader"), describe=self.logs)
        for name in ("n1", "n2", "slurmctld", "munged"):
            if daemon := self.daemons.pop(name, None):
                daemon.send_signal(signal.SIGTERM)
                try:
                    daemon.wait(20)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
