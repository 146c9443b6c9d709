"""From the text of params.yaml to YAML nodes and values; YAML that no study needs is refused."""

import functools
from collections.abc import Iterator
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from heed.files import HeedError

MAX_DEPTH = 20  # sections within sections; a study has six
MAX_VALUES = 100_000  # keys and values, each as often as aliases repeat it; a large study has 5,000


@functools.lru_cache(maxsize=1)  # a run reads params.yaml four times: .2 s each
def read_yaml(text: str, path: object) -> tuple[Node, dict[str, Any]]:
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
            sizes[id(node)] = 1 + sum(size(child, depth + 1) for child in _children(node))
        if sizes[id(node)] > MAX_VALUES:
            raise HeedError(
                f"{path}:{line}: more than {MAX_VALUES:,} values, each counted as often as aliases "
                "(*name) repeat it: no study needs so many"
            )
        return sizes[id(node)]

    if tree is not None:
        size(tree, 0)


def _children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly within a mapping or a sequence."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, SequenceNode):
        yield from node.value


def _too_deep(path: object, line: int) -> HeedError:
    return HeedError(f"{path}:{line}: nested more than {MAX_DEPTH} levels deep: no study is")
