"""A published study has no text of a corpus, has its sources, and its metrics are in the README."""

import dataclasses
import json
from pathlib import Path

import pytest

from heed.corpora.kinds import KINDS
from heed.files import HeedError, write_text
from heed.report.publish import BEGIN, END, publish, summary, with_block
from heed.study import load
from tests.conftest import ROOT
from tests.fixtures.report import made_up

STUDIES = [path.parent.name for path in sorted((ROOT / "docs/studies").glob("*/metrics.json"))]


@pytest.fixture(autouse=True)
def empty_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty figures: drawing those of a study takes half a minute."""
    monkeypatch.setattr(
        "heed.report.render.draw",
        lambda path, alt_text, size, draw_content: write_text(path.with_suffix(".svg"), "<svg/>"),
    )


def clone(tmp_path: Path) -> Path:
    """A folder with the files that `heed publish` reads at the top of a clone."""
    for name in ("params.yaml", "dvc.lock", "metrics.json"):
        (tmp_path / name).write_text("{}\n")
    metrics = {
        "sample-author": {
            "baseline": 0.8,
            "attention": 0.75,
            "gain_pp": -5.0,
            "low_pp": -7.5,
            "high_pp": -2.5,
            "p_holm": 0.0021,
            "linear": 0.9,
        }
    }
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    (tmp_path / "README.md").write_text(
        "# heed\n" + BEGIN.format(name="sample") + END.format(name="sample") + "\nafter\n"
    )
    return tmp_path


@pytest.mark.parametrize("generated", [True, False])
def test_an_edition_has_its_sources_and_documents_only_where_heed_made_them(tmp_path, generated):
    root = clone(tmp_path)
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    if not generated:
        name, result = next(iter(comparison.experiments.items()))
        corpus = dataclasses.replace(
            result.corpus, facts=dataclasses.replace(result.corpus.facts, generated=False)
        )
        comparison.experiments[name] = dataclasses.replace(result, corpus=corpus)
    (root / "docs/studies/sample").mkdir(parents=True)
    (root / "docs/studies/sample/README.md").write_text("what came out")
    results = made_up.results(comparison, tmp_path / "results")
    for _ in range(2):
        into = publish(params, comparison, ROOT / "data/published", results, root)
    names = {path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_file()}
    assert {
        "index.html",
        "report.tex",
        "README.md",
        "params.yaml",
        "dvc.lock",
        "metrics.json",
        "tables/summary.csv",
        "figures/gain.svg",
    } <= names
    assert (
        any(name.startswith("documents/") for name in names)
        == (into / "documents").exists()
        == generated
    )
    assert ("documents/" in (into / "index.html").read_text()) == generated
    assert (into / "README.md").read_text() == "what came out"
    text = (root / "README.md").read_text()
    assert "| 0.8000 | – | 0.7500 | 0.9000 | −5.00 | −7.50 to −2.50 | 0.0021 |" in text
    assert text.count("−5.00") == 1
    assert text.endswith("\nafter\n")


def test_a_pdf_goes_along_if_it_is_of_this_report(tmp_path):
    root = clone(tmp_path)
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    results = made_up.results(comparison, tmp_path / "results")
    (root / "reports").mkdir()
    (root / "reports/report.tex").write_text("now")
    (root / "reports/report.pdf").write_text("printed")
    (root / ".heed/pdf").mkdir(parents=True)
    (root / ".heed/pdf/printed.tex").write_text("before")
    with pytest.raises(
        HeedError,
        match=r"reports/report\.pdf: not of the present reports/report\.tex. Run: make pdf",
    ):
        publish(params, comparison, ROOT / "data/published", results, root)
    assert not (root / "docs").exists()
    (root / ".heed/pdf/printed.tex").write_text("now")
    into = publish(params, comparison, ROOT / "data/published", results, root)
    assert (into / "report.pdf").read_text() == "printed"
    (root / "reports/report.pdf").unlink()
    assert not (
        publish(params, comparison, ROOT / "data/published", results, root) / "report.pdf"
    ).exists()


def test_a_readme_without_a_place_is_one_clear_message_and_nothing_is_written(tmp_path):
    root = clone(tmp_path)
    (root / "README.md").write_text("# heed\n")
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    with pytest.raises(HeedError, match=r"README\.md: no place for the study sample"):
        publish(params, comparison, ROOT / "data/published", root / "results", root)
    assert not (root / "docs").exists()


@pytest.mark.parametrize("name", STUDIES)
def test_the_readmes_summary_is_the_published_metrics(name):
    folder, readme = ROOT / "docs/studies" / name, (ROOT / "README.md").read_text()
    params, metrics = (
        load(folder / "params.yaml"),
        json.loads((folder / "metrics.json").read_text()),
    )
    block = summary(name, metrics, {key: each.title for key, each in params.experiments.items()})
    assert with_block(readme, name, block) == readme, "say: heed publish"


@pytest.mark.parametrize("name", STUDIES)
def test_a_published_study_holds_no_text_of_a_corpus(name):
    folder = ROOT / "docs/studies" / name
    generated = all(
        KINDS[corpus.kind].generated for corpus in load(folder / "params.yaml").corpora.values()
    )
    assert not [*folder.rglob("*.parquet")] and (generated or not [*folder.rglob("documents")])


def test_an_edition_that_cannot_be_made_leaves_the_old_one(tmp_path):
    root = clone(tmp_path)
    into = root / "docs/studies/sample"
    into.mkdir(parents=True)
    (into / "README.md").write_text("what came out")
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    results = made_up.results(comparison, tmp_path / "results")
    (root / "dvc.lock").unlink()
    with pytest.raises(HeedError, match=r"dvc\.lock: there is none yet"):
        publish(params, comparison, ROOT / "data/published", results, root)
    assert [path.name for path in into.iterdir()] == ["README.md"]
