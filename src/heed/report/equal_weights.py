"""Which variant has equal weights in place of a model's learned ones, and is else alike."""

import dataclasses
from typing import Any

from heed.evaluation.results import ExperimentResult
from heed.evaluation.verdicts import BASELINE, CONTROLS
from heed.hyperparameters.classifier import Architecture
from heed.report.language import say

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
