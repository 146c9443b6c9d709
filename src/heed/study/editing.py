"""Edit params.yaml by a program: comments, quotes and order are kept, and the result is checked."""

import contextlib
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from heed.files import locked, write_text
from heed.paths import LOCKS
from heed.study.reader import load, parse
from heed.study.schema import Params


@contextlib.contextmanager
def editing(path: Path) -> Iterator[tuple[Params, Any]]:
    """Yield the checked params in `path`, and the YAML tree with its comments, to be changed.

    The changed tree is checked before it replaces `path`. Another process that edits `path` waits
    until then: of two edits at once neither is lost. Raises HeedError as `load` does.
    """
    if not path.exists():
        load(path)  # its message; no lock in a folder that is no clone
    with locked(path.parent / LOCKS / path.name, f"{path}: another command edits it: waiting"):
        params = load(path)
        tree = _yaml().load(path.read_text(encoding="utf-8"))
        yield params, tree
        write_text(path, _as_text(tree, path))


def edit_text(
    text: str, path: Path, change: Callable[[Any], None], may_be_empty: bool = False
) -> str:
    """Return the text of params after `change` of its YAML tree, checked.

    Args:
        text: of the params.
        path: for messages.
        change: a function that changes the tree, whose comments are kept.
        may_be_empty: whether no corpus may be left.

    Raises HeedError as `load` does.

    """
    tree = _yaml().load(text)
    change(tree)
    return _as_text(tree, path, may_be_empty)


def _as_text(tree: Any, path: Path, may_be_empty: bool = False) -> str:
    """Return a YAML tree as text. Raises HeedError for a mistake in it."""
    changed = StringIO()
    _yaml().dump(tree, changed)
    parse(changed.getvalue(), path, may_be_empty)
    return changed.getvalue()


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 10_000
    yaml.preserve_quotes = True
    return yaml
