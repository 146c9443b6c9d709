"""How each model is called in words, looks, and reads a text, in every study."""

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from heed import hyperparameters as declared
from heed.hyperparameters.classifier import Architecture
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.report.formats import pluralize, read_yaml

MATCHED = "parameter-matched"


class Words(NamedTuple):
    """A kind of model: its name in tables, within a sentence, and its look in figures."""

    words: str
    sentence: str
    colour: int  # of figures.shapes.SERIES; -1: grey
    marker: str
    dash: tuple[float, ...]


@functools.cache
def all_words() -> dict[str, Words]:
    """Return words and look of every kind of model, as words.yaml has them."""
    known = read_yaml("words").items()
    return {key: Words(**words | {"dash": tuple(words["dash"])}) for key, words in known}


def model_kind(name: str, hyperparameters: Any = None) -> str:
    """Return a model's kind, a key of words.yaml; of a reference model that it lacks ""."""
    if hyperparameters is None:
        return name if name in all_words() else ""
    if name.endswith(MATCHED):
        return MATCHED
    h, is_translator = hyperparameters, hasattr(hyperparameters, "decoder")
    rules = read_yaml("names")["translators" if is_translator else "readers"].items()
    found = (kind for kind, own in rules if all(getattr(h, key) in own[key] for key in own))
    return next(found, h.decoder if is_translator else h.pooling)


def experiment_words(models: Mapping[str, Any]) -> dict[str, str]:
    """Return names in words; several of one kind with the first hyperparameter that differs."""
    kinds = {name: all_words().get(model_kind(name, h)) for name, h in models.items()}
    words = {name: k.words if k else name.replace("-", " ") for name, k in kinds.items()}
    first = {text: name for name, text in reversed(words.items())}
    told = {
        name: text if first[text] == name else _distinguish(name, text, models, first[text])
        for name, text in words.items()
    }
    often = Counter(told.values())
    named = {name: f"{text} ({name.replace('-', ' ')})" for name, text in words.items()}
    return {name: text if often[text] == 1 else named[name] for name, text in told.items()}


def experiment_sentences(models: Mapping[str, Any]) -> dict[str, str]:
    """Return names in words within a sentence, after "beats"."""
    sentences = {kind.words: kind.sentence for kind in all_words().values()}
    return {name: sentences.get(text, text) for name, text in experiment_words(models).items()}


def _distinguish(name: str, text: str, models: Mapping[str, Any], first: str) -> str:
    own, other = models[name], models[first]
    for key, form in read_yaml("names")["distinctions"].items():
        value = getattr(own, key, None)
        if value is not None and value != getattr(other, key, None):
            return f"{text.partition(' (')[0]} ({form.format(value)})"
    return f"{text} ({name.replace('-', ' ')})"


def describe_network(hyperparameters: Any) -> str:
    """Return what a classifier or a translator does with a text, in one sentence."""
    describe = _classifier if isinstance(hyperparameters, Architecture) else _translator
    text = "; ".join(filter(None, describe(hyperparameters)))
    return f"{text[0].upper()}{text[1:]}."


def _say_part(part: declared.Part, h: Any) -> str:
    if part.count:
        return pluralize(part.sentence, part.plural, getattr(h, part.count))
    return part.sentence.format(score=h.score)


def _classifier(h: Architecture) -> Iterator[str]:
    encoder = _say_part(declared.ENCODERS[h.encoder], h)
    pooling = _say_part(declared.POOLINGS[h.pooling], h)
    if h.skip and h.is_recurrent:
        encoder = f"{encoder}, with the word’s embedding beside it"
        pooling += " and the mean of the embeddings" * (h.pooling == "last")
    yield encoder
    if h.hierarchical:
        yield "it reads the words of each sentence, then the sentences"
    yield _say_part(declared.ATTENTIONS[h.attention], h)
    yield pooling


def _translator(h: TranslatorArchitecture) -> Iterator[str]:
    is_fixed = h.attends and not h.learns_weights
    decoders = declared.FIXED_SCORES[h.score] if is_fixed else declared.DECODERS
    yield _say_part(declared.SOURCE_ENCODERS[h.encoder], h)
    yield _say_part(decoders[h.decoder], h)
    if h.repeats_context:
        yield "the output layer reads it in each step too"
    if h.segmentation != "words":
        yield f"its units are pieces of words ({h.segmentation})"
    if h.training_share != 1:
        yield f"trained on {h.training_share:.0%} of the training pairs"
