"""Write the report: one HTML file, one LaTeX document, and every table as a file of its own."""

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from heed.files import write_text, writing_folder
from heed.report import latex, spreadsheet
from heed.report.answer import coverage, points, probability
from heed.report.documents import attends, browser, how
from heed.report.figures import gain_chart
from heed.report.tables import Experiment, Table, experiments, number

if TYPE_CHECKING:
    from heed.params import Params

TEMPLATES = Path(__file__).parent / "templates"
# Control characters, and those that turn the direction of the text after them: shown, never obeyed.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def visible(value: Any) -> Any:
    """Return text with every character that cannot be seen named by its code point; jinja escapes the result."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", value)


def _html() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"points": points, "number": number, "probability": probability}
    return environment


def _latex() -> jinja2.Environment:
    """Return an environment whose delimiters LaTeX does not use, and that escapes every value."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
        autoescape=False, finalize=latex.escape, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "points": points,
        "number": number,
        "probability": probability,
        "cell": latex.cell,
        "file": latex.Latex,
    }
    environment.globals |= {"name_column": name_column, "support_column": support_column}
    return environment


def file_name(experiment: Experiment, what: str) -> str:
    """Return the name, without ending, of a model's file; names have no --, so two tables never share one."""
    return f"{experiment.key}--{what}"


def generated(experiments: list[Experiment]) -> str:
    """Return what the banner says of generated text, whatever the study's note says: nothing where all text is real."""
    count = sum("generated" in experiment.mark for experiment in experiments)
    if not count:
        return ""
    return (
        "GENERATED TEXT, NOT A RESULT." if count == len(experiments) else "SOME OF THE TEXT IS GENERATED; IT IS MARKED."
    )


def name_column(tables: list[Table], long: int = 28) -> latex.Latex:
    """Return the LaTeX column of the class names: as wide as they are, or 34 mm and broken where one is `long`."""
    longest = max(len(row.name) for table in tables for row in table.rows)
    return latex.Latex("l" if longest < long else r">{\raggedright\arraybackslash}p{34mm}")


def support_column(tables: list[Table]) -> latex.Latex:
    """Return the siunitx column that holds the tables' supports."""
    texts = [row.cells["support"].text for table in tables for row in table.rows]
    digits = max(len(text.partition(".")[0]) for text in texts)
    places = max(len(text.partition(".")[2]) for text in texts)
    return latex.Latex(f"S[table-format={digits}.{places},group-digits=none]")


def render(params: "Params", comparison: dict[str, Any], published: Path, evaluated: Path, into: Path) -> None:
    """Write index.html, report.tex, figures/, tables/ and documents/ into `into`: the same bytes for the same results.

    Args:
        params: the study: its title, note and experiments.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        evaluated: results/evaluate, with the weights of chosen documents.
        into: reports/.

    Raises:
        HeedError: an experiment stands beside one that the talk does not have.

    """
    found = experiments(params, comparison, published)
    context: dict[str, Any] = {
        "study": params.study,
        "experiments": found,
        "seeds": comparison["seeds"],
        "file_name": file_name,
        "generated": generated(found),
        "beside": any(experiment.line.beside for experiment in found),
        "significance": comparison["significance"],
        "covers": coverage(comparison["significance"]["alpha"]),
        "folded": any(experiment["corpus"]["folds"] for experiment in comparison["experiments"].values()),
        "chart": gain_chart(found),
        "documents": {
            name: {
                variant: model["model"]
                for variant, model in data["models"].items()
                if attends(model["hyperparameters"])
            }
            for name, data in comparison["experiments"].items()
        },
    }
    html, tex = _html(), _latex()
    page = html.get_template("index.html.jinja").render(context)
    document = tex.get_template("report.tex.jinja").render(context)
    with writing_folder(into / "figures") as out:
        if context["chart"]:
            write_text(out / "gain.svg", html.get_template("gain.svg.jinja").render(context))
            write_text(out / "gain.tex", tex.get_template("gain.tex.jinja").render(context))
    with writing_folder(into / "tables") as out:
        _write_csv(out / "summary.csv", spreadsheet.of_summary(found))
        write_text(out / "summary.tex", tex.get_template("summary.tex.jinja").render(context))
        for experiment in found:
            _write_tables(out, experiment, tex, context["covers"])
    with writing_folder(into / "documents") as out:
        template = html.get_template("documents.html.jinja")
        for experiment in found:
            for variant, model in context["documents"][experiment.key].items():
                settings = comparison["experiments"][experiment.key]["models"][variant]["hyperparameters"]
                page_of_model = browser(evaluated / model)
                text = template.render(experiment=experiment, variant=variant, page=page_of_model, how=how(settings))
                write_text(out / f"{model}.html", text)
    write_text(into / "report.tex", document)
    write_text(into / "index.html", page)


def _write_tables(out: Path, experiment: Experiment, tex: jinja2.Environment, covers: str) -> None:
    _write_csv(out / f"{experiment.key}_comparisons.csv", spreadsheet.of_comparisons(experiment))
    text = tex.get_template("comparisons.tex.jinja").render(experiment=experiment, covers=covers)
    write_text(out / f"{experiment.key}_comparisons.tex", text)
    for table in experiment.tables:
        _write_csv(out / f"{file_name(experiment, table.key)}.csv", spreadsheet.of_table(experiment, table))
        text = tex.get_template("table.tex.jinja").render(experiment=experiment, table=table)
        write_text(out / f"{file_name(experiment, table.key)}.tex", text)
    _write_csv(out / f"{experiment.key}_seeds.csv", spreadsheet.of_seeds(experiment))
    _write_csv(out / f"{experiment.key}_hyperparameters.csv", spreadsheet.of_hyperparameters(experiment))
    text = tex.get_template("hyperparameters.tex.jinja").render(experiment=experiment)
    write_text(out / f"{experiment.key}_hyperparameters.tex", text)
    if len(experiment.pair) == 2:
        text = tex.get_template("pair.tex.jinja").render(experiment=experiment, pair=experiment.pair)
        write_text(out / f"{experiment.key}_pair.tex", text)


def _write_csv(path: Path, rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_text(path, text.getvalue())
