"""What a network does with a text, in one sentence made of its hyperparameters."""

from collections.abc import Iterator
from typing import Any

from heed.hyperparameters import (
    ATTENTIONS,
    DECODERS,
    ENCODERS,
    FIXED_SCORES,
    POOLINGS,
    SOURCE_ENCODERS,
    Part,
)
from heed.hyperparameters.classifier import Architecture
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.report.formats import pluralize


def describe_network(hyperparameters: Any) -> str:
    """Return what a classifier or a translator does with a text, in one sentence."""
    is_classifier = isinstance(hyperparameters, Architecture)
    parts = _classifier(hyperparameters) if is_classifier else _translator(hyperparameters)
    text = "; ".join(filter(None, parts))
    return f"{text[0].upper()}{text[1:]}."


def _say_part(part: Part, h: Any) -> str:
    if part.count:
        return pluralize(part.sentence, part.plural, getattr(h, part.count))
    return part.sentence.format(score=h.score)


def _classifier(h: Architecture) -> Iterator[str]:
    encoder = _say_part(ENCODERS[h.encoder], h)
    if h.skip and h.is_recurrent:
        encoder = f"{encoder}, with the word’s embedding beside it"
    yield encoder
    if h.hierarchical:
        yield "it reads the words of each sentence, then the sentences"
    yield _say_part(ATTENTIONS[h.attention], h)
    yield _say_part(POOLINGS[h.pooling], h)


def _translator(h: TranslatorArchitecture) -> Iterator[str]:
    is_fixed = h.attends and not h.learns_weights
    decoders = FIXED_SCORES[h.score] if is_fixed else DECODERS
    yield _say_part(SOURCE_ENCODERS[h.encoder], h)
    yield _say_part(decoders[h.decoder], h)
    if h.repeats_context:
        yield "the output layer reads it in each step too"
    if h.segmentation != "words":
        yield f"its units are pieces of words ({h.segmentation})"
    if h.training_share != 1:
        share = f"{h.training_share:.0%}"
        yield f"trained on {share} of the training pairs"
