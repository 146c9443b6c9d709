"""The sentences of a translation that the report shows: what models wrote, and their attention."""

import dataclasses
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np

from heed.report.blocks import (
    EVERYWHERE,
    PAGE,
    PAPER,
    Block,
    Column,
    Disclosure,
    Figure,
    Group,
    Panel,
    Paragraph,
    Phrase,
    Source,
    Span,
    Table,
    make_rows,
)
from heed.report.browser import read_prediction_table
from heed.report.chapters.shared import caution, join_columns, on_page
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.heatmaps import heat_map, word_labels
from heed.report.figures.variants import describe_choice, drawn_variants
from heed.report.formats import COUNT
from heed.report.results import Results
from heed.tasks.translation.metrics import Gold, read_links

WORD = re.compile(r"\w+|[^\w\s]")
SHOWN_MAPS = 2  # of the sentences, in the open
CELL, LETTER = 0.17, 0.062  # inches: a pair of words in a heat map, a letter of a label


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A pair of sentences with each model's translation and weights, (reference, source words)."""

    source: str
    reference: str
    source_words: list[str]
    reference_words: list[str]
    gold: Gold | None
    translations: dict[str, str]
    weights: dict[str, np.ndarray]


def read_sentences(results: Results, experiment: Experiment) -> list[Sentence]:
    """Return the sentences, the same for all models, by length. Raises HeedError: a broken file."""
    tables, weights = {}, {}
    for variant, model in results.models(experiment).items():
        table = read_prediction_table(predicted_path(results, model, "sentences")).set_index("id")
        tables[variant] = table
        weights[variant] = read_prediction_table(predicted_path(results, model, "weights"))
    sentences = []  # of any table: all have the same
    for (id_, row), gold in zip(table.iterrows(), read_links(table["gold"]), strict=True):
        source, reference = list(row["source_words"]), list(row["reference_words"])
        matrices = {}
        for variant, pairs in weights.items():
            own = pairs[pairs["id"] == id_].astype({"target": int, "source": int})
            if len(own):
                matrices[variant] = matrix = np.zeros((len(reference), len(source)))
                matrix[own["target"], own["source"]] = own["weight"]
        translations = {
            name: str(each.loc[str(id_), "hypothesis"]) for name, each in tables.items()
        }
        texts = str(row["source"]), str(row["reference"])
        sentences.append(Sentence(*texts, source, reference, gold, translations, matrices))
    return sentences


def _sources(results: Results, experiment: Experiment, name: str) -> tuple[Source, ...]:
    models = results.models(experiment).values()
    return results.sources.add(*(predicted_path(results, model, name) for model in models))


def mark_wrong(hypothesis: str, reference: str) -> Phrase:
    """Return a translation with the words marked that the reference does not have as often."""
    left = Counter(WORD.findall(reference))
    texts: list[str | Span] = []
    end = 0
    for word in WORD.finditer(hypothesis):
        left[word[0]] -= 1
        if left[word[0]] < 0:
            texts += [hypothesis[end : word.start()], Span(word[0], "wrong")]
            end = word.end()
    return Phrase(tuple(filter(None, [*texts, hypothesis[end:]])))


def count_wrong(phrase: Phrase) -> int:
    """Return the number of words that are marked."""
    return sum(isinstance(text, Span) for text in phrase.texts)


def predicted_path(results: Results, model: str, name: str) -> Path:
    """Return the path of a table of `heed score`."""
    return results.folder / "predict" / model / f"{name}.parquet"


def shown_blocks(results: Results, experiment: Experiment) -> list[Block]:
    """Return heat maps and examples; a sentence in their place where texts may not be published."""
    is_on_page = results.with_documents or experiment.publishable
    media = (PAGE,) * is_on_page + (PAPER,) * experiment.publishable
    others = tuple(medium for medium in EVERYWHERE if medium not in media)
    reason = (
        "The sentences of this corpus are left out of what may be published, since heed did not "
        "generate them. reports/index.html has them, with the attention between their words and "
        "the translations of each model."
    )
    blocks = _printed_sentences(results, experiment, media) if media else []
    return [*blocks, Paragraph((reason,), "small", media=others)] if others else blocks


def first_alignment(results: Results, experiment: Experiment) -> list[Block]:
    """Return the alignment of the sentence in the middle, by length, for the first screen."""
    if not results.prints_texts(experiment):
        return []
    sentences = read_sentences(results, experiment)
    names = [name for name in experiment.result.attention if name in sentences[0].weights][:1]
    if not names:
        return []
    sentence = sentences[len(sentences) // 2]
    shown = _alignment(results, experiment, sentence, names, 0)
    key = (
        "A row is a word of the reference; the stronger the colour of a square, the more weight "
        "the source word has when it is written."
    )
    if sentence.gold and any(sentence.gold):
        key += " Outlined: gold links."
    figure = dataclasses.replace(
        shown, key="alignment", title="Attention in one sentence", caption=key, wide=False
    )
    media = EVERYWHERE if experiment.publishable else (PAGE,)
    return [dataclasses.replace(figure, media=media)]


def _printed_sentences(
    results: Results, experiment: Experiment, media: tuple[str, ...]
) -> list[Block]:
    sentences = read_sentences(results, experiment)
    rule = described("shown_sentences", count=len(sentences))
    examples = _examples(results, experiment, sentences)
    maps = alignments(results, experiment, sentences)
    middle = max(len(maps) - SHOWN_MAPS, 0) // 2  # neither the shortest sentences nor the longest
    shown = maps[middle : middle + SHOWN_MAPS]
    more = on_page(each for each in maps if each not in shown)
    key = described("alignments")
    texts = (f"{key} ", rule, " ", *caution(results, experiment)) if maps else (rule,)
    summary = "More sentences, and their translations"
    folded = [examples, *([Group(more, "plots", media=media)] if more else [])]
    return [
        Paragraph(texts, media=media),
        *([Group(shown, "plots", media=media)] if maps else []),
        Disclosure(summary, tuple(folded), "others", media=media),
    ]


def _examples(results: Results, experiment: Experiment, sentences: list[Sentence]) -> Table:
    variants = drawn_variants(results, experiment)
    columns = (
        *join_columns(lambda _: experiment),
        Column("", "Sentence", value=lambda row: f"{row[0]} {row[1]}"),
        Column("sentence", "", COUNT, lambda row: row[0]),
        Column("text_of", "", value=lambda row: row[1]),
        Column("text", "Text", value=lambda row: row[2], width=115),
        Column("wrong_words", "", COUNT, lambda row: row[3]),
    )
    rows: list[tuple[int, str, Phrase | str, int | None]] = []
    for number, each in enumerate(sentences, 1):
        rows.append((number, "source", each.source, None))
        rows.append((number, "reference", each.reference, None))
        for variant in variants:
            marked = mark_wrong(each.translations[variant], each.reference)
            rows.append((number, variant, marked, count_wrong(marked)))
    caption = "Underlined: words of a translation that the reference does not have."
    return Table(
        f"{experiment.key}_examples",
        "Examples",
        columns,
        make_rows(columns, rows),
        caption=caption + describe_choice(results, experiment, variants),
        sources=_sources(results, experiment, "sentences"),
        mark=experiment.mark,
        style="scores",
        media=(PAGE,),
    )


def alignments(
    results: Results, experiment: Experiment, sentences: list[Sentence]
) -> tuple[Figure, ...]:
    """Return a heat map of each sentence: the weights of the first two models that have any."""
    result = results.comparison.experiments[experiment.key]
    order = dict.fromkeys([*result.attention, *result.models])
    names = [name for name in order if any(name in each.weights for each in sentences)][:2]
    if not names:
        return ()
    return tuple(
        _alignment(results, experiment, sentence, names, number)
        for number, sentence in enumerate(sentences, 1)
    )


def _alignment(
    results: Results, experiment: Experiment, sentence: Sentence, names: list[str], number: int
) -> Figure:
    caption = (
        f"{len(sentence.source_words)} words of the source, {len(sentence.reference_words)} of "
        "the reference."
    )
    text = f"Source: {sentence.source} Reference: {sentence.reference}"
    size, across, cell = _layout(sentence, len(names))

    maps = [_map(sentence, name, cell, names.index(name) % across == 0) for name in names]
    panels = [maps[start : start + across] for start in range(0, len(maps), across)]

    return Figure(
        f"{experiment.key}_alignment-{number}",
        f"Attention in sentence {number}",
        caption,
        _sources(results, experiment, "weights"),
        panels,
        size,
        subject=" / ".join(names),
        alt_text=shapes.alt_text(experiment, f"{caption} {text}"),
        wide=size[0] > shapes.WIDTH,
    )


def alignment_picture(sentences: list[Sentence], name: str) -> Figure:
    """Return a heat map of each sentence with the weights of a model, all with cells of one size.

    A row is a word of the translation.
    """
    across, columns = min(len(sentences), 2), max(len(each.source_words) for each in sentences)
    lines = max(len(each.reference_words) for each in sentences)
    at_left, above = (
        LETTER * max(len(shapes.short_name(word)) for words in every for word in words)
        for every in zip(*((each.reference_words, each.source_words) for each in sentences),
                         strict=True)
    )  # fmt: skip
    cell = min(CELL, ((shapes.WIDE - 0.2) / across - at_left - 0.25) / columns)
    wide = across * (columns * cell + at_left + 0.25) + 0.2
    high = math.ceil(len(sentences) / across) * (lines * cell + above + 0.4) + 0.2
    maps = [
        dataclasses.replace(
            heat_map([*_map(each, name, cell, True).rows], columns, lines),
            title=f"{number}.",
        )
        for number, each in enumerate(sentences, 1)
    ]
    panels = [maps[start : start + across] for start in range(0, len(maps), across)]
    texts = " ".join(f"{' '.join(each.source_words)}: {each.reference}" for each in sentences)
    title = f"Attention of {name}, from the words above to those at the left"
    return Figure("alignments", title, "", (), panels, (wide, high), alt_text=texts)


def _layout(sentence: Sentence, count: int) -> tuple[tuple[float, float], int, float]:
    """Return the size of the maps, how many stand side by side or stacked, and a cell's inches."""
    rows, columns = len(sentence.reference_words), len(sentence.source_words)
    labels, heads = (
        LETTER * max(map(len, map(shapes.short_name, words)), default=0)
        for words in (sentence.reference_words, sentence.source_words)
    )
    layouts = []
    for across in {count, 1}:
        down = count // across
        width = (shapes.WIDE - labels - 0.2 - 0.25 * across) / (across * columns)
        height = ((shapes.MAX_HEIGHT - 0.2) / down - heads - 0.4) / rows
        cell = min(CELL, width, height)
        wide = max(across * (columns * cell + 0.25) + labels + 0.2, shapes.WIDTH)
        layouts.append(((wide, down * (rows * cell + heads + 0.4) + 0.2), across, cell))
    return max(layouts, key=lambda each: each[:0:-1])


def _map(sentence: Sentence, name: str, cell: float, at_left: bool) -> Panel:
    """Return the weights of a model with the gold links, its words above and at the left."""
    weights, (sure, possible) = sentence.weights.get(name), sentence.gold or (set(), set())
    rows = [] if weights is None else shapes.squares(weights)
    for i, j in sorted(possible):
        rows.append(
            shapes.outline(
                i, j, shapes.SERIES[1], shapes.SOLID if (i, j) in sure else shapes.DOTTED
            )
        )
    size = max(4, min(7.2, 44 * cell))
    rows += word_labels(sentence.source_words, size, True)
    rows += word_labels(sentence.reference_words, size, False) if at_left else []
    panel = heat_map(rows, len(sentence.source_words), len(sentence.reference_words))
    return dataclasses.replace(panel, x=dataclasses.replace(panel.x, title=shapes.short_name(name)))
