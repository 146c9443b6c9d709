"""The published studies of this repository, and what pages say of them."""

import json
import re
import shutil
import subprocess

import pandas as pd
import pytest

from heed.evaluation.results import BETTER, SAME
from heed.pipeline import run_git
from heed.published.publish import INDEX, with_tables
from heed.report.forest_plot import LOOKS, OWN, PAGE, forest_plot, write_pictures
from tests.conftest import ROOT

STUDIES, MAX_BYTES = ROOT / INDEX.parent, 1_000_000
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


def test_the_tables_of_the_index_are_those_of_the_studies():
    text = (ROOT / INDEX).read_text()
    assert with_tables(text, STUDIES) == text
    for row in re.findall(r"\| \[.*", text):
        assert with_tables(text.replace(row, "| 1 |"), STUDIES) == text
    row = "| 88.2: better +1.15 (+0.04 to +2.25) | average 88.0: better "
    assert row in text


def test_the_pictures_of_the_docs_are_of_the_studies_of_today(tmp_path):
    figure = forest_plot(STUDIES)
    svg, page = (STUDIES / "forest.svg").read_text(), (ROOT / PAGE).read_text()
    assert 'width="270pt"' in svg, "360 px, which a phone of 390 px shows at full size"
    assert f"![{figure.title}](forest.svg)\n" in page
    marks = [mark for panel in figure.panels[:-1] for mark in panel.rows]
    points = [(mark["shape"], mark["x"]) for mark in marks if mark["kind"] == "point"]
    tables = pd.concat(map(pd.read_csv, STUDIES.glob("*/verdicts.csv")))
    rows = tables[tables["family"] == "primary"].copy()
    rows.loc[(rows["verdict"] == SAME) & (rows["low_pp"] > 0), "verdict"] = BETTER  # by < 1 point
    expected = [(LOOKS[v][0].marker, d) for v, d in rows[["verdict", "difference_pp"]].to_numpy()]
    assert sorted(points) == sorted(expected) and len(points) == 27
    for panel in figure.panels[:-1]:  # a line at zero, and the margin of equivalence around it
        zero, band = (next(row for row in panel.rows if row["kind"] == kind)
                      for kind in ("rule", "square"))  # fmt: skip
        assert zero["x"] == zero["x2"] == 0 and (band["x"], band["x2"]) == (-1, 1)
    row = "IMDB: sentiment, imdb: attention pooling against average: better +1.39 (+1.09 to +1.70)"
    assert row in figure.alt_text.split("; ")
    of_pages = shutil.ignore_patterns("*.pdf", "*.parquet", "*.html", "figures", "forest.svg")
    shutil.copytree(STUDIES, tmp_path / INDEX.parent, ignore=of_pages)
    (tmp_path / PAGE).write_text(page.replace("](forest.svg)", "](x)"))
    write_pictures(tmp_path)
    assert (tmp_path / PAGE).read_text() == page
    assert (tmp_path / INDEX.parent / "forest.svg").read_text() == svg, "write it: make picture"
    for key in OWN:  # not each Liberation Sans kerns the 11 of a name in the ladder
        svgs = [(folder / f"docs/figures/{key}.svg").read_text() for folder in (ROOT, tmp_path)]
        then, now = (re.split(r'(aria-label="[^"]*"|>[^<]+<|\d+\.?\d*)', svg) for svg in svgs)
        assert then[::2] == now[::2] and (then == now or then[:22] != now[:22])  # viewBox
        for one, other in zip(then[1::2], now[1::2], strict=True):
            assert one == other or (key == "ladder" and abs(float(one) - float(other)) <= 2)
