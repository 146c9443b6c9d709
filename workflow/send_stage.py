"""Runs a stage in the clone of another host, and records it here as DVC would have.

The other clone gets params.yaml and the entries of dvc.lock of what the stage reads; the files go
by the DVC remote. It gives back the stage's entry of dvc.lock. receive_stage.py is the other end.
"""

import contextlib
import dataclasses
import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from hosts import Host, claim_host
from lock_file import read_entry_texts

from heed.files import HeedError, read_json

RUNS = Path(".heed/snakemake")
REPLY = "heed-reply: "  # begins the line of the reply: a shell there may print lines of its own
THREADS = ("HEED_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PASSED_ON = ("HEED_GPUS", "HEED_RUNS_PER_GPU")  # of the environment here
PATIENCE = 10  # seconds
STATUS = {
    2: "no clone of this version of heed in {folder}, or no {python} there",
    126: "python there cannot be run: {python}",
    127: "no {python} there: clone heed into {folder}, and `make setup`",
    255: "no connection: see the lines above; `{command} true` must work without a question",
}


def read_plan() -> dict[str, Any] | None:
    """Return the plan of this run if it has hosts, else None; see `stages.Run`."""
    path = RUNS / os.environ.get("HEED_RUN", "none") / "plan.json"
    if not os.environ.get("HEED_HOSTS") or not path.exists():
        return None
    plan = read_json(path, "snakemake")
    return plan if plan.get("hosts") else None


def stays_here(plan: Mapping[str, Any], name: str) -> bool:
    """Whether a stage runs in this clone, though the run has hosts."""
    return bool(_find(plan, name)["here"])


def is_read_elsewhere(plan: Mapping[str, Any], name: str) -> bool:
    """Whether stages on other hosts read what a stage makes."""
    return any(name in stage["reads"] and not stage["here"] for stage in plan["stages"])


def _find(plan: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next(stage for stage in plan["stages"] if stage["name"] == name)


def send_stage(plan: Mapping[str, Any], name: str) -> tuple[str, dict[str, float]]:
    """Run a stage on a free host; return its entry of dvc.lock, and what it used there.

    Raises HeedError: it did not run, or failed there; the message is in the log.
    """
    stage = _find(plan, name)
    hosts = [Host(**host) for host in plan["hosts"]]
    threads, gpu = int(os.environ.get("HEED_THREADS") or stage["threads"]), stage["gpu"]
    with claim_host(hosts, threads, gpu) as (host, cores):
        print(f"heed: {name} runs on {host.name}, in {host.folder}", flush=True)
        request = {
            "run": os.environ["HEED_RUN"],
            "stage": name,
            "params": Path("params.yaml").read_text(encoding="utf-8"),
            "reads": stage["reads"],
            "outs": [out for each in plan["stages"] for out in each["outs"]],
            "lock": read_entry_texts(Path("dvc.lock"), stage["reads"]),
            "clone": plan["clone"],
            "environment": {key: os.environ[key] for key in PASSED_ON if key in os.environ}
            | dict.fromkeys(THREADS, str(cores)),
        }
        reply = _ask(
            host, host.launch("workflow/receive_stage.py", cores, gpu), request, plan["process"]
        )
    if "entry" not in reply:  # the stage failed: DVC's last lines in the log say why
        sys.exit(1)
    return reply["entry"], reply["usage"]


def _ask(host: Host, command: list[str], request: Mapping[str, Any], run: int) -> dict[str, Any]:
    """Send a request to a host and return the reply.

    Raises HeedError: the stage did not run to its end there, or the run, a process here, has ended.
    """
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise HeedError(f"{host.name}: {command[0]}: {error.strerror}") from None
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended, and its status says why
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    # stdin stays open: where it ends, this process has ended, and the stage ends there
    output = _read_while_run(process, run)
    status = process.wait()
    lines = output.decode(errors="replace").splitlines()
    for line in reversed(lines):
        if line.startswith(REPLY):
            reply = json.loads(line.removeprefix(REPLY))
            if message := reply.get("error"):
                raise HeedError(f"{host.name}: {message}")
            return dict(reply)
    message = STATUS.get(
        status, "the stage ended there without a result (status {status}): was it killed?"
    ).format(status=status, **dataclasses.asdict(host))
    raise HeedError(f"{host.name}: {message}. Nothing is lost: run again")


def _read_while_run(process: subprocess.Popen[bytes], run: int) -> bytes:
    """Return all that a process writes; end it when `run`, the process of snakemake, has ended."""
    stream = process.stdout
    assert stream is not None
    watched: list[int] = []
    with contextlib.suppress(AttributeError):  # not on Linux: the stage goes on
        try:
            watched = [os.pidfd_open(run)]
        except ProcessLookupError:
            _end(process)
    output = b""
    while True:
        ready = select.select([stream.fileno(), *watched], [], [])[0]
        if stream.fileno() in ready:
            if not (part := os.read(stream.fileno(), 1 << 16)):
                return output
            output += part
        else:
            _end(process)
            raise HeedError("the snakemake of this stage was killed")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a stage: where its input ends it kills all that it has started; a kill would not."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
