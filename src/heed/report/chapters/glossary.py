"""The glossary: a line and a drawing for each variant, and a line for each word of the report.

A variant's name is the user's own, and says nothing certain; its hyperparameters do. The weights in
the drawings are made up: thin and thick lines are learned weights, equal lines equal ones.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

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
from heed.report.blocks import Block, Disclosure, Figure, Group, Section, Span, Term, Texts
from heed.report.chapters.hyperparameters import format_setting
from heed.report.chapters.shared import DEGENERATE, glossary_key
from heed.report.figures.drawing import GROUND, INK, SERIES, SOFT, Style
from heed.report.language import say, say_count
from heed.report.measures import describe_reference_models, explain_degenerate
from heed.report.results import Results

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
    """Return how a model differs from another that is the same network."""
    values = dataclasses.asdict(hyperparameters)
    others = dataclasses.asdict(result.models[other].hyperparameters)
    differing = [
        f"{name} {format_setting(value)}" for name, value in values.items() if value != others[name]
    ]
    if not differing:
        return say("The same network as {variant}.", variant=other)
    listed = ", ".join(differing[:MAX_DIFFERENCES])
    if len(differing) > MAX_DIFFERENCES:
        listed += " …"
    return say("The same network as {variant}, but {values}.", variant=other, values=listed)


def _roles(results: Results, result: ExperimentResult, name: str) -> Iterator[str]:
    """Yield what a model is there for, and how it was made."""
    ends = [end for end in (f"-{BASELINE}", "-mean") if name.endswith(end)]
    own = name.removesuffix(ends[0]) if ends else ""
    if name == BASELINE:
        yield say("What every other variant is compared with.")
    elif own in result.models:
        yield say("A reference for {variant} alone.", variant=own)
    elif name in result.controls:
        yield say("A control.")
    declared = results.params.models.get(result.models[name].model)
    if declared is None:
        return
    if declared.search != "none":
        search = declared.search
        yield say("Its hyperparameters were chosen by the search {search}.", search=search)
    if declared.match_parameters_of != result.models[name].model:
        yield say("It has as many parameters as {model}.", model=declared.match_parameters_of)


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
    both = say("words and characters")
    branches = {"words": say("words"), "characters": say("characters"), "both": both, "none": "–"}
    features = branches[h.tfidf_branch]
    if h.encoder == "none":
        return [say("no network: a linear model on the TF-IDF of {features}", features=features)]
    parts = [_say_part(ENCODERS[h.encoder], h)]
    if h.skip and h.is_recurrent:
        parts = [say("{encoder}, with the word’s embedding beside it", encoder=parts[0])]
    if h.hierarchical:
        parts.append(say("it reads the words of each sentence, then the sentences"))
    parts.append(_say_part(ATTENTIONS[h.attention], h))
    if h.attention != "none" and h.attention_positions:
        parts.append(say("the positions of the words are added before it"))
    if h.attention != "none" and h.attention_residual:
        parts.append(say("its input is added to its output"))
    parts.append(_say_part(POOLINGS[h.pooling], h))
    if h.tfidf_branch != "none":
        parts.append(say("a linear model on the TF-IDF of {features} is added", features=features))
    return parts


def _translator(h: TranslatorArchitecture) -> list[str]:
    decoders = UNIFORM_DECODERS if h.attends and not h.learns_weights else DECODERS
    parts = [_say_part(SOURCE_ENCODERS[h.encoder], h), _say_part(decoders[h.decoder], h)]
    if h.segmentation != "words":
        parts.append(say("its units are pieces of words ({kind})", kind=h.segmentation))
    if h.training_share != 1:
        share = f"{h.training_share:.0%}"
        parts.append(say("trained on {share} of the training pairs", share=share))
    return parts


def chapter(results: Results) -> list[Block]:
    """Return the section: the variants of the study, its reference models, and words of the
    report.
    """
    variants = read_variants(results)
    reference_models = dict.fromkeys(
        name
        for result in results.comparison.experiments.values()
        for name in result.reference_models
    )
    references = describe_reference_models(each.measure.task for each in results.experiments)
    words = _words(results) | {name: (name, references[name].glossary) for name in reference_models}
    named = tuple(
        Term(glossary_key(word), name, (text,))
        for word, (name, text) in words.items()
        if word not in variants
    )
    models = tuple(term for entries in variants.values() for term in _terms(entries))
    of_models = say("The models of this study: {names}", names=", ".join(variants))
    of_words = say("Words of this report: {names}", names=", ".join(each.name for each in named))
    blocks = (
        Disclosure(of_models, (Group(models, "glossary"),)),
        Disclosure(of_words, (Group(named, "glossary words"),)),
    )
    return [Section("glossary", say("Models and words"), blocks)]


def _terms(entries: list[Variant]) -> Iterable[Term]:
    """Yield a term for each description of a variant; the first has the variant's own key."""
    for number, entry in enumerate(entries):
        key = glossary_key(entry.name) + (f"--{number + 1}" if number else "")
        where = Span(f"{', '.join(entry.experiments)}: ", "small")
        texts: Texts = (entry.description,) if len(entries) == 1 else (where, entry.description)
        yield Term(key, entry.name, texts, network(entry, key))


def _words(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words of the report, each with its name and its explanation, by key."""
    explained = dict.fromkeys(map(explain_degenerate, results.comparison.experiments.values()))
    return {
        "gain": (say("gain"), say("Attention minus baseline, paired by seed and test document.")),
        "control": (
            say("control"),
            say(
                "A model of the study without learned attention; its entry above says how else it "
                "differs. Where it gains as much, attention need not be the cause."
            ),
        ),
        "reference_model": (
            say("reference model"),
            say("A model from outside, of another kind than the networks of the study."),
        ),
        "seed": (
            say("seed"),
            say(
                "A number that fixes the initial weights and the order of the batches. A training "
                "is repeated with several, since its result varies with them."
            ),
        ),
        **_words_of_verdicts(results),
        **_words_of_limits(results),
        DEGENERATE: (say("degenerate run"), " ".join(explained)),
    }


def _words_of_verdicts(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words of the tests, each with its name and its explanation, by key."""
    method = results.comparison.significance
    measures = [each.measure for each in results.experiments]
    margin = _alternatives(each.margin(method.equivalence_margin) for each in measures)
    level = f"{method.alpha:g}"
    return {
        "verdict": (say("verdict"), say("What the tests support on a difference, in a word.")),
        "better": (
            say("better, worse"),
            say(
                "The difference is significant: its corrected p is below {level}. It is not "
                "practically none, and both models had converged; “worse” is also said where only "
                "the losing one had.",
                level=level,
            ),
        ),
        "same": (
            say("the same"),
            say(
                "Practically the same: the difference is shown to lie within {margin}.",
                margin=margin,
            ),
        ),
        "undecided": (
            say("undecided"),
            say(
                "Neither a difference nor equivalence is shown. It does not mean that there is no "
                "difference: the interval says how large it may be."
            ),
        ),
    }


def _words_of_limits(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words of what limits a verdict, each with its name and its explanation, by key."""
    method = results.comparison.significance
    limit = _alternatives(
        each.measure.of_validation.limit(method.convergence_pp) for each in results.experiments
    )
    level = f"{method.alpha:g}"
    return {
        "not-converged": (
            say("not converged"),
            say(
                "At least half of the trainings of one of the two models still improved by more "
                "than {limit} over their last two validations, or had no more than two: a longer "
                "training may reverse the difference.",
                limit=limit,
            ),
        ),
        "corrected-p": (
            say("corrected p"),
            say(
                "How probable a difference at least this large would be if the models were equally "
                "good, corrected by Holm for the number of comparisons. Below {level} it is "
                "significant.",
                level=level,
            ),
        ),
    }


def _alternatives(texts: Iterable[str]) -> str:
    """Return different texts, such as limits in several units, as a list of alternatives."""
    return f" {say('or')} ".join(dict.fromkeys(texts))


SIZE = (2.9, 1.55)  # inches
WORDS = 5
LEFT, RIGHT = 4.0, 9.6  # of the words, in the units of the axes
LEARNED = np.array([0.25, 0.5, 2.6, 0.4, 0.9])  # widths of lines, in points
EQUAL = np.full(WORDS, 0.9)
FIXED, WEIGHTED = SOFT, SERIES[0]  # colours of lines without and with learned weights


def network(variant: Variant, key: str) -> Figure:
    """Return the drawing of a variant's network."""

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, 10)
        if isinstance(variant.hyperparameters, Architecture):
            _draw_classifier(axes, variant.hyperparameters)
        else:
            _draw_translator(axes, variant.hyperparameters)

    return Figure(key, variant.name, "", (), draw, SIZE, alt_text=variant.description)


def _draw_classifier(axes: Axes, h: Architecture) -> None:
    """Draw words, their states, self-attention where there is some, and the text's vector."""
    columns = np.linspace(LEFT, RIGHT if h.tfidf_branch == "none" else 7.6, WORDS)
    top = 3 + (h.attention != "none")
    axes.set_ylim(-0.5, top + 0.6)
    middle = float(columns.mean())
    _label(axes, 0, say("words"))
    if h.encoder != "none":
        rows = _draw_states(axes, h, columns)
        _draw_pooling(axes, h, columns, rows, (middle, top))
    _draw_nodes(axes, columns, 0, "o", SOFT)
    if h.tfidf_branch != "none":
        _box(axes, 9.2, 0, "TF-IDF")
        _line(axes, (9.2, 0.3), (middle, top), FIXED, 0.9)
    _box(axes, middle, top, say("class"))


def _draw_states(axes: Axes, h: Architecture, columns: np.ndarray) -> int:
    """Draw the states, with self-attention in a row of its own; return the uppermost row."""
    _label(axes, 1, say(ENCODERS[h.encoder].label))
    if h.encoder == "transformer":
        _connect_all(axes, columns, 0, LEARNED, WEIGHTED)
    for column in columns:
        _line(axes, (column, 0), (column, 1), FIXED, 0.9)
    if h.is_recurrent:
        axes.plot(columns, np.ones(WORDS), color=INK, lw=1, marker="none")
    _draw_nodes(axes, columns, 1, "s", INK)
    if h.attention == "none":
        return 1
    learned = h.attention != "uniform"
    _label(axes, 2, say(ATTENTIONS[h.attention].label))
    _connect_all(axes, columns, 1, LEARNED if learned else EQUAL, WEIGHTED if learned else FIXED)
    _draw_nodes(axes, columns, 2, "s", INK)
    return 2


def _draw_pooling(
    axes: Axes, h: Architecture, columns: np.ndarray, row: int, top: tuple[float, float]
) -> None:
    """Draw the lines from the states to the text's vector; sentences first where it has them."""
    learned = h.pooling in ("attention", "max-attention")
    _label(axes, (row + top[1]) / 2, say(POOLINGS[h.pooling].label))
    widths = LEARNED if learned else EQUAL
    if h.pooling == "last":  # of each direction: the right end of one, the left end of the other
        widths = np.array([0.9, 0, 0, 0, 0.9]) if h.is_recurrent else np.array([0, 0, 0, 0, 0.9])
    colour = WEIGHTED if learned else FIXED
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        if not width:
            continue
        target = top
        if h.hierarchical:
            target = (float(columns[1 if index < 3 else 3]), (row + top[1]) / 2)
            _line(axes, target, top, colour, 1.2)
        style: Style = {"linestyle": (0, (1, 1.5))} if h.pooling == "max" else {}
        _line(axes, (column, row), target, colour, width, **style)
    if h.hierarchical:
        _draw_nodes(axes, columns[[1, 3]], (row + top[1]) / 2, "s", INK)


def _draw_translator(axes: Axes, h: TranslatorArchitecture) -> None:
    """Draw the states of the source below and those of the translation above."""
    columns = np.linspace(LEFT, RIGHT, WORDS)
    axes.set_ylim(-0.5, 3.4)
    rows = (
        (0, say("source")), (1, say("encoder")), (2.2, say("decoder")), (3, say("translation")),
    )  # fmt: skip
    for row, name in rows:
        _label(axes, row, name)
    for low, high in ((0, 1), (2.2, 3)):
        for column in columns:
            _line(axes, (column, low), (column, high), FIXED, 0.9)
    if h.decoder != "transformer":
        for row in (1, 2.2):
            axes.plot(columns, np.full(WORDS, row), color=INK, lw=1)
    else:
        _connect_all(axes, columns, 0, LEARNED, WEIGHTED)
    if h.decoder == "last-state":
        _line(axes, (columns[-1], 1), (columns[0], 2.2), FIXED, 1.4)
    elif h.decoder == "concatenate":
        for column in columns:
            _line(axes, (column, 1), (columns[0], 2.2), FIXED, 0.9)
    else:
        lines = (LEARNED, WEIGHTED) if h.learns_weights else (EQUAL, FIXED)
        _connect_all(axes, columns, 1, *lines, 2.2)
    for row, shape, colour in ((0, "o", SOFT), (1, "s", INK), (2.2, "s", INK), (3, "o", SOFT)):
        _draw_nodes(axes, columns, row, shape, colour)


def _connect_all(
    axes: Axes, columns: np.ndarray, row: float, widths: np.ndarray, colour: str, to: float = 0
) -> None:
    """Draw a line from each column of a row to each of the row above, or of row `to`."""
    for index, target in enumerate(columns):
        for column, width in zip(columns, np.roll(widths, index), strict=True):
            _line(axes, (column, row), (target, to or row + 1), colour, width * 0.6)


def _line(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    width: float,
    **style: object,
) -> None:
    options: Style = {"color": colour, "lw": width, "solid_capstyle": "round", **style}
    axes.plot([start[0], end[0]], [start[1], end[1]], **options)


def _draw_nodes(axes: Axes, columns: np.ndarray, row: float, shape: str, colour: str) -> None:
    style: Style = {"marker": shape, "color": colour, "markerfacecolor": GROUND}
    axes.plot(columns, np.full(len(columns), row), linestyle="none", markersize=5.5, **style)


def _box(axes: Axes, x: float, y: float, text: str) -> None:
    box: Style = {"boxstyle": "round,pad=0.3", "facecolor": GROUND, "edgecolor": INK, "lw": 1}
    axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box)


def _label(axes: Axes, y: float, text: str) -> None:
    axes.text(0, y, text, ha="left", va="center", fontsize=8, color=SOFT)
