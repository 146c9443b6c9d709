"""The rows of an experiment's differences, scores, score functions and groups of lengths."""

from heed.evaluation.results import BASELINE
from heed.report.experiments import Experiment
from heed.report.figures.curves import by_group
from heed.report.figures.variants import Drawn, ordered_variants
from heed.report.formats import DASH, read_yaml
from heed.report.measures import Measure, report_of
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
        "baseline_words": experiment.words.get(BASELINE, "the baseline"),
        "std": "± p.p." if measure.in_percentage_points else f"± {measure.unit}",
        "further": {name: Measure(measure.task, name).name for name in further},
    }  # fmt: skip
    return Rows(records, facts)


def score_functions(results: Results) -> Rows | None:
    """Return each model by the score functions that it uses; None where no task has any."""
    experiments = [e for e in results.experiments if report_of(e.measure.task).HAS_SCORES]
    # The lectures' numbers say nothing to the reader of a study that is not of their talk.
    of_talk = any(experiment.talk for experiment in results.experiments)
    shown, known = ["lecture", "paper"][not of_talk :], read_yaml("names")["scores"]
    records = [
        experiment.named(variant) | {
            "score": score, "where": at,
            "source": "; ".join(filter(None, map(known[score].get, shown))) or DASH,
            "metric": experiment.result.compared_score(experiment.result.models[variant]),
            "gain": experiment.difference(variant, BASELINE),
        }
        for experiment in experiments
        for variant in experiment.variants
        for score, at in experiment.result.models[variant].hyperparameters.score_functions.items()
    ]  # fmt: skip
    records.sort(key=lambda record: [*known].index(record["score"]))
    return Rows(records) if experiments else None


def lengths(results: Results, experiment: Experiment) -> Rows:
    """Return every group of lengths of every model: BLEU up to 100, accuracy up to 1."""
    order = ordered_variants(results, experiment)
    tables = Drawn(results, experiment, order).read("lengths")
    records = [
        {"variant": variant, **group}
        for variant, table in tables.items()
        for group in by_group(table).reset_index().to_dict("records")
    ]
    names = {False: ("accuracy", "documents", "share"), True: ("bleu", "sentences", "hundreds")}
    own = names[experiment.measure.is_of_sentences]
    return Rows(records, dict(zip(("score", "counted", "digits"), own, strict=True)))
