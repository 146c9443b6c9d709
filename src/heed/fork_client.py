"""Asks the fork server of a `snakemake` run to run a command in place of this process.

The server (workflow/fork_server.py) has imported the modules of the command, so that its fork
starts at once. This process passes on arguments, environment and streams, and ends as the fork
ends. It imports the standard library alone: it is all that is left of starting a command.
"""

import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Literal

# environment: name of the server's socket, which is no file: nothing is left when it is killed
ADDRESS = "HEED_FORK_SERVER"
LENGTH = 8  # bytes that hold the length of a request


# a command of heed, or what DVC does for a stage (workflow/stage_programs.py)
Program = Literal["heed", "dvc", "push", "record"]


def run_in_fork(program: Program) -> dict[str, float] | None:
    """Run the command in sys.argv in a fork, and end this process as the fork ended.

    Returns None where no server runs or where it declines the command, which then runs in this
    process; and what the fork used (`Usage` of the server) where it ended with status 0.
    """
    if not (name := os.environ.get(ADDRESS)):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address(name))
    except OSError:  # the server has ended, or runs on another machine
        return None
    if not is_own(connection) or not _has_streams():
        return None
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the fork itself
    try:
        reply = _request(connection, program)
    except OSError:
        reply = {}
    finally:
        signal.signal(signal.SIGINT, handler)
        connection.close()
    if not reply:
        sys.exit(
            "heed: killed, together with the process that started this command: run it again. "
            ".heed/snakemake/*/forks.log may say why"
        )
    if reply["status"] is None:
        del os.environ[ADDRESS]  # so that this process does not ask again when it restarts itself
        end_with_parent()  # the dvc that started it, as forks do
        return None
    if reply["status"] < 0:  # the fork was killed by this signal
        with contextlib.suppress(OSError):  # SIGKILL has no other handler
            signal.signal(-reply["status"], signal.SIG_DFL)
        os.kill(os.getpid(), -reply["status"])
    if reply["status"]:
        sys.exit(reply["status"])
    return dict(reply["usage"])


def address(name: str) -> str:
    """Return the address of a socket that Linux knows by name, without a file."""
    return f"\0{name}"


def is_own(connection: socket.socket) -> bool:
    """Return whether a process of this user is at the other end: a name protects nothing."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.getuid()


def end_with_parent() -> None:
    """Let Linux kill this process when the process that started it ends."""
    import ctypes  # here: few processes need it

    set_death_signal = 1  # PR_SET_PDEATHSIG of prctl
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def _has_streams() -> bool:
    try:
        return all(os.fstat(stream) for stream in (0, 1, 2))
    except OSError:  # closed, so that it cannot be passed on
        return False


def _request(connection: socket.socket, program: str) -> dict[str, Any]:
    """Send the command with its streams; return the reply, {} if none came."""
    request = {
        "program": program,
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
    }
    content = json.dumps(request).encode()
    message = len(content).to_bytes(LENGTH, "big") + content
    sent = socket.send_fds(connection, [message], [0, 1, 2])
    if sent < len(message):  # sending nothing fails where the server has replied already
        connection.sendall(message[sent:])
    reply = b""
    while part := connection.recv(4096):
        reply += part
    return dict(json.loads(reply)) if reply else {}
