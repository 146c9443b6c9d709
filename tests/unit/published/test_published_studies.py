"""The published studies of this repository, and what pages say of them."""

import json
import re
import subprocess

import pandas as pd
import pytest

from heed.pipeline import run_git
from heed.published.pages import (
    INDEX,
    MAX_BYTES,
    README,
    results_table,
    ways_to_read,
    with_tables,
)
from tests.conftest import ROOT

STUDIES = ROOT / INDEX.parent
NAMES = sorted(path.parent.name for path in STUDIES.glob("*/edition.json"))
each_study = pytest.mark.parametrize("name", NAMES)


@each_study
def test_a_study_has_at_most_ten_files_and_a_page_that_asks_for_none(name):
    files = [path for path in (STUDIES / name).rglob("*") if path.is_file()]
    assert len(files) <= 10, files
    page = (STUDIES / name / "index.html").read_text()
    assert len(page.encode()) <= MAX_BYTES
    links = set(re.findall(r"""(?:href|src)=["']([^"']*)""", page))
    local = {link for link in links if not link.startswith(("#", "data:"))}
    assert all((STUDIES / name / link).is_file() for link in local), local
    anchors = {link[1:] for link in links if link.startswith("#")}
    assert anchors <= {*re.findall(r' id="([^"]*)"', page)}


@each_study
def test_the_commit_of_a_study_is_in_the_history_and_has_its_version(name):
    if run_git(ROOT, "rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone has no history: git fetch --unshallow")
    edition = json.loads((STUDIES / name / "edition.json").read_text())
    command = ["git", "merge-base", "--is-ancestor", edition["commit"], "HEAD"]
    assert not subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode
    code = run_git(ROOT, "show", f"{edition['commit']}:src/heed/__init__.py")
    assert f'__version__ = "{edition["version"]}"' in code and edition["machine"]


@each_study
def test_a_study_holds_no_text_of_a_corpus(name):
    table = pd.read_parquet(STUDIES / name / "statistics.parquet")
    texts = table.select_dtypes(["object", "string", "category"]).columns
    assert {*texts} <= {"experiment", "model", "metric"}


def test_the_tables_of_both_pages_are_those_of_the_studies():
    for path, table in ((README, results_table(STUDIES)), (INDEX, ways_to_read(STUDIES))):
        text = (ROOT / path).read_text()
        assert with_tables(text, table) == text
        row = re.search(r"\| \[.*", text)[0]
        assert with_tables(text.replace(row, "| 1 |"), table) == text
    row = "| `pooling` 89.3 | 86.1: not converged +3.18 (−0.96 to +7.32) | `mean` 88.0: better "
    assert row in (ROOT / README).read_text()
