"""Paths of this machine, left out of what is published."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

WHOLE_NAME = r"(?![\w-]|\.\w)"  # not the beginning of another folder's name
PATH_KEYS = ("path", "paths", "vectors")  # of the user's files; `paths` has several
END = r"[^\s\"'`<>|,;:()\[\]{}]*"  # the rest of a path within a text, up to what may follow one


def path_remover(root: Path, files: list[Path]) -> Callable[[str], str]:
    """Return a function that removes the folders of this machine from a text.

    A path in `root` becomes relative to it. Of a path in the home folder, and of every absolute
    path under a key of PATH_KEYS in the YAML `files`, the name stays.
    """
    home = str(Path.home())
    patterns = [(re.escape(str(root.resolve())) + WHOLE_NAME + "/?", _relative)]
    values = {value for file in files for value in _absolute_paths(_load(file))}
    patterns += [(re.escape(value), _name) for value in sorted(values, key=len, reverse=True)]
    if home != "/":
        patterns.append((re.escape(home) + WHOLE_NAME + END, _name))
    compiled = [(re.compile(rf"(?<![\w.~/-]){pattern}"), name) for pattern, name in patterns]

    def remove_paths(text: str) -> str:
        for pattern, replace in compiled:
            text = pattern.sub(replace, text)
        return text

    return remove_paths


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a section of params.yaml with `change` applied to all texts in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_texts(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [map_texts(each, change) for each in value]
    if fields := getattr(type(value), "model_fields", None):
        texts = {name: map_texts(getattr(value, name), change) for name in fields}
        return value.model_copy(update=texts)
    return value


def _load(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _relative(match: re.Match[str]) -> str:
    return "" if match[0].endswith("/") else "."


def _name(match: re.Match[str]) -> str:
    return Path(match[0]).name


def _absolute_paths(value: Any) -> Iterator[str]:
    """Yield every absolute path under a key of PATH_KEYS, at any depth."""
    if isinstance(value, dict):
        for key, each in value.items():
            texts = each.values() if key == "paths" and isinstance(each, dict) else [each]
            for text in texts if key in PATH_KEYS else ():
                if isinstance(text, str) and text.startswith(("/", "~")):
                    yield text
            yield from _absolute_paths(each)
    elif isinstance(value, list):
        for each in value:
            yield from _absolute_paths(each)
