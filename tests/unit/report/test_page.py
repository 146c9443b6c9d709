"""The page holds all that it shows, escapes texts of users, and its links lead somewhere."""

import csv
import dataclasses
import io
import itertools
import re

import pandas as pd
import pytest

from heed.evaluation.results import Comparison, mean_and_std
from heed.report.experiments import Experiment, read_experiments
from heed.report.formats import POINTS
from heed.report.pages import script
from heed.report.tables import Cell, Row, Table, TableColumn, csv_table
from heed.report.typesetting import cell, escape
from heed.tables import csv_text
from tests.conftest import ROOT, cases
from tests.fixtures.report import made_up, pages
from tests.fixtures.report.pages import HOSTILE, Page, render_hostile, render_to
from tests.unit.report.conftest import PUBLISHED
from tests.unit.report.text import words_of

CASES = cases(__file__)
pytestmark = pytest.mark.usefixtures("empty_figures")
STUDIES = ["sample", "talk", "translation"]
MAX_WORDS, MAX_BYTES = 6000, 1_000_000


@pytest.fixture(params=STUDIES)
def page(request, rendered) -> Page:
    return Page(rendered(request.param) / "index.html")


def test_a_page_asks_for_nothing_and_its_links_lead_somewhere(page):
    assert not page.tags & {"link", "iframe", "object", "embed"}
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page.source, flags=re.DOTALL)
    assert scripts == [script("page.js")] and "default-src 'none'" in page.source
    assert not re.search(r"(?:src|href)=[\"']https?:|url\(|@import", page.source)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if not link.startswith("data:image/svg+xml,") and not link.endswith(".pdf"):
            # Those above reports/ are files of the clone.
            file = ROOT / link[3:] if link.startswith("../") else page.path.parent / link
            assert link[1:] in page.ids if link.startswith("#") else file.is_file(), link
            assert not link.endswith(".md"), "a browser shows raw Markdown"


def test_a_page_is_short_and_small(page):
    words = words_of(page.source).replace("|", "").split()
    assert len(words) <= MAX_WORDS
    assert len(page.source.encode()) <= MAX_BYTES


def test_a_reader_without_eyes_or_mouse_finds_everything(page):
    source = page.source
    assert source.count("<h1") == 1 and '<a class="skip" href="#main">' in source
    levels = [int(level) for level in re.findall(r"<h(\d)", source)]
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels)), "no level is skipped"
    for kind in ("table", "figure"):
        for key in re.findall(rf' id="({kind}-[^"]*)"', source):
            assert f'href="#{key}"' in source, "each has a permalink"
    assert all(re.findall(r"<img src='[^']*' alt=\"(\w?)", source))
    assert re.search(r'<meta name="description" content="\w', source)


def test_a_report_is_the_same_bytes_twice(tmp_path, rendered):
    one = rendered("sample")
    two = render_to(made_up.study("sample"), made_up.comparison("sample"), tmp_path / "b")
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(two) for path in two.rglob("*") if path.is_file())
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)


# --- the talk -------------------------------------------------------------------------------------


def read_talk(data: Comparison) -> list[Experiment]:
    return read_experiments(made_up.study("talk"), data, PUBLISHED)


@pytest.mark.parametrize(("verdict", "interval", "p", "text"), CASES["reproductions"])
def test_whether_the_talks_gain_was_reproduced_is_told(verdict, interval, p, text):
    """The talk's gain on letters by author is +1.15 p.p."""
    data = made_up.comparison("talk")
    result = data.experiments["letters-author"]
    baseline = result.models["last-state"]
    summary = baseline.summary | {"accuracy": mean_and_std([0.995] * len(baseline.machine_kinds))}
    result.models["last-state"] = dataclasses.replace(baseline, summary=summary)
    numbers = {"interval_pp": interval, "p": p, "p_corrected": p, "verdict": verdict}
    pages.change_difference(result, "self-attention", "last-state", **numbers)
    (letters,) = (e for e in read_talk(data) if e.key == "letters-author")
    reproduction = letters.against_talk.reproduction
    assert re.match(text, str(reproduction))
    assert text.startswith(f"{reproduction.verdict}: ")


def test_a_slide_has_both_reports_in_the_talks_order_with_its_values(rendered):
    page = Page(rendered("talk") / "index.html")
    slide = page.tables["letters-language_slide"]
    assert slide[0][1:3] == ["last state", "self-attention"]
    assert [row[0] for row in slide[2:]] == [
        "en", "de", "da", "fr", "it", "unknown", "accuracy", "macro avg", "weighted avg",
    ]  # fmt: skip
    assert [cell.split()[1] for cell in slide[2][1:4]] == ["0.9964", "0.9984", "0.9974"]
    assert len(page.tables["talk"]) == 7 and page.tables["talk"][1][1] == "0.9936 → 0.9943"
    beneath = {row[0]: row[1:3] for row in page.tables["letters-language_beneath"][1:]}
    assert beneath["size of the LSTM"] == ["88 88", "55 55"]


# --- texts of users -------------------------------------------------------------------------------


def test_texts_of_users_are_escaped_in_html_latex_and_csv(tmp_path):
    folder = render_hostile(tmp_path)
    page = Page(folder / "index.html")
    assert page.source.count("<script") == page.source.count("</style>") == 1
    assert "<!--" not in page.source and not re.search("[\x00\x1b\u202e]", page.source)
    names = [row[0] for row in page.tables["sample-author_slide"][2:-3]]
    assert names[0] == HOSTILE[0] and "turned [U+202E] round, NUL [U+0000], [U+001B]" in names[4]
    text = (folder / "report.tex").read_text()
    assert r"50\%\_\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}" in text
    assert r"\write" not in text
    table = pages.rows(folder / "tables/sample-author--last-state.csv")[: len(HOSTILE)]
    assert [row["row"] for row in table] == [text.replace("\r", "[U+000D]") for text in HOSTILE]


FORMULAS = [
    "=1+1", '=HYPERLINK("http://x")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\n=1",
    "＝1+1", "-",
]  # fmt: skip


def test_a_spreadsheet_gets_texts_and_numbers_but_no_formula():
    numbers = ["-1.25", "+2", "−0.5", "-3e-05", "+12.5%", "1", "a=b", "", "a[U+000D]b"]
    columns = (TableColumn("name"), TableColumn("gain_pp", format=POINTS))
    texts = [*FORMULAS, *numbers[:-1], "a\rb"]
    rows = (Row((Cell(text, text), Cell(-1.25, ""))) for text in texts)
    made = Table("made-up", "", columns, tuple(rows))
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
