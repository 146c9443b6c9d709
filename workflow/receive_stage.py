"""Runs one stage in this clone for a run that was started in another clone (send_stage.py).

The request, a line of JSON on standard input, has params.yaml, the outputs of all its stages, the
entries of dvc.lock of what the stage reads, and the code that it was planned with. What it reads
comes from the DVC remote, and what it makes goes there. The last line of standard output is the
reply: the stage's entry of dvc.lock. When standard input ends, the process that has asked has
ended: the stage is killed.
"""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
import engine_names as engine
import stages
from clone import describe_clone, read_clone
from lock_file import read_entry_texts
from send_stage import REPLY
from stage_programs import measure_usage

from heed.files import HeedError, write_text

ROOT = Path(__file__).resolve().parent.parent
PARAMS, LOCK = Path("params.yaml"), Path("dvc.lock")
RECEIVED = Path(".heed/received")
LAST_PARAMS = RECEIVED / "params.yaml"  # what a run has sent last


def main() -> None:
    """Run the stage of the request on standard input, and reply."""
    os.chdir(ROOT)
    stages.find_own_programs()
    asking, reply = _take_streams()
    request = json.loads(asking.readline())
    threading.Thread(target=_end_with, args=[asking], daemon=True).start()
    try:
        answer = run_stage(request)
    except HeedError as error:
        answer = {"error": str(error)}
    reply.write(f"\n{REPLY}{json.dumps(answer)}\n")
    reply.flush()


def run_stage(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run a stage; return its entry of dvc.lock, and what it used, in Snakemake's words.

    Raises HeedError: it cannot run in this clone, or failed.
    """
    os.environ.update(request["environment"])
    started, name = time.monotonic(), request["stage"]
    if (stages.RUNS / request["run"]).exists():
        raise HeedError(
            f"{ROOT} is the clone where the run was started, and holds it: clone heed into another "
            "folder of this host"
        )
    if difference := read_clone(request["clone"]).difference(describe_clone(ROOT)):
        raise HeedError(f"{ROOT}: {difference}")
    with _hold_clone(request["params"], request["outs"]), _lock_stage(name):
        engine.write_lock_entries(request["lock"])
        if error := engine.run_dvc("pull", "--force", *request["reads"]):
            raise HeedError(
                f"{ROOT}: what {name} reads cannot be fetched: {error}. Is the DVC remote there, "
                "`dvc remote list`, the one of the clone where the run was started?"
            )
        sys.argv[1:] = [name]
        if engine.run_stage():
            raise HeedError("")  # DVC's last lines in the log say why
        if error := engine.run_dvc("push", name):
            raise HeedError(
                f"{ROOT}: {name} is done, but cannot be pushed to the DVC remote: {error}. The "
                "next run pushes it"
            )
        entry = read_entry_texts(LOCK, [name])[name]
    usage = {"s": time.monotonic() - started} | measure_usage()
    return {"entry": entry, "usage": usage}


def _take_streams() -> tuple[IO[str], IO[str]]:
    """Return standard input and output for request and reply; the stage's output goes to stderr."""
    asking, reply = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return asking, reply


def _end_with(asking: IO[str]) -> None:
    """Kill this process and all that it has started when the process that has asked ends."""
    import psutil

    asking.read()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            process.kill()
    os._exit(1)


@contextlib.contextmanager
def _hold_clone(params: str, outs: Collection[str]) -> Iterator[None]:
    """Hold this clone for a params.yaml: stages of another one, and a snakemake here, wait.

    Results here that are none of its outputs (`outs`) are deleted where DVC's cache has them: a
    stage that reads a folder would take them for its own.

    Raises HeedError: params.yaml was edited here, or dvc.lock is cut off.
    """
    RECEIVED.mkdir(parents=True, exist_ok=True)
    stages.RUNS.mkdir(parents=True, exist_ok=True)
    with (stages.RUNS / "lock").open("a") as clone:
        with (RECEIVED / "queue").open("a") as queue:
            _lock(queue, fcntl.LOCK_EX, "for other stages that wait for this clone")
            if _read(PARAMS) != params:
                _lock(clone, fcntl.LOCK_EX, "until no stage of another params.yaml runs here")
                _replace_params(params)
            _lock(clone, fcntl.LOCK_SH, "until the snakemake in this clone has ended")
            if not stages.is_lock_readable(Path()):
                raise HeedError(f"{ROOT}/{LOCK}: cut off by a kill: `git checkout {LOCK}` there")
            stages.delete_orphans(stages.find_orphans(".", outs))
        yield


def _lock(file: IO[str], kind: int, reason: str) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        stages.print_message(f"waiting {reason}: {ROOT}")
        fcntl.flock(file, kind)


def _replace_params(params: str) -> None:
    """Write params.yaml.

    Raises HeedError: the present one was edited here.
    """
    if _read(PARAMS) not in ("", _read(LAST_PARAMS)) and _differs_from_commit(PARAMS):
        raise HeedError(
            f"{ROOT}/{PARAMS}: was edited there. A run from another clone would replace it: save "
            f"it, and `git checkout {PARAMS}`"
        )
    write_text(PARAMS, params)
    write_text(LAST_PARAMS, params)


def _differs_from_commit(path: Path) -> bool:
    command = ["git", "diff", "--quiet", "HEAD", "--", str(path)]
    return bool(subprocess.run(command, capture_output=True, check=False).returncode)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@contextlib.contextmanager
def _lock_stage(name: str) -> Iterator[None]:
    """Wait until no other process runs this stage for another clone."""
    with (RECEIVED / f"{name}.lock").open("a") as file:
        _lock(file, fcntl.LOCK_EX, f"for {name}, which runs here already")
        yield


if __name__ == "__main__":
    main()
