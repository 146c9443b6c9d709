"""Changing params.yaml by a program: comments, quotes and order stay, and what comes of it is
checked before it is written.
"""

import contextlib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from heed.files import write_text
from heed.study.reader import load, parse
from heed.study.schema import Params


@contextlib.contextmanager
def editing(path: Path) -> Iterator[tuple[Params, Any]]:
    """Yield the params in `path`, checked, and the same as a tree to be changed, with its comments.

    What came of it is checked too before it takes the place of `path`. Raises HeedError as `load`
    does.
    """
    params = load(path)
    yaml = YAML()
    yaml.width = 10_000
    yaml.preserve_quotes = True
    tree = yaml.load(path.read_text(encoding="utf-8"))
    yield params, tree
    out = StringIO()
    yaml.dump(tree, out)
    parse(out.getvalue(), path)
    write_text(path, out.getvalue())
