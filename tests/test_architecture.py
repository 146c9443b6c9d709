"""Imports go one way, engines stay in their packages, a task's terms in its own, and every module says what it is."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.conftest import ROOT

SOURCE = ROOT / "src/heed"
# Each module may import from those before it, and from its own line: the longest name that fits is a module's own.
ORDER = [
    "files", "records", "digests", "guard", "progress", "paths", "hyperparameters", "tasks", "corpora", "text.meta", "tasks.classification.recipe", "params", "corpora.own",
    "text", "models", "recipe", "training", "search", "prediction", "opponents", "evaluation",
    "tasks.classification", "report", "study", "cli",
]  # fmt: skip
ENGINES = {
    "dvc": set(),
    "snakemake": set(),
    "ray": {"search"},
    "spacy": {"text"},
    "pydantic": {"params"},
    "rich": {"progress"},
}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def layer(module: str) -> str:
    """Return the longest name in ORDER that a module, such as corpora.own, stands under."""
    names = [name for name in ORDER if module == name or module.startswith(f"{name}.")]
    return max(names, key=len, default="none")


def layer_of(path: Path) -> str:
    return layer(".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"))


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
def test_imports_go_one_way_and_engines_stay_in_their_packages(path):
    own = layer_of(path)
    for name in imports(path):
        package = name.split(".")[0]
        if package == "heed" and name != "heed":
            imported = layer(name.removeprefix("heed."))
            assert ORDER.index(imported) <= ORDER.index(own), f"{own} imports {imported}"
        if package in ENGINES:
            assert own in ENGINES[package], f"{own} imports {package}"
        if package in ("babel", "jinja2", "matplotlib"):
            assert own == "report"


def test_every_package_that_is_imported_is_declared_and_pinned():
    tools = [ROOT / "workflow/stages.py", ROOT / "workflow/engine_names.py", ROOT / "workflow/digests.py"]
    names = {name.split(".")[0] for path in [*MODULES, *tools] for name in imports(path)}
    own = {"heed", *(path.stem for path in tools)}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    declared = {re.split(r"[<>=\[]", requirement)[0] for requirement in declared}
    pinned = {line.split("==")[0].lower() for line in (ROOT / "envs/requirements.lock").read_text().splitlines()}
    distributions = packages_distributions()
    for name in sorted(names - own - sys.stdlib_module_names):
        known = {each.lower() for each in distributions.get(name, [])}
        assert known & declared, f"{name} is imported, but pyproject.toml declares none of {known or 'its packages'}"
    assert declared <= pinned, f"not in envs/requirements.lock: {declared - pinned}"


def test_every_module_has_its_place_in_the_order():
    assert {layer_of(path) for path in MODULES} <= {*ORDER}


# The terms of classification belong to its task, to the model that it builds, and to the report's chapters on it.
TERMS = re.compile(r"\baccurac|\bmacro_f1|\bclasses\b|\bconfusion", re.IGNORECASE)
KNOW_CLASSIFICATION = ("tasks/classification/", "models/classifier.py", "models/weighted_sum.py", "report/", "corpora/")


def test_a_tasks_terms_stay_in_its_package():
    found = []
    for path in MODULES:
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(KNOW_CLASSIFICATION):
            lines = path.read_text().splitlines()
            found += [f"{name}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if TERMS.search(line)]
    found = [
        line for line in found if "each label's classes" not in line
    ]  # a corpus has labels whatever is learned of it
    assert not found


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
