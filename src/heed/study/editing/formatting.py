"""Format the models of a study: what follows from the rest is written, one line a model, in order.

The text between the models is not touched, and values stay as they are written.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from heed.study.editing.params_file import edit_text
from heed.study.following import FOLLOWING_KEYS, Key, complete, find_following
from heed.study.reader import check, mistakes_error
from heed.study.schema import Params
from heed.study.syntax import read_yaml

MODELS = ("models",)
# The first keys of a model; after them its hyperparameters, in the order in which they are written.
ORDER = (*FOLLOWING_KEYS[MODELS], "threads", "gpus", "preset")
COMMENT = re.compile(r"#[^\n]*")


@dataclasses.dataclass(frozen=True)
class Change:
    """The text from `start` to `end` becomes `text`; `description` says why."""

    start: int
    end: int
    text: str
    description: str


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry as it is written from `start` to `end`: the text of each value, and comments."""

    start: int
    end: int
    values: dict[str, str]
    comments: list[str]


def format_study(path: Path) -> str:
    """Format the models in the file of a study; write nothing if nothing changes.

    Returns:
        a line for each change.

    Raises:
        HeedError: a mistake in the file, with its line; what a model lacks does not follow.

    """

    def change(text: str) -> tuple[str, Params, list[str]]:
        return format_text(text, path)

    descriptions = edit_text(path, change)
    count = len(descriptions)
    return "\n".join([f"{path}: {count or 'no'} change{'s' * (count > 1)}", *descriptions])


def format_text(text: str, path: Path) -> tuple[str, Params, list[str]]:
    """Return the text of a study with its models formatted, its params, and a line a change.

    Raises HeedError as `format_study` does; `path` is for messages.
    """
    tree, values = read_yaml(text, path)
    following, mistakes = find_following(values)
    if mistakes:
        raise mistakes_error(mistakes, tree, path)
    params = check(complete(values, following), tree, path)
    changes = [
        change
        for section in FOLLOWING_KEYS
        for name_node, node in entry_nodes(tree, section)
        if (change := _change_entry(text, (*section, name_node.value), name_node, node, following))
    ]
    for change in sorted(changes, key=lambda change: change.start, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text, params, [f"  {change.description}" for change in changes]


def entry_nodes(tree: Node, section: Key) -> list[tuple[Node, Node]]:
    """Return the nodes of the names and of the contents of a section's entries."""
    nodes: Any = tree
    for part in section:
        pairs = nodes.value if isinstance(nodes, MappingNode) else []
        nodes = next((value for key, value in pairs if key.value == part), None)
    return list(nodes.value) if isinstance(nodes, MappingNode) else []


def format_entry(name: str, values: Mapping[str, str]) -> str:
    """Return the line of a model: its name and its keys with their texts, in order."""
    keys = [key for key in ORDER if key in values] + [key for key in values if key not in ORDER]
    return f"{name}: {{{', '.join(f'{key}: {values[key]}' for key in keys)}}}"


def format_value(value: bool | int | float | str) -> str:
    """Return a value as YAML, in quotes only where it would be read as another one."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    read = YAML(typ="safe", pure=True).load(text)
    return text if type(read) is type(value) and read == value else json.dumps(value)


def _change_entry(
    text: str, key: Key, name_node: Node, node: Node, following: Mapping[Key, dict[str, str]]
) -> Change | None:
    """Return the change of an entry that lacks something or is a model of another form."""
    missing = {name: format_value(value) for name, value in following.get(key, {}).items()}
    added = ", ".join(f"{name}: {value}" for name, value in missing.items())
    entry = _read_entry(text, name_node, node) if key[:-1] == MODELS else None
    if entry is None:
        return _insert(text, node, missing, f"{'.'.join(key)}: added {added}")
    indent = " " * name_node.start_mark.column
    above = "".join(f"{comment}\n{indent}" for comment in entry.comments)
    written = text[entry.start : entry.end]
    line = above + format_entry(_source(text, name_node), entry.values | missing)
    if line == written:
        return None
    form = "on one line" if "\n" in written else "order and spaces"
    description = f"added {added}" if added else form
    return Change(entry.start, entry.end, line, f"{'.'.join(key)}: {description}")


def _read_entry(text: str, name_node: Node, node: Node) -> Entry | None:
    """Return a model as it is written; None where it has anchors, aliases or tags."""
    start, name_end = name_node.start_mark.index, name_node.end_mark.index
    written = _source(text, node)
    if written in ("", "~", "null", "{}") and not (isinstance(node, MappingNode) and node.value):
        end = node.end_mark.index if written else text.index(":", name_end) + 1
        return Entry(start, end, {}, [])
    if not isinstance(node, MappingNode) or not node.value:
        return None
    parts = [part for pair in node.value for part in pair]
    edges = [name_end, *(mark.index for part in parts for mark in (part.start_mark, part.end_mark))]
    edges.append(node.end_mark.index if node.flow_style else edges[-1])
    between = "".join(text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2))
    values = {_source(text, key): _source(text, value) for key, value in node.value}
    comments = COMMENT.findall(between)
    is_first = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    if (
        edges != sorted(edges)
        or not all(isinstance(part, ScalarNode) for part in parts)
        or any(value.startswith(("&", "!")) for value in values.values())
        or re.search(r"[^\s:,{}]", COMMENT.sub("", between))
        or (comments and not is_first)
    ):
        return None
    return Entry(start, edges[-1], values, comments)


def _source(text: str, node: Node) -> str:
    return text[node.start_mark.index : node.end_mark.index]


def _insert(text: str, node: Node, missing: dict[str, str], description: str) -> Change | None:
    """Return the change that writes `missing` before the other keys of an entry."""
    if not missing:
        return None
    start, keys = node.start_mark.index, [f"{key}: {value}" for key, value in missing.items()]
    if text[start] == "{":
        return Change(start + 1, start + 1, "".join(f"{key}, " for key in keys), description)
    indent = f"\n{' ' * node.start_mark.column}"
    return Change(start, start, "".join(key + indent for key in keys), description)
