"""What git says of the clone that heed works in."""

import subprocess
from pathlib import Path

from heed.files import HeedError


def run_git(root: Path, *arguments: str) -> str:
    """Return the output of a git command. Raises HeedError where it fails, or git is missing."""
    try:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise HeedError("git: not found. It names the commit: install it") from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise HeedError(
            f"git {arguments[0]}: {reason}. It names the commit: work in a clone of git"
        ) from None
    return done.stdout.strip()


def changed_files(root: Path) -> list[str]:
    """Return the files that differ from the present commit. Raises HeedError."""
    changed = run_git(root, "diff", "--name-only", "-z", "--no-renames", "--relative", "HEAD")
    return [name for name in changed.split("\0") if name]
