"""The files of the report: a page, a paper, a file for each table and figure."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from heed.corpora.kinds import KINDS
from heed.evaluation.results import Comparison, runs_by_machine_kind
from heed.explanation.registry import CRITERIA, TESTS
from heed.files import write_text, writing_folder
from heed.report import pages, typesetting
from heed.report import tables as of_tables
from heed.report.differences import TestedDifference
from heed.report.experiments import Experiment
from heed.report.figures import curves, heatmaps, scores, translation
from heed.report.figures.recency import recency
from heed.report.figures.shapes import Figure
from heed.report.figures.study import study_figure
from heed.report.figures.variants import Drawn, drawn_variants
from heed.report.figures.vega import draw_figures
from heed.report.formats import read_yaml
from heed.report.measures import report_of
from heed.report.pages import Figures, Page, Tables, said
from heed.report.results import Results, read_results, read_table
from heed.report.rows import hyperparameters, summary
from heed.report.rows.expected import judge_expected_results
from heed.report.rows.trainings import read_costs
from heed.report.tables import PAPER
from heed.report.typesetting import Latex
from heed.study import Params
from heed.tables import write_csv


@dataclasses.dataclass(frozen=True)
class Addresses:
    """The addresses of files, from the page; empty where no such file belongs to it."""

    params: str = "../params.yaml"
    paper: str = ""
    provenance: str = ""
    made_by: str = ""  # version and commit of heed, in a published report
    has_files: bool = True  # whether figures/ and tables/ stand beside the page


class Outcome(NamedTuple):
    """The first sentences of a report, and lines on expected results that were not found."""

    answer: list[str]
    failures: list[str]


ANSWER = "answer.txt"  # in tables/: the first sentences, which a run prints at its end
FORMATS = {"csv": "CSV", "tex": "LaTeX"}  # of a table's files
COPIES = {
    "CSV": of_tables.csv_table, "LaTeX": typesetting.table, "Markdown": of_tables.markdown_table,
}  # fmt: skip


def render(
    params: Params,
    comparison: Comparison,
    published: Path,
    results_folder: Path,
    folder: Path,
    with_documents: bool = True,
    links: Addresses = Addresses(),
) -> Outcome:
    """Write all of reports/: the same bytes for the same results; return what it says first.

    `with_documents`: also the document browser, which has text of the corpora. Raises HeedError: a
    file is missing or broken.
    """
    results = read_results(params, comparison, published, results_folder, with_documents)
    return write_report(results, folder, links)


def write_report(results: Results, folder: Path, links: Addresses = Addresses()) -> Outcome:
    """Write all of reports/ from results that have been read. Raises HeedError, as `render`."""
    figures = make_figures(results)
    with writing_folder(folder / "figures") as out:
        names = draw_figures(itertools.chain(*figures.values()), out)
    tables = of_tables.build_tables(results)
    every = [*itertools.chain(*tables.values())]
    copies = {id(table): {name: text(table) for name, text in COPIES.items()} for table in every}
    answer = pages.first_sentences(summary.findings(results), results.seed_counts)
    answer += summary.looks(results)
    with writing_folder(folder / "tables") as out:
        write_text(out / ANSWER, "".join(f"{line}\n" for line in answer))
        for table in every:
            for suffix in table.files:
                write_text(out / f"{table.key}.{suffix}", copies[id(table)][FORMATS[suffix]])
    _write_plots(results, folder / "plots")
    _write_documents(results, folder / "documents")
    write_text(folder / "report.tex", Paper(results, tables, figures, names).render())
    image = pages.image_addresses(folder / "figures", links.has_files)
    failures = said("failures", [e for e in judge_expected_results(results) if not e["holds"]])
    page = Page(tables, figures, image, lambda table: copies[id(table)], links.has_files)
    html = folder / "index.html"
    write_text(html, page.render(**_context(results), failures=failures, links=links))
    return Outcome(answer, failures)


def _context(results: Results) -> dict[str, object]:
    """Return what the page's templates name beside tables and figures: the modules of rows/."""
    tasks = dict.fromkeys(experiment.measure.task for experiment in results.experiments)
    return {
        **of_tables.MODULES, "results": results, "study": results.params.study,
        "experiments": results.experiments, "findings": summary.findings(results),
        "cautions": summary.cautions(results), "fields": read_yaml("field"),
        "tests": TESTS, "criteria": CRITERIA, "tasks": {task: report_of(task) for task in tasks},
        "runs_by_machine_kind": runs_by_machine_kind,
    }  # fmt: skip


# The columns of the files for `dvc plots show`, which dvc.yaml names.
CURVES = ["seed", "epoch", "model", "metric", "validation"]
CONFUSION = ["actual", "predicted", "documents", "model", "share"]
COMPARISONS = ["experiment", "compared", "difference_pp", "low_pp", "high_pp", "p_corrected"]


def _write_plots(results: Results, folder: Path) -> None:
    """Write curves.csv, confusion.csv and comparisons.csv, also where no model has such values."""
    curves, confusions, comparisons = [], [], []
    for experiment in results.experiments:
        scores = experiment.measure.metric, experiment.measure.validated[0]
        for evaluation in map(results.evaluation_folder, results.models(experiment).values()):
            history = read_table(evaluation / "history.csv")
            metric = next(score for score in scores if f"validation_{score}" in history)
            validation = history[f"validation_{metric}"]
            own = history.assign(model=evaluation.name, metric=metric, validation=validation)
            curves.append(own)
            if (evaluation / "confusion.csv").exists():
                confusions.append(_confusion(evaluation))
        comparisons += [_compared(experiment.key, one) for one in experiment.comparisons]
    series = {
        "curves": pd.concat(curves) if curves else pd.DataFrame(columns=CURVES),
        "confusion": pd.concat(confusions) if confusions else pd.DataFrame(columns=CONFUSION),
        "comparisons": pd.DataFrame(comparisons, columns=COMPARISONS),
    }
    with writing_folder(folder) as out:
        for name, table in series.items():
            write_csv(out / f"{name}.csv", table, "%.6g")


def _compared(experiment: str, row: TestedDifference) -> tuple[Any, ...]:
    ends = row.interval_pp or (None, None)
    return experiment, f"{row.first} − {row.second}", row.mean_pp, *ends, row.p_corrected


def _confusion(evaluation: Path) -> pd.DataFrame:
    """Return a model's confusions over its seeds, with their share of each actual class."""
    counts = read_table(evaluation / "confusion.csv").rename(columns={"label": "actual"})
    counts = counts.groupby(["actual", "predicted"])["documents"].sum().reset_index()
    share = counts["documents"] / counts.groupby("actual")["documents"].transform("sum")
    return counts.assign(model=evaluation.name, share=share)


def _write_documents(results: Results, folder: Path) -> None:
    """Write the document browser: a page for each model that has weights."""
    template = pages.environment().get_template("documents.html.jinja")
    with writing_folder(folder) as out:
        for experiment in results.experiments:
            for variant, model in results.browsers_of(experiment).items():
                text = template.render(
                    experiment=experiment, words=experiment.words, variant=variant,
                    page=results.browsers[model], explanations=results.explanations_of(experiment),
                    sources=results.document_sources(model),
                )  # fmt: skip
                write_text(out / f"{model}.html", text)


@dataclasses.dataclass
class Paper:
    """What the paper's template calls; `names` are those whose numbers stand in a figure's PDF."""

    results: Results
    tables: Tables
    figures: Figures
    names: Mapping[str, list[str]]
    cited: dict[str, str] = dataclasses.field(default_factory=dict)  # key → text, in order

    def table(self, name: str, experiment: Experiment | None = None) -> Latex:
        """Return a table with its title as caption."""
        macros: Any = typesetting.environment().get_template("table.tex.jinja").module
        found = self.tables[name, experiment.key if experiment else ""]
        return Latex("".join(macros.captioned(table) for table in found if table.rows))

    def figure(self, name: str, experiment: Experiment | None = None) -> Latex:
        """Return the figures of a name that paper has, each with its caption."""
        macros: Any = typesetting.environment().get_template("figure.tex.jinja").module
        found = self.figures[name, experiment.key if experiment else ""]
        shown = (figure for figure in found if PAPER in figure.media)
        drawn = (macros.figure(figure, self.names.get(figure.key, [])) for figure in shown)
        return Latex("".join(drawn))

    def cite(self, *keys: str) -> Latex:
        """Return a citation; the references of the paper are those that it cites."""
        known = {entry["key"]: entry["text"] for entry in read_yaml("references")}
        self.cited |= {key: known[key] for key in keys}
        return Latex(rf"\cite{{{','.join(keys)}}}")

    def cite_of(self, topic: str) -> Latex:
        """Return a citation, after a space, of what a topic has for this study; else nothing."""
        facts = set[str]().union(*map(_facts, self.results.experiments))
        on_topic = (entry for entry in read_yaml("references") if entry.get("topic") == topic)
        keys = [entry["key"] for entry in on_topic if facts & {*entry["of"]}]
        return Latex(f" {self.cite(*keys)}" if keys else "")

    def render(self) -> str:
        """Return report.tex."""
        results, found = self.results, summary.findings(self.results)
        searches = hyperparameters.searches
        template = typesetting.environment().get_template("paper.tex.jinja")
        return template.render(
            paper=self, said=said, results=results, study=results.params.study,
            experiments=results.experiments, seeds=results.comparison.seeds, findings=found,
            method=results.comparison.significance, cautions=summary.cautions(results),
            found={entry["experiment"].key: entry for entry in found}, looks=summary.looks(results),
            searches=[(e, one) for e in results.experiments for one in searches(results, e)],
        )  # fmt: skip


def _facts(experiment: Experiment) -> set[str]:
    """Return what an experiment has that references are of."""
    result, kind = experiment.result, KINDS.get(experiment.result.corpus.statistics.kind)
    scores = (model.hyperparameters.score_functions for model in result.models.values())
    return {*([kind.source.name] if kind else []), *result.reference_models}.union(*scores)


# --- which figures a report has, by the names that templates call them

Makers = dict[str, Callable[[Any], Iterable[Figure]]]  # of Results, or of an experiment's Drawn

STUDY_FIGURES: Makers = {
    "study": lambda results: filter(None, [study_figure(results)]),
    "cost": lambda results: scores.cost_figure(results, read_costs(results)),
    "models": scores.dot_charts,
    "rankings": heatmaps.document_rankings,
    "recency": recency,
}
EVERY_TASK: Makers = {"curves": curves.curves}
TASK_FIGURES: dict[str, Makers] = {
    "classification": {
        "lengths": curves.by_length, "heads": heatmaps.heads, "matrices": heatmaps.matrices,
    },
    "translation": {
        "alignment": translation.first_alignment, "alignments": translation.alignments,
        "lengths": curves.by_length, "first_word": translation.first_word,
        "shares": translation.by_share,
    },
}  # fmt: skip


def make_figures(results: Results) -> Figures:
    """Return all figures of a study by name and experiment."""
    figures = {(name, ""): tuple(make(results)) for name, make in STUDY_FIGURES.items()}
    first = {figure.key for figure in figures["study", ""]}  # which may be one of recency
    figures["recency", ""] = tuple(e for e in figures["recency", ""] if e.key not in first)
    for experiment in results.experiments:
        variants = drawn_variants(results, experiment)
        figures |= {(name, experiment.key): () for name in itertools.chain(*TASK_FIGURES.values())}
        for name, make in (EVERY_TASK | TASK_FIGURES.get(experiment.measure.task, {})).items():
            figures[name, experiment.key] = tuple(make(Drawn(results, experiment, variants)))
    return figures
