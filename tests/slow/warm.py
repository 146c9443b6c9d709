"""A warm `heed`: it imports everything once, and then runs each command in a forked process.

A drill runs hundreds of commands, and importing takes longer than running them. Reads jobs (JSON,
one in each line) from standard input, prints the process's id when a job has started, and its exit
status when it has ended.

`trace` of a job names a file into which every event that changes the study's files is written;
`kill` is the number of the event before which the job is killed (kill -9). `python warm.py JOB`
runs one job cold: a search, since Ray reads the environment when it is imported."""

import atexit
import importlib
import json
import os
import pkgutil
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

# imported only when they are needed
LATER = ("pyarrow.dataset", "pyarrow.parquet", "scipy.stats", "spacy.lang.xx")
CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree")


def inject(kill: int | str | None, trace: str | None) -> None:
    """Count the events that change files below the working folder; write them to `trace`.

    Kill the process before the event `kill`: its number, or its text for a search, in which the
    number depends on time."""
    folder, count = f"{Path.cwd()}/", 0
    trace_file = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if trace else -1

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            if not isinstance(arguments[0], str | os.PathLike) or not (arguments[2] or 0) & (
                os.O_WRONLY | os.O_RDWR
            ):
                return
        elif event not in CHANGES:
            return
        first = arguments[0]
        path = "" if isinstance(first, int) else str(Path.cwd() / os.fsdecode(first))
        if not path.startswith(folder):
            return
        line = re.sub(r"\.\d+\.tmp", ".tmp", f"{event} {path.removeprefix(folder)}")
        if kill in (count, line):
            os.kill(os.getpid(), signal.SIGKILL)
        if trace_file >= 0:
            os.write(trace_file, f"{line}\n".encode())
        count += 1

    sys.addaudithook(hook)


def run(job: dict[str, Any]) -> None:
    """Run the command `heed` in this process, which ends with it."""
    os.setsid()
    os.chdir(job["folder"])
    os.environ.update(job["environment"])
    log = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
        os.dup2(descriptor, stream)
    sys.argv = ["heed", *job["command"]]
    if job["kill"] is not None or job["trace"]:
        inject(job["kill"], job["trace"])
    from heed.cli import main

    main()
    sys.exit()


def end(code: object) -> NoReturn:
    """End a forked process: the usual end of an interpreter with all of torch takes a second."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def main() -> None:
    """Run the job of the command line, or import everything and run jobs from standard input."""
    if len(sys.argv) > 1:
        run(json.loads(sys.argv[1]))
    import heed

    for name in LATER:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(heed.__path__, "heed."):
        if not module.name.startswith("heed.search."):
            importlib.import_module(module.name)
    print(Path(heed.__file__).parent, flush=True)
    for line in sys.stdin:
        process = os.fork()
        if not process:
            try:
                run(json.loads(line))
            except SystemExit as stopped:
                end(stopped.code)
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
