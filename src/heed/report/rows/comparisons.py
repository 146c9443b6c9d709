"""The rows of an experiment's differences and scores."""

from heed.evaluation.results import BASELINE
from heed.report.experiments import Experiment
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows import Rows
from heed.task import task_module

QUESTIONS = {"primary": "primary", "trivial": "check"}  # by family; of all others: secondary


def differences(results: Results, experiment: Experiment) -> Rows:
    """Return a row for each tested difference: those of the study's question first."""
    words = experiment.words
    records = [
        {"words": f"{words[difference.first]} − {words[difference.second]}", "of": difference,
         "question": QUESTIONS.get(difference.family, "secondary"),
         "tuned_alike": str(difference.tuned_alike).lower()}  # as YAML has it
        for difference in experiment.comparisons
    ]  # fmt: skip
    return Rows(records)


def scores(results: Results, experiment: Experiment) -> Rows:
    """Return each model's score, its `gain`, and what attention has over it, `compared`."""
    result, measure, attention = experiment.result, experiment.measure, experiment.attention
    recipe = task_module(measure.task, "recipe")
    others = {*recipe.METRICS} - {measure.metric}
    further = [name for name in recipe.VALIDATION_METRICS if name in others][-1:]
    records = []
    for name, model in (result.models | result.reference_models).items():
        means = [model.summary[metric].mean for metric in further if metric in model.summary]
        compared = experiment.difference(attention, name) if name != BASELINE else None
        records.append(experiment.named(name) | {
            "score": result.compared_score(model), "further": next(iter(means), None),
            "gain": experiment.gain_of(name), "compared": compared, "parameters": model.parameters,
        })  # fmt: skip
    facts = {
        "metric_key": measure.metric, "attention": attention,
        "gain": any(record["gain"] for record in records),
        "baseline_words": experiment.words.get(BASELINE, "the baseline"),
        "std": "± p.p." if measure.in_percentage_points else f"± {measure.unit}",
        "further": {name: Measure(measure.task, name).name for name in further},
    }  # fmt: skip
    return Rows(records, facts)
