"""Which attention a model has, told from its hyperparameters."""

from typing import Any

ATTENTIVE = ("attention", "max-attention")  # poolings with a score function


def attends(hyperparameters: dict[str, Any]) -> bool:
    """Return whether a model has weights that it chose: a score function, or the maximum as pooling."""
    has_maximum = hyperparameters["encoder"] != "none" and hyperparameters["pooling"] == "max"
    return has_maximum or bool(scores_of(hyperparameters))


def scores_of(hyperparameters: dict[str, Any]) -> dict[str, str]:
    """Return the score functions that a model has, each with where it has it: multi-head, single-head or pooling."""
    if hyperparameters["encoder"] == "none":
        return {}
    found = {}
    if hyperparameters["pooling"] in ATTENTIVE:
        found[hyperparameters["score"]] = "pooling"
    if hyperparameters["attention"] == "single-head":
        found[hyperparameters["score"]] = "single-head"
    if hyperparameters["attention"] == "multi-head":
        found["scaled-dot"] = "multi-head"
    return found
