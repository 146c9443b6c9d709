"""Ray, started for one search and stopped after it, or a cluster that is there already."""

import contextlib
import logging
import os
import secrets
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from heed.files import HeedError

# Nothing of a search leaves the machine or stays on it.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # a training finds a free card itself (training/device.py)
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    # Ctrl-C ends the search, and does not make a result of what there is
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_MAX_PENDING_TRIALS_PG": "auto",
    # with Ray's own pause a search that was killed forgets what ended just before
    "TUNE_GLOBAL_CHECKPOINT_S": "1",
}
# bytes of Ray's object store: tokens are mapped from disk, so it holds next to nothing
STORE = 80_000_000
LONGEST_SOCKET = 107  # bytes of a Unix socket's path
SOCKET = "/session_2026-01-01_00-00-00_000000_0000000/sockets/plasma_store"


@contextlib.contextmanager
def ray_running(address: str, cores: int, cpu: float, gpu: float) -> Iterator[str]:
    """Connect to Ray; yield, for people, what was connected to.

    A local Ray ends with the block, and leaves nothing.

    Args:
        address: `local`, or a cluster's; RAY_ADDRESS takes the place of `local`.
        cores: a local Ray's, at least those of one trial.
        cpu: cores of a trial.
        gpu: GPUs of a trial; a local Ray has this machine's cards where it is not 0.

    Raises:
        HeedError: no such cluster; a trial that fits on no node.

    """
    address = os.environ.get("RAY_ADDRESS") or "local" if address == "local" else address
    with _environment(
        QUIET
        | (
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
            if address == "local"
            else {}
        )
    ):
        import ray

        try:
            if address == "local":
                with _temporary_folder() as folder:
                    yield _start(folder, max(cores, int(-(-cpu // 1))), gpu)
                    ray.shutdown()
            else:
                yield _connect(address, cpu, gpu)
        finally:
            ray.shutdown()


def _start(folder: str, cores: int, gpu: float) -> str:
    """Start Ray on this machine for this process alone.

    Ray listens on all interfaces: a token that no file holds shuts others out.
    """
    import ray

    from heed.training.device import cards

    gpus = min(len(cards()), _given_gpus()) if gpu else 0
    if gpu > gpus:
        raise HeedError(
            f"a trial takes {gpu:g} GPUs, and this stage has {gpus}. Mend `gpu` of the search in "
            "params.yaml"
        )
    ray.init(
        # Ray hands it to a shell: its path may have a space
        runtime_env={"py_executable": shlex.quote(sys.executable)},
        address="local", num_cpus=cores, num_gpus=gpus, include_dashboard=False,
        log_to_driver=False, logging_level=logging.ERROR, object_store_memory=STORE,
        _temp_dir=folder, _node_ip_address="127.0.0.1",
    )  # fmt: skip
    return f"this machine, {cores} cores" + (f", {gpus} GPUs" if gpus else "")


def _connect(address: str, cpu: float, gpu: float) -> str:
    """Connect to a cluster; the code of heed goes along, so that every node runs this version."""
    import ray

    import heed

    if address.startswith("ray://"):
        raise HeedError(
            f"{address}: a search runs on a node of the cluster, not through Ray's client. "
            "Say the address as HOST:PORT and run on a host where `ray start --address=HOST:PORT` "
            "was said (docs/cluster.md)"
        )
    _knock(address)
    code = {"py_modules": [str(Path(heed.__file__).parent)], "excludes": ["__pycache__"]}
    try:
        ray.init(
            address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=code
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _no_cluster(address, error) from None
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= cpu and node.get("GPU", 0) >= gpu for node in nodes):
        print(
            f"heed: no node has {cpu:g} cores and {gpu:g} GPUs yet: waiting for one that has",
            flush=True,
        )
    return (
        f"cluster at {address}, {len(nodes)} nodes, {sum(node.get('CPU', 0) for node in nodes):g} "
        "cores"
    )


def _knock(address: str) -> None:
    """Raise HeedError where nobody listens: Ray itself would try for minutes, and print what it
    tries.
    """
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()
    except (OSError, ValueError) as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str, error: Exception) -> HeedError:
    reason = " ".join(str(error).split())[:200]
    instead = (
        "unset RAY_ADDRESS" if os.environ.get("RAY_ADDRESS") == address else "say address: local"
    )
    return HeedError(
        f"no Ray cluster at {address} ({reason}). Start it, or {instead} (docs/cluster.md)"
    )


def _given_gpus() -> int:
    """Return how many cards Snakemake counted for this stage; a thousand where nobody counted."""
    given = os.environ.get("HEED_GPUS", "")
    return int(given) if given.isdigit() else 1000


@contextlib.contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the block; those that a person has set stay."""
    before = {key: os.environ.get(key) for key in changes}
    os.environ.update({key: value for key, value in changes.items() if before[key] is None})
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)


@contextlib.contextmanager
def _temporary_folder() -> Iterator[str]:
    """Yield a new folder whose name is short enough for the sockets in it; it is deleted
    afterwards.
    """
    room = tempfile.gettempdir()
    if len(room) + len("/heed-ray-1234567-12345678") + len(SOCKET) > LONGEST_SOCKET:
        room = "/tmp"
    for old in Path(room).glob("heed-ray-*-*"):  # of a search that was killed
        if not Path("/proc", old.name.split("-")[2]).exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=f"heed-ray-{os.getpid()}-", dir=room)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
