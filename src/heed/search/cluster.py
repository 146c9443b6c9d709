"""Ray: started for one search and stopped after it, or an existing cluster."""

import contextlib
import functools
import inspect
import logging
import math
import os
import secrets
import shlex
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
}  # fmt: skip
LOCAL = "local"
ADDRESS = "HEED_RAY_ADDRESS"  # environment: the cluster on which searches run
# Ray's object store can be small: tokens are memory-mapped, so it holds almost nothing
OBJECT_STORE_BYTES = 80_000_000
MAX_TEMPORARY = 28  # characters of the folder below which the paths of Ray's sockets fit 107 bytes


def read_address() -> str:
    """Return the cluster's address, by HEED_RAY_ADDRESS, or `local`.

    No file of a study holds it: connecting to a host of Ray runs code, on both sides.
    """
    return os.environ.get(ADDRESS) or LOCAL


@contextlib.contextmanager
def ray_running(address: str, cores: int, cpu: float, gpu: float) -> Iterator[str]:
    """Connect to Ray; yield a description of it, for people.

    A local Ray is stopped after the block, and leaves no files. It has `cores`, at least `cpu`, and
    this machine's GPUs where a trial takes some, `gpu`. It listens on all interfaces: a token that
    is in no file keeps others out. Raises HeedError: no such cluster; too few GPUs.
    """
    os.environ.update(RAY_ENVIRONMENT | os.environ)
    if address == LOCAL:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    import ray

    parent = tempfile.gettempdir()
    try:
        if address == LOCAL:
            with tempfile.TemporaryDirectory(
                prefix="heed-ray-", dir=parent if len(parent) <= MAX_TEMPORARY else "/tmp",
                ignore_cleanup_errors=True,
            ) as folder:  # fmt: skip
                # Ray lets everybody write in its folder, and nobody else may enter the one above
                yield _start(f"{folder}/r", max(cores, math.ceil(cpu)), gpu)
                ray.shutdown()  # before its folder is deleted
        else:
            yield _connect(address, cpu, gpu)
    finally:
        ray.shutdown()


def _start(folder: str, cores: int, gpu: float) -> str:
    import ray

    from heed.training.machine import assigned_gpus, list_gpus

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
    with _without_idle_processes():
        ray.init(
            runtime_env=None if quoted == sys.executable else {"py_executable": quoted},
            address="local", num_cpus=cores, num_gpus=gpus, include_dashboard=False,
            log_to_driver=False, logging_level=logging.ERROR,
            object_store_memory=OBJECT_STORE_BYTES, _temp_dir=folder, _node_ip_address="127.0.0.1",
        )  # fmt: skip
    return f"this machine, {cores} cores" + (f", {gpus} GPUs" if gpus else "")


@contextlib.contextmanager
def _without_idle_processes() -> Iterator[None]:
    """Let Ray start no autoscaler, log monitor and dashboard, which nobody asks on one machine.

    Half of the processor time of its start. It has no settings for them, so this is by private
    names; a version of Ray without these starts all of its processes.
    """
    from ray._private import node, parameter

    settings: Any = {"no_monitor": True, "include_log_monitor": False}
    few = functools.partial(parameter.RayParams, **settings)
    names = {(parameter, "RayParams"): few, (node.Node, "start_api_server"): lambda *_, **__: None}
    known = inspect.signature(parameter.RayParams).parameters.keys() >= settings.keys()
    originals = {place: getattr(*place, None) for place in names}
    if not known or None in originals.values():
        names = {}
    for place, value in names.items():
        setattr(*place, value)
    try:
        yield
    finally:
        for place in names:
            setattr(*place, originals[place])


def _connect(address: str, cpu: float, gpu: float) -> str:
    """Connect to a cluster and send it heed's code, so that every node runs this version."""
    import ray

    import heed

    code = {"py_modules": [str(Path(heed.__file__).parent)], "excludes": ["__pycache__"]}
    try:
        if address != "auto":  # Ray itself would retry for minutes where no process listens
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()
        ray.init(
            address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=code
        )
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise HeedError(
            f"no Ray cluster at {address} ({reason}). Start it and write its address as HOST:PORT, "
            f"or search on this machine: unset {ADDRESS} (docs/cluster.md)"
        ) from None
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= cpu and node.get("GPU", 0) >= gpu for node in nodes):
        print_line(
            f"heed: no node has {cpu:g} cores and {gpu:g} GPUs yet: waiting for one that has"
        )
    cores = sum(node.get("CPU", 0) for node in nodes)
    return f"cluster at {address}, {len(nodes)} nodes, {cores:g} cores"
