"""Imports go one way, engines stay in their rooms, and every module says what it is."""

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

SOURCE = ROOT / "src/heed"
# Each room may import from those before it, and from itself.
ORDER = ["files", "digests", "guard", "params", "corpora", "text", "models", "recipe", "metrics", "predictions", "training", "search",
         "opponents", "evaluation", "report", "prediction", "study", "cli"]  # fmt: skip
ENGINES = {"dvc": set(), "snakemake": set(), "ray": {"search"}, "spacy": {"text"}, "pydantic": {"params"}}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Every module imported anywhere in a file, but for those that only type checkers read."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"heed.{alias.name}" for alias in node.names} if node.module == "heed" else {node.module}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way_and_engines_stay_in_their_rooms(path):
    own = room(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "heed" and len(parts) > 1 and parts[1] in ORDER:
            assert ORDER.index(parts[1]) <= ORDER.index(own), f"{own} imports {parts[1]}"
        if parts[0] in ENGINES:
            assert own in ENGINES[parts[0]], f"{own} imports {parts[0]}"
        if parts[0] in ("jinja2", "matplotlib"):
            assert own == "report"


def test_every_room_has_its_place_in_the_order():
    assert {room(path) for path in MODULES} <= {*ORDER}


def test_nothing_is_pickled_and_no_file_is_named_for_nothing():
    for path in MODULES:
        assert not imports(path) & {"pickle", "joblib", "dill", "shelve"}
        assert not {"torch.save", "torch.load("} & set(path.read_text().split())
        assert path.stem not in {"utils", "helpers", "common", "misc", "manager"}


def test_no_address_of_this_workplace_stands_in_the_project():
    for path in [
        *MODULES,
        *(ROOT / "docs").glob("*.md"),
        ROOT / "README.md",
        ROOT / "Makefile",
        *(ROOT / "envs").glob("*"),
    ]:
        text = path.read_text()
        assert "/work/" not in text.replace(".heed/work/", "") and "pypi.org" not in text, path
