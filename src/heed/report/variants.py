"""What each variant of a study is, in one sentence that follows from its hyperparameters.

A variant's name is the user's own, and says nothing certain; its hyperparameters do.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from heed.evaluation.results import ExperimentResult
from heed.evaluation.verdicts import BASELINE
from heed.hyperparameters.classifier import Architecture
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


def _classifier(h: Architecture) -> list[str]:
    if h.encoder == "none":
        return [
            say("no network: a linear model on the TF-IDF of {features}", features=_features(h))
        ]
    branch = h.linear_branch != "none"
    return [
        _encoder(h),
        say("it reads the words of each sentence, then the sentences") if h.hierarchical else "",
        _attention(h),
        *_attention_layer(h),
        _pooling(h),
        say("a linear model on the TF-IDF of {features} is added", features=_features(h))
        if branch
        else "",
    ]


def _features(h: Architecture) -> str:
    return {
        "words": say("words"),
        "characters": say("characters"),
        "both": say("words and characters"),
        "none": "–",
    }[h.linear_branch]


def _encoder(h: Architecture) -> str:
    if h.encoder == "transformer":
        return say_count(
            "a transformer of {count} layer makes a state of each word",
            "a transformer of {count} layers makes a state of each word",
            h.encoder_layers,
        )
    if h.encoder == "embeddings":
        return say("each word is its embedding, without a network that reads its neighbours")
    if h.skip:
        return say("a BiLSTM makes a state of each word, with the word’s embedding beside it")
    return say("a BiLSTM makes a state of each word")


def _attention(h: Architecture) -> str:
    if h.attention == "multi-head":
        return say_count(
            "self-attention of {count} head lets each state read all others",
            "self-attention of {count} heads lets each state read all others",
            h.heads,
        )
    if h.attention == "single-head":
        return say(
            "self-attention with the score {score} lets each state read all others", score=h.score
        )
    if h.attention == "uniform":
        return say("the layer of self-attention, but with equal weights in place of learned ones")
    return ""


def _attention_layer(h: Architecture) -> list[str]:
    """Return what is added before and after self-attention."""
    if h.attention == "none":
        return []
    return [
        say("the positions of the words are added before it") if h.attention_positions else "",
        say("its input is added to its output") if h.attention_residual else "",
    ]


def _pooling(h: Architecture) -> str:
    if h.pooling == "attention":
        return say(
            "the text is the average of the states, weighted by a learned query (score {score})",
            score=h.score,
        )
    if h.pooling == "max-attention":
        return say("the text is the average of the states, weighted by their own maximum as query")
    return {
        "last": say("the text is the last state"),
        "mean": say("the text is the mean of the states"),
        "max": say("the text is the maximum of the states in each of their numbers"),
    }[h.pooling]


def _translator(h: Any) -> list[str]:
    return [
        {
            "bidirectional": say("a recurrent network reads the source in both directions"),
            "unidirectional": say("a recurrent network reads the source in one direction"),
            "transformer": say("a transformer reads the source"),
        }[h.encoder],
        _decoder(h),
        ""
        if h.segmentation == "words"
        else say("its units are pieces of words ({kind})", kind=h.segmentation),
        ""
        if h.training_share == 1
        else say("trained on {share} of the training pairs", share=f"{h.training_share:.0%}"),
    ]


def _decoder(h: Any) -> str:
    if h.attends and not h.learns_weights:
        return _reads_the_mean(h)
    return {
        "last-state": say("the translation is written from its last state alone"),
        "concatenate": say("the translation is written from all states in one vector"),
        "output": say(
            "in each step attention (score {score}) reads all states, before the output layer",
            score=h.score,
        ),
        "input": say(
            "in each step attention (score {score}) reads all states, and is the decoder’s input",
            score=h.score,
        ),
        "input-literal": say(
            "in each step attention (score {score}) reads all states, and is the decoder’s only "
            "input: not the previous word",
            score=h.score,
        ),
        "transformer": say_count(
            "each layer of the decoder reads all states, by attention of {count} head",
            "each layer of the decoder reads all states, by attention of {count} heads",
            h.heads,
        ),
    }[h.decoder]


def _reads_the_mean(h: Any) -> str:
    """Return what a decoder does that reads the source by equal weights."""
    return {
        "output": say("in each step the mean of all states is read, before the output layer"),
        "input": say("in each step the mean of all states is read, in the decoder’s input"),
        "input-literal": say(
            "in each step the mean of all states is read, and is the decoder’s only input: not the "
            "previous word"
        ),
    }[h.decoder]
