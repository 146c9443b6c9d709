"""The shell commands of the documentation's pages, in the order of each page."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

FOLDERS = ("", "docs/", "docs/*/", "config/", "envs/")
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(f"{folder}*.md"))
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
ASSIGNMENT = re.compile(r"[A-Za-z_]+=.*")
PROGRAMS = (
    "apptainer", "cd", "docker", "dvc", "export", "git", "heed", "kubectl", "make", "podman",
    "pre-commit", "python", "ray", "snakemake", "source", "ssh", "vi",
)  # fmt: skip


def split(line: str) -> list[list[str]]:
    """Return the commands of a line of a shell, each as its words, without a comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if word == "&&":
            commands.append([])
        else:
            commands[-1].append(word)
    return [words for words in commands if words]


def program(words: list[str]) -> str:
    return next((word for word in words if not ASSIGNMENT.fullmatch(word)), "")


def read_commands(page: Path) -> Iterator[list[str]]:
    """Yield the commands of a page's blocks: of one with a prompt the lines that have it.

    Raises AssertionError: a line among commands is none, or begins with a program not known here.
    """
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if line.strip()]
        if prompted := [line[2:] for line in lines if line.startswith("$ ")]:
            plain = lines[: next(i for i, line in enumerate(lines) if line.startswith("$ "))]
            lines = [*plain, *prompted]
        elif not any(program(line.split()) in PROGRAMS for line in lines):
            continue  # what a command prints
        for line in lines:
            for words in split(re.sub(r"^\w+=\$\((.*)\)$", r"\1", line)):
                assert program(words) in PROGRAMS, f"{page.name}: no command: {line}"
                yield words
