"""Reading and changing single stages' entries of dvc.lock, without the others.

DVC reads and writes the whole file with every comment that a person might have put there: 6 seconds
of processor time at 300 stages, once for each stage that runs. Here only the lines of the stages
that ran are made, by DVC's own functions, and the bytes of the file are the same.
"""

import contextlib
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.files import write_text

Load = Callable[[str], dict[str, Any]]
Dump = Callable[[dict[str, Any], io.StringIO], Any]

HEAD = "schema: '2.0'\nstages:\n"
KEY = re.compile(r"  (?P<name>[^\s#?'\"].*):$")  # of a stage; a quoted or long one has another form
ALIAS = re.compile(r"[&*]id\d")


def read_entries(text: str) -> dict[str, list[str]] | None:
    """Return the lines of each stage's entry, by its name, or None for a file of another form.

    Another form is one that DVC alone should change: with comments at the start of a line, quoted
    names, other sections, entries that refer to each other, or cut off.
    """
    if not text.startswith(HEAD) or not text.endswith("\n") or ALIAS.search(text):
        return None
    entries: dict[str, list[str]] = {}
    entry: list[str] = []
    for line in text.removeprefix(HEAD).splitlines(keepends=True):
        if line.startswith("    ") or line == "\n":
            entry.append(line)
        elif key := KEY.match(line):
            entry = entries.setdefault(key["name"], [])
            if entry:
                return None  # twice the same stage
            entry.append(line)
        else:
            return None
    return entries if all(entries.values()) and "" not in entries else None


def read_entry_texts(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the entries of stages in dvc.lock as YAML, by the name of the stage.

    A stage that the file does not have is left out.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    entries = read_entries(text)
    if entries is not None:
        return {name: "".join(entries[name]) for name in names if name in entries}
    from ruamel.yaml import YAML

    yaml, texts = YAML(), {}
    stages = (yaml.load(text) or {}).get("stages", {})
    for name in names:
        if name in stages:
            stream = io.StringIO()
            yaml.dump({name: stages[name]}, stream)
            texts[name] = stream.getvalue()
    return texts


class Stages(dict[str, Any]):
    """The stages of dvc.lock; an entry is parsed when it is asked for."""

    def __init__(self, entries: dict[str, list[str]], load: Load) -> None:
        """Keep the lines of each stage, and DVC's function that parses YAML."""
        super().__init__()
        self._entries, self._load = entries, load

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entry of a stage, as dict.get does."""
        if name not in self._entries:
            return default
        return self._load("".join(self._entries[name]))[name]


@contextlib.contextmanager
def changed_stages(path: Path, load: Load, dump: Dump) -> Iterator[dict[str, Any] | None]:
    """Give the content of dvc.lock to be changed, and write the changed stages at the end.

    Gives None where the file is not there, or of another form.

    Args:
        path: of the file.
        load: parses YAML.
        dump: writes YAML as DVC does.

    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    entries = read_entries(text)
    if entries is None:
        yield None
        return
    stages = Stages(entries, load)
    yield {"schema": "2.0", "stages": stages}
    for name, entry in stages.items():
        stream = io.StringIO()
        dump({"stages": {name: entry}}, stream)
        entries[name] = [stream.getvalue().removeprefix("stages:\n")]
    changed = HEAD + "".join(line for lines in entries.values() for line in lines)
    if changed != text:
        write_text(path.resolve(), changed)
