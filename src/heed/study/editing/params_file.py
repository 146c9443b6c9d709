"""Edit params.yaml by a program: comments, quotes and order are kept, and the result is checked."""

import contextlib
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML

from heed.files import HeedError, locked, write_text
from heed.paths import LOCKS, PARAMS
from heed.study.reader import load, parse, read_text
from heed.study.schema import Params

Message = TypeVar("Message")


@contextlib.contextmanager
def editing(path: Path) -> Iterator[tuple[Params, Any]]:
    """Yield the checked params in `path`, and the YAML tree with its comments, to be changed.

    The changed tree is checked before it replaces `path`. Another process that edits `path` waits
    until then: of two edits at once neither is lost. Raises HeedError as `load` does.
    """
    with _locked(path):
        params = load(path)
        tree = _yaml().load(path.read_text(encoding="utf-8"))
        yield params, tree
        write_text(path, _as_text(tree, path))


def edit_text(path: Path, change: Callable[[str], tuple[str, Params, Message]]) -> Message:
    """Change the text of a study, and write it if it differs.

    Args:
        path: the file. Another process that edits it waits, as for `editing`.
        change: returns the new text of a text, its checked params, and a message.

    Returns:
        the message.

    Raises:
        HeedError: `path` cannot be read, `change` raised it, or the new text does not have those
            params, as where the old one has anchors and aliases. Nothing is written.

    """
    with _locked(path):
        text = read_text(path).removeprefix("\ufeff")
        changed, params, message = change(text)
        if changed != text:
            if not _has_params(changed, params):
                raise HeedError(f"{path}: its anchors and aliases (&, *, <<) need an edit by hand")
            write_text(path, changed)
    return message


def _has_params(text: str, params: Params) -> bool:
    try:
        return parse(text) == params
    except HeedError:
        return False


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of params.yaml; other files have none."""
    read_text(path)  # its message; no lock in a folder that is no clone
    if path.name != PARAMS.name:
        yield
        return
    with locked(path.parent / LOCKS / path.name, f"{path}: another command edits it: waiting"):
        yield


def changed_text(
    text: str, path: Path, change: Callable[[Any], None], may_be_empty: bool = False
) -> str:
    """Return the text of params after `change` of its YAML tree, checked.

    Args:
        text: of the params.
        path: for messages.
        change: a function that changes the tree, whose comments are kept.
        may_be_empty: whether no corpus may be left.

    Raises HeedError as `load` does, for a mistake in `text` or in the changed text.

    """
    parse(text, path, may_be_empty=True)
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
