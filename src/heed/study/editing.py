"""Edit params.yaml by a program: comments, quotes and order are kept, and the result is checked."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import Node
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from heed.files import HeedError, locked, write_text
from heed.hyperparameters import Value
from heed.paths import LOCKS, is_name
from heed.records import unknown_name
from heed.study.reader import load, parse, read_text, read_yaml

PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)  # text that YAML and DVC read alike unquoted
NAMED = ("experiment", "variant", "corpus")  # by the arguments of `heed model add`


@contextlib.contextmanager
def editing(path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield the checked params in `path`, and the YAML tree with its comments, to be changed.

    It is checked before it replaces `path`; another process that edits `path` waits until then.
    """
    with _locked(path):
        params = load(path)
        text = path.read_text(encoding="utf-8")
        tree = _yaml().load(text)
        yield params, tree
        write_text(path, _as_text(tree, path))


def changed_text(
    text: str, path: Path, change: Callable[[Any], None], may_be_empty: bool = False
) -> str:
    """Return the text of params after `change` of its YAML tree, checked; comments are kept.

    Raises HeedError as `load` does, for a mistake in `text` or in the changed text.
    """
    parse(text, path, may_be_empty=True)
    tree = _yaml().load(text)
    change(tree)
    return _as_text(tree, path, may_be_empty)


def add_model(path: Path, experiment: str, variant: str, settings: list[str], like: str) -> str:
    """Write the line of model EXPERIMENT-VARIANT after those of its experiment; return its place.

    `settings` are `key=value`, the value as in YAML; they replace the keys from `like`, a variant
    of the experiment or a model. Raises HeedError, and writes nothing, for any mistake.
    """
    name = f"{experiment}-{variant}"
    if not is_name(name):
        raise HeedError(f"{name!r} is no name: lower-case letters, digits and single '-'")
    with _locked(path):
        text = read_text(path)
        params, (tree, values) = parse(text, path), read_yaml(text, path)
        params.section("experiments", experiment)
        if name in params.models:
            raise HeedError(f"{path}: models.{name} is there already: edit its line")
        keys = _copied_keys(values["models"], experiment, like) | dict(map(_read_setting, settings))
        line = _as_line({name: {"experiment": experiment} | keys})
        nodes = _model_nodes(tree)
        same = [each for each in nodes if params.models[each].experiment == experiment]
        above = nodes[(same or [*nodes])[-1]]
        end = _span(text, *above, path)[1]
        before = text[:end].removesuffix("\n") + "\n"
        indented = f"{' ' * above[0].start_mark.column}{line}\n"
        _write_models(path, before + indented + text[end:], {*params.models, name})
    return f"{path}:{before.count(chr(10)) + 1}: added {line}"


def set_seeds(path: Path, count: int) -> str:
    """Write the seeds 1 to `count` into params; return a message. Raises HeedError."""
    with editing(path) as (params, tree):
        tree["seeds"] = as_yaml([*range(1, count + 1)])
    more = count - len(params.seeds)
    kept = " Those that are trained stay" if more > 0 else ""
    return f"{path}: seeds 1 to {count}, {len(params.seeds)} before.{kept}"


def remove_model(path: Path, name: str) -> str:
    """Remove a model's line. Raises HeedError: there is none, or another section names it."""
    with _locked(path):
        text = read_text(path)
        params, (tree, _) = parse(text, path), read_yaml(text, path)
        params.section("models", name)
        start, end = _span(text, *_model_nodes(tree)[name], path)
        _write_models(path, text[:start] + text[end:], {*params.models} - {name})
    return f"{path}: removed {text[start:end].strip()}"


def _write_models(path: Path, text: str, expected: set[str]) -> None:
    if parse(text, path).models.keys() != expected:
        raise HeedError(f"{path}: its anchors and aliases (&, *, <<) need an edit by hand")
    write_text(path, text)


def without_schema(text: str) -> str:
    """Return the text of a study without its first line, the path of the schema."""
    return text.split("\n", 1)[1] if text.startswith("# yaml-language-server") else text


def _copied_keys(
    models: Mapping[str, Mapping[str, object]], experiment: str, like: str
) -> dict[str, object]:
    if not like:
        return {}
    start = f"{experiment}-"
    variants = {name.removeprefix(start): models[name] for name in models if name.startswith(start)}
    known = {**variants, **models}
    if like not in known:
        raise HeedError(f"--like: {unknown_name(like, 'variant or model', known)}")
    return {key: value for key, value in known[like].items() if key not in NAMED}


def _read_setting(setting: str) -> tuple[str, Value]:
    """Return key and value of `key=value`. Raises HeedError."""
    key, equals, text = setting.partition("=")
    if not equals or not key.isidentifier() or key in NAMED:
        raise HeedError(
            f"{setting!r}: expected key=value, such as heads=4, and none of {', '.join(NAMED)}, "
            "which follow from EXPERIMENT and VARIANT"
        )
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError):
        value = None
    if not key.isidentifier() or not isinstance(value, Value):
        raise HeedError(
            f"{setting!r}: expected key=value, such as heads=4: one value, such as 4, 0.5, true or "
            "multi-head"
        )
    return key, value


def _model_nodes(tree: Node) -> dict[str, tuple[Node, Node]]:
    models = next(value for key, value in tree.value if key.value == "models")
    return {name.value: (name, content) for name, content in models.value}


def _span(text: str, name_node: Node, node: Node, path: Path) -> tuple[int, int]:
    """Return where the lines of an entry begin and end. Raises HeedError if it shares a line."""
    start = text.rfind("\n", 0, name_node.start_mark.index) + 1
    if text[start : name_node.start_mark.index].strip():
        raise HeedError(
            f"{path}:{name_node.start_mark.line + 1}: models.{name_node.value}: begins within a "
            "line. Give each model a line of its own"
        )
    end = max(name_node.end_mark.index, node.end_mark.index)  # an alias is written before it
    lines = text[start:end].splitlines(keepends=True)
    while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):  # of what follows
        lines.pop()
    end = start + sum(map(len, lines)) - lines[-1].endswith("\n")
    newline = text.find("\n", end)
    return start, len(text) if newline < 0 else newline + 1


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    read_text(path)  # its message; no lock in a folder that is no clone
    with locked(path.parent / LOCKS / path.name, f"{path}: another command edits it: waiting"):
        yield


def _as_text(tree: Any, path: Path, may_be_empty: bool = False) -> str:
    changed = StringIO()
    _yaml().dump(tree, changed)
    parse(changed.getvalue(), path, may_be_empty)
    return changed.getvalue()


def _as_line(entry: Mapping[str, object]) -> str:
    """Return an entry of a section on one line: `name: {key: value, …}`."""
    yaml, text = _yaml(), StringIO()
    yaml.default_flow_style = True
    yaml.dump(entry, text)
    return text.getvalue().strip()[1:-1]


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 10_000
    yaml.preserve_quotes = True
    return yaml


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
