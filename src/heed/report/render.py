"""Write the report: one HTML file, one LaTeX document, and every table as a file of its own."""

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from heed.files import write_text, writing_folder
from heed.report.tables import Experiment, Table, csv_rows, experiments

if TYPE_CHECKING:
    from heed.params import Params

TEMPLATES = Path(__file__).parent / "templates"
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedbl{}", "−": r"$-$", "–": "--", "→": r"$\rightarrow$",
}  # fmt: skip


class Latex(str):
    """Text that is LaTeX already."""


def latex_escape(value: Any) -> str:
    """Return the value as LaTeX that prints it; what pdflatex cannot print becomes its code point in brackets."""
    if isinstance(value, Latex):
        return value
    out = []
    for character in str(value):
        if character in LATEX:
            out.append(LATEX[character])
        elif character in "\n\t":
            out.append(" ")
        elif character.isprintable() and ord(character) < 0x180:
            out.append(character)
        else:
            out.append(f"[U+{ord(character):04X}]")
    return "".join(out)


def _html() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def _latex() -> jinja2.Environment:
    """Return an environment whose delimiters LaTeX does not use, and that escapes every value."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
        autoescape=False, finalize=latex_escape, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip


def file_name(experiment: Experiment, table: Table) -> str:
    """Return the name, without ending, of the files that hold a table alone."""
    return re.sub(r"[^a-z0-9-]", "-", f"{experiment.key}-{table.key}")


def render(params: "Params", comparison: dict[str, Any], published: Path, into: Path) -> None:
    """Write index.html, report.tex and tables/ into `into`: the same bytes for the same comparison.

    Args:
        params: the study: its title, note and experiments.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        into: reports/.

    """
    found = experiments(params, comparison, published)
    context = {"study": params.study, "experiments": found, "seeds": comparison["seeds"], "file_name": file_name}
    html, latex = _html(), _latex()
    page = html.get_template("index.html.jinja").render(context)
    document = latex.get_template("report.tex.jinja").render(context)
    with writing_folder(into / "tables") as out:
        for experiment in found:
            for table in (*experiment.pair, *experiment.others):
                name = file_name(experiment, table)
                write_text(out / f"{name}.csv", _csv(csv_rows(table)))
                write_text(out / f"{name}.tex", latex.get_template("table.tex.jinja").render(table=table))
            if len(experiment.pair) == 2:
                pair = latex.get_template("pair.tex.jinja").render(experiment=experiment, pair=experiment.pair)
                write_text(out / f"{experiment.key}-pair.tex", pair)
        heads = [
            "title",
            "baseline",
            "attention",
            "gain",
            "deviation",
            "controls",
            "linear",
            "majority",
            "published",
            "comparable",
        ]
        lines = [heads] + [[experiment.line[head] for head in heads] for experiment in found]
        write_text(out / "summary.csv", _csv(lines))
        write_text(out / "summary.tex", latex.get_template("summary.tex.jinja").render(context))
    write_text(into / "report.tex", document)
    write_text(into / "index.html", page)


def _csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
