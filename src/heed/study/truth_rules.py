"""The rules on known truths: the models, comparisons and figures that they name are there."""

from collections.abc import Iterator

from heed.evaluation.results import assign_roles
from heed.study.schema import Key, Params
from heed.study.suggestions import unknown_name
from heed.study.tasks import RECIPES, rules_of
from heed.study.truths import ADVERSARY_FIGURES, Truth


def truth_contradictions(params: Params, experiment: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for what the truths of an experiment name, and the study lacks."""
    models = {
        model.variant: name
        for name, model in params.models.items()
        if model.experiment == experiment
    }
    for number, truth in enumerate(params.experiments[experiment].truths):
        key = ("experiments", experiment, "truths", str(number))
        for name, message in _contradictions(params, experiment, models, truth):
            yield (*key, name), message


def _contradictions(
    params: Params, experiment: str, models: dict[str, str], truth: Truth
) -> Iterator[tuple[str, str]]:
    """Yield (name of a field, message) for one truth."""
    if truth.adversary:
        yield from _adversary_contradictions(params, experiment, truth)
        return
    if truth.variant not in models:
        yield "variant", unknown_name(truth.variant or "", f"variant of {experiment}", models)
        return
    model, task = models[truth.variant], params.experiments[experiment].task
    if truth.against:
        yield from _comparison_contradictions(params, task, models, truth)
    if truth.criterion and model not in params.explain.models:
        yield "criterion", f"{model} is not in explain.models, so no criterion judges its weights"
    if truth.figure:
        yield from _figure_contradictions(params, task, model, truth.figure)


def _comparison_contradictions(
    params: Params, task: str, models: dict[str, str], truth: Truth
) -> Iterator[tuple[str, str]]:
    hyperparameters = {variant: params.hyperparameters(name) for variant, name in models.items()}
    roles = assign_roles(hyperparameters, rules_of(task).OPPONENTS, params.study.attention)
    compared = [second for first, second, _ in roles.pairs() if first == truth.variant]
    if truth.against not in compared:
        yield (
            "against",
            f"{truth.variant} is not compared with {truth.against} (docs/statistics.md). It is "
            f"compared with: {', '.join(compared) or 'no other'}",
        )


def _figure_contradictions(
    params: Params, task: str, model: str, figure: str
) -> Iterator[tuple[str, str]]:
    rules = rules_of(task)
    known = (*RECIPES[task].METRICS, *rules.FURTHER_METRICS, *rules.EXPLAINED_METRICS)
    if figure not in known:
        yield "figure", unknown_name(figure, f"figure of {task}", known)
    elif figure in rules.EXPLAINED_METRICS and model not in params.explain.models:
        yield "figure", f"{model} is not in explain.models, where {figure} is measured"


def _adversary_contradictions(
    params: Params, experiment: str, truth: Truth
) -> Iterator[tuple[str, str]]:
    of_experiment = {
        name: each
        for name, each in params.adversaries.items()
        if each.model in params.models and params.models[each.model].experiment == experiment
    }
    if truth.adversary not in of_experiment:
        yield (
            "adversary",
            unknown_name(truth.adversary or "", f"adversary of {experiment}", of_experiment),
        )
    if truth.figure not in ADVERSARY_FIGURES:
        yield "figure", unknown_name(truth.figure or "", "figure of adversaries", ADVERSARY_FIGURES)
