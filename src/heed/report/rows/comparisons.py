"""The rows of an experiment's differences and scores."""

import dataclasses
from typing import Any

from heed.evaluation.results import BASELINE
from heed.report.differences import TestedDifference
from heed.report.experiments import Experiment
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows import Rows
from heed.task import task_module

QUESTIONS = {"primary": "primary", "trivial": "check"}  # by family; of all others: secondary


@dataclasses.dataclass(frozen=True)
class DifferenceRow:
    """A tested difference of two models, with both in words."""

    words: str
    question: str
    of: TestedDifference

    @property
    def tuned_alike(self) -> str:
        """Whether both models had the same opportunity, as YAML has it."""
        return str(self.of.result.tuned_alike).lower()


def differences(results: Results, experiment: Experiment) -> Rows:
    """Return a row for each tested difference: those of the study's question first."""
    words = experiment.words
    records = [
        DifferenceRow(
            f"{words[each.first]} − {words[each.second]}",
            QUESTIONS.get(each.result.family, "secondary"),
            each,
        )
        for each in experiment.comparisons
    ]
    return Rows(records, location=f"experiments.{experiment.key}.comparisons")


def scores(results: Results, experiment: Experiment) -> Rows:
    """Return a row for each model and reference model: its score, and its differences.

    `gain` is that over the baseline, `compared` that of attention over the model.
    """
    result, measure = experiment.result, experiment.measure
    attention = next(iter(result.attention), "")
    tested = {(each.first, each.second): each for each in experiment.comparisons}
    recipe = task_module(measure.task, "recipe")
    further = [
        name
        for name in recipe.VALIDATION_METRICS
        if name in recipe.METRICS and name != measure.metric
    ]
    records = []
    for name, each in (result.models | result.reference_models).items():
        gain = tested.get((name, f"{name}-{BASELINE}"), tested.get((name, BASELINE)))
        compared = tested.get((attention, name)) if name != BASELINE else None
        means: dict[str, Any] = {key: score.mean for key, score in each.summary.items()}
        record = {
            "variant": name, "words": experiment.words[name], "link": f"#glossary-{name}",
            "score": result.compared_score(each), "further": means.get((further or [""])[-1]),
            "gain": gain, "compared": compared, "parameters": each.parameters,
        }  # fmt: skip
        records.append(record)
    facts = {
        "metric_key": measure.metric, "attention": attention,
        "baseline_words": experiment.words.get(BASELINE, "the baseline"),
        "std": "± p.p." if measure.in_percentage_points else f"± {measure.unit}",
        "further": {name: Measure(measure.task, name).name for name in further[-1:]},
    }  # fmt: skip
    return Rows(records, facts, location=f"experiments.{experiment.key}")
