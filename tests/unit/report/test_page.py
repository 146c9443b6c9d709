"""The report has the numbers of the comparison, escapes texts of users, and has bad news first."""

import csv
import dataclasses
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from heed import __version__
from heed.evaluation.results import (
    Comparison,
    Gain,
    mean_and_std,
)
from heed.files import HeedError, write_json, write_text
from heed.pipeline import md5, run_git
from heed.report import html, latex
from heed.report.blocks import EVERYWHERE, Cell, Column, Paragraph, Source, Table, make_rows
from heed.report.escape import cell, escape
from heed.report.experiments import Experiment, read_experiments
from heed.report.formats import (
    POINTS,
    PROBABILITY,
    decimals,
)
from heed.report.html import csv_table, script
from heed.report.provenance import provenance
from heed.tables import csv_text
from heed.tasks.classification import report as classification
from tests.conftest import ROOT
from tests.fixtures.git import commit_all
from tests.fixtures.report import made_up
from tests.fixtures.report.answers import difference_of
from tests.fixtures.report.pages import (
    HOSTILE,
    Page,
    change_difference,
    render_hostile,
    render_to,
    rows,
    with_classes,
)
from tests.unit.report.conftest import PUBLISHED, read_made_up

pytestmark = pytest.mark.usefixtures("empty_figures")


def render_sample(data: Comparison, into: Path) -> tuple[Path, Page]:
    """The report of the sample study with this comparison, and its page."""
    folder = render_to(made_up.study("sample"), data, into)
    return folder, Page(folder / "index.html")


def read_talk(data: Comparison) -> list[Experiment]:
    return read_experiments(made_up.study("talk"), data, PUBLISHED)


def test_the_page_is_self_contained_its_links_lead_somewhere_and_it_is_the_same_bytes_twice(
    tmp_path, rendered
):
    one = rendered("sample")
    two = render_to(made_up.study("sample"), made_up.comparison("sample"), tmp_path / "b")
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)
    page = Page(one / "index.html")
    assert not page.tags & {"link", "iframe", "object", "embed"}
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page.source, flags=re.DOTALL)
    assert scripts == [script("page.js")] and "default-src 'none'" in page.source
    assert not re.search(r"https?:|url\(|@import|//[a-z]", page.source)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if not link.startswith("data:image/svg+xml,") and not link.endswith(".pdf"):
            # Those above reports/ are files of the clone.
            file = ROOT / link[3:] if link.startswith("../") else one / link
            assert link[1:] in page.ids if link.startswith("#") else file.is_file(), link


@pytest.mark.parametrize(
    ("verdict", "interval", "p", "text"),
    [
        ("better", [0.5, 2.0], 0.01, "reproduced: "),
        ("undecided", [-0.5, 2.0], 0.4, "undecided: "),
        ("better", [2.0, 4.0], 0.01, "not reproduced: "),
        ("undecided", [-1.0, 1.0], 0.9, "not reproduced: "),
        ("undecided", None, None, "undecided: one test document has no interval"),
        ("not converged", [0.5, 2.0], 0.001, "undecided: .*had not converged"),
        ("not converged", [0.1, 0.9], 0.001, "undecided: .*had not converged"),  # talk's outside
        ("practically the same", [0.5, 2.0], 0.001, "undecided: .*practically none"),
        ("undecided", [-1.0, 2.0], 0.001, "undecided: .*may be chance"),  # printed to +0.50
    ],
)
def test_whether_the_talks_gain_was_reproduced_is_read_from_interval_and_verdict(
    verdict, interval, p, text
):
    """The talk's gain on letters by author is +1.15 p.p."""
    data = made_up.comparison("talk")
    result = data.experiments["letters-author"]
    baseline = result.models["baseline"]
    summary = baseline.summary | {"accuracy": mean_and_std([0.995] * len(baseline.machine_kinds))}
    result.models["baseline"] = dataclasses.replace(baseline, summary=summary)
    change_difference(
        result, "attention", "baseline", interval_pp=interval, p=p, p_corrected=p, verdict=verdict
    )
    (letters,) = (each for each in read_talk(data) if each.key == "letters-author")
    reproduction = letters.line.reproduction
    assert re.match(text, reproduction.sentence)
    assert text.startswith(f"{reproduction.verdict}: ")


def test_without_a_primary_comparison_none_is_named_and_intervals_are_simultaneous(tmp_path):
    data = made_up.comparison("sample")
    for result in data.experiments.values():
        change_difference(result, "attention", "mean", family="secondary")
        for first, others in result.comparisons.items():
            for second in others:
                change_difference(result, first, second, tests=2)
    _, page = render_sample(data, tmp_path)
    assert "primary question" not in page.text and "Primary:" not in page.text
    assert "(simultaneous 95% interval" in page.text and "(95% interval" not in page.text


@pytest.mark.parametrize("missing", [["attention"], ["baseline"], ["baseline", "attention"]])
def test_without_a_baseline_or_attention_there_is_no_comparison(tmp_path, missing):
    data = made_up.comparison("sample")
    result = data.experiments["sample-author"]
    result.comparisons.clear()
    for name in missing:
        del result.models[name]
    if "attention" in missing:
        result.attention.clear()
    if "baseline" in missing:  # then evaluation/comparison.py has nothing to gain over
        for name, model in result.models.items():
            result.models[name] = dataclasses.replace(model, gain=None)
    folder, page = render_sample(data, tmp_path)
    names = {"baseline": "baseline", "attention": "variant that answers the study's question"}
    text = " and no ".join(name for key, name in names.items() if key in missing)
    assert f"No comparison: no {text}." in page.text
    assert page.tables["first"][2][3] == "–"
    assert rows(folder / "tables/summary.csv")[1]["gain_pp"] == ""
    assert not (folder / "tables/sample-author_pair.tex").exists()


def first_runs() -> Comparison:
    """The made-up comparison of the sample study with the first run of each model alone."""

    def first(scores: dict) -> dict:
        return {key: mean_and_std(each.values[:1]) for key, each in scores.items()}

    data = dataclasses.replace(made_up.comparison("sample"), seeds=[1])
    for result in data.experiments.values():
        for variant, model in result.models.items():
            classes = {name: first(each) for name, each in model.details["classes"].items()}
            result.models[variant] = dataclasses.replace(
                model,
                summary=first(model.summary),
                details={"classes": classes},
                best_epochs=model.best_epochs[:1],
                machine_kinds=model.machine_kinds[:1],
            )
    return data


def test_one_seed_prints_a_dash_for_the_deviation_and_why(tmp_path):
    data = first_runs()
    for result in data.experiments.values():
        for variant, model in result.models.items():
            gain = model.gain and Gain(mean_pp=model.gain.values_pp[0], std_pp=None, values_pp=[0])
            result.models[variant] = dataclasses.replace(model, gain=gain)
        for others in result.comparisons.values():
            for name, each in others.items():
                others[name] = difference_of([each.mean_pp / 100], each.family)
    folder, page = render_sample(data, tmp_path)
    assert "– (one seed has no standard deviation)" in page.text and "over 1 seed." in page.text
    assert page.tables["first"][1][4:6] == ["–", "–"] and "undecided." in page.text
    assert not re.search(r"\b(None|nan)\b", page.text)
    paper = (folder / "report.tex").read_text()  # has neither a deviation nor a table by class
    for text in (page.text, paper):
        assert "One seed has neither" in text and "one seed has no interval" in text


def page_of(table: Table) -> str:
    return html.page([table], lambda figure: "", "title", "", "")


@pytest.mark.parametrize("names", [["NEGATIVE", "other"], ["accuracy", "macro avg"]])
def test_classes_are_matched_whatever_their_case_and_one_called_accuracy_is_a_class(
    tmp_path, names
):
    params, data = made_up.study("talk"), with_classes(made_up.comparison("talk"), "imdb", names)
    params, data = (  # alone, since the page of six experiments takes two seconds
        dataclasses.replace(each, experiments={"imdb": each.experiments["imdb"]})
        for each in (params, data)
    )
    page = Page(render_to(params, data, tmp_path) / "index.html")
    table = page.tables["imdb--baseline"][1:]
    assert [row[0] for row in table] == [*names, "accuracy", "macro avg", "weighted avg"]
    if "other" in names:
        assert table[0][1].split(" ")[1] == "0.9077" and " " not in table[1][1]
        assert "The talk has these classes too: positive." in page.text
    else:
        assert " " not in table[0][3] and "0.8539" in table[2][3]


@pytest.mark.parametrize(
    ("supports", "found"),
    [
        ([[4.0], [0.0]], "has: b; a macro average counts"),
        ([[0.0, 3.0, 0.0], [1.0, 2.0, 1.0]], "has: a (in 2 of 3 folds); a macro average"),
        ([[1.0], [2.0]], ""),
    ],
)
def test_classes_that_no_test_document_has_are_named_on_page_and_paper(tmp_path, supports, found):
    data = with_classes(made_up.comparison("sample"), "sample-sentiment", ["a", "b"])
    linear = data.experiments["sample-sentiment"].reference_models["linear"]
    counts = [{"support": mean_and_std(values)} for values in supports]
    classes = {
        name: linear.details["classes"][name] | count
        for name, count in zip("ab", counts, strict=True)
    }
    for name in data.experiments["sample-sentiment"].reference_models:
        changed = dataclasses.replace(linear, details={"classes": classes})
        data.experiments["sample-sentiment"].reference_models[name] = changed
    results = read_made_up(made_up.study("sample"), data, tmp_path)
    experiment = next(each for each in results.experiments if each.key == "sample-sentiment")
    sentences = [
        block
        for block in classification.chapter(results, experiment)
        if isinstance(block, Paragraph) and "no test document" in str(block.texts)
    ]
    assert [found in str(each.texts) for each in sentences] == [True] * bool(found)
    assert all(each.media == EVERYWHERE for each in sentences)


def test_an_experiment_the_talk_does_not_have_is_a_clear_error():
    params = made_up.study("talk")
    published = dataclasses.replace(params.experiments["imdb"].published, experiment="imbd")
    wrong = dataclasses.replace(params.experiments["imdb"], published=published)
    params = dataclasses.replace(params, experiments=params.experiments | {"imdb": wrong})
    message = r"experiments\.imdb\.published\.experiment: the talk has no experiment imbd"
    with pytest.raises(HeedError, match=message):
        read_experiments(params, made_up.comparison("talk"), PUBLISHED)


def test_texts_of_users_are_escaped_in_html_latex_and_csv(tmp_path):
    folder = render_hostile(tmp_path)
    page = Page(folder / "index.html")
    assert page.source.count("<script") == page.source.count("</style>") == 1
    assert "<!--" not in page.source and not re.search("[\x00\x1b\u202e]", page.source)
    names = [row[0] for row in page.tables["sample-author--baseline"][1:-3]]
    assert names[0] == HOSTILE[0] and "turned [U+202E] round, NUL [U+0000], [U+001B]" in names[4]
    text = (folder / "report.tex").read_text()
    assert r"50\%\_\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}" in text
    assert r"\write" not in text
    table = rows(folder / "tables/sample-author--baseline.csv")[: len(HOSTILE)]
    assert [row["row"] for row in table] == [text.replace("\r", "[U+000D]") for text in HOSTILE]


FORMULAS = [
    "=1+1", '=HYPERLINK("http://x")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\n=1",
    "＝1+1", "-",
]  # fmt: skip


def test_a_spreadsheet_gets_texts_and_numbers_but_no_formula():
    numbers = ["-1.25", "+2", "−0.5", "-3e-05", "+12.5%", "1", "a=b", "", "a[U+000D]b"]
    columns = (Column("name", "Name"), Column("gain_pp", "Gain", POINTS, lambda each: -1.25))
    made = Table("made-up", "", columns, make_rows(columns, [*FORMULAS, *numbers[:-1], "a\rb"]))
    table = list(csv.reader(io.StringIO(csv_table(made), newline="")))
    assert [row[0] for row in table[1:]] == [f"'{text}" for text in FORMULAS] + numbers
    assert {row[1] for row in table[1:]} == {"-1.25"}
    frame = pd.DataFrame({"model": FORMULAS, "value": -1.5, "count": range(len(FORMULAS))})
    quoted = [*csv.reader(io.StringIO(csv_text(frame), newline=""))][1:]
    assert quoted == [[f"'{text}", "-1.5", str(i)] for i, text in enumerate(FORMULAS)]


def test_latex_keeps_brackets_stars_and_ligatures_and_breaks_long_words():
    assert escape("[a]*") == "{[}a{]}{*}" and escape("語") == r"\allowbreak{}{[}U+8A9E{]}"
    assert escape("\u202e") == r"\allowbreak{}{[}U+202E{]}" and escape("e\u0301") == "é"
    assert escape("a--b ''") == "a-{}-b '{}'" and escape("one\r\ntwo") == "one two"
    assert escape("W" * 100).count(r"\allowbreak{}") == 19 and "allowbreak" not in escape("W" * 20)
    numbers = {"−1.50": "-1.50", "+1.50": "+1.50", "–": "{--}", "1_0": r"{1\_0}"}
    assert {text: cell(text) for text in numbers} == numbers


@pytest.mark.slow
@pytest.mark.parametrize("what", ["hostile", "sample", "talk"])
def test_make_pdf_compiles_the_report_without_warnings_that_matter(tmp_path, what):
    if not shutil.which("latexmk"):
        pytest.skip("latexmk is not installed")
    into = tmp_path / "reports"
    if what == "hostile":
        folder = render_hostile(into)
    else:
        folder = render_to(made_up.study(what), made_up.comparison(what), into)
    shutil.copy(ROOT / "Makefile", tmp_path)

    def make_pdf() -> bytes:
        done = subprocess.run(["make", "pdf"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return (folder / "report.pdf").read_bytes()

    first = make_pdf()
    assert first.startswith(b"%PDF")
    log = (tmp_path / ".heed/pdf/report.log").read_text(errors="replace")
    warnings = r"LaTeX Warning: .*|Package \w+ Warning: .*|Missing character.*|Overfull .*"
    assert not re.findall(warnings, log)
    source = (folder / "report.tex").read_text(encoding="utf-8")
    changed = source.replace("\\maketitle\n", "\\maketitle Another report.\n", 1)
    (folder / "report.tex").write_text(changed, encoding="utf-8")
    # as an older heed left it
    shutil.copy(tmp_path / ".heed/pdf/printed.tex", tmp_path / ".heed/pdf/report.tex")
    assert make_pdf() != first, "the PDF is that of the report before"
    (folder / "report.tex").write_text(source, encoding="utf-8")
    shutil.rmtree(tmp_path / ".heed")
    assert make_pdf() == first


def test_every_table_and_figure_links_its_file_hash_stage_and_command(rendered):
    folder = rendered("sample")
    page = Page(folder / "index.html")
    sources = {row[0]: row[1:] for row in page.tables["sources"][1:]}
    digest = md5(folder.with_name("sample-results") / "compare/comparison.json")
    assert sources["results/compare/comparison.json"] == ["compare", "heed compare", digest]
    stage = ["score@sample-author-mean", "heed score sample-author-mean"]
    assert sources["results/evaluate/sample-author-mean/confusion.csv"][:2] == stage
    figures = re.findall(r"<figure .*?</figure>", page.source, flags=re.DOTALL)
    assert len(figures) > 20
    assert all('href="#from-' in each or 'id="table-sources"' in each for each in figures)
    for table in re.findall(r"<table [^>]*>", page.source):
        assert "comparison.json · md5" in table or 'class="from"' in table


def test_provenance_names_commit_versions_and_times(tmp_path):
    times = {
        "seconds": 9999, "cpu_seconds": 3600, "code": "c0de", "device": "cpu", "host": "here",
        "torch": "2", "ended": "2026-01-02T03:04:05+0000",
    }  # fmt: skip
    for model, each in (("it", times), ("no-longer-there", {"seconds": 5})):
        write_json(tmp_path / f"results/timing/train/{model}/1.json", each)
    found = provenance(tmp_path, ["it", "not-trained"])
    assert (found["commit"], found["changed"]) == ("", [])
    run_git(tmp_path, "init", "--quiet")
    commit = commit_all(tmp_path)
    (tmp_path / "results/timing/train/it/1.json").write_text(json.dumps(times))
    found = provenance(tmp_path, ["it", "not-trained"])
    assert found["commit"] == commit and found["versions"]["heed"] == __version__
    assert found["changed"] == ["results/timing/train/it/1.json"] and found["machine"]["Python"]
    (one,) = found["trainings"].values()
    assert one["core_hours"] == 1 and one["seconds"] == 9999 and one["last"].startswith("2026-01-")
    assert "here" not in json.dumps(found), "no name of a host"


def block(title: str = "Some [table] & more", mark: str = "") -> Table:
    """A table of every kind of column: text, numbers, points, p, notes, and of one form only."""
    columns = (
        Column("corpus", "", value=lambda _: "news"),
        Column("name", "Name", value=lambda record: record[0]),
        Column(
            "size", "Size", decimals(2, 3), lambda record: Cell(record[1], "0.40", "+1.2"),
            meaning="how large",
        ),
        Column("gain_pp", "Gain", POINTS, lambda record: record[2], unit="p.p."),
        Column("", "p", PROBABILITY, lambda record: record[3]),
    )  # fmt: skip
    made = make_rows(columns, [("a_b & <c>", 0.5, -1.25, 0.0001), ("plain", None, 2.0, None)])
    source = Source("results/compare/comparison.json", "0" * 32, "compare", "heed compare")
    return Table("made-up", title, columns, made, sources=(source,), mark=mark)


def test_a_table_declared_once_has_the_same_cells_in_html_latex_and_csv(tmp_path):
    made = block()
    write_text(tmp_path / "page.html", page_of(made))
    page = Page(tmp_path / "page.html")
    assert page.tables["made-up"] == [
        ["Name", "Size", "Gain (p.p.)", "p"],
        ["a_b & <c>", "0.50 0.40 (+1.2)", "−1.25", "< 0.001"],
        ["plain", "– 0.40 (+1.2)", "+2.00", "–"],
    ]
    assert "Size: how large." in page.text
    text = latex.table(made)
    for part in (
        r"a\_b \& \textless{}c\textgreater{} & 0.50 & -1.25 & \textless{} 0.001 \\",
        r"plain & {--} & +2.00 & -- \\", r"\scriptsize 0.40\,(+1.2)",
        "S[table-format=+1.2,retain-explicit-plus", r"{\shortstack[r]{Gain\\(p.p.)}}",
    ):  # fmt: skip
        assert part in text
    assert "\n\n" not in text, "an empty line within a table is a paragraph, where none may be"
    lines = ["corpus,name,size,gain_pp", "news,a_b & <c>,0.500,-1.25", "news,plain,,+2.00", ""]
    assert csv_table(made) == "\n".join(lines)
