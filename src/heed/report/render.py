"""The files of the report: a page, a document for paper, a file for each table and figure."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import Comparison
from heed.explanation.registry import CRITERIA, TESTS
from heed.files import write_text, writing_folder
from heed.report import typesetting
from heed.report.drawing import make_figures
from heed.report.figures.vega import draw_figures
from heed.report.formats import read_yaml
from heed.report.measures import Measure, report_of
from heed.report.pages import Page, environment, first_sentences, image_addresses
from heed.report.paper import Paper, citation, paper
from heed.report.results import Results, read_results, read_table
from heed.report.rows import classification, explanation, glossary, hyperparameters, translation
from heed.report.rows.expected import failure_lines
from heed.report.rows.glossary import machine_kinds, runs_of_kinds
from heed.report.rows.summary import cautions, example, findings
from heed.report.rows.trainings import bill, convergence_of
from heed.report.tables import Table, build_tables, csv_table, markdown_table
from heed.tables import write_csv
from heed.task import task_module

if TYPE_CHECKING:
    from heed.study import Params


@dataclasses.dataclass(frozen=True)
class Addresses:
    """The addresses of files, from the page; empty where no such file belongs to it."""

    params: str = "../params.yaml"
    paper: str = ""
    provenance: str = ""
    made_by: str = ""  # version and commit of heed, in a published report
    has_files: bool = True  # whether figures/ and tables/ stand beside the page

    def listed(self) -> list[tuple[str, str, str]]:
        """Return text, address and explanation of each; without an address the command."""
        provenance = "Provenance" + f": {self.made_by}" * bool(self.made_by)
        about = "Commit and machine" if self.provenance else "provenance.json"
        return [
            *([("Paper (PDF)", self.paper, "make pdf")] if self.paper or self.has_files else []),
            ("Parameters", self.params, "params.yaml"),
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
    return write_report(results, folder, links)


def write_report(results: Results, folder: Path, links: Addresses = Addresses()) -> Outcome:
    """Write all of reports/ from results that have been read. Raises HeedError, as `render`."""
    figures = make_figures(results)
    with writing_folder(folder / "figures") as out:
        names = draw_figures([each for found in figures.values() for each in found], out)
    tables = build_tables(results)
    sentences = first_sentences(findings(results), len(results.comparison.seeds))
    outcome = Outcome(sentences, failure_lines(results))
    copies = _write_tables([each for found in tables.values() for each in found], outcome, folder)
    _write_plots(results, folder / "plots")
    _write_documents(results, folder / "documents")
    write_text(folder / "report.tex", paper(Paper(results, tables, figures, names)))
    image = image_addresses(folder / "figures", links.has_files)
    page = Page(tables, figures, image, copies, links.has_files)
    text = page.render(
        "index.html.jinja", **_context(results), links=links.listed(), failures=outcome.failures
    )
    write_text(folder / "index.html", text)
    return outcome


def _context(results: Results) -> dict[str, object]:
    """Return what the templates of the page name beside tables and figures."""
    study, experiments = results.params.study, results.experiments
    functions = (
        convergence_of, machine_kinds, runs_of_kinds, hyperparameters.searches,
        hyperparameters.defaults, explanation.sizes, explanation.papers_text,
        explanation.has_layer_note, translation.settings, classification.slide_facts,
    )  # fmt: skip
    first = {
        "findings": findings(results),
        "cautions": cautions(results),
        "example": example(results),
    }
    return {each.__name__: each for each in functions} | {
        "results": results, "study": study, "experiments": experiments, "first": first,
        "citation": citation(study.name), "bill": bill(results), "fields": read_yaml("field"),
        "networks": glossary.networks(results), "words": glossary.words(results),
        "tests": TESTS, "criteria_tests": [*CRITERIA.values()],
        "untested_classes": classification.untested,
        "values": dict.fromkeys(report_of(each.measure.task).VALUES for each in experiments),
    }  # fmt: skip


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
        (experiment.key, f"{each.first} − {each.second}", each.mean, each.low, each.high,
         each.result.p_corrected)
        for experiment in results.experiments
        for each in experiment.comparisons
    ]  # fmt: skip
    series = {
        "curves": pd.concat(curves) if curves else pd.DataFrame(columns=CURVES),
        "confusion": pd.concat(confusions) if confusions else pd.DataFrame(columns=CONFUSION),
        "comparisons": pd.DataFrame(comparisons, columns=COMPARISONS),
    }
    with writing_folder(folder) as out:
        for name, table in series.items():
            write_csv(out / f"{name}.csv", table, "%.6g")


def _write_tables(
    tables: list[Table], outcome: Outcome, folder: Path
) -> Callable[[Table], dict[str, str]]:
    """Write the files of all tables, and ANSWER; return what the page has of a table to copy."""
    # two tables may share a name: one has its CSV file, the other its LaTeX
    copies = {(table.key, table.files): _texts(table) for table in tables}
    with writing_folder(folder / "tables") as out:
        write_text(out / ANSWER, "".join(f"{line}\n" for line in outcome.answer))
        for table in tables:
            for suffix in table.files:
                write_text(
                    out / f"{table.key}.{suffix}", copies[table.key, table.files][FORMATS[suffix]]
                )
    return lambda table: copies[table.key, table.files]


FORMATS = {"csv": "CSV", "tex": "LaTeX"}  # of a table's files


def _texts(table: Table) -> dict[str, str]:
    """Return a table in each format in which the page offers it."""
    texts = {"CSV": csv_table(table)} if "csv" in table.files else {}
    return texts | {"LaTeX": typesetting.table(table), "Markdown": markdown_table(table)}


def _write_documents(results: Results, folder: Path) -> None:
    """Write the document browser: a page for each model that has weights."""
    template = environment().get_template("documents.html.jinja")
    with writing_folder(folder) as out:
        for experiment in results.experiments if results.with_documents else []:
            result = experiment.result
            for variant, model in result.models.items():
                if model.model in results.browsers:
                    text = template.render(
                        experiment=experiment, words=experiment.words, variant=variant,
                        page=results.browsers[model.model],
                        explained=results.is_explained(experiment),
                        sources=results.document_sources(model.model),
                    )  # fmt: skip
                    write_text(out / f"{model.model}.html", text)
