"""The paper: introduction, method, results, limits, references; and how heed is cited.

Its tables and figures are those of the page. What it leaves out stands there and in the files.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import yaml

from heed import __version__ as VERSION
from heed.corpora.kinds import KINDS
from heed.report.blocks import (
    PAPER,
    Block,
    Figure,
    Group,
    Heading,
    Legend,
    Paragraph,
    Section,
    ShadedDocument,
    Span,
    Table,
    Term,
    walk_blocks,
)
from heed.report.chapters.provenance import all_machine_kinds
from heed.report.chapters.shared import DEGENERATE, glossary_key
from heed.report.chapters.summary import FIRST, lists
from heed.report.experiments import Experiment
from heed.report.formats import format_count, pluralize
from heed.report.measures import degenerate_sentence
from heed.report.results import Results

# As CITATION.cff has them; a test compares both. The report does not read that file, so that a
# report is the same in every folder.
TITLE, AUTHOR, YEAR = "heed: does attention help?", "The heed team", "2026"


class Reference(TypedDict):
    """An entry of references.yaml."""

    key: str
    topic: str
    of: list[str]
    text: str


def citation(study: str) -> str:
    """Return the BibTeX entry of heed, with the name of a study.

    Double braces: the team is one name, and the title keeps its case.
    """
    return (
        f"@software{{heed,\n  title = {{{{{TITLE}}}}},\n  author = {{{{{AUTHOR}}}}},\n"
        f"  year = {{{YEAR}}},\n  version = {{{VERSION}}},\n  note = {{Study {study}}}\n}}"
    )


def paper(results: Results, report: list[Block]) -> list[Block]:
    """Return the sections of the paper; `report` are those of the page."""
    sections = {each.key: each.blocks for each in report if isinstance(each, Section)}
    found = references(results)
    entries = (Term(each["key"], "", (each["text"],)) for each in found)
    heed = Term("heed", "", (f"{AUTHOR} ({YEAR}). {TITLE} Software, version {VERSION}.",))
    return [
        Section("introduction", "Introduction", tuple(_introduction(results))),
        Section("method", "Method", tuple(_method(results, report, found))),
        Section("results", "Results", tuple(_results(results, sections))),
        Section("limits", "Limits", tuple(_limits(results, sections))),
        Section("references", "References", (Group((heed, *entries), "references"),)),
    ]


def _introduction(results: Results) -> Iterator[Block]:
    """Yield what was asked, and of which corpora."""
    experiments = results.experiments
    listed = "; ".join(
        f"{each.title.rstrip('.')} (corpus {each.corpus_name}: "
        f"{format_count(each.result.corpus.statistics.documents)} "
        f"{'pairs of sentences' if each.measure.is_of_sentences else 'documents'})"
        for each in experiments
    )
    text = pluralize(
        "Does attention help? In {count} experiment this study compares a network with attention "
        "with networks that lack it and with simpler models: {listed}.",
        "Does attention help? In {count} experiments this study compares networks with attention "
        "with networks that lack it and with simpler models: {listed}.",
        len(experiments),
        listed=listed,
    )
    yield Paragraph((" ".join(filter(None, [text, results.params.study.note])),))


def _method(results: Results, report: list[Block], found: list[Reference]) -> Iterator[Block]:
    """Yield seeds, splits, tuning and statistics, in words."""
    text = " ".join([*_trainings(results), _tuning(results)])
    yield Paragraph((text, " ", "The study was computed by heed", " ", _cite("heed"), "."))
    blocks, degenerate = [*walk_blocks(report)], glossary_key(DEGENERATE)
    for each in blocks:
        if isinstance(each, Table) and each.key.startswith(FIRST):
            yield from map(Paragraph, each.notes)
    if any(
        degenerate_sentence(each.result, results.comparison.seeds_of(each.key))
        for each in results.experiments
    ):
        terms = (each for each in blocks if isinstance(each, Term) and each.key == degenerate)
        yield from (Paragraph(each.texts) for each in terms)
    yield _sources(found)


def _trainings(results: Results) -> Iterator[str]:
    """Yield how networks are trained: seeds, splits, and whether longer trainings tried more."""
    seeds = results.comparison.seeds
    yield pluralize(
        "Every network is trained with {count} seed ({seeds}), which fixes its initial weights "
        "and the order of its batches.",
        "Every network is trained with each of {count} seeds ({seeds}), which fix its initial "
        "weights and the order of its batches.",
        len(seeds),
        seeds=", ".join(map(str, seeds)),
    )
    yield (
        "It learns from the training split, the validation split decides on epochs and other "
        "choices, and all scores are of the test split, which decides nothing."
    )
    for each in results.experiments:
        if each.result.seeds:
            yield f"In {each.title} the seeds are {', '.join(map(str, each.result.seeds))}."
    if any(each.result.corpus.folds for each in results.experiments):
        yield "With folds each seed tests on another part of the corpus."
    if results.params.study.longer_training:
        yield "Whether it has converged, a training with twice the epochs and one seed shows."


def _tuning(results: Results) -> str:
    """Return which models were tuned, and by how many trials."""
    params = results.params
    tuned = [
        pluralize(
            "{models} ({count} trial)",
            "{models} ({count} trials)",
            params.searches[name].trials,
            models=", ".join(params.searched_models(name)),
        )
        for each in results.experiments
        for name in results.searches(each)
    ]
    return (
        f"Hyperparameters were searched on the validation split: {'; '.join(tuned)}."
        if tuned
        else "No hyperparameters were searched: they are as params.yaml has them."
    )


def _sources(found: list[Reference]) -> Paragraph:
    """Return what each reference is cited for."""
    topics: dict[str, list[str]] = {}
    for each in found:
        topics.setdefault(each["topic"], []).append(each["key"])
    texts: list[str | Span] = ["Sources:"]
    for number, (topic, keys) in enumerate(topics.items()):
        texts += [f"{';' if number else ''} {topic} ", _cite(",".join(keys))]
    return Paragraph((*texts, "."))


def _cite(keys: str) -> Span:
    return Span(keys, "cite")


def _results(results: Results, sections: dict[str, tuple[Block, ...]]) -> Iterator[Block]:
    """Yield the chart of all models; of each experiment its sentence, its scores, its figure."""
    yield from (each for each in _of_paper(sections["answer"], Figure) if each.in_rows)
    for each in results.experiments:
        yield from _experiment(each, sections[f"experiment-{each.key}"], len(results.experiments))
    yield from _of_paper(sections["answer"], Legend)
    examples = _of_paper(sections["answer"], (Figure, ShadedDocument))
    yield from (each for each in examples if not getattr(each, "in_rows", False))
    for key, title in (
        ("talk", "The talk’s gains"),
        ("explanation", "What the weights explain"),
    ):
        if tables := [*_of_paper(sections.get(key, ()), Table)]:
            yield Heading(title)
            yield tables[0]


def _experiment(
    experiment: Experiment, blocks: tuple[Block, ...], experiments: int
) -> Iterator[Block]:
    mark = f" ({experiment.printed_mark})" if experiment.printed_mark else ""
    yield Heading(f"{experiment.title}{mark}")
    if experiments == 1:
        yield Paragraph((Span(experiment.answer.sentence, "verdict"),))
    shown = (each for each in blocks if PAPER in each.media)
    yield from itertools.takewhile(lambda each: not isinstance(each, Table), shown)
    yield from [each for each in _of_paper(blocks, Table) if each.style == "scores"][:1]
    yield from [*_of_paper(blocks, Figure)][:1]


def _limits(results: Results, sections: dict[str, tuple[Block, ...]]) -> Iterator[Block]:
    """Yield what cannot be said, what would settle it, and where all numbers are."""
    yield from sections.get("expected_results-not-found", ())
    yield from lists(results, first=1)
    yield from all_machine_kinds(results)
    files = (
        "The page, index.html, has every table and figure of this document and more, and lists the "
        "file that each comes from, with DVC’s hash of it and the command that makes it again. The "
        "folder tables has every number as CSV."
    )
    yield Paragraph((files,))


def _of_paper(blocks: Iterable[Block], kind: type | tuple[type, ...]) -> Iterator[Any]:
    """Yield the blocks of a kind, also those within others, that paper may have."""
    for block in blocks:
        if PAPER in block.media:
            if isinstance(block, kind):
                yield block
            yield from _of_paper(getattr(block, "blocks", ()), kind)


def references(results: Results) -> list[Reference]:
    """Return the references that the study calls for."""
    facts = {"study", "explained"} if results.explanations else {"study"}
    facts = facts.union(*map(_facts, results.experiments))
    return [each for each in all_references() if facts & {*each["of"]}]


def _facts(experiment: Experiment) -> set[str]:
    """Return what an experiment has that references are of."""
    result, kind = experiment.result, KINDS.get(experiment.result.corpus.statistics.kind)
    models = result.models.values()
    return {
        *(["folds"] if result.corpus.folds else []),
        *([kind.source.name] if kind else []),
        experiment.measure.task,
        *result.reference_models,
        *(score for each in models for score in each.hyperparameters.score_functions),
    }


@functools.cache
def all_references() -> list[Reference]:
    """Return the entries of references.yaml."""
    text = Path(__file__).parents[1].joinpath("references.yaml").read_text(encoding="utf-8")
    found: list[Reference] = yaml.safe_load(text)
    return found
