"""The report on paper: its parts, bookmarks, figures that fit, and tables that can be read."""

import dataclasses
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from heed.report import latex
from heed.report.blocks import (
    Block,
    Column,
    Figure,
    Paragraph,
    Table,
    make_rows,
)
from heed.report.escape import bookmark
from heed.report.formats import RIGHT, TEXT
from heed.report.latex import merged, tabulars
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import render_to

MIN_PRINT = 7  # points
ZOOM = 3  # pixels of a point, by which pdftohtml says how large print is: its largest
PAGES = {"sample": 6, "talk": 10}  # at most


def made_table(columns: tuple[Column, ...], rows: int) -> Table:
    return Table("made", "A table", columns, make_rows(columns, range(rows)), files=())


def table(columns: int, rows: int = 3, **changes) -> Table:
    numbers = (Column(f"c{n}", f"figure {n}", RIGHT, lambda _: "0.1234") for n in range(columns))
    name = Column("name", "Model", TEXT, lambda row: f"model {row}")
    return dataclasses.replace(made_table((name, *numbers), rows), **changes)


def figure(key: str, size: tuple[float, float] = (4.4, 2.9), **changes) -> Figure:
    made = Figure(key, f"Title of {key}", "What it shows.", (), [], size)
    return dataclasses.replace(made, **changes)


def printed(*blocks: Block, title: str = "A study") -> str:
    return latex.document(list(blocks), title, "", "A note.")


def test_a_bookmark_has_no_command_of_print():
    assert bookmark("a − b → c") == "a - b -> c"
    assert bookmark("W" * 60) == "W" * 60, "no place to break a word"
    assert bookmark("語\u202e\n[é]") == "[U+8A9E][U+202E] [é]"


def test_code_points_stand_for_signs_that_pdflatex_lacks():
    text = printed(Paragraph(("愛 हि",)), title="愛 – “naïve”…")
    assert r"\allowbreak{}{[}U+611B{]} \allowbreak{}{[}U+0939{]}\allowbreak{}{[}U+093F{]}" in text
    assert "pdftitle={[U+611B] - “naïve”…}" in text
    of_table = latex.table(table(2, title="語"))
    assert "{[}U+8A9E{]}" in of_table and not re.search(r"[^\x00-\u017f“”…]", text + of_table)
    (column,) = tabulars(made_table((Column("name", "Model", TEXT, lambda _: "語" * 4),), 3))
    assert "p{" in column.specification, "eight characters of paper each: long enough for lines"


def test_a_table_too_wide_for_a_line_is_printed_in_parts_each_with_the_first_column():
    (narrow,) = tabulars(table(5))
    assert narrow.size == "" and len(narrow.indices) == 6
    (many,) = tabulars(table(9))
    assert "footnotesize" in many.size and len(many.indices) == 10
    parts = tabulars(table(40))
    assert len(parts) > 1 and all("scriptsize" in part.size for part in parts)
    assert [part.indices[0] for part in parts] == [0] * len(parts)
    assert sum(len(part.indices) - 1 for part in parts) == 40
    text = printed(table(40))
    assert text.count("\nmodel 1 & ") == len(parts)
    assert r"\tiny" not in text and "resizebox" not in text
    assert text.count(r"\caption[]{\label{table:made}\textbf{A table.}}") == 1
    assert text.count("(further columns)") == len(parts) - 1


def test_parts_of_a_table_repeat_the_columns_that_name_its_rows():
    """Where the first column leaves out equal values it does not tell rows apart."""
    experiment = Column("experiment", "Experiment", TEXT, lambda _: "movies", merge=True)
    columns = (experiment, *table(40).columns)
    made = made_table(columns, 2)
    parts = tabulars(made)
    assert len(parts) > 1
    for part in parts:
        assert part.indices[:2] == [0, 1]
        assert merged(made, part.indices) == [set(), {0}]
    assert sum(len(part.indices) - 2 for part in parts) == 40
    text = printed(made)
    assert text.count("\nmovies & model 0 & ") == text.count("\n & model 1 & ") == len(parts)
    (alone,) = tabulars(made_table(columns[:1], 2))
    assert alone.indices == [0]


@pytest.mark.slow
def test_a_title_in_another_script_is_printed_by_its_code_points(tmp_path):
    if missing := [tool for tool in ("latexmk", "pdflatex", "pdftotext") if not shutil.which(tool)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/report.tex").write_text(printed(title="語 & Αγ"), encoding="utf-8")
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = subprocess.run(["make", "pdf"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = _output("pdftotext", tmp_path / "reports/report.pdf", "-")
    assert text.startswith("[U+8A9E] & [U+0391][U+03B3]\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_pdf_is_short_has_bookmarks_and_no_print_below_seven_points(tmp_path, name):
    tools = ("latexmk", "pdfinfo", "pdftohtml")
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    folder = render_to(made_up.study(name), made_up.comparison(name), tmp_path / "reports")
    shutil.copy(ROOT / "Makefile", tmp_path)
    subprocess.run(["make", "pdf"], cwd=tmp_path, check=True, capture_output=True)
    pdf = folder / "report.pdf"
    statistics = _output("pdfinfo", pdf)
    title = made_up.study(name).study.title
    assert re.search(rf"Title:\s+{re.escape(title)}", statistics)
    assert int(re.search(r"Pages:\s+(\d+)", statistics)[1]) <= PAGES[name]
    text = _output("pdftohtml", "-xml", "-stdout", "-i", "-zoom", ZOOM, pdf)
    root = xml.etree.ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", text))
    bookmarks = [item.text or "" for item in root.iter("item")]
    assert any(each.endswith("Introduction") for each in bookmarks)
    families = {font.get("family").partition("+")[2] for font in root.iter("fontspec")}
    assert {"LMRoman10", "LiberationSans"} <= families, "text and figures are read"
    sizes = {font.get("id"): float(font.get("size")) for font in root.iter("fontspec")}
    small = {
        text
        for item in root.iter("text")
        if len(text := "".join(item.itertext()).strip()) > 1
        and sizes[item.get("font")] < MIN_PRINT * ZOOM
    }
    assert not small
    log = (tmp_path / ".heed/pdf/report.log").read_text(encoding="latin-1")
    assert not re.findall(r"Overfull .*|.*undefined.*", log)


def _output(*command: object) -> str:
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout
