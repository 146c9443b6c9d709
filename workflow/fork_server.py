"""Runs the commands of one `snakemake` run in forks of one process that has imported their modules.

Importing torch, DVC and the like takes longer than most stages. A command (`heed train`, or the
`dvc` of a job) asks through heed.fork_client: the server imports what the command needs, once, and
forks. It has one thread, as a process that forks must, and no CUDA. It serves the folder in which
it was started, as long as the code that it has imported is unchanged; else it declines, and the
command runs in a process of its own. When snakemake ends, however it ends, the server and its forks
end too.

    python workflow/fork_server.py N STATE    (a listening socket; the state of the code)
"""

import atexit
import contextlib
import dataclasses
import gc
import hashlib
import importlib
import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import engine_names as engine
import psutil
from stage_programs import MAIN

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
import heed.cli.parser  # so that no fork has to
from heed.code.digests import PACKAGE, code_file, digest_file
from heed.code.stage import running_stage, stage_arguments
from heed.files import HeedError, read_json
from heed.fork_client import ADDRESS, LENGTH, address, end_with_parent, is_own
from heed.training.allocator import environment_without_cache

ROOT = Path(__file__).resolve().parent.parent
# the threads of numerical libraries, as Snakemake sets them for a job; read when they are loaded
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# imported by functions of a command, and not by its modules
LATER = ("pyarrow.parquet", "pandas.io.parquet", "pyarrow.dataset")
# of pyarrow's jemalloc, which stops it before a fork (its atfork handlers)
MEMORY_THREAD = "jemalloc_bg_thd"
DECLINED = ("search",)  # Ray starts threads, and reads the environment when it is imported
FLUSH_FAILED = 120  # Python's exit status
PATIENCE = 10  # seconds for a request: a process may be stopped while it sends one


@dataclasses.dataclass
class Usage:
    """What a stage used: its command, and the dvc that ran it."""

    max_rss: float = 0.0  # MiB: the peak memory of the largest process, with what forks share
    cpu_time: float = 0.0  # seconds of the processor

    def add(self, used: resource.struct_rusage) -> None:
        """Add a process that has ended."""
        self.cpu_time += used.ru_utime + used.ru_stime
        self.max_rss = max(self.max_rss, used.ru_maxrss / 1024)


@dataclasses.dataclass(frozen=True)
class Fork:
    """A running command."""

    process: int
    stage: str  # DVC's name
    connection: socket.socket  # to the process that has asked for it


class Server:
    """Forks, and replies when a fork ends."""

    def __init__(self, listener: socket.socket, code: str) -> None:
        """Serve the present folder at a listening socket, while the code has the state `code`."""
        self._selector = selectors.DefaultSelector()
        self._listener, self._code = listener, code
        self._environment = dict(os.environ)
        self._usage: dict[str, Usage] = {}
        # Ctrl-C reaches the forks, which are of the same group of processes
        self._interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> None:
        """Run commands until standard input ends, which snakemake holds; then kill the forks."""
        self._watch(self._listener, self._accept)
        self._watch(sys.stdin.fileno(), self._end)
        while True:
            for key, _ in self._selector.select():
                # an earlier one of these events may have ended what this one is about
                if self._selector.get_map().get(key.fd) is key:
                    key.data()

    def _watch(self, file: Any, react: Callable[[], None]) -> None:
        self._selector.register(file, selectors.EVENT_READ, react)

    def _end(self) -> None:
        """Kill the forks, and end this process."""
        _kill_tree(os.getpid())

    def _accept(self) -> None:
        """Start a command, or decline it."""
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            _log(f"no connection: {error}")
            return
        try:
            if not is_own(connection):
                raise ValueError("of another user")
            request, streams = _receive(connection)
        except (OSError, ValueError) as error:  # or its process has been killed
            _log(f"no request: {error!r}")
            connection.close()
            return
        try:
            self._import_modules(request)
            self._start(request, streams, connection)
        except Exception as error:  # the command runs, or fails with it, in its own process
            command = " ".join([request["program"], *request["arguments"]])
            _log(f"{command}: not forked: {error}")
            _reply(connection, None)
        finally:
            for stream in streams:
                os.close(stream)

    def _import_modules(self, request: Mapping[str, Any]) -> None:
        """Import what a command needs. Raises HeedError if it cannot run in a fork."""
        for name in _module_names(request):
            if name not in sys.modules:
                importlib.import_module(name)
        if self._code != code_state():
            raise HeedError("the code is not as it was imported")
        if threads := _threads():
            raise HeedError(f"a fork would lose threads: {', '.join(threads)}")

    def _start(
        self, request: Mapping[str, Any], streams: list[int], connection: socket.socket
    ) -> None:
        """Fork, and watch the fork and the process that has asked for it.

        Raises OSError: no process can be started.
        """
        gc.freeze()  # the fork's collector leaves what was imported alone, so that it stays shared
        server = os.getpid()
        process = os.fork()
        if not process:
            try:
                self._leave(server, connection)
                os._exit(self._run(request, streams))
            finally:
                traceback.print_exc()
                os._exit(1)
        try:
            ended = os.pidfd_open(process)
        except OSError:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise
        stage = running_stage(request["environment"]) or request["arguments"][0]
        if request["program"] == "dvc":
            self._usage[stage] = Usage()
        fork = Fork(process, stage, connection)
        self._watch(ended, lambda: self._reap(fork, ended))
        self._watch(connection, lambda: self._kill(fork))

    def _leave(self, server: int, connection: socket.socket) -> None:
        """Drop, in a fork, what is the server's: it would keep connections open."""
        end_with_parent()
        if os.getppid() != server:
            os._exit(1)
        signal.signal(signal.SIGINT, self._interrupt)
        files = [key.fileobj for key in self._selector.get_map().values()]
        self._selector.close()
        for file in [*files, connection]:
            if isinstance(file, socket.socket):
                file.close()
            elif (
                isinstance(file, int) and file != sys.stdin.fileno()
            ):  # the command's own takes its place
                os.close(file)

    def _run(self, request: Mapping[str, Any], streams: list[int]) -> int:
        """Run a command as a process of its own would; return its exit status."""
        for stream, descriptor in enumerate(streams):
            os.dup2(descriptor, stream)
            os.close(descriptor)
        imported = os.environ.items() - self._environment.items()  # what imports have set
        os.environ.clear()
        os.environ.update(dict(imported) | request["environment"])
        program = request["program"]
        if program == "heed":
            del os.environ[ADDRESS]  # what a stage starts is the stage's own
        _set_threads(os.environ.get(THREADS[0], ""))
        sys.argv = [program, *request["arguments"]]
        return run_to_end(heed.cli.main if program == "heed" else MAIN[program])

    def _kill(self, fork: Fork) -> None:
        """Kill a fork, and what it has started, when the process that asked for it has ended."""
        self._selector.unregister(fork.connection)
        _kill_tree(fork.process)

    def _reap(self, fork: Fork, ended: int) -> None:
        """Reply how a fork has ended."""
        _, status, used = os.wait4(fork.process, 0)
        self._selector.unregister(ended)
        os.close(ended)
        if fork.connection in self._selector.get_map():
            self._selector.unregister(fork.connection)
        usage = self._usage.setdefault(fork.stage, Usage())
        usage.add(used)
        _reply(fork.connection, os.waitstatus_to_exitcode(status), usage)


def code_state() -> str:
    """Return a hash that changes when a module of heed or an installed package does."""
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    modules = [*ROOT.glob("src/heed/**/*.py"), *ROOT.glob("workflow/*.py")]
    states = {}
    for path in [*modules, *map(Path, installed)]:
        with contextlib.suppress(FileNotFoundError):
            state = path.stat()
            states[str(path)] = state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
    return hashlib.sha256(json.dumps(states, sort_keys=True).encode()).hexdigest()


def _kill_tree(process: int) -> None:
    """Kill a process and all that it has started."""
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(process)
        for each in [*parent.children(recursive=True), parent]:
            with contextlib.suppress(psutil.Error):
                each.kill()


def _log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _threads() -> list[str]:
    """Return the names of this process's threads, but for the first and those that may fork."""
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    names.remove(Path("/proc/self/comm").read_text().strip())
    return [name for name in names if name != MEMORY_THREAD]


def _module_names(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the modules that a command needs.

    Raises:
        HeedError: the command is not served, or the stage `code` has not described its code.

    """
    if Path(request["folder"]) != ROOT:
        raise HeedError(f"{request['folder']}: not the folder of this server, {ROOT}")
    if request["program"] in MAIN:
        yield from engine.DVC_MODULES
        return
    command, *arguments = request["arguments"]
    arguments = arguments or stage_arguments(command, request["environment"])
    if command in DECLINED:
        raise HeedError(f"heed {command} is not forked")
    for path in read_json(code_file(command, *arguments[:1]), "dvc repro code")["files"]:
        if path.endswith(".py"):
            digest_file(PACKAGE.joinpath(*Path(path).parts[2:]))  # a fork then need not read it
            yield (
                path.removeprefix("src/")
                .removesuffix(".py")
                .removesuffix("/__init__")
                .replace("/", ".")
            )
    yield from LATER


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return a request, and the streams 0 to 2 of the process that has sent it.

    Raises ValueError or OSError: it ended before.
    """
    connection.settimeout(PATIENCE)
    part, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    message = part
    while len(message) < LENGTH + int.from_bytes(message[:LENGTH], "big"):
        if not (part := connection.recv(1 << 16)):
            raise ValueError("cut off")
        message += part
    connection.settimeout(None)
    return json.loads(message[LENGTH:]), list(streams)


def _reply(connection: socket.socket, status: int | None, usage: Usage | None = None) -> None:
    """Tell the asking process how its fork has ended; a status of None declines the command."""
    reply = {"status": status, "usage": dataclasses.asdict(usage) if usage else {}}
    with contextlib.suppress(OSError), connection:  # it may have been killed
        connection.sendall(json.dumps(reply).encode())


def _set_threads(number: str) -> None:
    """Give the numerical libraries, which were loaded with one thread, as many as the job has."""
    first = number.split(",")[0].strip()
    if first != "1":
        from threadpoolctl import threadpool_limits

        threadpool_limits(int(first) if first.isdecimal() else len(os.sched_getaffinity(0)))


def run_to_end(main: Callable[[], Any]) -> int:
    """Run the main function of a program as an interpreter does; return the exit status."""
    status = 0
    try:
        sys.exit(main())
    except SystemExit as end:
        if end.code is not None:
            status = end.code if isinstance(end.code, int) else 1
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:  # a full disk, or closed
        print(f"standard output: {error}", file=sys.stderr)
        status = FLUSH_FAILED
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    return status


def _can_serve() -> bool:
    """Return whether the system has what the server uses: Linux since 5.3, and no ban on it."""
    if sys.platform != "linux" or not Path("/proc/self/task").is_dir():
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def start(folder: Path) -> subprocess.Popen[bytes] | None:
    """Start a server for the commands that this process starts; it ends when its input does.

    Writes its messages into a folder. Returns None, and starts none, where the system cannot tell a
    process that its parent has ended, or which of its children has.
    """
    if not _can_serve():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    name = f"heed-{uuid.uuid4().hex}"
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
        (folder / "forks.log").open("w") as log,
    ):
        listener.bind(address(name))
        listener.listen(64)
        server = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno()), code_state()],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[listener.fileno()],
            env=environment_without_cache() | dict.fromkeys(THREADS, "1"),
        )
    os.environ[ADDRESS] = name
    return server


if __name__ == "__main__":
    Server(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).serve()
