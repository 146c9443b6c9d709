"""The paper: paper.tex.jinja with a study's results, tables, figures and references; citations."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from heed import __version__
from heed.corpora.kinds import KINDS
from heed.report.drawing import Figures, figure_names
from heed.report.experiments import Experiment
from heed.report.formats import read_yaml
from heed.report.pages import Tables, find
from heed.report.pages import environment as page_environment
from heed.report.results import Results
from heed.report.rows.summary import cautions, findings
from heed.report.tables import PAPER, declarations
from heed.report.typesetting import Latex, environment

# As CITATION.cff has them; a test compares both. The report does not read that file, so that a
# report is the same in every folder.
TITLE, AUTHOR, YEAR = "heed: does attention help?", "The heed team", "2026"


def citation(study: str) -> str:
    """Return the BibTeX entry of heed, with the name of a study.

    Double braces: the team is one name, and the title keeps its case.
    """
    return (
        f"@software{{heed,\n  title = {{{{{TITLE}}}}},\n  author = {{{{{AUTHOR}}}}},\n"
        f"  year = {{{YEAR}}},\n  version = {{{__version__}}},\n  note = {{Study {study}}}\n}}"
    )


HEED = f"{AUTHOR} ({YEAR}). {TITLE} Software, version {__version__}."


@functools.cache
def all_references() -> dict[str, dict[str, Any]]:
    """Return the entries of references.yaml by key."""
    return {each["key"]: each for each in read_yaml("references")}


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
        macros: Any = environment().get_template("table.tex.jinja").module
        found = find(self.tables, name, experiment, declarations())
        return Latex("".join(macros.captioned(each) for each in found if each.rows))

    def figure(self, name: str, experiment: Experiment | None = None) -> Latex:
        """Return the figures of a name that paper has, each with its caption."""
        macros: Any = environment().get_template("figure.tex.jinja").module
        found = find(self.figures, name, experiment, figure_names())
        shown = (each for each in found if PAPER in each.media)
        return Latex("".join(macros.figure(each, self.names.get(each.key, [])) for each in shown))

    def cite(self, *keys: str) -> Latex:
        """Return a citation; the references of the paper are those that it cites."""
        self.cited |= {key: all_references()[key]["text"] for key in keys}
        return Latex(rf"\cite{{{','.join(keys)}}}")

    def cite_of(self, topic: str) -> Latex:
        """Return a citation, after a space, of what a topic has for this study; else nothing."""
        facts = set[str]().union(*map(_facts, self.results.experiments))
        keys = [
            key
            for key, each in all_references().items()
            if each.get("topic") == topic and facts & {*each["of"]}
        ]
        return Latex(f" {self.cite(*keys)}" if keys else "")

    @property
    def title(self) -> str:
        """What came out, as the page says it."""
        return self.said("title", findings(self.results))

    @property
    def lead(self) -> str:
        """The first paragraph of the page."""
        return self.said("lead", findings(self.results), len(self.results.comparison.seeds))

    def said(self, macro: str, *values: object) -> str:
        """Return what a sentence of the page says, without its markup."""
        macros = page_environment().get_template("sentences.html.jinja").module
        return " ".join(Markup(getattr(macros, macro)(*values)).striptags().split())

    def limits(self) -> Iterator[str]:
        """Yield what cannot be said, a sentence each."""
        macros: Any = page_environment().get_template("sentences.html.jinja").module
        lines = macros.limits(cautions(self.results), self.results.params.study).split("</li>")
        yield from filter(None, (Markup(line).striptags().strip() for line in lines))


def _facts(experiment: Experiment) -> set[str]:
    """Return what an experiment has that references are of."""
    result, kind = experiment.result, KINDS.get(experiment.result.corpus.statistics.kind)
    models = result.models.values()
    return {
        *([kind.source.name] if kind else []),
        *result.reference_models,
        *(score for each in models for score in each.hyperparameters.score_functions),
    }


def paper(called: Paper) -> str:
    """Return report.tex."""
    results = called.results
    found = {each.experiment.key: each for each in findings(results)}
    return (
        environment()
        .get_template("paper.tex.jinja")
        .render(
            results=results, study=results.params.study, experiments=results.experiments,
            seeds=results.comparison.seeds, method=results.comparison.significance,
            searched=_searched(results), found=found, heed=HEED, paper=called,
            tasks={each.measure.task for each in results.experiments},
        )
    )  # fmt: skip


def _searched(results: Results) -> list[tuple[str, int]]:
    """Return the models of each search in words, with the trials of each."""
    searches = []
    for each in results.experiments:
        by_model = {model: variant for variant, model in results.models(each).items()}
        for name in results.searches(each):
            models = results.params.searched_models(name)
            words = ", ".join(each.words[by_model[model]] for model in models if model in by_model)
            searches.append(
                (f"{each.title.rstrip('.')}: {words}", results.params.searches[name].trials)
            )
    return searches
