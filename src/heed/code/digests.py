"""What a program does, as one number: the digest of a source file, less comments, docstrings and
layout.

The stage `code` (workflow/digests.py) writes the digests that each stage depends on; guard.py
compares them while a stage runs; an unfinished training or search is kept by them. So an edit of
words repeats nothing, and any other edit does.
"""

import ast
import hashlib
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heed.files import HeedError, sha256

CODE = Path("results/code")
PACKAGE = Path(__file__).parent.parent  # src/heed of the clone whose code runs
# Stages whose code goes by the task of an experiment have a file for each key of a section of
# params.yaml, the others one.
SECTIONS = {
    "search": "searches", "recipe": "models", "train": "models", "predict": "models",
    "opponents": "experiments", "evaluate": "models",
}  # fmt: skip
# They choose the command or the modules of a task, compare code or show progress, and can change no
# result.
IGNORED = {
    "heed", "heed.cli", "heed.code", "heed.code.digests", "heed.code.guard", "heed.progress",
    "heed.tasks", "heed.search.progress", "heed.training.progress",
}  # fmt: skip
# Packages whose version can change a result → the distribution that holds them.
DISTRIBUTIONS = {
    "numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn", "spacy": "spacy",
    "torch": "torch",
}  # fmt: skip
# fields of syntax trees that change nothing
NO_CODE = {"ctx", "kind", "type_comment", "type_ignores"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_known: dict[tuple[Any, ...], str] = {}


def code_file(stage: str, key: str = "") -> Path:
    """Return the file of the stage `code` that says what code `heed STAGE KEY` runs."""
    return CODE / stage / f"{key}.json" if stage in SECTIONS else CODE / f"{stage}.json"


def digest_file(path: Path) -> str:
    """Return the digest of a file: of Python its program, of anything else its bytes.

    A file is read again when it was touched.

    Raises:
        HeedError: Python that does not parse, with file and line.
        OSError: the file cannot be read.

    """
    state = path.stat()
    key = (path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if key not in _known:
        _known[key] = _digest_module(path) if path.suffix == ".py" else sha256(path)
    return _known[key]


def _digest_module(path: Path) -> str:
    try:
        return digest_source(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise HeedError(f"{path}:{error.lineno or 1}: not valid Python: {error.msg}") from None
    except ValueError as error:  # not UTF-8, or a null byte
        raise HeedError(f"{path}:1: not valid Python: {error}") from None


def digest_source(source: str) -> str:
    """Return the digest of a program: of its syntax tree without positions and docstrings; the same
    under every Python.

    Raises:
        SyntaxError: the source does not parse.

    """
    words: list[str] = []
    _describe(ast.parse(source), words)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def _describe(value: Any, words: list[str]) -> None:
    """Append the words that describe a node of a syntax tree, a list of nodes, or a plain value."""
    if isinstance(value, ast.Constant | ast.MatchSingleton):
        words.append(ascii(value.value))  # repr() would go by the Unicode tables of this Python
    elif isinstance(value, ast.AST):
        words.append(f"({type(value).__name__}")
        for field, inner in sorted(ast.iter_fields(value)):
            if field not in NO_CODE and _counts(inner := _without_docstring(value, field, inner)):
                words.append(f"{field}=")
                _describe(inner, words)
        words.append(")")
    elif isinstance(value, list):
        words.append("[")
        for inner in value:
            # a gap, as in {**more} or a keyword without a default: no constant is written so
            if inner is None:
                words.append("-")
            else:
                _describe(inner, words)
        words.append("]")
    else:
        words.append(ascii(value))


def _counts(value: Any) -> bool:
    """Whether a field says something: a newer Python may have fields that an older one does not,
    empty or 0 for old syntax.
    """
    return value is not None and value != [] and value != 0


def _without_docstring(node: ast.AST, field: str, value: Any) -> Any:
    """Return the value of a field: a body without its docstring, the text of an f-string in as few
    parts as there can be.
    """
    if (
        field == "body"
        and isinstance(node, DOCUMENTED)
        and ast.get_docstring(node, clean=False) is not None
    ):
        return value[1:]
    if field == "values" and isinstance(node, ast.JoinedStr):
        return _joined(value)
    return value


def _joined(parts: list[ast.expr]) -> list[ast.expr]:
    """Return the parts of an f-string with texts that stand side by side as one: Pythons differ in
    where they cut.
    """
    joined: list[ast.expr] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(part.value))
        elif not isinstance(part, ast.Constant) or part.value:
            joined.append(part)
    return joined


def loaded_modules(*later: str) -> dict[str, str]:
    """Return the modules of heed that this process has loaded, with their digests, less those that
    can change no result.

    Args:
        later: modules that will be loaded, and cannot be yet.

    """
    names = {name for name in sys.modules if name.startswith("heed.")}.union(later) - IGNORED
    return {
        name: digest_file(Path(spec.origin))
        for name in sorted(names)
        if (spec := find_spec(name)) and spec.origin
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of those of `packages` that can change a result, without what
    names a build (+cpu).
    """
    from importlib import metadata  # here: it takes 20 ms, and most commands compare nothing

    distributions = sorted(DISTRIBUTIONS[package] for package in {*packages} & {*DISTRIBUTIONS})
    return {name: metadata.version(name).partition("+")[0] for name in distributions}
