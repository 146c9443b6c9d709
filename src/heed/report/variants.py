"""What each variant of a study is, in one sentence that follows from its hyperparameters.

A variant's name is the user's own, and says nothing certain; its hyperparameters do.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from heed.evaluation.results import BASELINE, ExperimentResult
from heed.hyperparameters import (
    ATTENTIONS,
    DECODERS,
    ENCODERS,
    POOLINGS,
    SOURCE_ENCODERS,
    UNIFORM_DECODERS,
    Part,
)
from heed.hyperparameters.classifier import Architecture
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.report.language import say, say_count
from heed.report.results import Results
from heed.report.settings import format_setting

MAX_DIFFERENCES = 4  # hyperparameters that are named where two variants are the same network


@dataclasses.dataclass(frozen=True)
class Variant:
    """A variant in those experiments where it is the same: its description and its network."""

    name: str
    description: str
    hyperparameters: Any
    experiments: list[str]  # titles


def read_variants(results: Results) -> dict[str, list[Variant]]:
    """Return the variants of a study by name, the first experiment's first.

    A name has several entries where its description differs between experiments.
    """
    variants: dict[str, dict[str, Variant]] = {}
    for experiment in results.experiments:
        result = results.comparison.experiments[experiment.key]
        for name, text in _describe_models(results, result).items():
            entry = variants.setdefault(name, {}).setdefault(
                text, Variant(name, text, result.models[name].hyperparameters, [])
            )
            entry.experiments.append(experiment.title)
    return {name: list(entries.values()) for name, entries in variants.items()}


def _describe_models(results: Results, result: ExperimentResult) -> dict[str, str]:
    """Return the description of each model of an experiment: its role and its network."""
    texts: dict[str, str] = {}
    named: dict[str, str] = {}  # network → the first variant that has it
    for name, model in result.models.items():
        network = describe_network(model.hyperparameters)
        if other := named.get(network):
            network = _describe_as(model.hyperparameters, other, result)
        else:
            named[network] = name
        texts[name] = " ".join([*_roles(results, result, name), network])
    return texts


def _describe_as(hyperparameters: Any, other: str, result: ExperimentResult) -> str:
    """Return how a model differs from another that is the same network."""
    differing = [
        f"{field.name} {format_setting(getattr(hyperparameters, field.name))}"
        for field in dataclasses.fields(hyperparameters)
        if getattr(hyperparameters, field.name)
        != getattr(result.models[other].hyperparameters, field.name)
    ]
    if not differing:
        return say("The same network as {variant}.", variant=other)
    listed = ", ".join(differing[:MAX_DIFFERENCES])
    if len(differing) > MAX_DIFFERENCES:
        listed += " …"
    return say("The same network as {variant}, but {values}.", variant=other, values=listed)


def _roles(results: Results, result: ExperimentResult, name: str) -> Iterator[str]:
    """Yield what a model is there for, and how it was made."""
    own = next(
        (name.removesuffix(end) for end in (f"-{BASELINE}", "-mean") if name.endswith(end)), ""
    )
    if name == BASELINE:
        yield say("What every other variant is compared with.")
    elif own in result.models:
        yield say("A reference for {variant} alone.", variant=own)
    elif name in result.controls:
        yield say("A control.")
    declared = results.params.models.get(result.models[name].model)
    if declared is None:
        return
    if declared.tuned_by != "none":
        yield say(
            "Its hyperparameters were chosen by the search {search}.", search=declared.tuned_by
        )
    if declared.match != result.models[name].model:
        yield say("It has as many parameters as {model}.", model=declared.match)


def describe_network(hyperparameters: Any) -> str:
    """Return what a classifier or a translator does with a text, in one sentence."""
    is_classifier = isinstance(hyperparameters, Architecture)
    parts = _classifier(hyperparameters) if is_classifier else _translator(hyperparameters)
    text = "; ".join(filter(None, parts))
    return f"{text[0].upper()}{text[1:]}."


def _say_part(part: Part, h: Any) -> str:
    """Return what a part of a network does, in the report's language."""
    if part.count:
        return say_count(part.sentence, part.plural, getattr(h, part.count))
    return say(part.sentence, score=h.score)


def _classifier(h: Architecture) -> list[str]:
    features = {
        "words": say("words"),
        "characters": say("characters"),
        "both": say("words and characters"),
        "none": "–",
    }[h.linear_branch]
    if h.encoder == "none":
        return [say("no network: a linear model on the TF-IDF of {features}", features=features)]
    encoder = _say_part(ENCODERS[h.encoder], h)
    if h.skip and h.is_recurrent:
        encoder = say("{encoder}, with the word’s embedding beside it", encoder=encoder)
    attends = h.attention != "none"
    return [
        encoder,
        say("it reads the words of each sentence, then the sentences") if h.hierarchical else "",
        _say_part(ATTENTIONS[h.attention], h),
        say("the positions of the words are added before it")
        if attends and h.attention_positions
        else "",
        say("its input is added to its output") if attends and h.attention_residual else "",
        _say_part(POOLINGS[h.pooling], h),
        say("a linear model on the TF-IDF of {features} is added", features=features)
        if h.linear_branch != "none"
        else "",
    ]


def _translator(h: TranslatorArchitecture) -> list[str]:
    decoders = UNIFORM_DECODERS if h.attends and not h.learns_weights else DECODERS
    return [
        _say_part(SOURCE_ENCODERS[h.encoder], h),
        _say_part(decoders[h.decoder], h),
        ""
        if h.segmentation == "words"
        else say("its units are pieces of words ({kind})", kind=h.segmentation),
        ""
        if h.training_share == 1
        else say("trained on {share} of the training pairs", share=f"{h.training_share:.0%}"),
    ]
