"""A page, tables in LaTeX and a figure of verdicts and of pooled answers, by the report's code."""

from collections.abc import Sequence
from pathlib import Path

from heed.files import HeedError, write_text
from heed.report import typesetting
from heed.report.figures.shapes import Figure
from heed.report.figures.vega import as_svg
from heed.report.forest_plot import interval_plot
from heed.report.formats import NAMED, TEXT
from heed.report.pages import environment, inline
from heed.report.tables import Cell, Row, Table, TableColumn, markdown_table
from heed.verdict.words import Section

FORMATS = {"difference": NAMED["printed"], "interval": NAMED["right"], "weight": NAMED["right"]}


def write(
    kind: str, title: str, sections: Sequence[Section], html: Path | None = None,
    latex: Path | None = None, svg: Path | None = None,
) -> None:  # fmt: skip
    """Write sections to the files that are asked for; `kind` names the figure in captions.yaml.

    Raises HeedError: a file cannot be written; there is no interval to draw.
    """
    tables = [_table(f"{kind}-{number}", section) for number, section in enumerate(sections, 1)]
    if latex:
        write_text(latex, "\n".join(map(typesetting.table, tables)))
    figure = _draw(kind, sections) if html or svg else None
    drawing = as_svg(figure) if figure else ""
    if svg and not figure:
        raise HeedError(f"--svg {svg}: no pair has an interval, so there is nothing to draw")
    if svg:
        write_text(svg, drawing)
    if html:
        write_text(html, _page(title, [*zip(sections, tables, strict=True)], figure, drawing))


def _draw(kind: str, sections: Sequence[Section]) -> Figure | None:
    tested = [section for section in sections if section.intervals]
    drawn = {section.title or "Differences": section.intervals for section in tested}
    told = " ".join(section.sentences[0] for section in sections)
    return interval_plot(kind, drawn, told) if drawn else None


def _page(
    title: str, sections: list[tuple[Section, Table]], figure: Figure | None, drawing: str
) -> str:
    return environment().get_template("verdict.html.jinja").render(
        title=title, sections=sections, picture=figure, image=lambda _: inline(drawing),
        copies=lambda it: {"Markdown": markdown_table(it)}, has_files=False,
    )  # fmt: skip


def _table(key: str, section: Section) -> Table:
    columns = [
        TableColumn(name.replace(" ", "_"), name.capitalize(), FORMATS.get(name, TEXT))
        for name in section.columns
    ]
    rows = [Row(tuple(Cell(text, text) for text in row)) for row in section.rows]
    return Table(key, section.title or "Differences", (*columns,), (*rows,), files=())
