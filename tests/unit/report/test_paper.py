"""The report on paper: its parts, bookmarks, figures that fit, and tables that can be read."""

import dataclasses
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from heed.report.formats import RIGHT
from heed.report.tables import Cell, Row, Table, TableColumn
from heed.report.typesetting import bookmark, environment, merged, tabulars
from heed.report.typesetting import table as in_latex
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import render_to

MIN_PRINT = 7  # points
ZOOM = 3  # pixels of a point, by which pdftohtml says how large print is: its largest
PAGES = {"sample": 6, "talk": 10}  # at most


def made_table(columns: tuple[TableColumn, ...], rows: list[list[str]]) -> Table:
    made = (Row(tuple(Cell(text, text) for text in row)) for row in rows)
    return Table("made", "A table", columns, tuple(made))


def table(columns: int, **changes) -> Table:
    numbers = (TableColumn(f"c{n}", f"figure {n}", RIGHT) for n in range(columns))
    values = [[f"model {row}", *["0.1234"] * columns] for row in range(3)]
    made = made_table((TableColumn("name", "Model"), *numbers), values)
    return dataclasses.replace(made, **changes)


def printed(made: Table) -> str:
    return environment().get_template("table.tex.jinja").module.captioned(made)


def test_a_bookmark_has_no_command_of_print():
    assert bookmark("a − b → c") == "a - b -> c"
    assert bookmark("W" * 60) == "W" * 60, "no place to break a word"
    assert bookmark("語\u202e\n[é]") == "[U+8A9E][U+202E] [é]"


def test_code_points_stand_for_signs_that_pdflatex_lacks():
    of_table = in_latex(table(2, title="語"))
    assert "{[}U+8A9E{]}" in of_table and not re.search(r"[^\x00-\u017f“”…]", of_table)
    (column,) = tabulars(made_table((TableColumn("name", "Model"),), [["語" * 4]] * 3))
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
    assert text.count(r"\caption[]{\label{table:made}A table.}") == 1
    assert text.count("(further columns)") == len(parts) - 1


def test_parts_of_a_table_repeat_the_columns_that_name_its_rows():
    """Where the first column leaves out equal values it does not tell rows apart."""
    experiment = TableColumn("experiment", "Experiment", merge=True)
    values = [["movies", f"model {row}", *["0.1234"] * 40] for row in range(2)]
    columns = (experiment, *table(40).columns)
    made = made_table(columns, values)
    parts = tabulars(made)
    assert len(parts) > 1
    for part in parts:
        assert part.indices[:2] == [0, 1]
        assert merged(made, part.indices) == [set(), {0}]
    assert sum(len(part.indices) - 2 for part in parts) == 40
    text = printed(made)
    assert text.count("\nmovies & model 0 & ") == text.count("\n & model 1 & ") == len(parts)
    (alone,) = tabulars(made_table(columns[:1], [["movies"]] * 2))
    assert alone.indices == [0]


@pytest.mark.usefixtures("empty_figures")
@pytest.mark.parametrize("name", ["sample", "talk"])
def test_a_paper_cites_what_it_lists_and_lists_what_it_cites(rendered, name):
    text = (rendered(name) / "report.tex").read_text(encoding="utf-8")
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", text) for key in keys.split(",")}
    assert cited == {*re.findall(r"\\bibitem\{(\w+)\}", text)} and len(cited) > 5
    labels = {*re.findall(r"\\label\{([^}]*)\}", text)}
    assert {*re.findall(r"\\ref\{([^}]*)\}", text)} <= labels
    abstract = text[text.index(r"\begin{abstract}") : text.index(r"\end{abstract}")]
    assert 40 <= len(abstract.split()) <= 150


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
    subject = made_up.study(name).study.title
    assert re.search(rf"Subject:\s+{re.escape(subject)}", statistics)
    assert int(re.search(r"Pages:\s+(\d+)", statistics)[1]) <= PAGES[name]
    text = _output("pdftohtml", "-xml", "-stdout", "-i", "-zoom", ZOOM, pdf)
    root = xml.etree.ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", text))
    bookmarks = [item.text or "" for item in root.iter("item")]
    assert any(text.endswith("Introduction") for text in bookmarks)
    families = {font.get("family").partition("+")[2] for font in root.iter("fontspec")}
    assert {"LMRoman10", "LiberationSans"} <= families, "text and figures are read"
    sizes = {font.get("id"): float(font.get("size")) for font in root.iter("fontspec")}
    small = [item for item in root.iter("text") if sizes[item.get("font")] < MIN_PRINT * ZOOM]
    texts = ["".join(item.itertext()).strip() for item in small]
    assert not [text for text in texts if len(text) > 1]
    log = (tmp_path / ".heed/pdf/report.log").read_text(encoding="latin-1")
    assert not re.findall(r"Overfull .*|.*undefined.*", log)


def _output(*command: object) -> str:
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout
