"""What the report prints is what was measured; what users wrote is escaped; bad news comes first."""

import csv
import html.parser
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from heed.evaluation.comparison import gain, spread
from heed.params import Params, parse
from heed.report.render import latex_escape, render
from heed.report.tables import answer, number, points
from tests.conftest import ROOT

HOSTILE = r"""<script>alert(1)</script> & "q" 'p' 50%_#{}~^\ $x$ é 語 {{7*7}} <<x>> <% y %>"""


def study(**changes) -> Params:
    """The sample study, with what a test changes in its YAML."""
    text = (ROOT / "workflow/studies/sample.yaml").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return parse(text)


def entry(accuracy: list[float], classes: list[str], baseline: list[float] | None = None, shift: float = 0.0) -> dict:
    """MADE-UP numbers of a model, in the form of comparison.json."""
    figures = {name: spread([a + shift for a in accuracy]) for name in ("precision", "recall", "f1")}
    summary = {"accuracy": spread(accuracy)}
    for average in ("macro", "weighted"):
        summary |= {f"{average}_{figure}": spread([a - 0.01 for a in accuracy]) for figure in figures}
    return {
        "summary": summary,
        "classes": {name: figures | {"support": spread([50.0] * len(accuracy))} for name in classes},
        "gain": gain(accuracy, baseline) if baseline else None,
        "model": "m", "parameters": 12345, "best_epochs": [1] * len(accuracy),
        "hyperparameters": study().resolved("sample-author-attention", {}),
    }  # fmt: skip


def made_up(
    baseline=(0.8, 0.82, 0.81), attention=(0.85, 0.86, 0.84), linear=0.7, mean=None, classes=("negative", "positive")
) -> dict:
    classes, baseline, attention = list(classes), list(baseline), list(attention)
    models = {"baseline": entry(baseline, classes), "attention": entry(attention, classes, baseline)}
    if mean:
        models["mean"] = entry(list(mean), classes, baseline)
    corpus = {"name": "c", "kind": "sample-sentiment", "documents": 1000, "tokens": 9999, "folds": 0, "reduced": False,
              "parts": {"train": 700, "validation": 100, "test": 200}}  # fmt: skip
    opponents = {"linear": entry([linear], classes), "majority": entry([0.5], classes)}
    return {"classes": classes, "corpus": corpus, "models": models, "opponents": opponents}


def comparison(**changes) -> dict:
    return {"seeds": [1, 2, 3], "experiments": {"sample-sentiment": made_up(**changes), "sample-author": made_up()}}


def written(params: Params, data: dict, into: Path) -> Path:
    render(params, data, ROOT / "data/published", into)
    return into


class Cells(html.parser.HTMLParser):
    """The rows of every table, as text; and every address."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.inside = False

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for key, value in attrs if key in ("href", "src")]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.inside = True
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        self.inside = False if tag in ("td", "th") else self.inside

    def handle_data(self, data):
        if self.inside and self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data


def parsed(folder: Path) -> Cells:
    cells = Cells()
    cells.feed((folder / "index.html").read_text())
    cells.tables = [[[cell.strip() for cell in row] for row in table] for table in cells.tables]
    return cells


def test_the_numbers_in_the_page_are_those_of_the_comparison_and_of_the_csv(tmp_path):
    data = comparison(mean=(0.83, 0.83, 0.83))
    folder = written(study(), data, tmp_path)
    tables = parsed(folder).tables
    first = tables[0][1]
    assert first[:5] == ["Sample sentiment (generated)", "0.8100", "0.8500", "+4.00", "1.00"]
    assert first[5] == "mean 0.8300" and first[6:8] == ["0.7000", "0.5000"]
    rows = {row[0]: row[1:] for row in tables[1][1:]}
    assert rows["negative"] == ["0.8100", "0.8100", "0.8100", "50"]
    assert rows["accuracy"] == ["", "", "0.8100", "100"]
    assert rows["macro avg"] == ["0.8000", "0.8000", "0.8000", "100"]
    with (folder / "tables/sample-sentiment-baseline.csv").open() as file:
        lines = {line[0]: line[1:5] for line in csv.reader(file)}
    assert {name: lines[name] for name in rows} == rows
    assert (folder / "tables/sample-sentiment-linear.tex").exists()


def test_the_page_is_self_contained_and_the_same_bytes_twice(tmp_path):
    one, two = written(study(), comparison(), tmp_path / "a"), written(study(), comparison(), tmp_path / "b")
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)
    cells = parsed(one)
    assert all(link.startswith(("#", "tables/")) for link in cells.links)
    assert all((one / link).is_file() for link in cells.links if link.startswith("tables/"))
    assert not cells.tags & {"script", "img", "link", "iframe"}
    assert (
        "generated by heed" in (one / "index.html").read_text()
        and "generated by heed" in (one / "report.tex").read_text()
    )


@pytest.mark.parametrize(
    ("changes", "says", "never"),
    [
        ({}, "attention did better than the baseline: +4.00 p.p.", "cannot tell"),
        ({"attention": (0.70, 0.72, 0.71)}, "attention did worse than the baseline: −10.00 p.p.", "better"),
        ({"attention": (0.80, 0.85, 0.79)}, "3 seeds cannot tell", "better"),
        (
            {"linear": 0.9},
            "the linear model (0.9000) did at least as well as attention (0.8500); attention did better",
            "tell",
        ),
        (
            {"mean": (0.84, 0.85, 0.83)},
            "+4.00 p.p. (deviation 1.00 over 3 seeds); +1.00 p.p. over the variant mean.",
            "tell",
        ),
        ({"mean": (0.85, 0.86, 0.84)}, "the variant mean (0.8500) did at least as well as attention", "tell"),
        ({"baseline": (0.8,), "attention": (0.9,)}, "one seed cannot tell", "did better"),
    ],
)
def test_the_answer_is_chosen_by_the_numbers_and_bad_news_comes_first(changes, says, never):
    data = made_up(**changes)
    sentence = answer("X", data, len(data["models"]["baseline"]["summary"]["accuracy"]["values"]))
    assert says in sentence and never not in sentence


def test_without_a_baseline_or_attention_there_is_no_comparison(tmp_path):
    data = comparison()
    del data["experiments"]["sample-sentiment"]["models"]["attention"]
    page = (written(study(), data, tmp_path) / "index.html").read_text()
    assert "no comparison, since the study has no attention model" in page


def test_one_seed_prints_a_dash_for_the_deviation(tmp_path):
    data = {"seeds": [1], "experiments": {"sample-author": made_up(baseline=(0.8,), attention=(0.9,))}}
    assert "– (of one value there is none)" in (written(study(), data, tmp_path) / "index.html").read_text()


def test_the_talks_figures_stand_beside_ours_exactly(tmp_path):
    published = (
        "title: Sample sentiment (generated), published: {experiment: imdb, comparable: false, reason: other text}"
    )
    folder = written(study(**{"title: Sample sentiment (generated)": published}), comparison(), tmp_path)
    tables = parsed(folder).tables
    assert tables[0][1][8:] == ["0.8539 → 0.8789 (+2.50)", "not comparable: other text"]
    rows = {row[0]: row[1:] for row in tables[1][1:]}
    assert rows["negative"] == [
        "0.81000.9077 −9.8",
        "0.81000.7870 +2.3",
        "0.81000.8430 −3.3",
        "504985",
    ]
    assert rows["accuracy"][2] == "0.81000.8539 −4.4"
    assert "the talk: 2.172%" in (folder / "index.html").read_text()


def test_what_users_wrote_is_escaped_in_html_and_latex(tmp_path):
    params = study(**{"Does attention help? The sample study": "TITLE"})
    params = params.model_copy(update={"study": params.study.model_copy(update={"title": HOSTILE, "note": HOSTILE})})
    data = comparison(classes=[HOSTILE, "50%"])
    folder = written(params, data, tmp_path)
    assert "script" not in parsed(folder).tags
    assert parsed(folder).tables[1][1][0] == HOSTILE
    assert r"50\%\_\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}" in (folder / "report.tex").read_text()
    with (folder / "tables/sample-sentiment-baseline.csv").open() as file:
        assert list(csv.reader(file))[1][0] == HOSTILE


def test_numbers_are_printed_with_a_real_minus_and_a_dash_for_none():
    assert points(-1.234) == "−1.23" and points(0.5) == "+0.50" and points(None) == "–"
    assert number(0.5) == "0.5000" and number(None) == "–"
    assert latex_escape("語") == "[U+8A9E]"


def test_deviation_and_gain_are_the_sample_deviation_in_percentage_points():
    assert spread([0.8, 0.9])["std_pp"] == pytest.approx(7.0710678)
    paired = gain([0.9, 0.8], [0.8, 0.8])
    assert paired["mean_pp"] == pytest.approx(5) and paired["std_pp"] == pytest.approx(7.0710678)
    assert spread([0.8])["std_pp"] is None


@pytest.mark.slow
def test_latex_compiles_hostile_text_and_34_classes_without_overfull_lines(tmp_path):
    if not shutil.which("latexmk"):
        pytest.skip("latexmk is not installed")
    params = study()
    params = params.model_copy(update={"study": params.study.model_copy(update={"title": HOSTILE, "note": HOSTILE})})
    data = comparison(classes=[HOSTILE, *(f"CLASS & {i}" for i in range(33))])
    folder = written(params, data, tmp_path / "reports")
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = subprocess.run(["make", "pdf"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF")
    log = (tmp_path / ".heed/pdf/report.log").read_text(errors="replace")
    assert "LaTeX Warning: Reference" not in log and "undefined" not in log.lower().replace("undefined control", "")


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_does_not_overflow_its_window(tmp_path, width):
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed")
    folder = written(
        study(), comparison(mean=(0.83, 0.83, 0.83), classes=[f"A LONG CLASS NAME {i}" for i in range(34)]), tmp_path
    )
    page = (folder / "index.html").read_text()
    frame = f"<iframe id=f width={width} height=900></iframe><script>f.srcdoc={json.dumps(page)};f.onload=()=>document.title='overflow '+(f.contentDocument.documentElement.scrollWidth-{width})</script>"
    (folder / "frame.html").write_text(frame.replace("</script>\n", "</script>"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]  # fmt: skip
    done = subprocess.run(
        ["chromium", *flags, "--virtual-time-budget=3000", f"file://{folder}/frame.html"],
        capture_output=True,
        text=True,
    )
    assert "<title>overflow " in done.stdout
    assert int(done.stdout.split("<title>overflow ")[1].split("<")[0]) <= 0
