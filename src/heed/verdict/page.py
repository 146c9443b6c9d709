"""A page, tables in LaTeX and a figure of verdicts and of pooled answers, by the report's code."""

from collections.abc import Sequence
from pathlib import Path

from heed.files import HeedError, write_text
from heed.report import typesetting
from heed.report.figures.vega import as_svg
from heed.report.forest_plot import interval_plot
from heed.report.formats import NAMED, TEXT
from heed.report.pages import environment, inline
from heed.report.tables import Cell, Column, Row, Table, markdown_table
from heed.verdict.words import Section

FORMATS = {"difference": NAMED["printed"], "interval": NAMED["right"], "weight": NAMED["right"]}


def write(
    kind: str, title: str, sections: Sequence[Section], html: Path | None = None,
    latex: Path | None = None, svg: Path | None = None,
) -> None:  # fmt: skip
    """Write sections to the files that are asked for; `kind` names the figure in captions.yaml.

    Raises HeedError: a file cannot be written; there is no interval to draw.
    """
    tables = [_table(f"{kind}-{number}", each) for number, each in enumerate(sections, 1)]
    if latex:
        write_text(latex, "\n".join(map(typesetting.table, tables)))
    if not (html or svg):
        return
    groups = {each.title or "Differences": each.intervals for each in sections if each.intervals}
    if svg and not groups:
        raise HeedError(f"--svg {svg}: no pair has an interval, so there is nothing to draw")
    told = " ".join(each.sentences[0] for each in sections)
    figure = interval_plot(kind, groups, told) if groups else None
    drawing = as_svg(figure) if figure else ""
    if svg:
        write_text(svg, drawing)
    if html:
        page = environment().get_template("verdict.html.jinja").render(
            title=title, sections=[*zip(sections, tables, strict=True)], picture=figure,
            image=lambda _: inline(drawing), has_files=False,
            copies=lambda it: {"Markdown": markdown_table(it)},
        )  # fmt: skip
        write_text(html, page)


def _table(key: str, section: Section) -> Table:
    columns = [
        Column(name.replace(" ", "_"), name.capitalize(), FORMATS.get(name, TEXT))
        for name in section.columns
    ]
    rows = [Row(tuple(Cell(text, text) for text in row)) for row in section.rows]
    return Table(key, section.title or "Differences", (*columns,), (*rows,), files=())
