"""The fork server: a command in a fork ends as in a process of its own, and leaves nothing.

A real server and real processes, in a folder whose `heed` runs the Python that it is given.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from heed.fork_client import ADDRESS, address
from tests.conftest import ROOT

CLI = """
import os, signal, subprocess, sys, time
from heed.fork_client import run_in_fork

def main():
    if run_in_fork("heed") is None:
        values = globals() | {"status": None}
        exec(sys.argv[2], values)
        return values["status"]
"""
HEED = "import sys, heed.cli; sys.exit(heed.cli.main())"  # as the script `heed` does
# holds a server, as snakemake does, until its input ends
HOLDER = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where it is ignored
sys.path.insert(0, "workflow")
import fork_server
server = fork_server.start(Path("run"))
print(server.pid, fork_server.os.environ[fork_server.ADDRESS], flush=True)
sys.stdin.read()
"""


class Clone:
    """A folder with the server and a stub of `heed`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environment = os.environ | {"PYTHONPATH": str(path / "src")}
        self.environment.pop(ADDRESS, None)
        self.server, self.address = 0, ""

    def hold(self) -> subprocess.Popen:
        """Start a server, and the process that holds it."""
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER], cwd=self.path, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert holder.stdout
        server, self.address = holder.stdout.readline().split()
        self.server = int(server)
        return holder

    def start(
        self, program: str, command: str = "download", folder: str = ".", **environment: str
    ) -> subprocess.Popen:
        """Start `heed COMMAND PROGRAM`."""
        return subprocess.Popen(
            [sys.executable, "-c", HEED, command, program],
            cwd=self.path / folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env=self.environment | {ADDRESS: self.address} | environment,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def run(self, program: str, **options: str) -> tuple[int, str, str]:
        process = self.start(program, **options)
        output, errors = process.communicate(timeout=30)
        return process.returncode, output, errors

    def parent(self, program: str = "", **options: str) -> int:
        """Run a program in a command; return the parent of the process that ran it."""
        code, output, errors = self.run(f"{program}\nprint(os.getppid())", **options)
        assert code == 0, errors
        return int(output)

    def log(self) -> str:
        return (self.path / "run/forks.log").read_text()


def make_clone(path: Path, cli: str = "") -> Clone:
    """Make a clone; `cli` is added to the module that the server imports first."""
    shutil.copytree(ROOT / "src/heed/code", path / "src/heed/code")
    (path / "src/heed/training").mkdir()
    (path / "src/heed/training/__init__.py").touch()
    shutil.copy(ROOT / "src/heed/training/allocator.py", path / "src/heed/training")
    for name in ("__init__", "files", "fork_client", "paths", "terminal"):
        shutil.copy(ROOT / f"src/heed/{name}.py", path / "src/heed")
    (path / "src/heed/cli").mkdir()
    (path / "src/heed/cli/__init__.py").write_text(CLI + cli)
    (path / "src/heed/cli/parser.py").touch()
    (path / "src/heed/numerical.py").write_text("import numpy\n")
    shutil.copytree(ROOT / "workflow", path / "workflow", ignore=shutil.ignore_patterns("studies"))
    (path / "results/code").mkdir(parents=True)
    describe(path, "download", "src/heed/files.py")
    return Clone(path)


def describe(path: Path, command: str, *modules: str) -> None:
    """Write what the stage `code` would: the modules of a command."""
    plan = {"files": dict.fromkeys(modules, ""), "versions": {}}
    (path / f"results/code/{command}.json").write_text(json.dumps(plan))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A clone with a running server."""
    clone = make_clone(tmp_path_factory.mktemp("clone"))
    with clone.hold() as holder:
        yield clone
        holder.communicate("")


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(process: int) -> bool:
    return psutil.pid_exists(process) and psutil.Process(process).status() != "zombie"


def started_process(process: subprocess.Popen) -> int:
    """Return the number that a program has printed first: of its own process or of a child."""
    assert process.stdout
    return int(process.stdout.readline())


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("print(1)", (0, "1\n", "")),
        ("sys.exit(3)", (3, "", "")),
        ("status = 4", (4, "", "")),
        ("print(1); sys.exit('wrong')", (1, "1\n", "wrong\n")),
        ("sys.stderr.write('told\\n'); os._exit(0)", (0, "", "told\n")),
        ("import atexit; atexit.register(print, 'left')", (0, "left\n", "")),
        (
            "import threading; threading.Thread(target=lambda: (time.sleep(.1), print(2))).start()",
            (0, "2\n", ""),
        ),
        ("os.kill(os.getpid(), signal.SIGKILL)", (-9, "", "")),
        ("os.kill(os.getpid(), signal.SIGSEGV)", (-11, "", "")),
        ("print(sys.argv[1], sys.stdin.read() == '')", (0, "download True\n", "")),
        ("print(os.environ['HEED_THREADS'])", (0, "7\n", "")),
        ("sys.exit([1, 2])", (1, "", "[1, 2]\n")),
    ],
)
def test_a_command_ends_in_a_fork_as_in_a_process_of_its_own(clone, program, ending) -> None:
    assert clone.run(program, HEED_THREADS="7") == ending
    assert clone.run(program, HEED_THREADS="7", **{ADDRESS: "nothing"}) == ending
    assert clone.parent() == clone.server
    assert clone.parent(**{ADDRESS: "nothing"}) == os.getpid()


def test_an_exception_is_told_with_its_place(clone) -> None:
    code, _, errors = clone.run("1 / 0")
    assert code == 1
    assert errors.endswith("ZeroDivisionError: division by zero\n")


def test_a_fork_has_no_cache_of_small_blocks_and_is_not_restarted(clone) -> None:
    program = (
        "from heed.training.allocator import restart_without_cache\n"
        "process = os.getpid(); restart_without_cache(); print(process == os.getpid())\n"
        "print(open(f'/proc/{os.getppid()}/environ').read().count('tcache_count=0'))"
    )
    assert clone.run(program)[1] == "True\n1\n"


def test_what_a_command_imported_and_changed_is_gone_with_its_fork(clone) -> None:
    assert clone.run("import colorsys; os.environ['LEFT'] = '1'; os.chdir('/')")[0] == 0
    left = "'colorsys' in sys.modules, os.environ.get('LEFT'), os.getcwd()"
    _, output, _ = clone.run(f"print({left})")
    assert output == f"False None {clone.path}\n"


def test_the_modules_of_a_command_are_imported_before_its_fork(clone) -> None:
    describe(clone.path, "compare", "src/heed/paths.py", "src/heed/code/guard.py", "dvc.yaml")
    found = "print('heed.code.guard' in sys.modules, 'heed.paths' in sys.modules)"
    assert clone.run(found, command="compare")[1] == "True True\n"


@pytest.mark.parametrize("threads", ["1", "2", "2,1"])
def test_numerical_libraries_have_the_threads_of_the_job(clone, threads: str) -> None:
    program = (
        "import numpy, threadpoolctl; numpy.ones((2, 2)) @ numpy.ones((2, 2))\n"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()})"
    )
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = dict.fromkeys(names, threads)
    threads = threads.split(",")[0]
    assert clone.run(program, **environment)[1] == f"{{{threads}}}\n"
    describe(clone.path, "report", "src/heed/numerical.py")
    assert clone.run(program, command="report", **environment)[1] == f"{{{threads}}}\n"


@pytest.mark.parametrize("command", ["search", "evaluate"])
def test_a_command_that_cannot_be_forked_runs_in_its_own_process(clone, command: str) -> None:
    ask_again = "assert run_in_fork('heed') is None"
    assert clone.parent(ask_again, command=command) == os.getpid()  # no description; Ray
    lines = clone.log().splitlines()
    assert sum(line.startswith(f"heed {command} assert") for line in lines) == 1


def test_a_command_in_another_folder_runs_in_its_own_process(clone) -> None:
    assert clone.parent(folder="run") == os.getpid()


def test_a_module_that_starts_a_thread_is_not_forked(tmp_path: Path) -> None:
    clone = make_clone(tmp_path)
    (tmp_path / "src/heed/threaded.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=[60], daemon=True).start()"
    )
    describe(tmp_path, "download", "src/heed/threaded.py")
    with clone.hold() as holder:
        assert clone.parent() == os.getpid()
        assert "would lose threads" in clone.log()
        holder.communicate("")


def test_edited_code_is_run_and_not_the_code_that_was_imported(tmp_path: Path) -> None:
    clone = make_clone(tmp_path)
    with clone.hold() as holder:
        assert clone.parent() == clone.server
        path = tmp_path / "src/heed/cli/__init__.py"
        state = path.stat()
        path.write_text(CLI.replace("exec(", "sys.exit('edited') or ("))
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        code, _, errors = clone.run("print(1)")
        assert (code, errors) == (1, "edited\n")
        assert "not as it was imported" in clone.log()
        holder.communicate("")


FAIL = """
if "fork_server" in sys.argv[0]:
    fork, count = os.fork, iter(range(10))
    def fail_once():
        if next(count) == 1:
            raise OSError(12, "no memory")
        return fork()
    os.fork = fail_once
"""


def test_a_fork_that_fails_harms_no_other_command(tmp_path: Path) -> None:
    clone = make_clone(tmp_path, FAIL)
    with clone.hold() as holder:
        first = clone.start("print(os.getpid(), flush=True); time.sleep(1)")
        started_process(first)
        assert clone.parent() == os.getpid()
        assert "no memory" in clone.log()
        assert first.wait(20) == 0
        assert clone.parent() == clone.server
        holder.communicate("")


@pytest.mark.parametrize(
    ("lacks", "function"), [("os.pidfd_open", "lack"), ("Path.is_dir", "lambda path: False")]
)
def test_no_server_starts_where_the_system_lacks_what_it_uses(tmp_path, lacks, function) -> None:
    clone = make_clone(tmp_path)
    program = f"""
import os, sys
from pathlib import Path
def lack(*_): raise OSError(38, "not implemented")
{lacks} = {function}
sys.path.insert(0, "workflow")
import fork_server
print(fork_server.start(Path("run")), fork_server.ADDRESS in os.environ)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=clone.environment, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout == "None False\n"


def test_a_silent_process_does_not_stop_others(tmp_path: Path) -> None:
    clone = make_clone(tmp_path)
    server = tmp_path / "workflow/fork_server.py"
    server.write_text(server.read_text().replace("PATIENCE = 10", "PATIENCE = 0.2"))
    with clone.hold() as holder, socket.socket(socket.AF_UNIX) as silent:
        silent.connect(address(clone.address))
        assert clone.parent() == clone.server
        assert "no request" in clone.log()
        holder.communicate("")


@pytest.mark.parametrize("server", [True, False])
def test_output_that_cannot_be_written_is_a_failure(clone, server) -> None:
    program = "sys.stdout = open(1, 'w', buffering=8192, closefd=False); print(1)"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", HEED, "download", program], cwd=clone.path, stdout=full,
            env=clone.environment | {ADDRESS: clone.address if server else ""}, text=True,
            stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert (done.returncode, "No space left" in done.stderr) == (120, True)


def test_a_declined_command_ends_with_the_process_that_started_it(clone) -> None:
    program = "print(os.getpid(), flush=True); time.sleep(60)"
    command = [sys.executable, "-c", HEED, "search", program]
    starter = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess; subprocess.run({command!r})"],
        cwd=clone.path, env=clone.environment | {ADDRESS: clone.address}, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    declined = started_process(starter)
    starter.kill()
    starter.communicate(timeout=20)
    wait_until(lambda: not is_running(declined))


def test_a_killed_command_leaves_no_process(clone) -> None:
    process = clone.start(
        "child = subprocess.Popen(['sleep', '60']); print(child.pid, flush=True); child.wait()"
    )
    child = started_process(process)
    fork = psutil.Process(child).ppid()
    assert psutil.Process(fork).ppid() == clone.server
    process.kill()
    process.communicate()
    wait_until(lambda: not is_running(child) and not is_running(fork))
    assert clone.parent() == clone.server  # which serves on


@pytest.mark.parametrize("killed", ["server", "holder"])
def test_nothing_is_left_when_the_server_or_snakemake_is_killed(
    tmp_path: Path, killed: str
) -> None:
    clone = make_clone(tmp_path)
    with clone.hold() as holder:
        process = clone.start("print(os.getpid(), flush=True); time.sleep(60)")
        fork = started_process(process)
        os.kill(clone.server if killed == "server" else holder.pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors[:12]) == (1, "heed: killed")
        wait_until(lambda: not is_running(fork) and not is_running(clone.server))
        assert clone.parent() == os.getpid()
        holder.kill()


def test_ctrl_c_reaches_the_command(tmp_path: Path) -> None:
    clone = make_clone(tmp_path)
    with clone.hold() as holder:
        process = clone.start(
            "try:\n    print(os.getpid(), flush=True)\n    time.sleep(60)\n"
            "except KeyboardInterrupt:\n    sys.exit('stopped')"
        )
        fork = started_process(process)
        for each in (clone.server, process.pid, fork):  # as a terminal does, to all of a group
            os.kill(each, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (1, "stopped\n")
        assert clone.parent() == clone.server
        holder.communicate("")
