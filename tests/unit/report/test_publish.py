"""A published study has no text of a corpus, has its sources, and its verdicts in pages."""

import csv
import dataclasses
import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from heed import __version__
from heed.corpora.kinds import KINDS
from heed.files import HeedError
from heed.report.formats import format_points
from heed.report.provenance import run_git
from heed.report.publish import (
    BEGIN,
    END,
    INDEX,
    Edition,
    publish,
    read_edition,
    summary,
    with_block,
    with_edition,
)
from heed.report.renderers import markdown
from heed.study import load
from heed.terminal import visible
from tests.conftest import ROOT
from tests.fixtures.git import commit_all
from tests.fixtures.report import made_up
from tests.fixtures.report.answers import NOISY, experiment_of, make_experiment

CELL = re.compile(r"(better|worse|the same|undecided|not converged) ([+−]?[\d.]+)")  # of the matrix
PLACE = BEGIN.format(name="sample") + END.format(name="sample") + "\nafter\n"
STUDIES = [path.parent.name for path in sorted((ROOT / "docs/studies").glob("*/metrics.json"))]


pytestmark = pytest.mark.usefixtures("empty_figures")


def clone(tmp_path: Path) -> Path:
    """A folder with the files that `heed publish` reads at the top of a clone."""
    for name in ("params.yaml", "dvc.lock", "metrics.json"):
        (tmp_path / name).write_text("{}\n")
    (tmp_path / "README.md").write_text("# heed\n" + PLACE)
    (tmp_path / INDEX).parent.mkdir(parents=True)
    (tmp_path / INDEX).write_text("# Studies\n" + PLACE)
    return tmp_path


def assert_matrix_of(edition: Path, readme: str) -> None:
    """README.md has the verdicts of the edition's table."""
    with (edition / "tables/verdicts.csv").open() as file:
        (row,) = (each for each in csv.DictReader(file) if each["experiment"] == "sample-author")
    (line,) = (line for line in readme.splitlines() if "Sample letters by author" in line)
    for rival in ("baseline", "control", "opponent"):
        number = format_points(float(row[f"{rival}_pp"]))
        assert f"{row[f'{rival}_verdict']} {number}" in line


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
    (root / "docs/studies/sample").mkdir()
    (root / "docs/studies/sample/README.md").write_text("# What came out\n")
    run_git(root, "init", "--quiet")
    commit = commit_all(root)
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
        "edition.json",
        "tables/summary.csv",
        "figures/gain.svg",
    } <= names
    assert (
        any(name.startswith("documents/") for name in names)
        == (into / "documents").exists()
        == generated
    )
    assert ("documents/" in (into / "index.html").read_text()) == generated
    edition = read_edition(into)
    assert edition == Edition(__version__, commit, [])
    assert (into / "README.md").read_text() == with_edition("# What came out\n", edition)
    page = (into / "index.html").read_text()
    for name in ("params.yaml", "README.md", "provenance.html"):
        assert f'href="{name}"' in page and (into / name).is_file()
    assert f"Provenance: heed {__version__}, {commit[:10]}</a>" in page
    assert 'href="../../statistics.md"' in page and "make pdf" in page
    assert_summaries(root, into)


def assert_summaries(root: Path, edition: Path) -> None:
    """README.md and the index have the summary of an edition in their place, and link to it."""
    text = (root / "README.md").read_text()
    assert_matrix_of(edition, text)
    assert "**Two corpora: attention " in text
    assert "[index.html](docs/studies/sample/index.html)" in text and "report.pdf" not in text
    assert text.endswith("\nafter\n")
    index = (root / INDEX).read_text()
    assert_matrix_of(edition, index)
    assert "[index.html](sample/index.html)" in index and "(sample/figures/gain.svg)" in index
    assert index.startswith("# Studies\n") and index.endswith("\nafter\n")


MARKDOWN = [
    "a | b | c",
    "[link](https://example.org) ![image](x.png)",
    "<script>alert(1)</script><b>bold</b>",
    "`code` **strong** _word_ ~~gone~~",
    "two\n\n# lines\r\n| x |",
    "https://example.org www.example.org <me@example.org>",
    "&lt;b&gt; &#42; \\| \\",
    BEGIN.format(name="sample") + END.format(name="sample"),
    "\u202egnirts \x1b[2J",
]


@pytest.mark.drill("publish: Markdown in a title")
@pytest.mark.parametrize("title", MARKDOWN)
def test_a_title_is_text_in_the_readme(title):
    experiment = dataclasses.replace(
        experiment_of(make_experiment(mean=NOISY), "it"), title=title, mark="generated text"
    )
    block = summary("sample", [experiment], seeds=3, has_pdf=True)
    readme = with_block("# heed\n" + PLACE, "sample", block)
    assert with_block(readme, "sample", block) == readme, "publishing again finds the same place"
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(block)
    (cells,) = [
        [token for token in tokens[start + 1 : start + 12] if token.type == "inline"]
        for start, token in enumerate(tokens)
        if token.type == "tr_open" and tokens[start + 1].type == "td_open"
    ]
    assert len(cells) == 4 and cells[1].content == "▲ better +4.00"
    assert {token.type for token in cells[0].children} <= {"text", "text_special"}
    assert "".join(token.content for token in cells[0].children) == visible(" ".join(title.split()))
    assert "(generated text)" in block
    assert "\x1b" not in readme and "http:" not in block and "https:" not in block


@pytest.mark.drill("publish: absolute paths in titles, notes, params.yaml, dvc.lock", faults=7)
def test_an_edition_has_no_path_of_this_machine(tmp_path, monkeypatch):
    (tmp_path / "home/me/clone").mkdir(parents=True)
    root = clone(tmp_path / "home/me/clone")
    monkeypatch.setenv("HOME", str(tmp_path / "home/me"))
    monkeypatch.chdir(root)
    home, data = tmp_path / "home/me", tmp_path / "data/secret project"
    texts = {
        "title": f"Results in {root}/results and {home}/notes.txt",
        "note": f"Read '{home}/a_b/long_name_of_a_file.csv', {home}.",
    }
    (root / "params.yaml").write_text(
        f"study: {{note: {texts['note']!r}}}\nsources: {{it: {{path: {data}/reviews.csv}}}}\n"
        f"# from {data}/reviews.csv\n"
        f"more: {{paths: {{train: {data}/train.tsv}}, vectors: {data}/words.vec}}\n"
    )
    (root / "dvc.lock").write_text(
        f"stages:\n  a:\n    cmd: heed download {root}\n    deps:\n    - path: {data}/more.csv\n"
        f"    - path: {root}/src/heed/files.py\n"
    )
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    params = params.model_copy(update={"study": dataclasses.replace(params.study, **texts)})
    experiment = dataclasses.replace(params.experiments["sample-author"], title=f"In {root}/x")
    params = params.model_copy(
        update={"experiments": params.experiments | {"sample-author": experiment}}
    )
    results = made_up.results(comparison, root / "results")
    folder = publish(params, comparison, ROOT / "data/published", results, Path())
    for path in [*folder.rglob("*"), root / "README.md"]:
        if path.is_file():
            text = path.read_bytes().replace(b"\\allowbreak{}", b"").replace(b"\\_", b"_")
            for secret in (tmp_path, root, home, data, tmp_path.name, "secret"):
                assert str(secret).encode() not in text, path
    assert "Results in results and notes.txt" in (folder / "index.html").read_text()
    assert "{path: reviews.csv}" in (folder / "params.yaml").read_text()
    assert "{paths: {train: train.tsv}, vectors: words.vec}" in (folder / "params.yaml").read_text()
    assert "- path: src/heed/files.py\n" in (folder / "dvc.lock").read_text()
    assert "| In x" in (root / "README.md").read_text()


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
    assert not (root / "docs/studies/sample").exists()
    (root / ".heed/pdf/printed.tex").write_text("now")
    into = publish(params, comparison, ROOT / "data/published", results, root)
    assert (into / "report.pdf").read_text() == "printed"
    assert "[report.pdf](docs/studies/sample/report.pdf)" in (root / "README.md").read_text()
    (root / "reports/report.pdf").unlink()
    assert not (
        publish(params, comparison, ROOT / "data/published", results, root) / "report.pdf"
    ).exists()


@pytest.mark.parametrize(
    ("page", "text", "message"),
    [
        (INDEX, "# Studies\n", r"docs/studies/index\.md: no place for the study sample"),
        (INDEX, BEGIN.format(name="sample"), r"docs/studies/index\.md: .* begin .* has no .* end"),
        ("README.md", BEGIN.format(name="sample"), r"README\.md: .* begin .* has no .* end"),
    ],
)
def test_a_page_without_a_place_is_one_clear_message_and_nothing_is_written(
    tmp_path, page, text, message
):
    root = clone(tmp_path)
    (root / page).write_text(text)
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    with pytest.raises(HeedError, match=message):
        publish(params, comparison, ROOT / "data/published", root / "results", root)
    assert (root / page).read_text() == text
    assert not (root / "docs/studies/sample").exists()


def test_readme_needs_no_place_for_a_study(tmp_path):
    root = clone(tmp_path)
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    results = made_up.results(comparison, tmp_path / "results")
    (root / "README.md").write_text("# heed\n")
    publish(params, comparison, ROOT / "data/published", results, root)
    assert (root / "README.md").read_text() == "# heed\n"
    assert "Verdicts on attention" in (root / INDEX).read_text()


def test_a_study_of_ones_own_needs_no_place_in_any_page(tmp_path):
    root = clone(tmp_path)
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    results = made_up.results(comparison, tmp_path / "results")
    for page in ("README.md", INDEX):
        (root / page).write_text("# heed\n")
    (root / "studies").mkdir()
    (root / "studies/sample.yaml").write_text("{}\n")
    publish(params, comparison, ROOT / "data/published", results, root)
    assert (root / "README.md").read_text() == (root / INDEX).read_text() == "# heed\n"
    (root / "README.md").write_text(PLACE)
    publish(params, comparison, ROOT / "data/published", results, root)
    assert "Verdicts on attention" in (root / "README.md").read_text()


def published_rows(name: str, page: Path | str) -> dict[str, str]:
    """The rows of a published study's matrix in a page, by experiment; none without a place."""
    text = (ROOT / page).read_text()
    if page != INDEX and BEGIN.format(name=name) not in text:
        return {}
    region = text[text.index(BEGIN.format(name=name)) : text.index(END.format(name=name))]
    rows = [line for line in region.splitlines() if line.startswith("| ")]
    titles = {
        key: markdown.escape(experiment.title)
        for key, experiment in load(ROOT / f"docs/studies/{name}/params.yaml").experiments.items()
    }
    return {
        key: row for key, title in titles.items() for row in rows if row.startswith(f"| {title} ")
    }


def test_readme_has_the_verdicts_of_published_studies():
    assert published_rows("sample", "README.md")


@pytest.mark.parametrize("page", [INDEX, "README.md"])
@pytest.mark.parametrize("name", STUDIES)
def test_a_matrix_in_a_page_has_the_verdicts_of_the_published_tables(name, page):
    """Also that the study's gains are those of its metrics.json."""
    folder = ROOT / "docs/studies" / name
    metrics = json.loads((folder / "metrics.json").read_text())
    rows = published_rows(name, page)
    assert list(rows) == list(load(folder / "params.yaml").experiments) or (
        page != INDEX and not rows
    )
    for key, row in rows.items():
        assert format_points(metrics[key]["gain_pp"]) in row
        with (folder / f"tables/{key}_comparisons.csv").open() as file:
            differences = list(csv.DictReader(file))
        if "verdict" not in differences[0]:
            continue  # published before heed had verdicts; its table has none
        verdicts = {
            (each["verdict"].removeprefix("practically "), float(each["difference_pp"]))
            for each in differences
        }
        verdicts = {("the same" if word == "same" else word, value) for word, value in verdicts}
        cells = [CELL.search(cell) for cell in row.split("|")[2:-1]]
        # after them the talk's, where it has one; without a control its column is not there
        assert cells[0] and cells[min(2, len(cells) - 1)], row
        for cell in filter(None, cells):
            assert (cell[1], float(cell[2].replace("−", "-"))) in verdicts, (key, cell[0])


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
    into.mkdir()
    (into / "README.md").write_text("what came out")
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    results = made_up.results(comparison, tmp_path / "results")
    (root / "dvc.lock").unlink()
    with pytest.raises(HeedError, match=r"dvc\.lock: there is none yet"):
        publish(params, comparison, ROOT / "data/published", results, root)
    assert [path.name for path in into.iterdir()] == ["README.md"]
