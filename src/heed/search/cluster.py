"""Ray: started for one search and stopped after it, or an existing cluster."""

import contextlib
import logging
import math
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from heed.files import HeedError
from heed.terminal import print_line

# No telemetry, no dashboard, no logs and no settings in the home folder.
RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # a training claims a free GPU itself (heed.training.machine)
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1", "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    # Ctrl-C ends the search without results
    "TUNE_DISABLE_SIGINT_HANDLER": "1", "TUNE_MAX_PENDING_TRIALS_PG": "auto",
    # else a killed search would lose the trials that ended just before
    "TUNE_GLOBAL_CHECKPOINT_S": "1",
}  # fmt: skip
LOCAL = "local"
ADDRESS = "HEED_RAY_ADDRESS"  # environment: the cluster on which searches run
# Ray's object store can be small: tokens are memory-mapped, so it holds almost nothing
OBJECT_STORE_BYTES = 80_000_000
STRANGER_S = 20  # seconds for a connection without a token, which takes one or two
MAX_SOCKET_PATH = 107  # bytes of a Unix socket's path
SOCKET_NAME = "/session_2026-01-01_00-00-00_000000_0000000/sockets/plasma_store"


def read_address() -> str:
    """Return the address of the cluster on which searches run, by HEED_RAY_ADDRESS, or `local`.

    No file of a study holds it: connecting to a host of Ray runs code, on both sides.
    """
    return os.environ.get(ADDRESS) or LOCAL


@contextlib.contextmanager
def ray_running(address: str, cores: int, cpu: float, gpu: float) -> Iterator[str]:
    """Connect to Ray; yield a description of it, for people.

    A local Ray is stopped after the block, and leaves no files. It has `cores`, at least those of
    one trial, `cpu`, and this machine's GPUs where a trial takes some, `gpu`.

    Raises HeedError: no such cluster; a local Ray has fewer GPUs than a trial takes.
    """
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    defaults = {key: value for key, value in RAY_ENVIRONMENT.items() if key not in os.environ}
    with _environment(defaults | (token if address == LOCAL else {})):
        import ray

        try:
            if address == LOCAL:
                with _temporary_folder() as folder:
                    yield _start(folder, max(cores, math.ceil(cpu)), gpu)
                    ray.shutdown()  # before its folder is deleted
            else:
                yield _connect(address, cpu, gpu)
        finally:
            ray.shutdown()


def _start(folder: str, cores: int, gpu: float) -> str:
    """Start Ray on this machine for this process; return a description of it.

    Ray listens on all interfaces. A token that is in no file keeps others out, also where the
    environment says that Ray needs none: that is meant for another Ray.
    """
    import ray

    from heed.training.machine import assigned_gpus, list_gpus

    if os.environ.get("RAY_ADDRESS") and ADDRESS not in os.environ:
        print_line(
            f"heed: this search runs on this machine: RAY_ADDRESS is set, but heed reads {ADDRESS}"
        )
    gpus, assigned = len(list_gpus()) if gpu else 0, assigned_gpus()
    gpus = gpus if assigned is None else min(gpus, assigned)
    if gpu > gpus:
        raise HeedError(
            f"a trial takes {gpu:g} GPUs, and this stage has {gpus}. Mend `gpu` of the search in "
            "params.yaml"
        )
    # Ray passes the path to a shell. Only one that needs quotes is named: with an environment of
    # its own the first trial would wait for another worker than the one that Ray starts with.
    quoted = shlex.quote(sys.executable)
    ray.init(
        runtime_env=None if quoted == sys.executable else {"py_executable": quoted},
        address="local", num_cpus=cores, num_gpus=gpus, include_dashboard=False,
        log_to_driver=False, logging_level=logging.ERROR, object_store_memory=OBJECT_STORE_BYTES,
        _temp_dir=folder, _node_ip_address="127.0.0.1",
    )  # fmt: skip
    return f"this machine, {cores} cores" + (f", {gpus} GPUs" if gpus else "")


def _connect(address: str, cpu: float, gpu: float) -> str:
    """Connect to a cluster and send it heed's code, so that every node runs this version."""
    import ray

    import heed

    if address.startswith("ray://"):
        raise HeedError(
            f"{address}: a search runs on a node of the cluster, not through Ray's client. "
            "Write the address as HOST:PORT, and run on a host that is a node (docs/cluster.md)"
        )
    _check_reachable(address)
    code = {"py_modules": [str(Path(heed.__file__).parent)], "excludes": ["__pycache__"]}
    try:
        ray.init(
            address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=code
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _no_cluster(address, error) from None
    if _is_open(ray.get_runtime_context().gcs_address):
        _report_open(address)
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= cpu and node.get("GPU", 0) >= gpu for node in nodes):
        print_line(
            f"heed: no node has {cpu:g} cores and {gpu:g} GPUs yet: waiting for one that has"
        )
    cores = sum(node.get("CPU", 0) for node in nodes)
    return f"cluster at {address}, {len(nodes)} nodes, {cores:g} cores"


def _is_open(address: str) -> bool:
    """Return whether a process without a token may use the cluster.

    The settings of this process do not say it: a cluster that has no token ignores one. Nor does a
    loopback address: Ray listens on all interfaces, whatever its node's address is.
    """
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    stranger = os.environ | {"RAY_AUTH_MODE": "disabled"}
    try:
        done = subprocess.run(command, env=stranger, capture_output=True, timeout=STRANGER_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _report_open(address: str) -> None:
    """Print that a cluster asks for no token. Raises HeedError where this process has one.

    Its nodes have none for this process, which would then refuse what they send: every trial would
    fail with "the actor never ran".
    """
    risk = (
        f"the Ray cluster at {address} asks for no token: whoever reaches its ports can run code "
        "on its nodes. Start it again with one on every node (docs/cluster.md)"
    )
    if os.environ.get("RAY_AUTH_MODE") == "token":
        raise HeedError(
            f"{risk}. With RAY_AUTH_MODE=token no trial would run there: for a cluster without a "
            "token unset RAY_AUTH_MODE"
        )
    print_line(f"heed: {risk}")


def _check_reachable(address: str) -> None:
    """Raise HeedError if no process listens at `address`; Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()
    except (OSError, ValueError) as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str, error: Exception) -> HeedError:
    reason = " ".join(str(error).split())[:200]
    instead = f"unset {ADDRESS}" if os.environ.get(ADDRESS) == address else "leave out --address"
    return HeedError(
        f"no Ray cluster at {address} ({reason}). Start it, or search on this machine: {instead} "
        "(docs/cluster.md)"
    )


@contextlib.contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the block."""
    before = {key: os.environ.get(key) for key in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for key, value in before.items():
            os.environ.pop(key, None)
            os.environ.update({} if value is None else {key: value})


@contextlib.contextmanager
def _temporary_folder() -> Iterator[str]:
    """Yield a new folder with a name short enough for Ray's sockets; it is deleted afterwards."""
    import psutil

    parent = tempfile.gettempdir()
    if len(parent) + len("/heed-ray-1234567-12345678") + len(SOCKET_NAME) > MAX_SOCKET_PATH:
        parent = "/tmp"
    for old in Path(parent).glob("heed-ray-*-*"):  # of a search that was killed
        process = old.name.split("-")[2]
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            shutil.rmtree(old, ignore_errors=True)
    prefix = f"heed-ray-{os.getpid()}-"
    with tempfile.TemporaryDirectory("", prefix, parent, ignore_cleanup_errors=True) as folder:
        yield folder
