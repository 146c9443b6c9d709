"""What import-linter cannot say (pyproject.toml has the order of the imports): a task's terms stay in its package, nothing is pickled."""

import re

from tests.conftest import ROOT

SOURCE = ROOT / "src/heed"
MODULES = sorted(SOURCE.rglob("*.py"))

# The terms of classification belong to its task, to the model that it builds, and to the report's chapters on it.
TERMS = re.compile(r"\baccurac|\bmacro_f1|\bclasses\b|\bconfusion", re.IGNORECASE)
KNOW_CLASSIFICATION = (
    "tasks/classification/",
    "models/classifier.py",
    "models/weighted_sum.py",
    "report/",
    "corpora/",
    "study/own_corpus.py",
)


def test_a_tasks_terms_stay_in_its_package():
    found = []
    for path in MODULES:
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(KNOW_CLASSIFICATION):
            lines = path.read_text().splitlines()
            found += [f"{name}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if TERMS.search(line)]
    assert not found


PICKLES = re.compile(r"^\s*(import|from) (pickle|joblib|dill|shelve)\b|\btorch\.(save|load)\(", re.MULTILINE)


def test_nothing_is_pickled_and_no_file_is_named_for_nothing():
    for path in MODULES:
        assert not PICKLES.search(path.read_text()), path
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
