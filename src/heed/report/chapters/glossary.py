"""The glossary: a line and a drawing for each variant, and a line for each word of the report.

A variant's name is the user's own, and says nothing certain; its hyperparameters do.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from heed.evaluation.results import BASELINE, ExperimentResult
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
from heed.report.blocks import Block, Disclosure, Group, Section, Span, Term
from heed.report.chapters.hyperparameters import format_setting
from heed.report.chapters.shared import DEGENERATE, TUNED_ALIKE, glossary_key
from heed.report.figures.networks import Hyperparameters, draw_network
from heed.report.formats import pluralize
from heed.report.measures import describe_reference_models, explain_degenerate
from heed.report.results import Results

MAX_DIFFERENCES = 4  # hyperparameters that are named where two variants are the same network


@dataclasses.dataclass(frozen=True)
class Variant:
    """A variant in those experiments where it is the same: its description and its network."""

    name: str
    description: str
    hyperparameters: Hyperparameters
    experiments: list[str]  # titles


def read_variants(results: Results) -> dict[str, list[Variant]]:
    """Return the variants of a study by name, the first experiment's first.

    A name has several entries where its description differs between experiments.
    """
    variants: dict[str, dict[str, Variant]] = {}
    for experiment in results.experiments:
        result = experiment.result
        named: dict[str, str] = {}  # network → the first variant that has it
        for name, model in result.models.items():
            network = describe_network(model.hyperparameters)
            other = named.setdefault(network, name)
            if other != name:
                network = _describe_as(model.hyperparameters, other, result)
            text = " ".join([*_roles(results, result, name), network])
            new = Variant(name, text, model.hyperparameters, [])
            entry = variants.setdefault(name, {}).setdefault(text, new)
            entry.experiments.append(experiment.title)
    return {name: list(entries.values()) for name, entries in variants.items()}


def _describe_as(hyperparameters: Any, other: str, result: ExperimentResult) -> str:
    others = dataclasses.asdict(result.models[other].hyperparameters)
    differing = [
        f"{name} {format_setting(value)}"
        for name, value in dataclasses.asdict(hyperparameters).items()
        if value != others[name]
    ]
    if not differing:
        return f"The same network as {other}."
    listed = ", ".join(differing[:MAX_DIFFERENCES]) + " …" * (len(differing) > MAX_DIFFERENCES)
    return f"The same network as {other}, but {listed}."


def _roles(results: Results, result: ExperimentResult, name: str) -> Iterator[str]:
    ends = [end for end in (f"-{BASELINE}", "-mean") if name.endswith(end)]
    own = name.removesuffix(ends[0]) if ends else ""
    if name == BASELINE:
        yield "What every other variant is compared with."
    elif own in result.models:
        yield f"A reference for {own} alone."
    elif name in result.controls:
        yield "A control."
    declared = results.params.models.get(result.models[name].model)
    if declared is None:
        return
    if declared.search != "none":
        search = declared.search
        yield f"Its hyperparameters were chosen by the search {search}."
    if declared.match_parameters_of != result.models[name].model:
        yield f"It has as many parameters as {declared.match_parameters_of}."


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


def chapter(results: Results) -> list[Block]:
    """Return the section: the study's variants and reference models, and words of the report."""
    variants = read_variants(results)
    references = describe_reference_models(each.measure.task for each in results.experiments)
    words = _words(results) | {
        name: (name, references[name].glossary)
        for each in results.experiments
        for name in each.result.reference_models
    }
    named = tuple(
        Term(glossary_key(word), name, (text,))
        for word, (name, text) in words.items()
        if word not in variants
    )
    models = tuple(term for entries in variants.values() for term in _terms(entries))
    of_words = f"Words of this report: {', '.join(each.name for each in named)}"
    blocks = (
        Group(models, "glossary"),
        Disclosure(of_words, (Group(named, "glossary words"),)),
    )
    return [Section("glossary", "Models and words", blocks)]


def _terms(entries: list[Variant]) -> Iterator[Term]:
    """Yield a term for each description of a variant; the first has the variant's own key."""
    for number, entry in enumerate(entries):
        key = glossary_key(entry.name) + (f"--{number + 1}" if number else "")
        where = Span(f"{', '.join(entry.experiments)}: ", "small")
        texts = (entry.description,) if len(entries) == 1 else (where, entry.description)
        drawing = draw_network(entry.hyperparameters, entry.name, entry.description, key)
        yield Term(key, entry.name, texts, drawing)


@functools.cache
def glossary() -> Mapping[str, tuple[str, str]]:
    """Return the name and the meaning of each word of glossary.yaml, in English."""
    text = Path(__file__).parents[1].joinpath("glossary.yaml").read_text(encoding="utf-8")
    return {key: (each["name"], each["meaning"]) for key, each in yaml.safe_load(text).items()}


def _words(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words with what they mean in this study."""
    method = results.comparison.significance
    measures = [each.measure for each in results.experiments]
    values = {
        "level": f"{method.alpha:g}",
        "margin": _alternatives(each.margin(method.equivalence_margin) for each in measures),
        "limit": _alternatives(
            each.of_validation.convergence_margin(method.convergence_pp) for each in measures
        ),
    }
    words = {key: (name, meaning.format(**values)) for key, (name, meaning) in glossary().items()}
    if not any(each.remark for one in results.experiments for each in one.comparisons):
        del words[TUNED_ALIKE]
    degenerate = dict.fromkeys(explain_degenerate(each.result) for each in results.experiments)
    return words | {DEGENERATE: ("degenerate run", " ".join(degenerate))}


def _alternatives(texts: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(texts))
