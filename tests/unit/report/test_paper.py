"""The report on paper: its parts, bookmarks, figures that fit, and tables that can be read."""

import dataclasses
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from heed.report import latex
from heed.report.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Figure,
    Group,
    Paragraph,
    Section,
    Table,
    make_rows,
)
from heed.report.escape import bookmark, escape
from heed.report.formats import RIGHT, TEXT
from heed.report.latex import merged, on_paper, tabulars
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


def test_the_document_has_a_title_an_abstract_and_bookmarks_of_its_sections():
    text = printed(Section("one", "First & best", (Paragraph(("Text.",)),)), title="50% of A_B")
    assert r"\maketitle" in text and "\\begin{abstract}\n\\noindent A note." in text
    assert r"\hypersetup{pdftitle={50\% of A\_B}" in text
    assert r"\section{\texorpdfstring{First \& best}{First \& best}}" in text
    assert r"\usepackage[numbered,open,depth=2]{bookmark}" in text
    assert "A note." in text and not re.search(r"\\date|\\today", text)


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


def test_every_figure_has_a_largest_width_and_height():
    sizes = {"small": (4.4, 2.9), "tall": (4.4, 14.0), "wide": (9.0, 9.0)}
    text = printed(*(figure(key, size) for key, size in sizes.items()))
    included = re.findall(r"(\\adjustbox\{[^}]*\})?\{?\\includegraphics(\[.*?\])?\{", text)
    assert len(included) == 3
    for bounds, options in included:
        assert "max width=\\linewidth" in bounds and "max totalheight=0." in bounds and not options
    assert len(re.findall(r"\\captionof\{figure\}\[\]", text)) == 3


def test_an_explanation_is_printed_once_and_others_refer_to_its_number():
    same = [figure("first"), figure("second", title="Title of first"), figure("other")]
    text = printed(*same, table(2, caption="Of rows."), table(2, key="more", caption="Of rows."))
    assert text.count("What it shows.") == 2 and text.count("Of rows.") == 1
    for label, reference in (("figure:first", "figure"), ("table:made", "table")):
        assert text.count(rf"\label{{{label}}}") == 1
        assert text.count(rf"As in {reference}~\ref{{{label}}}.") == 1


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


def test_a_second_line_breaks_in_the_width_of_its_column():
    columns = (
        Column(
            "outcome",
            "Outcome",
            TEXT,
            lambda _: Cell("undefined", "no adversarial model"),
            width=18,
        ),
        Column("gain", "Gain", RIGHT, lambda _: Cell("0.1", "of the mean")),
    )
    _, _, body = printed(made_table(columns, 1)).partition(r"\endhead")
    breaking = r"\multicolumn{1}{>{\raggedright\arraybackslash}p{18mm}}"
    right = r"\multicolumn{1}{r}{\scriptsize of the mean}"
    assert rf"{breaking}{{\scriptsize no adversarial model}} & {right} \\" in body


def test_a_table_repeats_its_head_on_every_page_and_says_that_it_is_continued():
    text = printed(table(3, rows=90))
    assert r"\begin{longtable}" in text and r"\begin{tabular}" not in text
    first, _, rest = text.partition(r"\endfirsthead")
    head, _, _ = rest.partition(r"\endhead")
    for part in (first, head):
        assert part.count("Model & ") == 1
    assert r"\tablename~\thetable} (continued)" in head
    alone = latex.table(table(3))
    assert r"\caption" not in alone, "the file is for \\input, where the reader gives the caption"


def test_what_contains_only_blocks_of_the_page_has_no_heading_on_paper():
    hidden = Section("h", "Hidden", (Group((Paragraph(("x",), media=(PAGE,)),)),))
    assert on_paper([hidden, Group((hidden,))]) == []
    shown = Paragraph(("y",))
    assert on_paper([hidden, shown]) == [shown]
    assert "Hidden" not in printed(hidden, shown)


PARTS = ["Introduction", "Method", "Results", "Limits", "References"]


def test_the_paper_has_its_parts_in_order_and_cites_what_the_study_uses(rendered):
    text = (rendered("talk") / "report.tex").read_text(encoding="utf-8")
    assert re.findall(r"\\section\{\\texorpdfstring\{(.*?)\}", text) == PARTS
    abstract, rest = text.split(r"\begin{abstract}")[1].split(r"\end{abstract}")
    answer = (rendered("talk") / "tables/answer.txt").read_text(encoding="utf-8")
    assert escape(answer.splitlines()[0]) in abstract
    introduction, method, results, limits, listed = rest.split(r"\section{")[1:]
    for experiment in made_up.study("talk").experiments.values():
        assert introduction.count(escape(experiment.title)) == 1
        assert rf"\subsection{{\texorpdfstring{{{escape(experiment.title)}" in results
    assert "which fix its initial weights" in method and r"\includegraphics" not in method
    assert r"\label{figure:models}" in results and "What we cannot say" in limits
    cited = {key for keys in re.findall(r"\\cite\{(.*?)\}", text) for key in keys.split(",")}
    assert cited == {*re.findall(r"\\bibitem\{(.*?)\}", listed)} >= {"heed", "welch", "maas"}


def test_a_report_has_no_scaled_table_and_no_figure_without_bounds(rendered):
    text = (rendered("talk") / "report.tex").read_text(encoding="utf-8")
    graphics = text.count(r"\includegraphics")
    assert graphics == text.count("max totalheight=") and graphics > 3
    for scaled in (r"\resizebox", r"\scalebox", r"\tiny", r"\begin{tabular}"):
        assert scaled not in text
    assert "SHA256SUMS" not in text and len(re.findall("[0-9a-f]{32}", text)) == 0


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
