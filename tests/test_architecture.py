"""Rules that import-linter cannot check: a task's terms stay in its package, nothing is pickled.

The order of imports is declared in pyproject.toml."""

import ast
import functools
import re
import sys
import tomllib
from collections import Counter
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.conftest import ROOT

SOURCE = ROOT / "src/heed"
MODULES = sorted(SOURCE.rglob("*.py"))
TOOLS, TESTS = ([*(ROOT / name).rglob("*.py")] for name in ("workflow", "tests"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a file's syntax tree, which is made once."""
    return [*ast.walk(ast.parse(path.read_text()))]


def functions(*paths: Path) -> dict[str, ast.FunctionDef]:
    """Return all functions of files by the path of their file, their line and their name."""
    return {
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}": node
        for path in paths for node in nodes(path) if isinstance(node, ast.FunctionDef)
    }  # fmt: skip


def imports(path: Path) -> set[str]:
    """Return every module imported anywhere in a file, except for type checking only."""
    conditions = (node for node in nodes(path) if isinstance(node, ast.If))
    typing = (node for node in conditions if getattr(node.test, "id", "") == "TYPE_CHECKING")
    typing_only = {inner for node in typing for inner in ast.walk(node)}
    modules = set()
    for node in nodes(path):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
    return modules


def test_every_package_that_is_imported_is_declared():
    names = {name.split(".")[0] for path in [*MODULES, *TOOLS] for name in imports(path)}
    heed_modules = {"heed", *(path.stem for path in TOOLS)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = sum(project["optional-dependencies"].values(), project["dependencies"])
    declared = {re.split(r"[<>=\[]", requirement)[0] for requirement in declared}
    distributions = packages_distributions()
    for name in sorted(names - heed_modules - sys.stdlib_module_names):
        found = distributions.get(name, [name])
        packages = {package.lower().replace("_", "-") for package in found}
        assert packages & declared, (
            f"{name} is imported, but pyproject.toml declares none of {packages or 'its packages'}"
        )


# The terms of classification belong to its task, to the model that it builds, and to the report's
# chapters on it.
TERMS = re.compile(r"\baccurac|\bmacro_f1|\bclasses\b|\bconfusion", re.IGNORECASE)
KNOW_CLASSIFICATION = (
    "tasks/classification/", "models/classifier.py",
    "explanation/",  # of decisions between classes
    "report/", "published/", "verdict/",
    "corpora/", "study/own_",
    "study/experiments.py",  # of what weights explain of decisions between classes
)  # fmt: skip


def test_a_tasks_terms_stay_in_its_package():
    for path in MODULES:
        name, lines = path.relative_to(SOURCE).as_posix(), path.read_text().splitlines()
        if not name.startswith(KNOW_CLASSIFICATION):
            assert [(n, line) for n, line in enumerate(lines, 1) if TERMS.search(line)] == [], name


PICKLES = re.compile(r"(?m)^\s*(import|from) (pickle|joblib|dill|shelve)\b|\btorch\.(save|load)\(")


def test_nothing_is_pickled_and_no_module_has_a_meaningless_name():
    for path in MODULES:
        assert not PICKLES.search(path.read_text()), path
        assert path.stem not in {"utils", "helpers", "common", "misc", "manager"}


def test_the_project_names_no_path_of_the_machine_that_it_was_written_on():
    others = [ROOT / "README.md", ROOT / "Makefile", *(ROOT / "envs").glob("*")]
    for path in [*MODULES, *(ROOT / "docs").glob("**/*.md"), *others]:
        text = path.read_text()
        assert "/work/" not in text.replace(".heed/work/", "") and "pypi.org" not in text, path


def test_no_function_is_longer_than_45_lines():
    found = functions(*MODULES, *TOOLS, *TESTS)
    assert not [name for name, node in found.items() if node.end_lineno - node.lineno >= 45]


# --- ceilings: what heed may weigh. They go down; docs/internals/decisions.md names the feature for
# which one is raised.

CEILINGS = {
    "cli": 839, "corpora": 3095, "evaluation": 1579, "explanation": 2783, "hyperparameters": 488,
    "inputs": 960, "models": 2449, "modules": 2568, "published": 607, "report": 5419,
    "search": 1018, "study": 3297, "task": 272, "tasks": 4053, "tokens": 1843, "training": 1116,
    "verdict": 1287,
}  # fmt: skip  # `modules` are those of no package
MOST_MODULES = 175
MOST_LINES_OF_TESTS = 25_519  # of Python
# functions by their cyclomatic complexity, comprehensions and boolean operators included (as radon
# counts it; ruff counts neither, and stops at 12)
MOST_ABOVE_10, MOST_COMPLEX = 9, 14
BRANCHES = ast.If | ast.IfExp | ast.For | ast.While | ast.Assert


def test_no_package_has_more_lines_than_its_ceiling():
    lines: Counter[str] = Counter()
    for path in MODULES:
        lines[path.relative_to(SOURCE).parts[0]] += len(path.read_text().splitlines())
    packages = {name: count for name, count in lines.items() if not name.endswith(".py")}
    packages["modules"] = lines.total() - sum(packages.values())
    assert packages.keys() == CEILINGS.keys()
    assert not {name: count for name, count in packages.items() if count > CEILINGS[name]}
    assert len(MODULES) <= MOST_MODULES


def test_the_tests_have_no_more_lines_than_their_ceiling():
    assert sum(len(path.read_text().splitlines()) for path in TESTS) <= MOST_LINES_OF_TESTS


def complexity(function: ast.FunctionDef) -> int:
    """Return the cyclomatic complexity of a function, without the functions in it."""
    total, waiting = 1, [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        total += isinstance(node, BRANCHES)
        if isinstance(node, ast.For | ast.While):
            total += bool(node.orelse)
        if isinstance(node, ast.Try):
            total += len(node.handlers) + bool(node.orelse)
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        if isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        if isinstance(node, ast.Match):
            total += len(node.cases)
        waiting += ast.iter_child_nodes(node)
    return total


def test_few_functions_are_complex():
    found = {name: complexity(node) for name, node in functions(*MODULES).items()}
    above = {name: count for name, count in found.items() if count > 10}
    assert len(above) <= MOST_ABOVE_10, above
    assert max(above.values()) <= MOST_COMPLEX, above
