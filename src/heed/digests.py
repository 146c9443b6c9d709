"""The digest of a source file, without comments, docstrings and layout.

The stage `code` (workflow/digests.py) writes the digests that each stage depends on. A run is kept,
and an unfinished training or search resumed, only if they are the same. So an edit of comments
repeats no stage, and any other edit repeats those that run the code.
"""

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from heed.files import HeedError, sha256

CODE = Path("results/code")
# Stages whose code depends on the task of an experiment have a file for each key of a section of
# params.yaml, the others one. Few files are few columns of `dvc exp show`.
SECTIONS = {
    "download": "sources",
    "recipe": "experiments", "train": "experiments", "score": "experiments",
    "explain": "models", "adversarial_attention": "adversarial_attention",
    "reference_models": "experiments", "embed": "pretrained", "pretrained": "pretrained",
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
    "sentencepiece": "sentencepiece", "sklearn": "scikit-learn", "spacy": "spacy", "torch": "torch",
    "transformers": "transformers",
}  # fmt: skip
# those that only an extra of heed installs
EXTRAS = {"openpyxl": "excel", "ray": "search", "transformers": "pretrained"}
EXTRAS["huggingface_hub"] = "pretrained"
# fields of syntax trees that do not change the program
IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_file(stage: str, key: str = "") -> Path:
    """Return the file in which the stage `code` describes the code of `heed STAGE KEY`."""
    return CODE / stage / f"{key}.json" if stage in SECTIONS else CODE / f"{stage}.json"


def digest_value(value: object) -> str:
    """Return the SHA-256 of a value, as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@functools.cache
def digest_file(path: Path) -> str:
    """Return the digest of a Python file's program, else of the bytes. Raises HeedError."""
    if path.suffix != ".py":
        return sha256(path)
    try:
        return digest_source(path.read_bytes().decode())
    except SyntaxError as error:
        raise HeedError(f"{path}:{error.lineno or 1}: not valid Python: {error.msg}") from None
    except ValueError as error:  # not UTF-8, or a null byte
        raise HeedError(f"{path}:1: not valid Python: {error}") from None


def digest_source(source: str) -> str:
    """Return the digest of a program's syntax tree: the same under every version of Python.

    Raises SyntaxError where it does not parse.
    """
    return hashlib.sha256(_describe(ast.parse(source)).encode()).hexdigest()


def _describe(value: object) -> str:
    if isinstance(value, list):
        # None is a gap, as in {**more} or a keyword without a default
        return f"[{' '.join('-' if element is None else _describe(element) for element in value)}]"
    # repr() would depend on the Unicode tables of this version of Python
    if isinstance(value, ast.Constant | ast.MatchSingleton):
        return ascii(value.value)
    if not isinstance(value, ast.AST):
        return ascii(value)
    described = [
        f"{name}={_describe(content)}"
        for name, content in sorted(_fields(value).items())
        # None, [] or 0 are new fields of a newer Python for old syntax
        if content and name not in IGNORED_FIELDS
    ]
    return f"({type(value).__name__} {' '.join(described)})"


def _fields(node: ast.AST) -> dict[str, object]:
    fields = dict(ast.iter_fields(node))
    if isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    if isinstance(node, ast.JoinedStr):
        fields["values"] = _merge_texts(node.values)
    return fields


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
    """Return {module: digest} of heed's modules, here or named, that can change a result."""
    loaded = {name for name in sys.modules if name.startswith("heed.")}
    names = loaded.union(not_yet_loaded) - IGNORED
    return {
        name: digest_file(Path(spec.origin))
        for name in sorted(names)
        if (spec := find_spec(name)) and spec.origin
    }


def require_installed(packages: Iterable[str], who: str = "params.yaml: this study") -> None:
    """Raise HeedError where a package that an extra installs, and `who` needs, is not there."""
    if missing := sorted(name for name in {*packages} & {*EXTRAS} if find_spec(name) is None):
        extra = EXTRAS[missing[0]]
        raise HeedError(
            f"{who} needs {missing[0]}, which is not installed. Run: make {extra}, or pip install "
            f"-e '.[{extra}]'"
        )


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those `packages` that can change a result, without a build (+cpu).

    Raises HeedError: a package that a study needs is not installed.
    """
    from importlib import metadata  # here: it takes 20 ms, and most commands compare nothing

    require_installed(packages)
    distributions = sorted(DISTRIBUTIONS[package] for package in {*packages} & {*DISTRIBUTIONS})
    return {name: metadata.version(name).partition("+")[0] for name in distributions}
