"""Write the report: a page, a document for paper, a file for every table and figure."""

from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.results import Comparison
from heed.files import write_text, writing_folder
from heed.report import chapters
from heed.report.blocks import PAGE, PAPER, Block, Figure, Table, within
from heed.report.chapters.answer import generated
from heed.report.documents import how
from heed.report.figures.drawing import draw
from heed.report.language import speaking
from heed.report.renderers import csv, html, latex
from heed.report.results import Results, read_results
from heed.report.series import write_series

if TYPE_CHECKING:
    from heed.study import Params


def render(
    params: "Params",
    comparison: Comparison,
    published: Path,
    folder: Path,
    into: Path,
    browsed: bool = True,
) -> None:
    """Write all of reports/: the same bytes for the same results.

    Args:
        params: the study: its title, note, experiments and searches.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        folder: results/, which has what the stages before wrote.
        into: reports/.
        browsed: with the document browser, which holds text of the corpora.

    Raises:
        HeedError: an experiment names one that the talk does not have; a file is missing or broken.

    """
    with speaking(params.study.language):
        results = read_results(params, comparison, published, folder, browsed)
        report = chapters.report(results)
        blocks = list(within(report))
        figures = [block for block in blocks if isinstance(block, Figure)]
        with writing_folder(into / "figures") as out:
            for figure in figures:
                draw(out / figure.key, figure.says, figure.size, figure.draw)
            image = html.images(figures, out)
        _write_tables([block for block in blocks if isinstance(block, Table)], into / "tables")
        _write_series(results, into / "plots")
        _write_documents(results, into / "documents")
        study = params.study
        words = (study.title, generated(results.experiments), study.note)
        write_text(into / "report.tex", latex.document(_on(report, PAPER), *words))
        write_text(into / "index.html", html.page(_on(report, PAGE), image, *words))


def _on(blocks: list[Block], medium: str) -> list[Block]:
    return [block for block in blocks if medium in block.on]


def _write_tables(tables: list[Table], into: Path) -> None:
    with writing_folder(into) as out:
        for table in tables:
            if "csv" in table.files and any(column.key for column in table.columns):
                write_text(out / f"{table.key}.csv", csv.table(table))
            if "tex" in table.files:
                write_text(out / f"{table.key}.tex", latex.table(table))


def _write_series(results: Results, into: Path) -> None:
    models = [
        results.evaluated(model)
        for each in results.experiments
        for model in results.models(each).values()
    ]
    with writing_folder(into) as out:
        write_series(results.experiments, models, out)


def _write_documents(results: Results, into: Path) -> None:
    """Write the document browser: a page a model that chooses weights."""
    template = html.environment().get_template("documents.html.jinja")
    with writing_folder(into) as out:
        for experiment in results.experiments:
            models = results.comparison.experiments[experiment.key].models
            for variant, model in models.items():
                if model.model in results.browsers:
                    text = template.render(
                        experiment=experiment,
                        variant=variant,
                        page=results.browsers[model.model],
                        how=how(model.hyperparameters),
                        sources=results.document_sources(model.model),
                    )
                    write_text(out / f"{model.model}.html", text)
