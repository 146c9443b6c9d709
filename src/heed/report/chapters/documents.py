"""Attention weights: links to the document browsers, and the weight on evidence."""

from heed.recipe import CorpusFacts
from heed.report.blocks import PAGE, Block, Paragraph, Span, Texts
from heed.report.chapters.shared import caution
from heed.report.documents import describe_evidence
from heed.report.experiments import Experiment
from heed.report.language import say
from heed.report.results import Results


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the links and the weight on evidence; nothing where no model has learned weights."""
    models = {
        variant: model
        for variant, model in results.models(experiment).items()
        if model in results.browsers
    }
    if not models:
        return []
    links: list[str | Span] = []
    for variant, model in models.items():
        links += [", "] if links else []
        links.append(Span(variant, link=f"documents/{model}.html"))
    read = say("What the model attended to, word by word, in documents chosen by rule:")
    texts = (f"{read} ", *links, ". ", *caution(results, experiment))
    facts = results.comparison.experiments[experiment.key].corpus.facts
    return [Paragraph(texts, media=(PAGE,)), *_evidence(results, models, facts)]


def _evidence(results: Results, models: dict[str, str], facts: CorpusFacts) -> list[Block]:
    measured = {variant: results.browsers[model].evidence for variant, model in models.items()}
    evidence = {variant: each for variant, each in measured.items() if each}
    if not evidence or facts.evidence is None:
        return []
    first = next(iter(evidence.values()))
    text = say(
        "Evidence, {description}, is {share}% of the words of {documents} such documents. Its "
        "share of the weight, by variant:",
        description=describe_evidence(facts),
        share=f"{100 * first.words:.1f}",
        documents=first.documents,
    )
    shares: list[str | Span] = [f"{text} "]
    for variant, each in evidence.items():
        shares += [", "] if len(shares) > 1 else []
        shares += [f"{variant} ", Span(f"{100 * each.weight:.1f}%", "strong")]
    sentence: Texts = (*shares, ".")
    return [Paragraph(sentence, media=(PAGE,))]
