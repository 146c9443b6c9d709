"""The digest of a source file, without comments, docstrings and layout.

The stage `code` (workflow/digests.py) writes the digests that each stage depends on. A run is kept,
and an unfinished training or search resumed, only if they are the same. So an edit of comments
repeats no stage, and any other edit repeats those that run the code.
"""

import ast
import contextlib
import functools
import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heed.files import HeedError, sha256, write_json

CODE = Path("results/code")
REMEMBERED = Path(".heed/digests.json")  # by the hash of a source: what `remember` wrote
# Stages whose code depends on the task of an experiment have a file for each key of a section of
# params.yaml, the others one.
SECTIONS = {
    "search": "searches", "recipe": "models", "train": "models", "score": "models",
    "explain": "models", "adversarial_attention": "adversarial_attention",
    "reference_models": "experiments",
}  # fmt: skip
# These modules choose the command or the modules of a task, show progress, or bring back runs,
# which are verified. They cannot change any result, but for the report, which prints the contents
# of dvc.lock (`pipeline`).
IGNORED = {
    "heed", "heed.cli", "heed.cli.__main__", "heed.cli.commands", "heed.cli.program",
    "heed.cli.stages", "heed.digests", "heed.pipeline", "heed.progress", "heed.task", "heed.tasks",
}  # fmt: skip
# Packages whose version can change a result → the distribution that holds them.
DISTRIBUTIONS = {
    "numpy": "numpy", "rouge_score": "rouge-score", "sacrebleu": "sacrebleu", "scipy": "scipy",
    "sentencepiece": "sentencepiece", "sklearn": "scikit-learn", "spacy": "spacy",
    "torch": "torch",
}  # fmt: skip
# fields of syntax trees that do not change the program
IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_digest_cache: dict[tuple[Any, ...], str] = {}  # by the state of a file
_digest_by_source: dict[str, str] = {}


def code_file(stage: str, key: str = "") -> Path:
    """Return the file in which the stage `code` describes the code of `heed STAGE KEY`."""
    return CODE / stage / f"{key}.json" if stage in SECTIONS else CODE / f"{stage}.json"


def digest_file(path: Path) -> str:
    """Return the digest of a file: of its program for Python, of its bytes for other files.

    A file is read again only when it was modified.

    Raises:
        HeedError: the file is Python that does not parse; with file and line.
        OSError: the file cannot be read.

    """
    state = path.stat()
    key = (path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if key not in _digest_cache:
        _digest_cache[key] = _digest_module(path) if path.suffix == ".py" else sha256(path)
    return _digest_cache[key]


def _digest_module(path: Path) -> str:
    source = path.read_bytes()
    key = _source_key(source)
    try:
        digest = _remembered().get(key) or digest_source(source.decode())
        _digest_by_source[key] = digest
        return digest
    except SyntaxError as error:
        raise HeedError(f"{path}:{error.lineno or 1}: not valid Python: {error.msg}") from None
    except ValueError as error:  # not UTF-8, or a null byte
        raise HeedError(f"{path}:1: not valid Python: {error}") from None


def remember() -> None:
    """Write the digests of this process for later ones, which need not parse the sources again."""
    write_json(REMEMBERED, _digest_by_source)


@functools.cache
def _remembered() -> dict[str, str]:
    """Return {key of a source: its digest}; nothing where no whole file has been written."""
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(REMEMBERED.read_bytes())
        return known if isinstance(known, dict) else {}
    return {}


def _source_key(source: bytes) -> str:
    """Return a key of a source under the present program of this module."""
    return hashlib.sha256(_own_hash() + source).hexdigest()


@functools.cache
def _own_hash() -> bytes:
    return hashlib.sha256(Path(__file__).read_bytes()).digest()


def digest_source(source: str) -> str:
    """Return the digest of a program: of its syntax tree without positions and docstrings.

    It is the same under every version of Python.

    Raises:
        SyntaxError: the source does not parse.

    """
    words: list[str] = []
    _describe(ast.parse(source), words)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def _describe(value: Any, words: list[str]) -> None:
    """Append the words that describe a node of a syntax tree, a list of nodes, or a plain value."""
    if isinstance(value, ast.Constant | ast.MatchSingleton):
        # repr() would depend on the Unicode tables of this version of Python
        words.append(ascii(value.value))
    elif isinstance(value, ast.AST):
        words.append(f"({type(value).__name__}")
        for field, inner in sorted(ast.iter_fields(value)):
            if field in IGNORED_FIELDS:
                continue
            if not _is_empty(content := _normalize_field(value, field, inner)):
                words.append(f"{field}=")
                _describe(content, words)
        words.append(")")
    elif isinstance(value, list):
        words.append("[")
        for inner in value:
            # a gap, as in {**more} or a keyword without a default; no constant is described as -
            if inner is None:
                words.append("-")
            else:
                _describe(inner, words)
        words.append("]")
    else:
        words.append(ascii(value))


def _is_empty(value: Any) -> bool:
    """Whether a field is None, [] or 0, as new fields of a newer Python are for old syntax."""
    return value is None or value == [] or value == 0


def _normalize_field(node: ast.AST, field: str, value: Any) -> Any:
    """Return the value of a field: a body without its docstring, an f-string with merged texts."""
    if (
        field == "body"
        and isinstance(node, WITH_DOCSTRING)
        and ast.get_docstring(node, clean=False) is not None
    ):
        return value[1:]
    if field == "values" and isinstance(node, ast.JoinedStr):
        return _merge_texts(value)
    return value


def _merge_texts(parts: list[ast.expr]) -> list[ast.expr]:
    """Return the parts of an f-string with adjacent texts merged: Python versions differ there."""
    merged: list[ast.expr] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, ast.Constant) and isinstance(last, ast.Constant):
            merged[-1] = ast.Constant(str(last.value) + str(part.value))
        elif not isinstance(part, ast.Constant) or part.value:
            merged.append(part)
    return merged


def loaded_modules(*not_yet_loaded: str) -> dict[str, str]:
    """Return {module: digest} of heed's modules in this process that can change a result.

    Args:
        not_yet_loaded: modules to include that this process will load later.

    """
    loaded = {name for name in sys.modules if name.startswith("heed.")}
    names = loaded.union(not_yet_loaded) - IGNORED
    return {
        name: digest_file(Path(spec.origin))
        for name in sorted(names)
        if (spec := find_spec(name)) and spec.origin
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those `packages` that can change a result, without a build (+cpu)."""
    from importlib import metadata  # here: it takes 20 ms, and most commands compare nothing

    distributions = sorted(DISTRIBUTIONS[package] for package in {*packages} & {*DISTRIBUTIONS})
    return {name: metadata.version(name).partition("+")[0] for name in distributions}
