"""The searches of an experiment: from the space in params.yaml to the winner in results/search/.

They run on Ray: started for one search and stopped after it, or an existing cluster.
"""

import contextlib
import functools
import inspect
import json
import logging
import math
import os
import secrets
import shlex
import shutil
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heed.digests import digest_value
from heed.files import (
    HeedError,
    read_json,
    verify_checksums,
    write_json,
    write_yaml,
    writing_folder,
)
from heed.hyperparameters import Configuration
from heed.paths import SEARCHES, TIMING
from heed.pipeline import restore_files, stage_name
from heed.progress import progress_bar
from heed.search import ADDRESS, LOCAL, read_address, results
from heed.search.candidates import STARTS, TrialSetup, find_candidates, make_setup
from heed.study import Params, Search
from heed.study.rules import search_space
from heed.tables import write_csv
from heed.terminal import print_line

SETUP = "setup.json"  # in the folder of a search: the digest of all that it was made with


def run_searches(params: Params, experiment: str, tokens: Path, cores: int) -> Iterator[str]:
    """Run an experiment's searches that are not today's; yield lines for people of each search.

    A search that was killed resumes. Results are in results/search/ and results/timing/; `tokens`
    are of the corpus, `cores` for a local Ray. Raises HeedError: a file is missing; the space is
    too small; no cluster; no trial gave a score.
    """
    folder = SEARCHES / experiment
    # all before the first search, which imports more modules: these are part of a setup
    setups = {
        name: {
            model: make_setup(params, name, tokens, model) for model in params.searched_models(name)
        }
        for name in params.searches_of(experiment)
    }
    if not all((folder / name).is_dir() for name in setups):  # such as after another study
        restore_files(stage_name("recipe", experiment), folder)
    for name, setup in setups.items():
        if _is_todays(folder / name, _digest(setup)):
            yield f"{name}: kept"
        else:
            yield _run(params, name, setup, folder, cores)


def _digest(setups: dict[str, TrialSetup]) -> str:
    return digest_value({model: setup.work.name for model, setup in setups.items()})


def _is_todays(folder: Path, digest: str) -> bool:
    try:
        verify_checksums(folder, "")
        return bool(read_json(folder / SETUP, "") == digest)
    except HeedError:
        return False


def _run(
    params: Params, name: str, setups: dict[str, TrialSetup], searches: Path, cores: int
) -> str:
    search, started = params.search(name), time.time()
    digest = _digest(setups)
    tried, where = _run_on_ray(params, name, setups, cores)
    # `run_trials` raises where no trial of a model has a score
    winners = {model: results.winner(trials, search.metric) for model, trials in tried.items()}
    with writing_folder(searches / name, checksums=True) as out:
        for model, best in winners.items():
            folder, setup = out if search.model else out / model, setups[model]
            winner = best.configuration | epochs_and_select(setup, best)
            write_yaml(folder / "best.yaml", winner)
            _write_results(folder, params, name, setup, tried[model], best)
        write_json(out / SETUP, digest)
    _write_timing(name, search, setups, tried, time.time() - started, where)
    for setup in setups.values():
        shutil.rmtree(setup.work, ignore_errors=True)
    return "\n".join(
        f"{name}: {'' if search.model else f'{model}, '}trial {best.trial} of {len(tried[model])}, "
        f"validation {search.metric} {best.score:.4f} at epoch {best.best_epoch}"
        for model, best in winners.items()
    )


def _run_on_ray(
    params: Params, name: str, setups: dict[str, TrialSetup], cores: int
) -> tuple[dict[str, list[results.Trial]], str]:
    search = params.search(name)
    # before Ray starts: the error of a space that is too small
    candidates = {model: find_candidates(params, name, setup) for model, setup in setups.items()}
    for setup in setups.values():
        setup.work.mkdir(parents=True, exist_ok=True)
    with (
        progress_bar(name) as bar,
        ray_running(read_address(), cores, search.cpu, search.gpu) as where,
    ):
        from heed.search.trials import Job, run_trials  # ray reads its environment now

        of_models = f" of each of {len(setups)} models" if len(setups) > 1 else ""
        print_line(f"{name}: {search.trials} trials{of_models} on {where}")
        jobs = {model: Job(setup, candidates[model]) for model, setup in setups.items()}
        return run_trials(jobs, bar), where


def epochs_and_select(setup: TrialSetup, best: results.Trial) -> Configuration:
    """Return `epochs` and `monitor` that repeat `best`; a schedule needs all epochs."""
    h = setup.recipe.changed(best.configuration).hyperparameters
    has_schedule = h.warmup > 0 or h.lr_schedule != "none"
    return {"epochs": h.epochs if has_schedule else best.best_epoch, "monitor": setup.search.metric}


def _write_results(
    out: Path, params: Params, name: str, setup: TrialSetup, trials: Sequence[results.Trial],
    best: results.Trial,
) -> None:  # fmt: skip
    search, model = params.search(name, setup.recipe.model), setup.recipe.model
    tables = {"trials": results.trial_table(trials), "epochs": results.epoch_table(trials)}
    for table_name, table in tables.items():
        write_csv(out / f"{table_name}.csv", table)
    space, with_own = search_space(params, name, model), not params.searches[name].model
    result = results.Search(
        name, model, search.experiment, setup.recipe.corpus, search.scheduler, search.seed,
        metric=search.metric, trials=list(trials),
        space={key: {dimension.kind: dimension.values} for key, dimension in space.items()},
        best=results.Best(best.trial, best.score or 0.0, best.best_epoch),
        stops=dict(sorted(Counter(trial.stop for trial in trials).items())),
        epochs=sum(trial.epochs for trial in trials),
        training=setup.recipe.hyperparameters.epochs if with_own else None,
    )  # fmt: skip
    results.write_search(out, result)


def _write_timing(
    name: str, search: Search, setups: dict[str, TrialSetup], tried: dict[str, list[results.Trial]],
    seconds: float, where: str,
) -> None:  # fmt: skip
    rows = []
    for model, trials in tried.items():
        of_model = {} if search.model else {"model": model}
        for trial in trials:
            file = setups[model].trial_folder(trial.trial) / STARTS
            lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            row = {"trial": trial.trial, "stop": trial.stop, "epochs": len(trial.history)}
            rows.append(of_model | row | {"starts": [json.loads(line) for line in lines]})
    timing = {"seconds": round(seconds, 2), "on": where, "trials": rows}
    write_json(TIMING / "search" / f"{name}.json", timing)


# --- Ray

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
# Ray's object store can be small: tokens are memory-mapped, so it holds almost nothing
OBJECT_STORE_BYTES = 80_000_000
MAX_TEMPORARY = 28  # characters of the folder below which the paths of Ray's sockets fit 107 bytes


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
            f"a trial takes {gpu:g} GPUs, and this stage has {gpus}. Correct `gpu` of the search "
            "in params.yaml"
        )
    # Ray passes the path to a shell. Only one that needs quotes is named: with an environment of
    # its own the first trial would wait for another worker than the one that Ray starts with.
    quoted = shlex.quote(sys.executable)
    try:
        with _without_idle_processes():
            ray.init(
                runtime_env=None if quoted == sys.executable else {"py_executable": quoted},
                address="local", num_cpus=cores, num_gpus=gpus, include_dashboard=False,
                log_to_driver=False, logging_level=logging.ERROR, _temp_dir=folder,
                object_store_memory=OBJECT_STORE_BYTES, _node_ip_address="127.0.0.1",
            )  # fmt: skip
    except Exception as error:  # Ray raises no other where a node is not there in time
        reason = " ".join(str(error).split())[:200]
        raise HeedError(
            f"Ray did not start ({reason}). On a busy machine it needs more time than Ray "
            "allows: run the same command again"
        ) from None
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
    for (place, name), value in names.items():
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name in names:
            setattr(place, name, originals[place, name])


def _connect(address: str, cpu: float, gpu: float) -> str:
    """Connect to a cluster and send it heed's code, so that every node runs this version."""
    import ray

    import heed

    code = {"py_modules": [str(Path(heed.__file__).parent)], "excludes": ["__pycache__"]}
    try:
        if address != "auto":  # Ray itself would retry for minutes where no process listens
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=code)
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise HeedError(
            f"no Ray cluster at {address} ({reason}). Start it and write its address as HOST:PORT, "
            f"or search on this machine: unset {ADDRESS} (docs/run/cluster.md)"
        ) from None
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= cpu and node.get("GPU", 0) >= gpu for node in nodes):
        wanted = f"{cpu:g} cores and {gpu:g} GPUs"
        print_line(f"heed: no node has {wanted} yet: waiting for one that has")
    cores = sum(node.get("CPU", 0) for node in nodes)
    return f"cluster at {address}, {len(nodes)} nodes, {cores:g} cores"
