"""Read params.yaml, and report each mistake in one line: file, line, key and what is allowed."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from heed.files import HeedError
from heed.paths import PARAMS
from heed.study.corpora import Corpus, Source, Split
from heed.study.defaults import NAMES, ClassificationDefaults, Defaults
from heed.study.experiments import ClassificationData, Experiment, Published, Study
from heed.study.models import Model
from heed.study.rules import contradictions
from heed.study.schema import SINGULAR, Params
from heed.study.searches import Dimension, Search
from heed.study.suggestions import most_similar, suggest
from heed.study.syntax import read_yaml

MAX_SHOWN = 200  # characters of a key or a value in a message


def load(path: str | Path = PARAMS) -> Params:
    """Return the params in `path`, checked.

    Raises:
        HeedError: one line for each mistake: file, line, key, what was found, what is allowed.

    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise HeedError(
            f"{path}: not there. Run heed in the top folder of a clone, or `heed study sample` to "
            "make one."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HeedError(f"{path}: cannot be read: {error}") from None
    return parse(text, path)


def parse(text: str, path: str | Path = PARAMS) -> Params:
    """Return the params in the YAML `text`; `path` is for messages.

    Raises HeedError as `load` does.
    """
    tree, values = read_yaml(text, path)
    try:
        params = Params.model_validate(values)
    except ValidationError as error:
        raise HeedError("\n".join(_messages(path, tree, error))) from None
    if mistakes := list(contradictions(params)):
        lines = [f"{path}:{_line(tree, key)}: {'.'.join(key)}: {text}" for key, text in mistakes]
        raise HeedError("\n".join(lines))
    return params


def _messages(path: str | Path, tree: Node, error: ValidationError) -> list[str]:
    """Return a line for each mistake; a key that is missing only by a misspelling has none."""
    mistakes = error.errors()
    unknown = [item["loc"] for item in mistakes if item["type"] == "extra_forbidden"]
    intended = {key for location in unknown for key in _intended_keys(location)}
    return [
        _message(path, tree, item)
        for item in mistakes
        if item["type"] != "missing" or item["loc"] not in intended
    ]


def _message(path: str | Path, tree: Node, mistake: Any) -> str:
    """Return one of pydantic's errors as a line with file, line and key."""
    key = tuple(part for part in mistake["loc"] if part != "[key]")
    location = f"{path}:{_line(tree, key)}: {'.'.join(map(_printable, key))}"
    kind, text, found = mistake["type"], mistake["msg"], mistake["input"]
    if kind == "extra_forbidden":
        if new_key := _renamed(key):
            return f"{location}: is now {new_key}"
        fields = _fields(key[:-1])
        suggestion = suggest(str(key[-1]), fields)
        return f"{location}: unknown key{suggestion} Allowed: {', '.join(fields)}"
    if kind == "missing":
        return f"{location}: missing, and it has no default"
    if kind == "value_error":
        return f"{location}: {mistake['ctx']['error']}"
    if kind == "string_pattern_mismatch" and "a-z0-9]+(" in text:
        text = "names have lower-case letters, digits and single '-'"
    value = repr(found)
    if len(value) >= 60 and isinstance(found, dict | list):
        value = type(found).__name__
    return f"{location}: {text[0].lower()}{text[1:]}, found {value[:MAX_SHOWN]}"


def _printable(part: Any) -> str:
    """Return a part of a key for a message of one line: escaped if a terminal would obey it."""
    text = str(part)
    return (text if text.isprintable() else ascii(text))[:MAX_SHOWN]


def _renamed(key: tuple[Any, ...]) -> str:
    """Return the new name of a key of an earlier version of heed, or "" for any other key."""
    if key[0] == "defaults" and len(key) == 2 and key[1] in NAMES:
        return f"defaults.classification.{key[1]}: each task has its own hyperparameters"
    if key[0] == "experiments" and key[2:] == ("label",):
        return f"experiments.{key[1]}.data.label, next to task: classification"
    if key[0] == "searches" and key[2:] == ("address",):
        return (
            f"HEED_RAY_ADDRESS in the environment, or `heed search {key[1]} --address`: connecting "
            "to a Ray host runs code, so no file names one (docs/cluster.md)"
        )
    return ""


def _intended_keys(key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the keys that were probably meant by an unknown one."""
    above = key[:-1]
    if _renamed(key):
        return [(*above, new_key) for new_key in ("classification", "task", "data")]
    return [(*above, most_similar(str(key[-1]), _fields(above)))]


def _fields(key: tuple[Any, ...]) -> list[str]:
    """Return the names allowed below `key`."""
    sections: dict[str, type[BaseModel]] = {
        "study": Study,
        "defaults": Defaults,
        "classification": ClassificationDefaults,
        "data": ClassificationData,
        "sources": Source,
        "corpora": Corpus,
        "experiments": Experiment,
        "searches": Search,
        "models": Model,
        "split": Split,
        "published": Published,
        "space": Dimension,
    }
    section: Any = Params
    for depth, part in enumerate(key):
        if depth != 1 or key[0] not in SINGULAR:  # else a name that the user chose
            section = sections.get(str(part), section)
    return list(section.model_fields)


def _line(tree: Node, key: tuple[Any, ...]) -> int:
    """Return the line of `key` in the YAML tree, or of the nearest section above it."""
    node, line = tree, 1
    for part in key:
        if isinstance(node, MappingNode):
            pair = next(
                (
                    (k, v)
                    for k, v in node.value
                    if isinstance(k, ScalarNode) and k.value == str(part)
                ),
                None,
            )
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line
