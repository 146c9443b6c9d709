"""A published study has no text of a corpus, has its sources, and its verdicts in pages."""

import csv
import dataclasses
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from heed import __version__
from heed.corpora.kinds import KINDS
from heed.evaluation.results import Comparison, format_rounded
from heed.files import HeedError
from heed.report import html
from heed.report.experiments import may_publish_text
from heed.report.figures.vega import as_svg
from heed.report.formats import format_points
from heed.report.front_page import LOOKS, check_names, forest_plot, with_results, with_scores
from heed.report.provenance_page import run_git
from heed.report.publish import (
    BEGIN,
    END,
    FRONT_PAGE,
    INDEX,
    PublishedReport,
    publish,
    read_published_report,
    summary,
    with_block,
    with_published_report,
    write_lists,
)
from heed.study import Params, parse
from heed.study.reader import use_todays_names
from heed.terminal import visible
from tests.conftest import ROOT
from tests.fixtures.git import commit_all
from tests.fixtures.report import made_up
from tests.fixtures.report.answers import NOISY, experiment_of, make_experiment
from tests.unit.report.conftest import PUBLISHED, clone_to

STATISTICS = {"sample-author": pd.DataFrame({"item": [1, 2], "right": [0, 1]})}
CELL = re.compile(r"(better|worse|the same|undecided|not converged) ([+−]?[\d.]+)")  # of the matrix
BEGINS, ENDS = BEGIN.format(name="sample"), END.format(name="sample")
PLACE = f"{BEGINS}{ENDS}\nafter\n"
STUDIES = [path.parent.name for path in sorted((ROOT / "docs/studies").glob("*/metrics.json"))]


def declared(folder: Path) -> Params:
    """The params.yaml of a published study, which heed 0.2.0 wrote."""
    path = folder / "params.yaml"
    return parse(use_todays_names(path.read_text(), path)[0])


pytestmark = pytest.mark.usefixtures("empty_figures")


def clone(folder: Path) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    return clone_to(folder, "sample")


def publish_sample(root: Path, data: Comparison | None = None) -> Path:
    """Publish the made-up sample study of a clone."""
    data = data or made_up.comparison("sample")
    results = made_up.results(data, root / "results")
    return publish(made_up.study("sample"), data, PUBLISHED, results, root, STATISTICS)


@pytest.mark.parametrize(
    ("kind", "generated", "expected"),
    [("sample-plain", True, True), ("imdb", False, False), ("federalist", False, True)],
)
def test_text_may_be_published_that_is_generated_or_in_the_public_domain(kind, generated, expected):
    result = made_up.comparison("sample").experiments["sample-sentiment"]
    statistics = dataclasses.replace(result.corpus.statistics, kind=kind, generated=generated)
    assert may_publish_text(dataclasses.replace(result.corpus, statistics=statistics)) is expected


@pytest.mark.parametrize("generated", [True, False])
def test_an_edition_has_its_sources_and_documents_only_where_heed_made_them(tmp_path, generated):
    root, data = clone(tmp_path), made_up.comparison("sample")
    if not generated:
        name, result = next(iter(data.experiments.items()))
        statistics = dataclasses.replace(result.corpus.statistics, kind="imdb", generated=False)
        corpus = dataclasses.replace(result.corpus, statistics=statistics)
        data.experiments[name] = dataclasses.replace(result, corpus=corpus)
    (root / "docs/studies/sample").mkdir()
    (root / "docs/studies/sample/README.md").write_text("# What came out\n")
    run_git(root, "init", "--quiet")
    commit = commit_all(root)
    for _ in range(1 + generated):  # also over what is there
        into = publish_sample(root, data)
    names = {path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_file()}
    assert {
        "index.html", "report.tex", "README.md", "params.yaml", "dvc.lock", "metrics.json",
        "edition.json", "results.csv", "tables/summary.csv", "figures/models.svg",
        "statistics/sample-author.parquet", "statistics/SHA256SUMS",
    } <= names  # fmt: skip
    assert any(name.startswith("documents/") for name in names) == generated
    assert (into / "documents").exists() == generated
    assert ("documents/" in (into / "index.html").read_text()) == generated
    published_report = read_published_report(into)
    assert published_report == PublishedReport(__version__, commit, [])
    assert (into / "README.md").read_text() == with_published_report(
        "# What came out\n", published_report
    )
    page = (into / "index.html").read_text()
    for name in ("params.yaml", "README.md", "provenance.html"):
        assert f'href="{name}"' in page and (into / name).is_file()
    assert f"Provenance: heed {__version__}, {commit[:10]}</a>" in page
    assert 'href="../../statistics.md"' in page and "make pdf" in page
    assert_summaries(root, generated)


def assert_summaries(root: Path, is_generated: bool) -> None:
    """README.md and the index have the summary of a published report in their place, and link to
    it.
    """
    text = (root / "README.md").read_text()
    use = "Whether attention " if is_generated else "Use the linear model: 87.3%; "
    sentence = re.compile(rf"\*\*Sample sentiment .*: {use}.*against .*%")
    assert sentence.search(text)
    assert "[index.html](docs/studies/sample/index.html)" in text and "report.pdf" not in text
    assert text.endswith("\nafter\n")
    index = (root / INDEX).read_text()
    assert sentence.search(index)
    assert "[index.html](sample/index.html)" in index and "(sample/figures/models.svg)" in index
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
    experiment = experiment_of(make_experiment(mean=NOISY), "it")
    experiments = [
        dataclasses.replace(experiment, title=each, mark="generated text")
        for each in (title, "other")
    ]
    block = summary("sample", experiments, has_pdf=True)
    readme = with_block("# heed\n" + PLACE, "sample", block)
    assert with_block(readme, "sample", block) == readme, "publishing again finds the same place"
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(block)
    assert {token.type for token in tokens} == {"paragraph_open", "inline", "paragraph_close"}
    first = next(token for token in tokens if token.type == "inline")
    kinds = {"text", "text_special", "strong_open", "strong_close"}
    assert {token.type for token in first.children} <= kinds
    text = "".join(token.content for token in first.children)
    assert text.startswith(f"{visible(' '.join(title.split()))}: ") and "The report (gen" in block
    assert "\x1b" not in readme and "http:" not in block and "https:" not in block


@pytest.mark.drill("publish: absolute paths in titles, notes, params.yaml, dvc.lock", faults=7)
def test_an_edition_has_no_path_of_this_machine(tmp_path, monkeypatch):
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
    (root / "dvc.yaml").write_text("stages: {a: {cmd: heed download}}\n")
    (root / "dvc.lock").write_text(
        f"stages:\n  a:\n    cmd: heed download {root}\n    deps:\n    - path: {data}/more.csv\n"
        f"    - path: {root}/src/heed/files.py\n"
    )
    params, comparison = made_up.study("sample"), made_up.comparison("sample")
    params = dataclasses.replace(params, study=dataclasses.replace(params.study, **texts))
    experiment = dataclasses.replace(params.experiments["sample-author"], title=f"In {root}/x")
    params = dataclasses.replace(
        params, experiments=params.experiments | {"sample-author": experiment}
    )
    results = made_up.results(comparison, root / "results")
    folder = publish(params, comparison, PUBLISHED, results, Path(), {})
    for path in [*folder.rglob("*"), root / "README.md"]:
        if path.is_file():
            text = path.read_bytes().replace(b"\\allowbreak{}", b"").replace(b"\\_", b"_")
            for secret in (tmp_path, root, home, data, tmp_path.name, "secret"):
                assert str(secret).encode() not in text, path
    assert "Results in results and notes.txt" in (folder / "index.html").read_text()
    assert "{path: reviews.csv}" in (folder / "params.yaml").read_text()
    assert "{paths: {train: train.tsv}, vectors: words.vec}" in (folder / "params.yaml").read_text()
    assert "- path: src/heed/files.py\n" in (folder / "dvc.lock").read_text()
    assert "**In x: " in (root / "README.md").read_text()


def test_a_pdf_goes_along_if_it_is_of_this_report(tmp_path):
    root = clone(tmp_path)
    printed = root / ".heed/pdf/printed.tex"
    texts = {"reports/report.tex": "now", "reports/report.pdf": "printed", printed: "before"}
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    message = r"reports/report\.pdf: not of the present reports/report\.tex. Run: make pdf"
    with pytest.raises(HeedError, match=message):
        publish_sample(root)
    assert not (root / "docs/studies/sample").exists()
    printed.write_text("now")
    assert (publish_sample(root) / "report.pdf").read_text() == "printed"
    assert "[report.pdf](docs/studies/sample/report.pdf)" in (root / "README.md").read_text()
    (root / "reports/report.pdf").unlink()
    assert not (publish_sample(root) / "report.pdf").exists()


@pytest.mark.parametrize(
    ("page", "text", "message"),
    [
        (INDEX, "# Studies\n", r"docs/studies/index\.md: no place for the study sample"),
        (INDEX, BEGINS, r"docs/studies/index\.md: .* begin .* has no .* end"),
        ("README.md", BEGINS, r"README\.md: .* begin .* has no .* end"),
    ],
)
def test_a_page_without_a_place_is_one_clear_message_and_nothing_is_written(
    tmp_path, page, text, message
):
    root = clone(tmp_path)
    (root / page).write_text(text)
    with pytest.raises(HeedError, match=message):
        publish_sample(root)
    assert (root / page).read_text() == text
    assert not (root / "docs/studies/sample").exists()


def test_readme_needs_no_place_for_a_study_and_one_of_ones_own_needs_it_in_no_page(tmp_path):
    root = clone(tmp_path)
    readme, index = root / "README.md", root / INDEX
    readme.write_text("# heed\n")
    publish_sample(root)
    assert readme.read_text() == "# heed\n" and "**Sample sentiment" in index.read_text()
    index.write_text("# heed\n")
    readme.write_text(PLACE)
    (root / "studies").mkdir()
    (root / "studies/sample.yaml").write_text("{}\n")
    publish_sample(root)
    assert index.read_text() == "# heed\n" and "**Sample sentiment" in readme.read_text()


def published_lines(name: str) -> dict[str, str]:
    """What the index says of each experiment: a row of a matrix, of later studies a sentence."""
    text = (ROOT / INDEX).read_text()
    region = text[text.index(BEGIN.format(name=name)) : text.index(END.format(name=name))]
    experiments = declared(ROOT / f"docs/studies/{name}").experiments
    titles = {key: html.escape_markdown(each.title) for key, each in experiments.items()}
    starts = {key: (f"| {title} ", f"**{title}") for key, title in titles.items()}
    if len(titles) == 1:  # its sentence has no title
        starts = {key: (*each, "**Use ", "**Attention ") for key, each in starts.items()}
    lines = region.splitlines()
    return {k: line for k, start in starts.items() for line in lines if line.startswith(start)}


def test_readme_has_the_results_of_published_reports():
    readme = (ROOT / "README.md").read_text()
    assert with_results(readme, ROOT / "docs/studies") == readme
    row = "| `pooling` 89.3 | 86.1: not converged +3.18 (−0.96 to +7.32) | `mean` 88.0: better "
    assert row in readme
    assert with_results(readme.replace(row, "| 1 |"), ROOT / "docs/studies") == readme


def test_the_index_has_the_scores_of_every_way_to_read():
    index = (ROOT / INDEX).read_text()
    assert with_scores(index, ROOT / "docs/studies") == index
    score = json.loads((ROOT / "docs/studies/yelp/metrics.json").read_text())["yelp"]["bag"]
    (row,) = re.findall(r"\| \[Stars of reviews\].*", index)
    (federalist,) = re.findall(r"\| \[The Federalist: .*", index)
    assert "| 73.3 |" in federalist, "metrics.json has .7325, of .73252"
    assert f"| {100 * score:.1f} |" in row and "| undecided +0.73 (−0.75 to +2.22) |" in row
    assert with_scores(index.replace(row, "| 1 |"), ROOT / "docs/studies") == index


def published_verdicts() -> dict[str, tuple[str, str]]:
    """The verdict and the difference of every published experiment against its control.

    One without a control and a baseline, which has reference models alone, is no row.
    """
    found = {}
    for name in STUDIES:
        with (ROOT / f"docs/studies/{name}/tables/verdicts.csv").open() as file:
            for row in csv.DictReader(file):
                kind = "control" if row.get("control") else "baseline"
                if kind not in row:
                    continue
                figures = row[f"{kind}_verdict"], row[f"{kind}_pp"]
                found[f"{name}/{row['experiment']}/{row[kind]}"] = figures
    return found


def test_the_forest_plot_agrees_with_the_published_reports():
    """The points' shapes and places and the words of its description, row by row."""
    figure, published = forest_plot(ROOT / "docs/studies"), published_verdicts()
    points = [
        (mark["shape"], mark["x"])
        for panel in figure.panels[:-1]
        for mark in panel[0].rows
        if mark["kind"] == "point"
    ]
    expected = [(LOOKS[verdict][0].marker, float(pp)) for verdict, pp in published.values()]
    assert (
        sorted(points) == sorted(expected) and len({each[0].marker for each in LOOKS.values()}) == 5
    )
    rows = figure.alt_text.split("; ")
    studies = {name.split("/")[0] for name in published}
    assert f" {len(published)} experiments of {len(studies)} published studies: " in figure.title
    assert {*STUDIES} - studies == {"encoder"}, "it compares pooling with reference models alone"
    for name, (verdict, pp) in published.items():
        study, _, control = name.split("/")
        says = f": {verdict.removeprefix('practically ')} {pp.replace('-', '−')} ("
        assert any(f" {study}: " in r and f"against {control}{says}" in r for r in rows), name
    row = "IMDB: sentiment, imdb: pooling against mean: better +1.24 (+0.98 to +1.51)"
    assert row in rows


def test_the_front_page_of_docs_has_the_forest_plot_of_today(tmp_path):
    text = (ROOT / FRONT_PAGE).read_text()
    figure = forest_plot(ROOT / "docs/studies")
    assert f"![{figure.title}](forest.svg)\n" in text
    svg = (ROOT / "docs/forest.svg").read_text()
    assert svg == as_svg(figure), "write it: make picture"
    assert ">Paragraphs, and a cap of 50 words in training<" in svg and "…" not in svg
    assert 'width="270pt"' in svg, "360 px, which a phone of 390 px shows at full size"
    assert "prefers-color-scheme:dark" in svg and 'aria-label="Attention against its ' in svg
    for name in ("imdb", "translation"):
        shutil.copytree(
            ROOT / f"docs/studies/{name}/tables", tmp_path / f"docs/studies/{name}/tables"
        )
        shutil.copy(ROOT / f"docs/studies/{name}/params.yaml", tmp_path / f"docs/studies/{name}")
    page = tmp_path / FRONT_PAGE
    page.write_text("# heed\n")
    write_lists(tmp_path)
    assert page.read_text() == "# heed\n", "a page without the place stays"
    page.write_text(text)
    write_lists(tmp_path)
    written = page.read_text()
    assert " 4 experiments of 2 published studies: " in written and written.endswith(text[-80:])
    assert "translation: against uniform" in (tmp_path / "docs/forest.svg").read_text()


def test_the_readme_cannot_name_an_experiment_that_compares_attention_with_nothing():
    check_names(RESULTS.format("imdb/imdb"), ROOT / "docs/studies", {})
    with pytest.raises(HeedError, match=r"encoder/imdb in the table of results: .* no such compa"):
        check_names(RESULTS.format("encoder/imdb"), ROOT / "docs/studies", {})


RESULTS = "<!-- heed publish results of {}: begin -->\n<!-- heed publish results: end -->\n"


@pytest.mark.parametrize(
    ("control", "model", "cells"),
    [
        ("mean", "linear", "| `mean` 70.0: the same +10.00 (+1.00 to +2.00) | `linear` 60.0: "),
        ("baseline", "pretrained", "| – | `pretrained` 60.0: the same +20.00 (+1.00 to +2.00) |"),
        ("baseline", "", "| – | – |"),
        ("mean-baseline", "", "| `mean-baseline` 70.0: the same +10.00 (+1.00 to +2.00) | – |"),
    ],
)
def test_the_table_names_models_and_has_no_cell_twice(tmp_path, control, model, cells):
    folder = tmp_path / "texts"
    (folder / "tables").mkdir(parents=True)
    (folder / "params.yaml").write_text("experiments: {topic: {title: Topic}}\n")
    scores = {"attention": 0.8, "baseline": 0.5, control: 0.7 if control != "baseline" else 0.5}
    table = pd.DataFrame([*scores.items(), (model or "majority", 0.6)], columns=["model", "value"])
    table = table.assign(experiment="topic", metric="accuracy")
    table.to_csv(folder / "tables/cost.csv", index=False)
    seeds = [table.assign(split="test", value=table["value"] + 0.1 * sign) for sign in (-1, 1)]
    pd.concat([*seeds, table.assign(split="validation", value=0)]).to_csv(
        folder / "results.csv", index=False
    )
    verdict = {"experiment": "topic", "variant": "attention", "baseline": "baseline"}
    verdict |= {"control": control, "reference_model": model}
    pd.DataFrame([verdict]).to_csv(folder / "tables/verdicts.csv", index=False)
    gains = {"baseline": "+30.00", control: "+10.00", model: "+20.00"}
    rows = pd.DataFrame(gains.items(), columns=["second", "difference_pp"])
    ends = {"low_pp": "+1.00", "high_pp": "+2.00", "verdict": "practically the same"}
    rows.assign(first="attention", **ends).to_csv(
        folder / "tables/topic_comparisons.csv", index=False
    )
    text = with_results(RESULTS.format("texts/topic"), tmp_path)
    assert "| [Topic](docs/studies/texts/README.md) | 80.0 | 50.0: the same +" in text
    assert cells in text


@pytest.mark.parametrize("name", ["later/topic", "imdb/later", "sample/later"])
def test_readme_names_no_experiment_that_is_not_published(tmp_path, name):
    root = clone(tmp_path)
    shutil.copytree(ROOT / "docs/studies/imdb/tables", root / "docs/studies/imdb/tables")
    readme = root / "README.md"
    readme.write_text(readme.read_text() + RESULTS.format(f"imdb/imdb {name}"))
    with pytest.raises(HeedError, match=f"README.md: {name} in the table of results: "):
        publish_sample(root)
    assert not (root / "docs/studies/sample").exists(), "nothing is written"


def test_the_index_has_every_part_of_the_first_chart(tmp_path, monkeypatch):
    monkeypatch.setattr("heed.report.figures.dots.FRAME", 6)
    root = clone(tmp_path)
    into = publish_sample(root)
    parts = len([*(into / "figures").glob("models*.svg")])
    charts = [f"models{f'-{n}' * (n > 1)}.svg" for n in range(1, parts + 1)]
    found = re.findall(r"\(sample/figures/([^)]+)\)", (root / INDEX).read_text())
    assert found == charts and parts > 1


def exact_scores(folder: Path, experiment: str) -> list[float]:
    """Return each model's mean accuracy on the test, unrounded, where results.csv is published."""
    if not (folder / "results.csv").exists():
        return []
    rows = pd.read_csv(folder / "results.csv").query("split == 'test' and metric == 'accuracy'")
    return [*rows[rows["experiment"] == experiment].groupby("model")["value"].mean()]


@pytest.mark.parametrize("name", STUDIES)
def test_the_index_has_the_verdicts_of_the_published_tables_or_the_scores(name):
    """Also that the study's gains are those of its metrics.json."""
    folder = ROOT / "docs/studies" / name
    metrics = json.loads((folder / "metrics.json").read_text())
    rows = published_lines(name)
    assert list(rows) == list(declared(folder).experiments)
    for key, row in rows.items():
        if not row.startswith("|"):
            scores = [each for each in metrics[key].values() if isinstance(each, float)]
            printed = {f"{100 * each:.{digits}f}" for each in scores for digits in (1, 2)}
            printed |= {f"{each:.3f}" for each in scores}
            # metrics.json has four digits: .4325 may be of .43254, or of .43246
            printed |= {format_rounded(100 * each, 1) for each in scores}
            printed |= {f"{100 * each:.1f}" for each in exact_scores(folder, key)}
            assert {*re.findall(r"\d+\.\d+", row)} <= printed, key
            continue
        gain = metrics[key].get("difference_pp", metrics[key].get("gain_pp"))  # heed 0.2's name
        assert format_points(gain) in row
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
    kinds = [KINDS[corpus.kind] for corpus in declared(folder).corpora.values()]
    publishable = all(kind.generated or kind.source.public_domain for kind in kinds)
    assert publishable or not [*folder.rglob("documents")]
    for path in folder.rglob("*.parquet"):
        texts = pd.read_parquet(path).select_dtypes(["object", "string", "category"]).columns
        assert path.parent.name == "statistics" and {*texts} <= {"model", "metric"}, path


def test_an_edition_that_cannot_be_made_leaves_the_old_one(tmp_path):
    root = clone(tmp_path)
    into = root / "docs/studies/sample"
    into.mkdir()
    (into / "README.md").write_text("what came out")
    (root / "dvc.lock").unlink()
    with pytest.raises(HeedError, match=r"dvc\.lock: there is none yet"):
        publish_sample(root)
    assert [path.name for path in into.iterdir()] == ["README.md"]
