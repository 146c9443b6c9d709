"""A warm `heed`: everything it imports is imported once; each command then runs in a forked process
of its own.

A drill runs hundreds of commands, and importing takes longer than what they do. Reads a job a line
(JSON) from standard input, answers with the process's id when it has started, and with its exit
status when it has ended.

A job may name a fault: `trace` writes down every event that touches the study's files, `kill` is
kill -9 just before the event of that number. `python warm.py JOB` runs one job cold: a search,
since Ray reads the environment when it is imported.
"""

import atexit
import importlib
import json
import os
import pkgutil
import re
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

LATER = (
    "pyarrow.dataset",
    "pyarrow.parquet",
    "scipy.stats",
    "spacy.lang.xx",
    "torch._dynamo",
)  # at first need otherwise
CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree")


def inject(kill: int | str | None, trace: str | None) -> None:
    """Count the events that change files below the working folder; write them to `trace`.

    Die before the one of number `kill`, or of that text: where a search is depends on time, and so
    does the number.
    """
    here, count = f"{Path.cwd()}/", 0
    told = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if trace else -1

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            if not isinstance(arguments[0], str | os.PathLike) or not (arguments[2] or 0) & (
                os.O_WRONLY | os.O_RDWR
            ):
                return
        elif event not in CHANGES:
            return
        path = (
            str(Path.cwd() / os.fsdecode(arguments[0])) if not isinstance(arguments[0], int) else ""
        )
        if not path.startswith(here):
            return
        told_as = re.sub(r"\.\d+\.tmp", ".tmp", f"{event} {path.removeprefix(here)}")
        if kill in (count, told_as):
            os.kill(os.getpid(), signal.SIGKILL)
        if told >= 0:
            os.write(told, f"{told_as}\n".encode())
        count += 1

    sys.addaudithook(hook)


def run(job: dict[str, Any]) -> int:
    """Be the command `heed` in this process; return its exit code."""
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

    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    """Run the one job that is given, or import everything and serve."""
    if len(sys.argv) > 1:
        sys.exit(run(json.loads(sys.argv[1])))
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
            code = run(json.loads(line))
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
