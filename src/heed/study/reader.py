"""Read params.yaml, and report each mistake in one line: file, line, key and what is allowed."""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from heed.files import HeedError
from heed.paths import PARAMS
from heed.study.corpora import CORPUS, SOURCE, SPLIT
from heed.study.experiments import (
    DATA,
    DIMENSION,
    EXPECTED_RESULT,
    EXPERIMENTS,
    PUBLISHED,
    SEARCH,
    STUDY,
)
from heed.study.renamed import rename
from heed.study.rules import contradictions
from heed.study.schema import ADVERSARIAL_MODEL, EXPLAIN, EXPLAINED, MODEL, SINGULAR, Params, follow
from heed.study.section import (
    DEFAULTS,
    NAMES,
    NAMES_BY_TASK,
    SECTIONS,
    most_similar,
    suggest,
    task_of_labels,
)

MAX_SHOWN = 200  # characters of a key or a value in a message
MAX_DEPTH = 20  # sections within sections; a study has six
MAX_VALUES = 100_000  # keys and values, each as often as aliases repeat it; a large study has 5,000


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
    _, names, line = rename(text, tree)
    if names:
        raise HeedError(
            f"{path}:{line}: heed 0.2.0 had other names: {_describe_names(names)}. This writes "
            f"today's: heed study {path}"
        )
    try:
        params = Params.model_validate(values)
    except ValidationError as error:
        raise HeedError("\n".join(_messages(path, tree, error))) from None
    if params.is_empty and may_be_empty:
        return params
    followed = follow(params)
    if mistakes := [*followed.mistakes, *contradictions(followed.params)]:
        lines = [f"{path}:{_line(tree, key)}: {'.'.join(key)}: {text}" for key, text in mistakes]
        raise HeedError("\n".join(lines))
    return followed.params


@functools.lru_cache(maxsize=1)  # a run reads params.yaml four times: .2 s each
def read_yaml(text: str, path: object) -> tuple[Node, Any]:
    """Return the YAML `text` as nodes, which know their lines, and as values, not to be changed.

    Raises HeedError when it is not valid YAML, not a mapping, or YAML that no study needs.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("<<<<<<< "):
            raise HeedError(
                f"{path}:{number}: a merge conflict: keep one side, and delete the lines <<<<<<<, "
                "======= and >>>>>>>"
            )
    # YAML 1.2, as DVC reads it
    yaml = YAML(typ="safe", pure=True)
    try:
        tree = yaml.compose(StringIO(text))
        _check_tree(tree, path)
        values = None if tree is None else yaml.constructor.construct_document(tree)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        raise HeedError(
            f"{path}:{mark.line + 1 if mark else 1}: not valid YAML: {problem}"
        ) from None
    except RecursionError:
        raise _too_deep(path, 1) from None
    # a ReaderError has a position in the text, but no line
    except (YAMLError, ValueError, AttributeError, TypeError) as error:
        number = 1 + text[: getattr(error, "position", 0)].count("\n")
        problem = " ".join(str(error).split())
        raise HeedError(f"{path}:{number}: not valid YAML: {problem}") from None
    if not isinstance(values, dict):
        raise HeedError(
            f"{path}:1: expected sections (study, seeds, sources, ...), found "
            f"{type(values).__name__}"
        )
    return tree, values


def check_as_dvc_reads(text: str, path: object) -> None:
    """Check that DVC reads the same values in the YAML `text` as heed. Raises HeedError.

    Where ruamel.yaml's C parser is installed DVC uses that one. It refuses a `:` or `?` in an
    unquoted text within braces, which YAML 1.2 allows, and reads some invisible characters as an
    end of line.
    """
    try:
        read_by_dvc = YAML(typ="safe").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise HeedError(
            f"{path}:{line}: {error.problem}. heed can read it, DVC cannot: put the text in quotes"
        ) from None
    if read_by_dvc != read_yaml(text, path)[1]:
        raise HeedError(
            f"{path}: DVC reads other values than heed: look for invisible characters, and for & "
            "and ! without quotes"
        )


def _check_tree(tree: Node | None, path: object) -> None:
    """Raise HeedError where nodes nest deeply, repeat by aliases, or hold half a character."""
    sizes: dict[int, int] = {}  # of nodes, by id: with all that they hold, as often as it is named

    def size(node: Node, depth: int) -> int:
        line = node.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise _too_deep(path, line)
        if isinstance(node, ScalarNode):
            if any("\ud800" <= character <= "\udfff" for character in node.value):
                raise HeedError(
                    f"{path}:{line}: not valid YAML: an escape of half a character (a surrogate, "
                    "\\uD800 to \\uDFFF): write the character itself"
                )
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = MAX_VALUES  # while it is counted: it would hold itself
            is_list = isinstance(node, SequenceNode)
            children = node.value if is_list else itertools.chain.from_iterable(node.value)
            sizes[id(node)] = 1 + sum(size(child, depth + 1) for child in children)
        if sizes[id(node)] > MAX_VALUES:
            raise HeedError(
                f"{path}:{line}: more than {MAX_VALUES:,} values, each counted as often as aliases "
                "(*name) repeat it: no study needs so many"
            )
        return sizes[id(node)]

    if tree is not None:
        size(tree, 0)


def _too_deep(path: object, line: int) -> HeedError:
    return HeedError(f"{path}:{line}: nested more than {MAX_DEPTH} levels deep: no study is")


def use_todays_names(text: str, path: str | Path) -> tuple[str, str]:
    """Write a study of heed 0.2.0 with the names of today.

    Returns its text, and a message on names that were others; "" where there were none. Raises
    HeedError where the text is not YAML.
    """
    text, names, _ = rename(text, read_yaml(text, path)[0])
    said = f"{path}: written with today's names: {_describe_names(names)}" if names else ""
    return text, said


def _describe_names(names: Mapping[str, str]) -> str:
    return ", ".join(f"{new} (was {old})" for old, new in names.items())


def describe_old_form(text: str, path: str | Path = PARAMS) -> str:
    """Return how the lines of a study in the form of heed 0.2.0 are written today; "" of others.

    The text is one that `parse` has accepted.
    """
    tree, values = read_yaml(text, path)
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


def format_line(name: str, values: Mapping[str, object]) -> str:
    """Return an entry of a section on one line: `name: {key: value, …}`."""
    yaml, text = YAML(), StringIO()
    yaml.width, yaml.default_flow_style = 10_000, True
    yaml.dump({name: values}, text)
    return text.getvalue().strip()[1:-1]


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
        if _moved_to(self.key):
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
        if new_key := _moved_to(key):
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


def _moved_to(key: tuple[Any, ...]) -> str:
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
        "study": STUDY, "defaults": DEFAULTS, **SECTIONS, "sources": SOURCE, "corpora": CORPUS,
        "searches": SEARCH, "later_searches": SEARCH, "models": MODEL, "split": SPLIT,
        "published": PUBLISHED, "expected_results": EXPECTED_RESULT, "space": DIMENSION,
        "explain": EXPLAIN,
        "adversarial_attention": ADVERSARIAL_MODEL,
    }  # fmt: skip
    if task:
        sections |= {"experiments": EXPERIMENTS[task], "data": DATA[task]}
    if key[:2] == ("explain", "models"):
        return list(EXPLAINED.model_fields)
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
            # the last: before its own keys are those merged by <<
            pairs = [pair for pair in node.value if pair[0].value == str(part)]
            if not pairs:
                return line
            line, node = pairs[-1][0].start_mark.line + 1, pairs[-1][1]
        elif isinstance(node, SequenceNode) and str(part).isdigit() and int(part) < len(node.value):
            node = node.value[int(part)]
            line = node.start_mark.line + 1
    return line


def model_text_columns(model: str) -> tuple[tuple[str, ...], str]:
    """Return the text columns of a model's corpus, and what joins their texts.

    Where params.yaml does not say, because there is none, or because it has no such model or the
    corpus is no table, the column is `text`.
    """
    params = load() if PARAMS.is_file() else None
    model_section = params.models.get(model) if params else None
    corpus = params.corpora.get(model_section.corpus) if params and model_section else None
    if corpus is None or not corpus.text_names:
        return ("text",), " "
    return tuple(corpus.text_names), corpus.between_texts
