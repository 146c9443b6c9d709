"""Edit params.yaml by a program: comments, quotes and order are kept, and the result is checked."""

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from heed.files import locked, write_text
from heed.paths import LOCKS
from heed.study.reader import parse, read_text

PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)  # text that YAML and DVC read alike unquoted


def changed_text(text: str, path: Path, change: Callable[[Any], None]) -> str:
    """Return the text of params after `change` of its YAML tree, checked; comments are kept.

    Raises HeedError as `load` does, for a mistake in the changed text.
    """
    yaml, changed = YAML(), StringIO()
    yaml.width, yaml.preserve_quotes = 10_000, True  # type: ignore[assignment]
    tree = yaml.load(text)
    change(tree)
    yaml.dump(tree, changed)
    parse(changed.getvalue(), path)
    return changed.getvalue()


def set_seeds(path: Path, count: int) -> str:
    """Write the seeds 1 to `count` into params; return a message. Raises HeedError."""
    read_text(path)  # its message; no lock in a folder that is no clone
    with locked(path.parent / LOCKS / path.name, f"{path}: another command edits it: waiting"):
        text = read_text(path)
        before = len(parse(text, path).seeds)
        seeds = as_yaml([*range(1, count + 1)])
        write_text(path, changed_text(text, path, lambda tree: tree.update(seeds=seeds)))
    kept = " Those that are trained stay" if count > before else ""
    return f"{path}: seeds 1 to {count}, {before} before.{kept}"


def without_schema(text: str) -> str:
    """Return the text of a study without its first line, the path of the schema."""
    return text.split("\n", 1)[1] if text.startswith("# yaml-language-server") else text


def as_yaml(value: Any) -> Any:
    """Return a value of an entry, on one line; DVC refuses some texts of YAML 1.2 unquoted."""
    if isinstance(value, dict):
        made: Any = CommentedMap({key: as_yaml(each) for key, each in value.items()})
    elif isinstance(value, list):
        made = CommentedSeq(map(as_yaml, value))
    else:
        is_quoted = isinstance(value, str) and not PLAIN.fullmatch(value)
        return DoubleQuotedScalarString(value) if is_quoted else value
    made.fa.set_flow_style()
    return made
