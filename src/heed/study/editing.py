"""Edit params.yaml by a program: comments, quotes and order are kept, and the result is checked."""

import contextlib
from collections.abc import Iterator
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
        yaml = YAML()
        yaml.width = 10_000
        yaml.preserve_quotes = True
        tree = yaml.load(path.read_text(encoding="utf-8"))
        yield params, tree
        changed = StringIO()
        yaml.dump(tree, changed)
        parse(changed.getvalue(), path)
        write_text(path, changed.getvalue())
