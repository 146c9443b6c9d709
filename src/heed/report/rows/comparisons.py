"""The rows of an experiment's differences, scores, score functions and groups of lengths."""

from collections.abc import Iterator
from typing import Any

from heed.evaluation.results import BASELINE
from heed.report.experiments import Experiment
from heed.report.figures.curves import by_group
from heed.report.figures.variants import ordered_variants, read_tables
from heed.report.formats import DASH
from heed.report.measures import Measure, report_of
from heed.report.results import Results
from heed.report.rows import Rows
from heed.task import task_module

QUESTIONS = {"primary": "primary", "trivial": "check"}  # by family; of all others: secondary


def differences(results: Results, experiment: Experiment) -> Rows:
    """Return a row for each tested difference: those of the study's question first."""
    words = experiment.words
    records = [
        {
            "words": f"{words[each.first]} − {words[each.second]}", "of": each,
            "question": QUESTIONS.get(each.result.family, "secondary"),
            "tuned_alike": str(each.result.tuned_alike).lower(),  # as YAML has it
        }
        for each in experiment.comparisons
    ]  # fmt: skip
    return Rows(records, location=f"experiments.{experiment.key}.comparisons")


def scores(results: Results, experiment: Experiment) -> Rows:
    """Return a row for each model and reference model: its score, and its differences.

    `gain` is that over the baseline, `compared` that of attention over the model.
    """
    result, measure = experiment.result, experiment.measure
    attention = next(iter(result.attention), "")
    tested = {(each.first, each.second): each for each in experiment.comparisons}
    recipe = task_module(measure.task, "recipe")
    others = {*recipe.METRICS} - {measure.metric}
    further = [name for name in recipe.VALIDATION_METRICS if name in others]
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


# score function: the lecture that has it, and its source
SCORES = {
    "additive": ("001", "Bahdanau et al. 2015"),
    "concat": ("000 (“Additive”)", "Luong et al. 2015"),
    "concat-tanh": ("004", ""),
    "location": ("000", "Luong et al. 2015"),
    "general": ("000, 001", "Luong et al. 2015"),
    "dot": ("000, 001", "Luong et al. 2015"),
    "scaled-dot": ("000", "Vaswani et al. 2017"),
}


def score_functions(results: Results) -> Rows | None:
    """Return each model by the score functions that it uses; None where no task has any."""
    experiments = [each for each in results.experiments if report_of(each.measure.task).HAS_SCORES]
    # The lectures' numbers say nothing to the reader of a study that is not of their talk.
    of_talk = any(each.talk for each in results.experiments)
    records = [record for each in experiments for record in _records(each, of_talk)]
    order = [*SCORES]
    records.sort(key=lambda record: order.index(record["score"]))
    return Rows(records, location="experiments") if experiments else None


def _records(experiment: Experiment, of_talk: bool) -> Iterator[dict[str, Any]]:
    result = experiment.result
    gains = {each.first: each for each in experiment.comparisons if each.second == BASELINE}
    first = (BASELINE, *result.attention[:1])
    for variant in sorted(result.models, key=lambda name: name not in first):
        model = result.models[variant]
        for name, where in model.hyperparameters.score_functions.items():
            lecture, paper = SCORES[name]
            named = "; ".join(filter(None, [lecture, paper])) if of_talk else paper or DASH
            yield {
                "experiment": experiment, "score": name, "source": named, "variant": variant,
                "where": where, "metric": result.compared_score(model), "gain": gains.get(variant),
            }  # fmt: skip


def lengths(results: Results, experiment: Experiment) -> Rows:
    """Return every group of lengths of every model.

    BLEU is between 0 and 100, accuracy between 0 and 1.
    """
    is_translated = experiment.measure.is_of_sentences
    variants = ordered_variants(results, experiment)
    tables = read_tables(results, experiment, "lengths", variants)
    records = [
        {"variant": variant, **group}
        for variant, table in tables.items()
        for group in by_group(table).reset_index().to_dict("records")
    ]
    facts = {
        "score": "bleu" if is_translated else "accuracy",
        "counted": "sentences" if is_translated else "documents",
        "digits": "hundreds" if is_translated else "share",
    }
    return Rows(records, facts)
