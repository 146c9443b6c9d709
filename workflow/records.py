"""What DVC has recorded of each stage's last run, and how it differs from what is there now.

dvc.lock has the command, the parameters and the digests of a stage's files; DVC's cache has the
contents of those files that a stage has written, as long as nobody has cleaned it.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engine_names as engine
import stages
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

MAX_VALUE = 60  # characters of a value in a message
MAX_FILES = 3  # that a message names
MISSING = object()


class Records:
    """The records of the last runs in a clone."""

    def __init__(self, root: Path) -> None:
        """Read dvc.lock."""
        self._root = root
        lock = root / "dvc.lock"
        content = stages.parse_lock(lock.read_text(encoding="utf-8")) if lock.exists() else {}
        self._stages = content.get("stages", {})
        self._repository = engine.open_repository(root)

    def command(self, stage: str) -> str:
        """Return the command of a stage's last run."""
        return str(self._stages.get(stage, {}).get("cmd", ""))

    def parameters(self, stage: str) -> dict[str, list[str]]:
        """Return {file: keys} of the values that a stage was run with."""
        files = self._stages.get(stage, {}).get("params", {})
        return {file: [*values] for file, values in files.items()}

    def parameter(self, stage: str, file: str, key: str) -> Any:
        """Return a value that a stage was run with, or MISSING."""
        return self._stages.get(stage, {}).get("params", {}).get(file, {}).get(key, MISSING)

    def text(self, stage: str, path: str) -> str | None:
        """Return the content of a file at a stage's last run; None where it is not kept."""
        digest = str(self._entry(stage, path).get("md5", ""))
        for file in (self._root / path, engine.cached_file(self._repository, digest)):
            if digest and file.is_file() and _digest(content := file.read_bytes()) == digest:
                return content.decode(errors="replace")
        return None

    def is_recorded(self, stage: str, path: str, text: str) -> bool:
        """Whether a file had this text at a stage's last run."""
        return self._entry(stage, path).get("md5") == _digest(text.encode())

    def changed_files(self, stage: str, path: str) -> str:
        """Return which files of a folder differ from a stage's last run, and how.

        It is empty where none does, or the list of the folder's files is not kept.
        """
        entry = self._entry(stage, path)
        listing = engine.cached_file(self._repository, str(entry.get("md5", "")))
        if not (self._root / path).is_dir() or not listing.is_file():
            return ""
        before = {each["relpath"]: each["md5"] for each in json.loads(listing.read_bytes())}
        now = engine.present_files(engine.recorded_output(self._repository, entry))
        changed = [
            f"{name} {_how(name in before, name in now)}"
            for name in sorted(before.keys() | now.keys())
            if before.get(name) != now.get(name)
        ]
        more = len(changed) - MAX_FILES
        return ", ".join([*changed[:MAX_FILES], *([f"{more} more"] if more > 0 else [])])

    def _entry(self, stage: str, path: str) -> dict[str, Any]:
        """Return what dvc.lock has of a file or folder of a stage."""
        recorded = self._stages.get(stage, {})
        entries = [*recorded.get("deps", []), *recorded.get("outs", [])]
        return next((entry for entry in entries if entry["path"] == path), {})


def _digest(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _how(was_there: bool, is_there: bool) -> str:
    if was_there and is_there:
        return "changed"
    return "is new" if is_there else "is missing"


def changed_values(before: Any, now: Any, file: str, key: str = "") -> Iterator[str]:
    """Yield each value of a file that differs, such as `a.b in params.yaml is 2 and was 1`."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in [*before, *(name for name in now if name not in before)]:
            yield from changed_values(
                before.get(name, MISSING), now.get(name, MISSING), file, f"{key}.{name}".lstrip(".")
            )
    elif now is MISSING:
        yield f"{key} in {file} is gone"
    elif before is MISSING:
        yield f"{key} in {file} is new"
    elif before != now:
        old, new = (json.dumps(each, ensure_ascii=False, default=str) for each in (before, now))
        pairs = enumerate(zip(old, new, strict=False))
        differs = next((place for place, (a, b) in pairs if a != b), min(len(old), len(new)))
        same = max(0, differs - MAX_VALUE // 2)
        yield f"{key} in {file} is {_shorten(new, same)} and was {_shorten(old, same)}"


def _shorten(text: str, start: int) -> str:
    """Return a text from `start` on, without its end if it is long."""
    part = text[start : start + MAX_VALUE]
    return f"{'…' * (start > 0)}{part}{'…' * (start + MAX_VALUE < len(text))}"


def changed_modules(before: str, now: str) -> list[str]:
    """Return the modules and packages that differ between two files of results/code, with how."""
    old, new = json.loads(before), json.loads(now)
    files = [
        f"{path} {_how(path in old['files'], path in new['files'])}"
        for path in sorted(old["files"].keys() | new["files"].keys())
        if old["files"].get(path) != new["files"].get(path)
    ]
    return [*files, *changed_values(old["versions"], new["versions"], "the environment")]


def changed_content(before: str, now: str, file: str) -> list[str]:
    """Return the values that differ between two texts of YAML or JSON; none where they are not."""
    reader = YAML(typ="safe", pure=True)
    try:
        return [*changed_values(reader.load(before), reader.load(now), file)]
    except YAMLError:
        return []
