"""The files of the report: a page, a document for paper, a file for each table and figure."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import Comparison
from heed.files import write_text, writing_folder
from heed.report import chapters, html, latex
from heed.report.blocks import PAGE, Block, Figure, Table, walk_blocks
from heed.report.browser import describe_rationale, describe_weights
from heed.report.chapters import expected_results
from heed.report.chapters.paper import citation, paper
from heed.report.chapters.summary import generated_warning, headline
from heed.report.figures.vega import draw_figures
from heed.report.measures import Measure
from heed.report.results import Results, read_results, read_table
from heed.tables import write_csv
from heed.task import task_module

if TYPE_CHECKING:
    from heed.study import Params


@dataclasses.dataclass(frozen=True)
class Addresses:
    """The addresses of files, from the page; empty where no such file belongs to it."""

    params: str = "../params.yaml"
    method: str = "../docs/statistics.md"
    paper: str = ""
    reading: str = ""
    provenance: str = ""
    made_by: str = ""  # version and commit of heed, in a published report

    def listed(self) -> list[tuple[str, str, str]]:
        """Return text, address and explanation of each; without an address the command."""
        provenance = "Provenance" + f": {self.made_by}" * bool(self.made_by)
        about = "Commit and machine" if self.provenance else "provenance.json"
        return [
            ("Paper (PDF)", self.paper, "" if self.paper else "make pdf"),
            *([("Our reading", self.reading, "")] if self.reading else []),
            ("Parameters", self.params, "params.yaml"),
            ("Method", self.method, "How the differences are tested"),
            (provenance, self.provenance, about),
        ]


ANSWER = "answer.txt"  # in tables/: the first sentences, which a run prints at its end


# The columns of the files for `dvc plots` where no model has such values.
CURVES = ["seed", "epoch", "model", "metric", "validation"]
CONFUSION = ["actual", "predicted", "documents", "model", "share"]
COMPARISONS = ["experiment", "compared", "difference_pp", "low_pp", "high_pp", "p_corrected"]


def _curves(evaluation: Path, measure: Measure) -> pd.DataFrame:
    """Return the history of a model's runs, with the metric that decides, where it is validated."""
    history = read_table(evaluation / "history.csv")
    figures = measure.metric, task_module(measure.task, "recipe").VALIDATION_METRICS[0]
    metric = next(each for each in figures if f"validation_{each}" in history)
    values = {"metric": metric, "validation": history[f"validation_{metric}"]}
    return history.assign(model=evaluation.name, **values)


def _confusion(evaluation: Path) -> pd.DataFrame:
    counts = (
        read_table(evaluation / "confusion.csv")
        .groupby(["label", "predicted"], as_index=False)["documents"]
        .sum()
    )
    share = counts["documents"] / counts.groupby("label")["documents"].transform("sum")
    return counts.assign(model=evaluation.name, share=share).rename(columns={"label": "actual"})


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The beginning of a report: its first sentences, and lines on failures.

    These are on the expected results that are known of the study, and that it did not find.
    """

    answer: list[str]
    failures: list[str]


def render(
    params: "Params",
    comparison: Comparison,
    published: Path,
    results_folder: Path,
    folder: Path,
    with_documents: bool = True,
    links: Addresses = Addresses(),
) -> Outcome:
    """Write all of reports/: the same bytes for the same results; return what it says first.

    `published` has the talk's scores, `results_folder` is results/, `folder` reports/, and
    `with_documents` is whether to write the document browser, which has text of the corpora.

    Raises HeedError: an experiment names one that the talk does not have; a file is missing or
    broken.
    """
    results = read_results(params, comparison, published, results_folder, with_documents)
    report = chapters.report(results)
    blocks = list(walk_blocks(report))
    image, names = _write_figures(blocks, folder / "figures")
    tables = [block for block in blocks if isinstance(block, Table)]
    warning, answer = generated_warning(results.experiments), headline(results.experiments)
    outcome = Outcome([*filter(None, [warning]), *answer], expected_results.failure_lines(results))
    copies = _write_tables(tables, outcome, folder / "tables")
    _write_plots(results, folder / "plots")
    _write_documents(results, folder / "documents")
    study = params.study
    sections = paper(results, report)
    text = latex.document(sections, study.title, warning, " ".join(answer), names)
    write_text(folder / "report.tex", text)
    on_page = [block for block in report if PAGE in block.media]
    header = (study.title, warning, study.note)
    page = html.page(on_page, image, *header, copies, links.listed(), citation(study.name))
    write_text(folder / "index.html", page)
    return outcome


def _write_plots(results: Results, folder: Path) -> None:
    """Write curves.csv, confusion.csv and comparisons.csv, which `dvc plots show` draws.

    They have the columns that dvc.yaml names, also where no model of the study has such values.
    """
    curves, confusions = list[pd.DataFrame](), list[pd.DataFrame]()
    for each in results.experiments:
        for evaluation in map(results.evaluation_folder, results.models(each).values()):
            curves.append(_curves(evaluation, each.measure))
            if (evaluation / "confusion.csv").exists():
                confusions.append(_confusion(evaluation))
    comparisons = [
        (
            *(experiment.key, f"{each.first} − {each.second}", each.mean, each.low, each.high),
            each.result.p_corrected,
        )
        for experiment in results.experiments
        for each in experiment.comparisons
    ]
    series = {
        "curves": pd.concat(curves) if curves else pd.DataFrame(columns=CURVES),
        "confusion": pd.concat(confusions) if confusions else pd.DataFrame(columns=CONFUSION),
        "comparisons": pd.DataFrame(comparisons, columns=COMPARISONS),
    }
    with writing_folder(folder) as out:
        for name, table in series.items():
            write_csv(out / f"{name}.csv", table, "%.6g")


def _write_figures(
    blocks: list[Block], folder: Path
) -> tuple[html.ImageAddress, dict[str, list[str]]]:
    """Write the files of all figures, some in another size on paper.

    Return what the page has, and the names that figures on paper have as numbers.
    """
    figures = [block for block in blocks if isinstance(block, Figure)]
    with writing_folder(folder) as out:
        names = draw_figures(figures, out)
        for key, found in names.items():
            write_text(out / f"{key}.tex", f"% The names in {key}.pdf.\n{latex.legend(found)}\n")
        return html.image_addresses(figures, out), names


def _write_tables(tables: list[Table], outcome: Outcome, folder: Path) -> html.TableCopies:
    """Write the files of all tables, and ANSWER; return what the page has of a table to copy.

    That is the text of its files: two blocks with one key are one table for page and file.
    """
    texts: dict[str, dict[str, str]] = {}
    with writing_folder(folder) as out:
        write_text(out / ANSWER, "".join(f"{line}\n" for line in outcome.answer))
        for table in tables:
            copies = texts.setdefault(table.key, {})
            if any(column.key for column in table.columns):
                copies["CSV"] = html.csv_table(table)
            if PAGE in table.media or "tex" in table.files:
                copies["LaTeX"] = latex.table(table)
            for suffix, kind in (("csv", "CSV"), ("tex", "LaTeX")):
                if suffix in table.files and kind in copies:
                    write_text(out / f"{table.key}.{suffix}", copies[kind])
    return lambda table: {**texts[table.key], "Markdown": html.markdown_table(table)}


def _write_documents(results: Results, folder: Path) -> None:
    """Write the document browser: a page for each model that has weights."""
    template = html.environment().get_template("documents.html.jinja")
    with writing_folder(folder) as out:
        for experiment in results.experiments if results.with_documents else []:
            result = experiment.result
            for variant, model in result.models.items():
                if model.model in results.browsers:
                    text = template.render(
                        experiment=experiment,
                        variant=variant,
                        page=results.browsers[model.model],
                        weights_sentence=describe_weights(model.hyperparameters),
                        rationale=describe_rationale(result.corpus.statistics),
                        explained=results.is_explained(experiment),
                        sources=results.document_sources(model.model),
                    )
                    write_text(out / f"{model.model}.html", text)
