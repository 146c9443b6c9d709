"""What weakens a comparison of a model: predictions that are degenerate, weights that are equal."""

import dataclasses
import statistics
from typing import Any

from heed.evaluation.results import BASELINE, CONTROLS, ExperimentResult, ModelResult
from heed.hyperparameters.classifier import Architecture
from heed.report.language import say, say_count
from heed.report.measures import Measure, measure_of, report_of

WEIGHTS = ("attention", "heads", "pooling", "score")  # hyperparameters that make weights


def equal_weights_control(result: ExperimentResult, variant: str) -> str:
    """Return the variant that is `variant` with equal weights in place of learned ones.

    That is X-uniform or X-mean, whatever hyperparameters they have, since they belong to X. Else it
    is `uniform` of a model with self-attention, `mean`, or the baseline, where it differs by no
    hyperparameter but WEIGHTS. Empty where there is none, and for a translator.
    """
    h = result.models[variant].hyperparameters
    if variant in (BASELINE, *CONTROLS) or not (isinstance(h, Architecture) and h.learns_weights):
        return ""
    kinds = ("mean",) if h.attention == "none" else ("uniform", "mean")
    for name in (*(f"{variant}-{kind}" for kind in kinds), *kinds, BASELINE):
        control = result.models.get(name)
        if control is None or not _has_equal_weights(control.hyperparameters):
            continue
        if name.startswith(f"{variant}-") or _without(control.hyperparameters) == _without(h):
            return name
    return ""


def lacks_layer(result: ExperimentResult, variant: str) -> bool:
    """Whether the control of a model with self-attention lacks that layer, as the mean does.

    Then the gain over it is not one of the weights alone.
    """
    control = equal_weights_control(result, variant)
    if not control:
        return False
    h, equal = (result.models[name].hyperparameters for name in (variant, control))
    return h.attention != "none" and equal.attention == "none"


def layer_note() -> str:
    """Return the sentence on a control that `lacks_layer`."""
    return say(
        "A control without self-attention lacks its layer too, so that the gain over it need not "
        "be one of learned weights."
    )


def _has_equal_weights(h: Architecture) -> bool:
    return not h.learns_weights and h.pooling == "mean"


def _without(h: Architecture) -> dict[str, Any]:
    """Return the hyperparameters without those that make weights."""
    return {key: value for key, value in dataclasses.asdict(h).items() if key not in WEIGHTS}


MAJORITY = "majority"
FAR_PP = 10.0  # below the median of the model's other runs


def collapsed_seeds(
    model: ModelResult, result: ExperimentResult, seeds: list[int]
) -> dict[int, float]:
    """Return the figure of each run that collapsed, by seed.

    A run has collapsed if its figure is no higher than the majority class's on the same documents,
    or more than FAR_PP below the median of the model's other runs.

    Args:
        model: one of the experiment.
        result: the experiment; the figure is the one by which it compares.
        seeds: of the study, in the order of the model's runs.

    """
    values, majority = result.compared_figure(model).values, _majority(result, seeds)
    collapsed, sign = {}, result.sign
    for index, (seed, value) in enumerate(zip(seeds, values, strict=True)):
        others = values[:index] + values[index + 1 :]
        far = bool(others) and 100 * sign * (statistics.median(others) - value) > FAR_PP
        if far or (majority and value <= majority[index]):
            collapsed[seed] = value
    return collapsed


def collapse_sentence(result: ExperimentResult, seeds: list[int]) -> str:
    """Return which runs collapsed and which models are below the majority class.

    A part of a sentence, without a capital and a full stop; empty where there is neither.
    """
    majority, measure = _majority(result, seeds), measure_of(result)
    parts = []
    for name, model in result.models.items():
        collapsed = collapsed_seeds(model, result, seeds)
        mean = result.compared_figure(model).mean
        if len(collapsed) == len(seeds):
            parts.append(say("every run of {name} collapsed", name=name))
        elif collapsed:
            parts.append(_runs(name, collapsed, measure))
        if majority and mean < statistics.fmean(majority):
            constant = measure.figure(statistics.fmean(majority))
            figure = measure.figure(mean)
            parts.append(report_of(result.task).below_majority(name, figure, constant))
    return "; ".join(parts)


def explain_collapse(result: ExperimentResult) -> str:
    """Return when a run has collapsed, in one sentence."""
    measure = measure_of(result)
    values = {"metric": measure.name, "far": measure.limit(FAR_PP)}
    if MAJORITY in result.opponents:
        explained: str = report_of(result.task).explain_collapse(values)
        return explained
    return say(
        "A run has collapsed if its {metric} is more than {far} below the median of the "
        "model's other runs.",
        **values,
    )


def _runs(name: str, collapsed: dict[int, float], measure: Measure) -> str:
    return say_count(
        "{name} collapsed with seed {seeds}",
        "{name} collapsed with seeds {seeds}",
        len(collapsed),
        name=name,
        seeds=", ".join(f"{seed} ({measure.figure(value)})" for seed, value in collapsed.items()),
    )


def _majority(result: ExperimentResult, seeds: list[int]) -> list[float]:
    """Return the majority class's figure on the test documents of each seed; none without it."""
    if MAJORITY not in result.opponents:
        return []
    values = result.compared_figure(result.opponents[MAJORITY]).values
    return [values[(seed - 1) % len(values)] for seed in seeds]  # one value, or one for each fold
