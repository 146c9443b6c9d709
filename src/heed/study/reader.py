"""Read params.yaml, and report each mistake in one line: file, line, key and what is allowed."""

import dataclasses
import functools
import operator
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from heed.files import HeedError
from heed.paths import PARAMS
from heed.study.adversaries import Adversary
from heed.study.corpora import Corpus, Source, Split
from heed.study.defaults import NAMES, NAMES_BY_TASK, SECTIONS, Defaults
from heed.study.experiments import EXPERIMENTS, Published, Study, data_section
from heed.study.explain import Explain, ExplainedModel
from heed.study.following import follow
from heed.study.models import Model
from heed.study.rules import contradictions
from heed.study.schema import SINGULAR, Key, Params
from heed.study.searches import Dimension, Search
from heed.study.suggestions import most_similar, suggest
from heed.study.syntax import read_yaml
from heed.study.tasks import task_of_labels
from heed.study.truths import Truth

MAX_SHOWN = 200  # characters of a key or a value in a message


def load(path: str | Path = PARAMS, may_be_empty: bool = False) -> Params:
    """Return the params in `path`, checked.

    Args:
        path: of the file.
        may_be_empty: whether a study without any corpus is no mistake.

    Raises:
        HeedError: one line for each mistake: file, line, key, what was found, what is allowed.

    """
    return parse(read_text(Path(path)), path, may_be_empty)


def read_text(path: Path) -> str:
    """Return the text of a study's file. Raises HeedError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise HeedError(
            f"{path}: not there. Run heed in the top folder of a clone, or `heed study sample` to "
            "make one."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HeedError(f"{path}: cannot be read: {error}") from None


def parse(text: str, path: str | Path = PARAMS, may_be_empty: bool = False) -> Params:
    """Return the params in the YAML `text`; `path` is for messages, `may_be_empty` as in `load`.

    Raises HeedError as `load` does.
    """
    tree, values = read_yaml(text, path)
    return check(values, tree, path, may_be_empty)


def check(values: Any, tree: Node, path: str | Path, may_be_empty: bool = False) -> Params:
    """Return the params with these `values`; `tree` has the lines of `path`, for messages.

    Raises HeedError as `load` does.
    """
    try:
        params = Params.model_validate(values)
    except ValidationError as error:
        raise HeedError("\n".join(_messages(path, tree, error))) from None
    if params.is_empty and may_be_empty:
        return params
    followed = follow(params)
    if mistakes := [*followed.mistakes, *contradictions(followed.params)]:
        raise mistakes_error(mistakes, tree, path)
    return followed.params


def describe_old_form(path: str | Path = PARAMS) -> str:
    """Return how the lines of a study in the form of heed 0.2.0 are written today; "" of others.

    The file is one that `load` has accepted.
    """
    tree, values = read_yaml(read_text(Path(path)), path)
    old = follow(Params.model_validate(values)).old
    if not old:
        return ""
    key, may_go = next(iter(old.items()))
    entry = functools.reduce(operator.getitem, key, values)
    line = format_line(key[-1], {name: each for name, each in entry.items() if name not in may_go})
    return (
        f"{path}: {len(old)} entries have keys that follow from the rest, as heed 0.2.0 wrote "
        f"them. They are read; without them line {_line(tree, key)} is\n  {line}"
    )


def format_line(name: str, values: dict[str, Any]) -> str:
    """Return an entry of a section on one line: `name: {key: value, …}`."""
    yaml, text = YAML(), StringIO()
    yaml.width, yaml.default_flow_style = 10_000, True
    yaml.dump({name: values}, text)
    return text.getvalue().strip()[1:-1]


def mistakes_error(mistakes: list[tuple[Key, str]], tree: Node, path: str | Path) -> HeedError:
    """Return the error of (key, message) for each mistake: a line with file, line and key."""
    lines = [f"{path}:{_line(tree, key)}: {'.'.join(key)}: {text}" for key, text in mistakes]
    return HeedError("\n".join(lines))


@dataclasses.dataclass(frozen=True)
class _Mistake:
    """One of pydantic's errors: its key in the file, the type of the error, and what was found.

    `task` is that of the experiment that the key is in, if any.
    """

    key: tuple[Any, ...]
    kind: str
    text: str
    found: Any
    task: str = ""

    @property
    def intended_keys(self) -> list[tuple[Any, ...]]:
        """The keys that were probably meant by an unknown one."""
        above = self.key[:-1]
        if _renamed(self.key):
            return [(*above, new_key) for new_key in (*SECTIONS, "task", "data")]
        return [(*above, most_similar(str(self.key[-1]), _fields(above, self.task)))]


def _read_mistake(error: Any) -> _Mistake:
    """Return one of pydantic's errors. In those of an experiment its task follows its name."""
    key = tuple(part for part in error["loc"] if part != "[key]")
    kind, text, found, task = error["type"], error["msg"], error["input"], ""
    if kind == "value_error":
        text = str(error["ctx"]["error"])
    if key[0] == "experiments" and len(key) > 2:
        task, key = key[2], (*key[:2], *key[3:])
    if kind == "union_tag_not_found":
        is_old = isinstance(found, dict) and "label" in found
        kind, key = ("extra_forbidden", (*key, "label")) if is_old else ("missing", (*key, "task"))
    if kind == "union_tag_invalid":
        allowed = " or ".join(repr(task) for task in EXPERIMENTS)
        kind, key, found = "literal_error", (*key, "task"), error["ctx"]["tag"]
        text = f"input should be {allowed}"
    return _Mistake(key, kind, text, found, task)


def _messages(path: str | Path, tree: Node, error: ValidationError) -> list[str]:
    """Return a line for each mistake; a key that is missing only by a misspelling has none."""
    mistakes = [_read_mistake(item) for item in error.errors()]
    unknown = [mistake for mistake in mistakes if mistake.kind == "extra_forbidden"]
    intended = {key for mistake in unknown for key in mistake.intended_keys}
    return [
        _message(path, tree, mistake)
        for mistake in mistakes
        if mistake.kind != "missing" or mistake.key not in intended
    ]


def _message(path: str | Path, tree: Node, mistake: _Mistake) -> str:
    """Return a mistake as a line with file, line and key."""
    key, text = mistake.key, mistake.text
    location = f"{path}:{_line(tree, key)}: {'.'.join(map(_printable, key))}"
    if mistake.kind == "extra_forbidden":
        if new_key := _renamed(key):
            return f"{location}: is now {new_key}"
        fields = _fields(key[:-1], mistake.task)
        suggestion = suggest(str(key[-1]), fields)
        return f"{location}: unknown key{suggestion} Allowed: {', '.join(fields)}"
    if mistake.kind == "missing":
        return f"{location}: missing, and it has no default"
    if mistake.kind == "value_error":
        return f"{location}: {text}"
    if mistake.kind == "string_pattern_mismatch" and "a-z0-9]+(" in text:
        text = "names have lower-case letters, digits and single '-'"
    value = repr(mistake.found)
    if len(value) >= 60 and isinstance(mistake.found, dict | list):
        value = type(mistake.found).__name__
    return f"{location}: {text[0].lower()}{text[1:]}, found {value[:MAX_SHOWN]}"


def _printable(part: Any) -> str:
    """Return a part of a key for a message of one line: escaped if a terminal would obey it."""
    text = str(part)
    return (text if text.isprintable() else ascii(text))[:MAX_SHOWN]


def _renamed(key: tuple[Any, ...]) -> str:
    """Return the new name of a key of an earlier version of heed, or "" for any other key."""
    if key[0] == "defaults" and len(key) == 2 and key[1] in NAMES:
        task = next(task for task in SECTIONS if key[1] in NAMES_BY_TASK[task])
        return f"defaults.{task}.{key[1]}: each task has its own hyperparameters"
    if key[0] == "experiments" and key[2:] == ("label",):
        return f"experiments.{key[1]}.data.label, next to task: {task_of_labels(has_several=False)}"
    if key[0] == "searches" and key[2:] == ("address",):
        return (
            f"HEED_RAY_ADDRESS in the environment, or `heed search {key[1]} --address`: connecting "
            "to a Ray host runs code, so no file names one (docs/cluster.md)"
        )
    if key[0] == "corpora" and key[2:] in (("encoding",), ("delimiter",), ("quotes",)):
        name = 'quote ("" for quotes: false)' if key[2] == "quotes" else key[2]
        return f"{name} of the corpus's source, in `sources`"
    return ""


def _fields(key: tuple[Any, ...], task: str) -> list[str]:
    """Return the names allowed below `key`; `task` is that of the experiment it is in, if any."""
    sections: dict[str, type[BaseModel]] = {
        "study": Study,
        "defaults": Defaults,
        **SECTIONS,
        "sources": Source,
        "corpora": Corpus,
        "searches": Search,
        "later_searches": Search,
        "models": Model,
        "split": Split,
        "published": Published,
        "truths": Truth,
        "space": Dimension,
        "explain": Explain,
        "adversaries": Adversary,
    }
    if task:
        experiment = EXPERIMENTS[task]
        sections |= {"experiments": experiment, "data": data_section(task)}
    if key[:2] == ("explain", "models"):
        return list(ExplainedModel.model_fields)
    if key[:2] == ("defaults", "presets"):
        return list(NAMES)
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
                    for k, v in reversed(node.value)  # before its own keys are those merged by <<
                    if isinstance(k, ScalarNode) and k.value == str(part)
                ),
                None,
            )
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, SequenceNode) and str(part).isdigit() and int(part) < len(node.value):
            node = node.value[int(part)]
            line = node.start_mark.line + 1
    return line
