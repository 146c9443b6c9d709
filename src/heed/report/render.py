"""Write the report: one HTML file, one LaTeX document, and every table as a file of its own."""

import base64
import csv
import hashlib
import io
import itertools
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from heed.evaluation.results import Comparison
from heed.files import check, write_text, writing_folder
from heed.report import latex, spreadsheet
from heed.report.answer import PAIR, coverage, points, probability
from heed.report.documents import browser, how
from heed.report.figures import gain_chart
from heed.report.language import language, say, speaking
from heed.report.plots import Plot, Plots, plot_all
from heed.report.published import CLASSES, RESULTS
from heed.report.scores import score_table
from heed.report.series import write_series
from heed.report.sources import sources
from heed.report.tables import Experiment, Table, experiments, number
from heed.report.text import visible
from heed.search.result import read_search

if TYPE_CHECKING:
    from heed.study import Params

INLINE = 1_000_000  # bytes of SVG in all: more, and the page links the files in figures/ instead of holding them
TEMPLATES = Path(__file__).parent / "templates"


def environment() -> jinja2.Environment:
    """Return what renders HTML: it escapes every value, and shows what cannot be seen."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {"points": points, "number": number, "probability": probability}
    made.globals |= {"say": say, "language": language(), "script": script, "policy": policy}
    return made


def latex_environment() -> jinja2.Environment:
    """Return an environment whose delimiters LaTeX does not use, and that escapes every value."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
        autoescape=False, finalize=latex.escape, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    made.filters |= {
        "points": points,
        "number": number,
        "probability": probability,
        "cell": latex.cell,
        "file": latex.Latex,
    }
    made.globals |= {"say": say, "language": language(), "name_column": name_column, "support_column": support_column}
    return made


def file_name(experiment: Experiment, what: str) -> str:
    """Return the name, without ending, of a model's file; names have no --, so two tables never share one."""
    return f"{experiment.key}--{what}"


def generated(experiments: list[Experiment]) -> str:
    """Return what the banner says of generated text, whatever the study's note says: nothing where all text is real."""
    count = sum(experiment.generated for experiment in experiments)
    if not count:
        return ""
    return say(
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


def render(
    params: "Params", comparison: Comparison, published: Path, results: Path, into: Path, browsed: bool = True
) -> None:
    """Write index.html, report.tex, figures/, tables/, plots/ and documents/ into `into`: the same bytes for the same results.

    Args:
        params: the study: its title, note, experiments and searches.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        results: the folder of the stages before: what the figures and the document browser are made of.
        into: reports/.
        browsed: with the document browser, which holds text of the corpora.

    Raises:
        HeedError: an experiment stands beside one that the talk does not have; a file is missing or broken.

    """
    with speaking(params.study.language):
        _render(params, comparison, published, results, into, browsed)


def _render(
    params: "Params", comparison: Comparison, published: Path, results: Path, into: Path, browsed: bool
) -> None:
    found = experiments(params, comparison, published)
    compared = {name: result.models for name, result in comparison.experiments.items()}
    models = {name: {variant: model.model for variant, model in own.items()} for name, own in compared.items()}
    searched = {name: [results / "search" / key for key, search in params.searches.items()
                       if search.experiment == name and search.trials] for name in models}  # fmt: skip
    evaluated, predicted = results / "evaluate", results / "predict"
    html, tex = environment(), latex_environment()
    for own in models.values():
        for model in own.values():
            check(evaluated / model, f"heed evaluate {model}")
            check(predicted / model, f"heed predict {model}")
    for folder in itertools.chain(*searched.values()):
        check(folder, f"heed search {folder.name}")
    with writing_folder(into / "figures") as out:
        plots = plot_all(found, models, evaluated, searched, out)
        chart = gain_chart(found)
        weighted = {
            name: {key: model.model for key, model in own.items() if browsed and model.hyperparameters.chooses_weights}
            for name, own in compared.items()
        }
        scores, covers = score_table(found, comparison), coverage(comparison.significance.alpha)
        context: dict[str, object] = {
            "study": params.study,
            "experiments": found,
            "seeds": comparison.seeds,
            "file_name": file_name,
            "generated": generated(found),
            "beside": any(experiment.line.beside for experiment in found),
            "significance": comparison.significance,
            "covers": covers,
            "folded": any(result.corpus.folds for result in comparison.experiments.values()),
            "chart": chart,
            "plots": plots,
            "image": image(plots, out),
            "searches": {name: list(filter(None, map(read_search, folders))) for name, folders in searched.items()},
            "models": models,
            "scores": scores,
            "figures": lambda experiment: _figures(plots, experiment, models[experiment.key]),
            "found_by": lambda about: [(plot, "") for plot in plots.searches[about.search]],
            "documents": weighted,
        }  # fmt: skip
        if chart:
            write_text(out / "gain.svg", html.get_template("gain.svg.jinja").render(context))
            write_text(out / "gain.tex", tex.get_template("gain.tex.jinja").render(context))
        pages = {
            model: (
                experiment,
                variant,
                predicted / model,
                browser(predicted / model, beside(variant, models[experiment.key], predicted)),
            )
            for experiment in found
            for variant, model in weighted[experiment.key].items()
        }
        read = [results / "compare" / "comparison.json", published / RESULTS, published / CLASSES]
        read += [path for plot in plots.all() for path in plot.sources]
        read += [
            folder / f"{name}.parquet"
            for _, _, folder, _ in pages.values()
            for name in ("documents", "weights", "predictions")
        ]
        made_of = sources(path for path in read if path.exists())
        context["sources"] = made_of
        context["evidence"] = {model: page.evidence for model, (*_, page) in pages.items() if page.evidence}
        context["comparison"] = str(results / "compare" / "comparison.json")
        page = html.get_template("index.html.jinja").render(context)
        document = tex.get_template("report.tex.jinja").render(context)
    with writing_folder(into / "tables") as out:
        _write_csv(out / "summary.csv", spreadsheet.of_summary(found))
        write_text(out / "summary.tex", tex.get_template("summary.tex.jinja").render(context))
        _write_csv(out / "scores.csv", spreadsheet.of_scores(scores))
        write_text(out / "scores.tex", tex.get_template("scores.tex.jinja").render(context))
        for experiment in found:
            _write_tables(out, experiment, tex, covers)
    with writing_folder(into / "plots") as out:
        write_series(found, [evaluated / model for own in models.values() for model in own.values()], out)
    with writing_folder(into / "documents") as out:
        template = html.get_template("documents.html.jinja")
        for model, (experiment, variant, folder, page_of_model) in pages.items():
            text = template.render(
                experiment=experiment,
                variant=variant,
                page=page_of_model,
                how=how(compared[experiment.key][variant].hyperparameters),
                sources=[made_of[str(folder / f"{name}.parquet")] for name in ("documents", "weights", "predictions")],
            )
            write_text(out / f"{model}.html", text)
    write_text(into / "report.tex", document)
    write_text(into / "index.html", page)


def beside(variant: str, models: dict[str, str], predicted: Path) -> dict[str, Path]:
    """Return the variants whose answers stand on the page of `variant`: both models of the talk, and itself."""
    return {name: predicted / model for name, model in models.items() if name in (*PAIR, variant)}


def script(name: str) -> Markup:
    """Return a script of templates/, which holds nothing that users wrote."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def policy(name: str) -> Markup:
    """Return the Content-Security-Policy of a page: no network, and no script but the one of this name."""
    digest = base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode()
    return Markup(
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self' file:; script-src 'sha256-{digest}'"
    )


def _figures(plots: Plots, experiment: Experiment, models: dict[str, str]) -> list[tuple[Plot, str]]:
    """Return an experiment's figures, each with the title of the model that it is of."""
    own = [
        (plot, table.title)
        for table in experiment.tables
        if table.key in models
        for plot in plots.models[models[table.key]]
    ]
    return [(plot, "") for plot in plots.experiments[experiment.key]] + own


def image(plots: Plots, folder: Path) -> Callable[[str], str]:
    """Return what gives a figure's address: all of it in the page, or a file beside it where all together are large."""
    texts = {plot.key: (folder / f"{plot.key}.svg").read_text(encoding="utf-8") for plot in plots.all()}
    if sum(map(len, texts.values())) > INLINE:
        return lambda key: f"figures/{key}.svg"
    return lambda key: "data:image/svg+xml," + urllib.parse.quote(texts[key], safe=" !$()*+,-./;=?@[]_~'")


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
