"""The files of the report: a page, a document for paper, a file for each table and figure."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.results import Comparison
from heed.files import write_text, writing_folder
from heed.report import chapters
from heed.report.blocks import PAGE, PAPER, Block, Figure, Table, walk_blocks
from heed.report.chapters import truths
from heed.report.chapters.answer import generated_warning
from heed.report.documents import describe_evidence, describe_weights
from heed.report.figures.files import draw_figures
from heed.report.head import IN_REPORTS, Addresses, citation
from heed.report.headline import headline
from heed.report.language import use_language
from heed.report.renderers import csv, html, latex, markdown
from heed.report.results import Results, read_results
from heed.report.series import write_series

if TYPE_CHECKING:
    from heed.study import Params


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the report says first.

    `answer` is one sentence over all experiments; `failures` are lines on the truths that are known
    of the study, and that it did not find.
    """

    answer: str
    failures: list[str]


def render(
    params: "Params",
    comparison: Comparison,
    published: Path,
    results_folder: Path,
    folder: Path,
    with_documents: bool = True,
    links: Addresses = IN_REPORTS,
    processes: int = 1,
) -> Outcome:
    """Write all of reports/: the same bytes for the same results; return what it says first.

    Args:
        params: the study: its title, note, experiments and searches.
        comparison: results/compare/comparison.json.
        published: the folder with the talk's figures.
        results_folder: results/, with the results of the other stages.
        folder: reports/.
        with_documents: whether to write the document browser, which has text of the corpora.
        links: the files that the page links in its head.
        processes: how many draw figures.

    Raises:
        HeedError: an experiment names one that the talk does not have; a file is missing or broken.

    """
    with use_language(params.study.language):
        results = read_results(params, comparison, published, results_folder, with_documents)
        report = chapters.report(results)
        blocks = list(walk_blocks(report))
        image = _write_figures(blocks, folder / "figures", processes)
        copies = _write_tables(
            [block for block in blocks if isinstance(block, Table)], folder / "tables"
        )
        _write_series(results, folder / "plots")
        _write_documents(results, folder / "documents")
        study = params.study
        header = (study.title, generated_warning(results.experiments), study.note)
        write_text(folder / "report.tex", latex.document(_select(report, PAPER), *header))
        page = html.page(
            _select(report, PAGE), image, *header, copies, links.listed(), citation(study.name)
        )
        write_text(folder / "index.html", page)
        answer = headline(results.experiments, len(comparison.seeds))
        return Outcome(answer, truths.failure_lines(results))


def _select(blocks: list[Block], medium: str) -> list[Block]:
    """Return the blocks that the page or the paper has."""
    return [block for block in blocks if medium in block.media]


def _write_figures(blocks: list[Block], folder: Path, processes: int) -> html.ImageAddress:
    """Write the files of all figures, some in another size on paper; return what the page has."""
    figures = [block for block in blocks if isinstance(block, Figure)]
    with writing_folder(folder) as out:
        draw_figures(figures, latex.column_sizes(blocks), out, processes)
        return html.image_addresses(figures, out)


def _write_tables(tables: list[Table], folder: Path) -> html.TableCopies:
    """Write the files of all tables; return what the page has of a table to copy.

    That is the text of its files: two blocks with one key are one table for page and file.
    """
    texts: dict[str, dict[str, str]] = {}
    with writing_folder(folder) as out:
        for table in tables:
            copies = texts.setdefault(table.key, {})
            if any(column.key for column in table.columns):
                copies["CSV"] = csv.table(table)
                if "csv" in table.files:
                    write_text(out / f"{table.key}.csv", copies["CSV"])
            if PAGE in table.media or "tex" in table.files:
                copies["LaTeX"] = latex.table(table)
                if "tex" in table.files:
                    write_text(out / f"{table.key}.tex", copies["LaTeX"])
    return lambda table: {**texts[table.key], "Markdown": markdown.table(table)}


def _write_series(results: Results, folder: Path) -> None:
    models = {
        results.evaluation_folder(model): each.measure
        for each in results.experiments
        for model in results.models(each).values()
    }
    with writing_folder(folder) as out:
        write_series(results.experiments, models, out)


def _write_documents(results: Results, folder: Path) -> None:
    """Write the document browser: a page for each model that has weights."""
    template = html.environment().get_template("documents.html.jinja")
    with writing_folder(folder) as out:
        for experiment in results.experiments if results.with_documents else []:
            result = results.comparison.experiments[experiment.key]
            for variant, model in result.models.items():
                if model.model in results.browsers:
                    text = template.render(
                        experiment=experiment,
                        variant=variant,
                        page=results.browsers[model.model],
                        weights_sentence=describe_weights(model.hyperparameters),
                        evidence=describe_evidence(result.corpus.facts),
                        explained=results.is_explained(experiment),
                        sources=results.document_sources(model.model),
                    )
                    write_text(out / f"{model.model}.html", text)
