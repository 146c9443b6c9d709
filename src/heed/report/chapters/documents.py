"""Attention in texts: one text, head by head, and the weight of words.

Texts that may not be published are on the local page alone.
"""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

from heed.recipe import CorpusStatistics
from heed.report.blocks import (
    EVERYWHERE,
    PAGE,
    Block,
    Column,
    Disclosure,
    Group,
    Paragraph,
    ShadedDocument,
    Span,
    get_value,
)
from heed.report.browser import (
    HEAVIEST,
    Browser,
    Document,
    describe_rationale,
    describe_shares,
    excerpt,
    list_documents,
    shade_sentences,
    typical_documents,
)
from heed.report.chapters.shared import caution, experiment_table, interval_column
from heed.report.experiments import Experiment, WeightsGain, weights_gain
from heed.report.figures.heatmaps import head_weights
from heed.report.formats import COUNT, POINTS, TEXT, decimals
from heed.report.measures import LAYER_NOTE, lacks_layer
from heed.report.results import Results

SHOWN_WORDS = 40  # of the text on the first screen
MODELS_WITH_HEADS = 2


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return what the attention of an experiment does in its texts."""
    models = results.models(experiment)
    models = {variant: model for variant, model in models.items() if model in results.browsers}
    blocks = _links(results, experiment, models)
    if results.prints_texts(experiment):
        blocks += _heads(results, experiment)
    blocks += weight_shares(results, experiment)
    return [Disclosure("Attention in texts", tuple(blocks), "texts")] if blocks else []


def first_text(results: Results, experiment: Experiment) -> list[Block]:
    """Return one text as the judged variant has read it, for the first screen; nothing without any.

    It is the typical document of the class with the most weight on its rationale: of those that
    the variant gets right, if any, the nearest to the median of all (see `typical_documents`).
    """
    model = results.models(experiment).get(next(iter(experiment.result.attention), ""), "")
    browser = results.browsers.get(model)
    if browser is None or not results.prints_texts(experiment):
        return []
    document = _first_document(browser)
    tokens = excerpt(document.tokens, SHOWN_WORDS)
    known = sum(each.tokens["rationale"].any() for each in browser.documents)
    description = (
        f"{document.label}, predicted {document.predicted}; {len(tokens)} of "
        f"{len(document.tokens)} words, with {tokens['weight'].sum():.0%} of the weight"
    )
    if document.tokens["rationale"].any():
        description += (
            f". Weight on the underlined: {document.rationale_share:.0%} in the whole document; "
            f"median of {known} documents by class: {describe_shares(browser.by_class)}"
        )
    sentences = shade_sentences(document.text, document.tokens, tokens.index)
    # Paper has only texts for everybody.
    media = EVERYWHERE if experiment.publishable else (PAGE,)
    title = f"What attention weighs in one text: {experiment.title}"
    return [
        ShadedDocument(title, description, sentences, media=media),
        dataclasses.replace(browser.legend, media=media),
    ]


def _first_document(browser: Browser) -> Document:
    """Return the typical document of the class whose one has the most weight on its rationale."""
    documents = browser.documents
    right = [each for each in documents if each.right] or documents
    known = [each for each in right if each.tokens["rationale"].any()] or right
    table = list_documents(documents, {each.id for each in known})
    typical = [documents[row] for row in typical_documents(table, len(table)).values()]
    return max(
        typical, key=lambda each: (np.nan_to_num(each.rationale_share), each.tokens["weight"].max())
    )


def _links(results: Results, experiment: Experiment, models: dict[str, str]) -> list[Block]:
    """Return the links to the document browsers; nothing where no model has learned weights."""
    if not models or not results.with_documents:
        return []
    links: list[str | Span] = []
    for variant, model in models.items():
        links += [", ", Span(variant, link=f"documents/{model}.html")]
    read = "Which words counted, word by word, in documents chosen by rule:"
    texts = (f"{read} ", *links[1:], ". ", *caution(results, experiment))
    return [Paragraph(texts, media=(PAGE,))]


def _heads(results: Results, experiment: Experiment) -> list[Block]:
    """Return the heads of the first models with learned self-attention: one document, then more."""
    variants = [
        variant
        for variant, model in experiment.result.models.items()
        if model.hyperparameters.attends_to_states and not model.hyperparameters.hierarchical
    ][:MODELS_WITH_HEADS]
    figures = [head_weights(results, experiment, variant) for variant in variants]
    shown = tuple(itertools.chain(*(of_model[:1] for of_model in figures)))
    more = tuple(itertools.chain(*(of_model[1:] for of_model in figures)))
    blocks: list[Block] = [Group(shown, "plots")] if shown else []
    if more:
        blocks.append(Disclosure("The same of another document", more, media=(PAGE,)))
    return blocks


@dataclasses.dataclass(frozen=True)
class Weighing:
    """A model with learned weights, its figure, and its gain over equal ones (lecture 003)."""

    variant: str
    browser: Browser
    value: float
    gain: WeightsGain


def _on_the_rationale(statistics: CorpusStatistics, records: list[Weighing]) -> str:
    """Return what the caption says of the rationale; nothing where the corpus has none."""
    if statistics.rationale is None:
        return ""
    texts = [f"Rationale: {describe_rationale(statistics)}."]
    for each in records:
        if of_class := each.browser.by_class:
            shares = describe_shares(of_class)
            texts.append(f"On the rationale, median by class, {each.variant}: {shares}.")
    return "".join(f" {text}" for text in texts)


def weight_shares(results: Results, experiment: Experiment) -> list[Block]:
    """Return the table of all models that choose weights; nothing where no model does."""
    result, statistics = experiment.result, experiment.result.corpus.statistics
    records = [
        Weighing(
            variant,
            results.browsers[model.model],
            result.score_of(variant),
            weights_gain(experiment, variant),
        )
        for variant, model in result.models.items()
        if model.model in results.browsers and model.hyperparameters.learns_weights
    ]
    if not records:
        return []
    models = (result.models[each.variant].model for each in records)
    paths = [results.prediction_folder(model) / "weights.parquet" for model in models]
    caption = (
        "What learned weights gain over equal ones, and what they do: the share of weight on the "
        f"{HEAVIEST} heaviest words of a document, beside what equal weights would put there. "
        "Mean over the documents of each model’s browser, first seed."
    )
    if any(lacks_layer(result, each.variant) for each in records):
        caption += f" {LAYER_NOTE}"
    caption += _on_the_rationale(statistics, records)
    return [
        experiment_table(
            results,
            experiment,
            "_weights",
            "Learned against equal weights",
            _columns(results, experiment, statistics.rationale is not None),
            records,
            caption=caption,
            sources=(*results.comparison_sources, *results.sources.add(*paths)),
            style="worth",
        )
    ]


def _columns(results: Results, experiment: Experiment, has_rationale: bool) -> tuple[Column, ...]:
    measure = experiment.measure
    shares = {
        "heaviest_percent": (
            f"Weight on the {HEAVIEST} heaviest words", "heaviest.weight",
            "on heaviest, %",
        ),
        "heaviest_equal_percent": (
            "with equal weights", "heaviest.words", "if equal, %",
        ),
        "rationale_percent": (
            "Weight on rationale", "rationale.weight", "on rationale, %",
        ),
        "rationale_equal_percent": (
            "on rationale with equal weights", "rationale.words", "if equal, %",
        ),
    }  # fmt: skip
    return (
        Column("variant", "Model", value="variant"),
        Column(measure.metric, measure.name, decimals(4), "value"),
        Column("control", "Equal weights", TEXT, lambda each: each.gain.control or "–"),
        Column("control_value", "", decimals(4), "gain.value"),
        Column("gain_pp", "Learned minus equal", POINTS, "gain.gain", unit=measure.unit),
        interval_column(results, "gain", "interval"),
        Column("low_pp", "", POINTS, lambda each: (each.gain.interval or (None, None))[0]),
        Column("high_pp", "", POINTS, lambda each: (each.gain.interval or (None, None))[1]),
        Column("documents", "", COUNT, "browser.heaviest.documents"),
        *(
            Column(key, heading, decimals(1), _percent(f"browser.{path}"), unit="%", short=short)
            for key, (heading, path, short) in shares.items()
            if has_rationale or not key.startswith("rationale")
        ),
    )


def _percent(path: str) -> Callable[[Weighing], float | None]:
    """Return a function from a model to a share, in percent; None without one."""

    def value(record: Weighing) -> float | None:
        share = get_value(path)(record)
        return None if share is None else 100 * float(share)

    return value
