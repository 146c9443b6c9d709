"""Runs the commands of one `snakemake` run in forks of one process that has imported their modules.

Importing torch, DVC and the like takes longer than most stages. A command (`heed train`, or the
`dvc` of a job) asks through heed.fork_client: the server imports what the command needs, once, and
forks. It has one thread, as a process that forks must, and no CUDA. It serves the folder in which
it was started, as long as the code that it has imported is unchanged; else it declines, and the
command runs in a process of its own. When snakemake ends, however it ends, the server and its forks
end too.

    python workflow/fork_server.py N    (a listening socket; standard input ends with snakemake)
"""

import atexit
import contextlib
import ctypes
import dataclasses
import gc
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

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
import heed.cli
from heed.code.digests import PACKAGE, code_file, digest_file
from heed.code.stage import running_stage, stage_arguments
from heed.files import HeedError, read_json
from heed.fork_client import ADDRESS, LENGTH, address, is_own
from heed.training.allocator import environment_without_cache

ROOT = Path(__file__).resolve().parent.parent
# the threads of numerical libraries, as Snakemake sets them for a job; read when they are loaded
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# imported by functions of a command, and not by its modules
LATER = ("pyarrow.parquet", "pandas.io.parquet", "pyarrow.dataset")
# of pyarrow's jemalloc, which stops it before a fork (its atfork handlers)
MEMORY_THREAD = "jemalloc_bg_thd"
DECLINED = ("search",)  # Ray starts threads, and reads the environment when it is imported
DEATH_SIGNAL = 1  # prctl: the signal that a process gets when its parent ends


@dataclasses.dataclass
class Usage:
    """What a stage used: its command, and the dvc that ran it."""

    max_rss: float = 0.0  # MiB: the peak memory of the largest process
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

    def __init__(self, listener: socket.socket) -> None:
        """Serve the present folder at a listening socket."""
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        self._sources = _read_states()
        self._usage: dict[str, Usage] = {}
        self._prctl = ctypes.CDLL(None).prctl
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
        connection, _ = self._listener.accept()
        try:
            if not is_own(connection):
                raise ValueError("of another user")
            request, streams = _receive(connection)
        except (OSError, ValueError) as error:  # or its process has been killed
            _log(f"no request: {error!r}")
            connection.close()
            return
        try:
            if not self._import_modules(request):
                _reply(connection, None)
                return
            self._start(request, streams, connection)
        finally:
            for stream in streams:
                os.close(stream)

    def _import_modules(self, request: Mapping[str, Any]) -> bool:
        """Import what a command needs; return whether it can run in a fork."""
        try:
            for name in _module_names(request):
                if name not in sys.modules:
                    importlib.import_module(name)
            if self._sources != _read_states():
                raise HeedError("the code is not as it was imported")
            if threads := _threads():
                raise HeedError(f"a fork would lose threads: {', '.join(threads)}")
        except Exception as error:  # of the code: the command fails with it in its own process
            command = " ".join([request["program"], *request["arguments"]])
            _log(f"{command}: not forked: {error}")
            return False
        return True

    def _start(
        self, request: Mapping[str, Any], streams: list[int], connection: socket.socket
    ) -> None:
        """Fork, and watch the fork and the process that has asked for it."""
        gc.freeze()  # the fork's collector leaves what was imported alone, so that it stays shared
        server = os.getpid()
        process = os.fork()
        if not process:
            try:
                self._leave(server, connection)
                os._exit(_run(request, streams))
            finally:
                traceback.print_exc()
                os._exit(1)
        stage = running_stage(request["environment"]) or request["arguments"][0]
        fork = Fork(process, stage, connection)
        ended = os.pidfd_open(process)
        self._watch(ended, lambda: self._reap(fork, ended))
        self._watch(connection, lambda: self._kill(fork))

    def _leave(self, server: int, connection: socket.socket) -> None:
        """Drop, in a fork, what is the server's: it would keep connections open."""
        self._prctl(DEATH_SIGNAL, signal.SIGKILL)
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


def _read_states() -> dict[str, tuple[int, int]]:
    """Return inode and time of modification of heed's modules and of the installed packages."""
    paths = [
        *ROOT.glob("src/heed/**/*.py"),
        *ROOT.glob("workflow/*.py"),
        Path(sysconfig.get_path("purelib")),
    ]
    states = {str(path): path.stat() for path in paths if path.exists()}
    return {path: (state.st_ino, state.st_mtime_ns) for path, state in states.items()}


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
    if request["program"] == "dvc":
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
    part, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    message = part
    while len(message) < LENGTH + int.from_bytes(message[:LENGTH], "big"):
        if not (part := connection.recv(1 << 16)):
            raise ValueError("cut off")
        message += part
    return json.loads(message[LENGTH:]), list(streams)


def _reply(connection: socket.socket, status: int | None, usage: Usage | None = None) -> None:
    """Tell the asking process how its fork has ended; a status of None declines the command."""
    reply = {"status": status, "usage": dataclasses.asdict(usage) if usage else {}}
    with contextlib.suppress(OSError), connection:  # it may have been killed
        connection.sendall(json.dumps(reply).encode())


def _run(request: Mapping[str, Any], streams: list[int]) -> int:
    """Run a command as a process of its own would; return its exit status."""
    for stream, descriptor in enumerate(streams):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    program = request["program"]
    if program == "heed":
        del os.environ[ADDRESS]  # what a stage starts is the stage's own
    _set_threads(int(os.environ.get(THREADS[0], "0")))
    sys.argv = [program, *request["arguments"]]
    return run_to_end(engine.run_stage if program == "dvc" else heed.cli.main)


def _set_threads(number: int) -> None:
    """Give the numerical libraries, which were loaded with one thread, as many as the job has."""
    if number != 1:
        from threadpoolctl import threadpool_limits

        threadpool_limits(number or len(os.sched_getaffinity(0)))


def run_to_end(main: Callable[[], Any]) -> int:
    """Run the main function of a program as an interpreter does; return the exit status."""
    status = 0
    try:
        sys.exit(main())
    except SystemExit as end:
        if end.code is not None:
            status = end.code if isinstance(end.code, int) else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return status


def start(folder: Path) -> subprocess.Popen[bytes] | None:
    """Start a server for the commands that this process starts; it ends when its input does.

    Writes its messages into a folder. Returns None, and starts none, where the system cannot tell a
    process that its parent has ended, or which of its children has.
    """
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
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
            [sys.executable, __file__, str(listener.fileno())],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[listener.fileno()],
            env=environment_without_cache() | dict.fromkeys(THREADS, "1"),
        )
    os.environ[ADDRESS] = name
    return server


if __name__ == "__main__":
    Server(socket.socket(fileno=int(sys.argv[1]))).serve()
