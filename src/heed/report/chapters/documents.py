"""Attention in texts: documents side by side, head by head, sentence by sentence, and its weight.

Texts that heed did not generate are on the local page alone.
"""

import dataclasses

import pandas as pd

from heed.evaluation.results import BASELINE
from heed.report.blocks import (
    EVERYWHERE,
    PAGE,
    Block,
    Disclosure,
    Group,
    Paragraph,
    Reading,
    ShadedDocument,
    Span,
)
from heed.report.changed_documents import (
    Answers,
    ChangedDocument,
    fixed_weights,
    read_changed_documents,
)
from heed.report.chapters import weight_shares
from heed.report.chapters.shared import caution
from heed.report.documents import (
    Browser,
    Document,
    make_legend,
    shade_sentences,
)
from heed.report.experiments import Experiment
from heed.report.figures.head_weights import head_weights
from heed.report.language import say, say_count
from heed.report.results import Results

EACH = 3  # documents that attention fixed, and as many that it broke
MODELS_WITH_HEADS = 2
CLASSES = 2  # of which a hierarchical model's document is shown
MIN_SENTENCES, MAX_TOKENS = 3, 150  # of such a document


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return what the attention of an experiment does in its texts."""
    blocks, summary = _links(results, experiment), say("Attention in texts")
    if results.prints_texts(experiment):
        changed = _read_changed(results, experiment)
        if changed is not None:
            summary = _summary(changed)
            blocks += _changed(results, experiment, changed)
        blocks += _hierarchical(results, experiment)
        blocks += _heads(results, experiment)
    blocks += weight_shares.tables(results, experiment)
    return [Disclosure(summary, tuple(blocks), "texts", mark=experiment.mark)] if blocks else []


def _links(results: Results, experiment: Experiment) -> list[Block]:
    """Return the links to the document browsers; nothing where no model has learned weights."""
    models = _models_with_weights(results, experiment)
    if not models or not results.with_documents:
        return []
    links: list[str | Span] = []
    for variant, model in models.items():
        links += [", "] if links else []
        links.append(Span(variant, link=f"documents/{model}.html"))
    read = say("Which words counted, word by word, in documents chosen by rule:")
    texts = (f"{read} ", *links, ". ", *caution(results, experiment))
    return [Paragraph(texts, media=(PAGE,))]


def _models_with_weights(results: Results, experiment: Experiment) -> dict[str, str]:
    """Return the models that choose weights, by variant."""
    models = results.models(experiment)
    return {variant: model for variant, model in models.items() if model in results.browsers}


def _media(experiment: Experiment) -> tuple[str, ...]:
    """Return the media that have texts of an experiment: paper only those that heed generated."""
    return EVERYWHERE if experiment.generated else (PAGE,)


@dataclasses.dataclass(frozen=True)
class Changed:
    """The documents in which attention is right in more seeds than the baseline, or in fewer."""

    variant: str
    browser: Browser
    fixed: list[ChangedDocument]
    broken: list[ChangedDocument]


def _read_changed(results: Results, experiment: Experiment) -> Changed | None:
    """Return the documents that attention fixed and broke; None where nothing can be compared."""
    result = results.comparison.experiments[experiment.key]
    variant = next(iter(result.attention), "")
    models = results.models(experiment)
    browser = results.browsers.get(models.get(variant, ""))
    if browser is None or BASELINE not in models:
        return None
    folders = (results.prediction_folder(models[name]) for name in (BASELINE, variant))
    changed = read_changed_documents(browser, *folders)
    fixed = [each for each in changed if each.change > 0]
    broken = [each for each in changed if each.change < 0]
    return Changed(variant, browser, fixed, broken)


def _summary(changed: Changed) -> str:
    """Return the heading, with in how many documents attention is right more, or less, often."""
    fixed, broken = len(changed.fixed), len(changed.broken)
    return say(
        "Attention in texts: right in more seeds in {fixed} of {count} chosen documents, in fewer "
        "in {broken}",
        fixed=fixed,
        broken=broken,
        count=len(changed.browser.documents),
    )


def _changed(results: Results, experiment: Experiment, changed: Changed) -> list[Block]:
    """Return documents that attention fixed and broke, each beside the baseline."""
    variant, browser = changed.variant, changed.browser
    fixed, broken = changed.fixed, changed.broken
    media = _media(experiment)
    rule = say(
        "Counted over the {count} documents of the browser of {variant}, which are chosen by its "
        "own predictions: the counts say nothing about the test part. Shown are those with the "
        "largest difference in the number of seeds in which the two models are right, ties by "
        "name. Bars and numbers: the probability of the true class, mean over seeds; weights are "
        "of the first seed.",
        count=len(browser.documents),
        variant=variant,
    )
    counts = (Span(_count(fixed, broken), "strong"), " ", rule)
    blocks: list[Block] = [Paragraph(counts, "small", media=media)]
    pairs = [
        [_side_by_side(results, experiment, variant, each) for each in kind[:EACH]]
        for kind in (fixed, broken)
    ]
    if fixed or broken:
        legend = make_legend(browser.evidence is not None, browser.sentences)
        blocks.append(dataclasses.replace(legend, media=media))
    shown = [pair for kind in pairs for pair in kind[:1]]
    blocks += shown[:1]
    blocks += [dataclasses.replace(pair, media=(PAGE,)) for pair in shown[1:]]
    if more := [pair for kind in pairs for pair in kind[1:]]:
        summary = say("More documents in which attention is right more, or less, often")
        blocks.append(Disclosure(summary, tuple(more), media=(PAGE,)))
    return blocks


def _count(fixed: list[ChangedDocument], broken: list[ChangedDocument]) -> str:
    """Return how many documents attention fixed and broke."""
    helped = say_count(
        "In {count} document attention is right in more seeds than the baseline.",
        "In {count} documents attention is right in more seeds than the baseline.",
        len(fixed),
    )
    hurt = say_count(
        "In {count} document it is right in fewer seeds.",
        "In {count} documents it is right in fewer seeds.",
        len(broken),
    )
    return " ".join(
        [
            helped if fixed else say("Attention fixed no document."),
            hurt if broken else say("It broke no document."),
        ]
    )


def _side_by_side(
    results: Results, experiment: Experiment, variant: str, changed: ChangedDocument
) -> ShadedDocument:
    """Return a document as baseline and attention have read it."""
    document, tokens = changed.document, changed.tokens
    models = results.comparison.experiments[experiment.key].models
    weights = fixed_weights(models[BASELINE].hyperparameters, document.tokens)
    plain = tokens.assign(weight=0.0) if weights is None else weights.loc[tokens.index]
    readings = (
        _reading(BASELINE, changed.baseline, document, plain),
        _reading(variant, changed.attention, document, tokens),
    )
    kind = say("fixed by attention") if changed.change > 0 else say("broken by attention")
    description = say("{kind}; the truth is {label}", kind=kind, label=document.label)
    if len(tokens) < len(document.tokens):
        description += "; " + say(
            "the {shown} of {count} words with the most weight in one piece",
            shown=len(tokens),
            count=len(document.tokens),
        )
    return ShadedDocument(document.id, description, readings, media=_media(experiment))


def _reading(name: str, answers: Answers, document: Document, tokens: pd.DataFrame) -> Reading:
    """Return a model's predictions of a document, and its words shaded by these weights."""
    probability = answers.probability
    description = say(
        "right in {right} of {seeds} seeds", right=answers.seeds_right, seeds=len(answers.right)
    )
    if probability is not None:
        of_truth = say("{probability} for {label}", probability=f"{probability:.2f}",
                       label=document.label)  # fmt: skip
        description = f"{of_truth}, {description}"
    return Reading(name, description, shade_sentences(document.text, tokens), probability)


def _hierarchical(results: Results, experiment: Experiment) -> list[Block]:
    """Return documents of the first hierarchical model: sentences and words by their weights."""
    models = _models_with_weights(results, experiment)
    variant = next((name for name in models if results.browsers[models[name]].sentences), "")
    if not variant:
        return []
    browser = results.browsers[models[variant]]
    documents = choose_hierarchical(browser)
    media = _media(experiment)
    text = say(
        "Hierarchical attention, {variant}: a line is a sentence, the bar beside it the sentence’s "
        "weight. A word’s colour is its weight within the sentence times the square root of the "
        "sentence’s weight, as in figure 5 of Yang et al. 2016. Of the documents of the browser "
        "that are predicted right: the shortest with at least {sentences} sentences, of at most "
        "{classes} classes.",
        variant=variant,
        sentences=MIN_SENTENCES,
        classes=CLASSES,
    )
    if not documents:
        none = say(
            "Hierarchical attention, {variant}: no document of the browser that is predicted right "
            "has at least {sentences} sentences and at most {words} words.",
            variant=variant,
            sentences=MIN_SENTENCES,
            words=MAX_TOKENS,
        )
        return [Paragraph((none,), media=media)]
    legend = dataclasses.replace(make_legend(browser.evidence is not None, True), media=media)
    return [
        Paragraph((text,), media=media),
        legend,
        *(_hierarchical_document(variant, document, media) for document in documents),
    ]


def choose_hierarchical(browser: Browser) -> list[Document]:
    """Return the documents of a hierarchical model that the page shows, of two classes at most.

    Of those predicted right with 3 sentences and at most 150 words the shortest of each class, ties
    by id.
    """
    shortest: dict[str, Document] = {}
    for document in sorted(browser.documents, key=lambda each: (len(each.tokens), each.id)):
        sentences = len(document.sentences)
        if document.right and sentences >= MIN_SENTENCES and len(document.tokens) <= MAX_TOKENS:
            shortest.setdefault(document.label, document)
    return list(shortest.values())[:CLASSES]


def _hierarchical_document(
    variant: str, document: Document, media: tuple[str, ...]
) -> ShadedDocument:
    description = say("predicted {label} ({probability})", label=document.predicted,
                      probability=f"{document.probability:.2f}")  # fmt: skip
    reading = Reading(variant, description, document.sentences)
    truth = say("the truth is {label}", label=document.label)
    return ShadedDocument(document.id, truth, (reading,), media=media)


def _heads(results: Results, experiment: Experiment) -> list[Block]:
    """Return the heads of the first models with learned self-attention: one document, then more."""
    models = results.comparison.experiments[experiment.key].models
    variants = [
        variant
        for variant in models
        if models[variant].hyperparameters.attends_to_states
        and not models[variant].hyperparameters.hierarchical
    ][:MODELS_WITH_HEADS]
    if not variants:
        return []
    figures = [head_weights(results, experiment, variant) for variant in variants]
    shown = [figure for of_model in figures for figure in of_model[:1]]
    more = [figure for of_model in figures for figure in of_model[1:]]
    if not shown:
        text = say("Self-attention word by word: no test document has 8 to 40 words.")
        return [Paragraph((text,), media=_media(experiment))]
    disclosure = Disclosure(say("The same of another document"), tuple(more), media=(PAGE,))
    return [Group(tuple(shown), "plots"), *([disclosure] if more else [])]
