"""The paper: paper.tex.jinja with a study's results, tables, figures and references."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from heed.corpora.kinds import KINDS
from heed.report.drawing import Figures, figure_names
from heed.report.experiments import Experiment
from heed.report.formats import read_yaml
from heed.report.pages import Tables, find, said
from heed.report.results import Results
from heed.report.rows.hyperparameters import searches
from heed.report.rows.summary import cautions, findings
from heed.report.tables import PAPER, declarations
from heed.report.typesetting import Latex, environment


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
        on_topic = (each for each in all_references().values() if each.get("topic") == topic)
        keys = [each["key"] for each in on_topic if facts & {*each["of"]}]
        return Latex(f" {self.cite(*keys)}" if keys else "")


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
    results, found = called.results, findings(called.results)
    template = environment().get_template("paper.tex.jinja")
    return template.render(
        paper=called, said=said, results=results, study=results.params.study,
        experiments=results.experiments, seeds=results.comparison.seeds,
        method=results.comparison.significance, findings=found, cautions=cautions(results),
        found={each["experiment"].key: each for each in found},
        searches=[(each, one) for each in results.experiments for one in searches(results, each)],
    )  # fmt: skip
