"""The rules on the hyperparameters of a classifier, by themselves and by its variant."""

from collections.abc import Iterator

from heed.hyperparameters.classifier import ATTENTION_POOLINGS
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.interface import Contradiction


def contradictions(h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction between hyperparameters."""
    if h.attention in ("multi-head", "uniform") and h.state_size % h.heads:
        yield (
            ("heads", "hidden_size", "skip", "encoder", "attention"),
            (
                f"heads must divide the size of the states: {h.heads} heads do not divide "
                f"{h.state_size} (twice the hidden size; with skip the embeddings too)"
            ),
        )
    if h.encoder == "none" and h.linear_branch == "none":
        yield (
            ("encoder", "linear_branch"),
            "with encoder none only the linear branch is left, and linear_branch is none",
        )
    if h.encoder == "none" and (
        h.attention != "none" or h.pooling in ATTENTION_POOLINGS or h.hierarchical
    ):
        yield (
            ("encoder",),
            (
                "encoder none has no states to attend to: attention none, a pooling without it, "
                "not hierarchical"
            ),
        )
    if h.pooling == "last" and h.encoder == "embeddings":
        yield (
            ("pooling", "encoder"),
            "pooling last takes the BiLSTM's last states, and encoder embeddings has none",
        )
    if h.pooling == "last" and h.skip:
        yield (
            ("skip", "pooling"),
            "pooling last takes the BiLSTM's last states: it does not go with skip",
        )


def variant_contradictions(variant: str, h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction of the hyperparameters with the variant's name."""
    attends = h.attention not in ("none", "uniform") or h.pooling in ATTENTION_POOLINGS
    if variant == "baseline" and (attends or h.attention != "none"):
        name = "attention" if h.attention != "none" else "pooling"
        yield (name,), f"variant baseline is without attention, found {getattr(h, name)}"
    if variant == "attention" and not attends:
        yield (
            ("variant",),
            (
                "variant attention needs attention (multi-head, single-head) or a pooling with "
                f"attention, found attention: {h.attention}, pooling: {h.pooling}"
            ),
        )
    if variant == "wide" and h.pooling in ATTENTION_POOLINGS:
        yield ("pooling",), f"variant wide is without attention, found {h.pooling}"


def wide_contradiction(model: str, matched: Hyperparameters) -> str | None:
    """Return why no variant wide can be made of a model, or None."""
    if matched.encoder != "bilstm":
        return f"variant wide widens a BiLSTM, and {model} has none"
    return None


WIDE_KEYS = ("pooling",)  # what a variant wide may set itself


def no_effect(h: Hyperparameters) -> dict[str, str]:
    """Return the hyperparameters that have no effect: name → by which value of another."""
    return (
        {} if h.attention in ("multi-head", "uniform") else {"heads": f"attention: {h.attention}"}
    )
