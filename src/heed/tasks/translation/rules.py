"""The rules on the hyperparameters of a translator, by themselves and by its variant."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from heed.tasks.interface import Contradiction
from heed.tasks.translation.recipe import Hyperparameters

if TYPE_CHECKING:
    from heed.study.experiments import TranslationExperiment

OPPONENT_TOKEN = 60e-6  # core-seconds, of sample-translation
OPPONENTS = ("copy", "statistical")  # names that no variant may have
WIDE_KEYS = ()  # what a variant wide may set itself


def contradictions(h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction between hyperparameters."""
    is_transformer = h.decoder == "transformer"
    if (h.encoder == "transformer") != is_transformer:
        yield (
            ("encoder", "decoder"),
            (
                "a transformer has both encoder: transformer and decoder: transformer, found "
                f"{h.encoder} and {h.decoder}"
            ),
        )
    if is_transformer and h.embedding_dim % h.heads:
        yield (
            ("heads", "embedding_dim"),
            (f"heads must divide embedding_dim: {h.heads} heads do not divide {h.embedding_dim}"),
        )
    if h.encoder == "bidirectional" and h.hidden_size % 2:
        yield (
            ("hidden_size", "encoder"),
            f"each direction has half of hidden_size, which must be even, found {h.hidden_size}",
        )


def adversary_contradiction(_: Hyperparameters) -> str | None:
    """Return why no adversary can be made of a translator."""
    return "adversaries are of classifications, and its task is translation"


def variant_contradictions(variant: str, h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction of the hyperparameters with the variant's name."""
    if variant == "baseline" and h.attends:
        yield ("decoder",), f"variant baseline is without attention, found decoder: {h.decoder}"
    if variant == "attention" and not h.attends:
        yield (
            ("decoder", "variant"),
            f"variant attention needs a decoder with attention, found decoder: {h.decoder}",
        )
    elif variant == "attention" and not h.learns_weights:
        yield (
            ("score", "variant"),
            f"variant attention needs a score that is learned, found score: {h.score}",
        )
    if variant == "uniform" and (h.learns_weights or not h.attends):
        yield (
            ("score", "decoder", "variant"),
            (
                "variant uniform reads all states by equal weights: score: uniform and a decoder "
                f"that has a score, found score: {h.score} and decoder: {h.decoder}"
            ),
        )


def wide_contradiction(model: str, matched: Hyperparameters) -> str | None:
    """Return why no variant wide can be made of a model, or None."""
    if matched.decoder == "transformer":
        return f"variant wide widens a recurrent network, and {model} has none"
    return None


def opponent_seconds(experiment: "TranslationExperiment", tokens: float, outputs: int) -> float:
    """Return the core-seconds of the statistical opponent, by tokens of both languages."""
    return tokens * OPPONENT_TOKEN


def no_effect(h: Hyperparameters) -> dict[str, str]:
    """Return the hyperparameters that have no effect: name → by which value of another."""
    ineffective = {}
    if h.decoder == "transformer":
        for name in ("recurrence", "score", "hidden_size", "residual", "layer_devices"):
            ineffective[name] = "decoder: transformer"
    else:
        for name in ("heads", "feed_forward_size"):
            ineffective[name] = f"decoder: {h.decoder}"
    if h.segmentation != "words":
        for name in ("lowercase", "min_count"):
            ineffective[name] = f"segmentation: {h.segmentation}"
    if not h.attends:
        ineffective["score"] = f"decoder: {h.decoder}"
    return ineffective
