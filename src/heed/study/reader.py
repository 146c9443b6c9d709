"""The only reader of params.yaml: one line for each mistake, with file, line, key, what was found
and what is allowed.
"""

from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
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
from heed.study.suggestions import near, nearest


def load(path: str | Path = PARAMS) -> Params:
    """Return the params in `path`, checked.

    Raises:
        HeedError: one line a mistake: file, line, key, what was found, what is allowed.

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
    for number, written in enumerate(text.splitlines(), 1):
        if written.startswith("<<<<<<< "):
            raise HeedError(
                f"{path}:{number}: a merge conflict: keep one side, and delete the lines <<<<<<<, "
                "======= and >>>>>>>"
            )
    # YAML 1.2 and the parser that DVC uses: both must read the same values
    yaml = YAML(typ="safe", pure=True)
    try:
        tree = yaml.compose(StringIO(text))
        values = yaml.load(StringIO(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        raise HeedError(
            f"{path}:{mark.line + 1 if mark else 1}: not valid YAML: {problem}"
        ) from None
    # a ReaderError knows no line, but its position
    except (YAMLError, ValueError, AttributeError, TypeError) as error:
        line = 1 + text[: getattr(error, "position", 0)].count("\n")
        raise HeedError(f"{path}:{line}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise HeedError(
            f"{path}:1: expected sections (study, seeds, sources, ...), found "
            f"{type(values).__name__}"
        )
    try:
        params = Params.model_validate(values)
    except ValidationError as error:
        mistakes = error.errors()
        unknown = [item["loc"] for item in mistakes if item["type"] == "extra_forbidden"]
        said = {key for loc in unknown for key in _meant(loc)}
        single = [item for item in mistakes if item["type"] != "missing" or item["loc"] not in said]
        raise HeedError("\n".join(_complaint(path, tree, item) for item in single)) from None
    if found := list(contradictions(params)):
        raise HeedError(
            "\n".join(f"{path}:{_line(tree, key)}: {'.'.join(key)}: {what}" for key, what in found)
        )
    return params


def _complaint(path: str | Path, tree: Node, item: Any) -> str:
    key = tuple(part for part in item["loc"] if part != "[key]")
    where, kind, found = (
        f"{path}:{_line(tree, key)}: {'.'.join(map(str, key))}",
        item["type"],
        item["input"],
    )
    if kind == "extra_forbidden":
        if now := _renamed(key):
            return f"{where}: is now {now}"
        fields = _fields(key[:-1])
        return f"{where}: unknown key{near(str(key[-1]), fields)} Allowed: {', '.join(fields)}"
    if kind == "missing":
        return f"{where}: missing, and it has no default"
    message = (
        str(item["ctx"]["error"])
        if kind == "value_error"
        else item["msg"][0].lower() + item["msg"][1:]
    )
    if kind == "string_pattern_mismatch" and "a-z0-9]+(" in item["msg"]:
        message = "names have lower-case letters, digits and single '-'"
    short = (
        repr(found)
        if not isinstance(found, dict | list) or len(repr(found)) < 60
        else type(found).__name__
    )
    return f"{where}: {message}" + ("" if kind == "value_error" else f", found {short}")


def _renamed(key: tuple[Any, ...]) -> str:
    """Return where a key of an earlier heed stands now, or nothing."""
    if key[0] == "defaults" and len(key) == 2 and key[1] in NAMES:
        return (
            f"defaults.classification.{key[1]}: the hyperparameters of each task stand under its "
            "name"
        )
    if key[0] == "experiments" and key[2:] == ("label",):
        return f"experiments.{key[1]}.data.label, beside task: classification"
    return ""


def _meant(key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the keys that an unknown one probably stands for: where they are missing, one
    complaint is enough.
    """
    above = key[:-1]
    if _renamed(key):
        return [(*above, now) for now in ("classification", "task", "data")]
    return [(*above, nearest(str(key[-1]), _fields(above)))]


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
        if depth != 1 or key[0] not in SINGULAR:  # else a name that the user chose, such as `data`
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
