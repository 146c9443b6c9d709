"""Alignments: the attention of a decoder between the words of a sentence and its translation."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from heed.report.browser import read_prediction_table
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.heatmaps import heat_map, word_labels
from heed.report.figures.shapes import EVERYWHERE, PAGE, Figure, Panel
from heed.report.figures.variants import make_figure
from heed.report.figures.vega import as_svg
from heed.report.results import Results
from heed.tasks.translation.metrics import Gold, read_links

if TYPE_CHECKING:  # it loads torch
    from heed.tasks.translation.prediction import Translation

MODELS = 2  # side by side
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
        folder = results.prediction_folder(model)
        tables[variant] = read_prediction_table(folder / "sentences.parquet").set_index("id")
        weights[variant] = read_prediction_table(folder / "weights.parquet")
    sentences = []
    first = next(iter(tables.values()))  # all have the same
    for (id_, row), gold in zip(first.iterrows(), read_links(first["gold"]), strict=True):
        source, reference = list(row["source_words"]), list(row["reference_words"])
        matrices = {}
        for variant, pairs in weights.items():
            own = pairs[pairs["id"] == id_].astype({"target": int, "source": int})
            if len(own):
                matrices[variant] = matrix = np.zeros((len(reference), len(source)))
                matrix[own["target"], own["source"]] = own["weight"]
        said = {name: str(table.loc[str(id_), "hypothesis"]) for name, table in tables.items()}
        texts = str(row["source"]), str(row["reference"])
        sentences.append(Sentence(*texts, source, reference, gold, said, matrices))
    return sentences


def alignments(results: Results, experiment: Experiment) -> list[Figure]:
    """Return a heat map of each sentence that is shown: of the first two models with weights.

    Text that may not be published is on the page alone.
    """
    if not results.prints_texts(experiment):
        return []
    sentences, order = read_sentences(results, experiment), experiment.result
    known = [
        name
        for name in dict.fromkeys([*order.attention, *order.models])
        if any(name in each.weights for each in sentences)
    ][:MODELS]
    models, words = results.models(experiment), experiment.words
    files = (results.prediction_folder(models[name]) / "weights.parquet" for name in known)
    sources = results.sources.add(*files)
    figures = []
    for number, each in enumerate(sentences if known else [], 1):
        titles = {words[name]: each.weights.get(name) for name in known}
        panels, size = _maps([(each, name, of) for name, of in titles.items()], MODELS)
        figure = make_figure(
            "alignments", f"{experiment.key}_alignment-{number}", sources, panels, size,
            f"{each.source} {each.reference}", media=EVERYWHERE if experiment.publishable else PAGE,
            model=words[known[0]],
        )  # fmt: skip
        figures.append(dataclasses.replace(figure, subject=" / ".join(titles)))
    return figures


def first_alignment(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the alignment of the sentence in the middle, by length, for the first screen."""
    found = alignments(results, experiment)
    return [dataclasses.replace(each, key="alignment") for each in found[len(found) // 2 :][:1]]


def alignment_picture(model: str, translations: "Sequence[Translation]") -> str:
    """Return a heat map of each translation with the weights of a model, numbered, in SVG."""
    maps = [
        (Sentence("", each.text, each.source_words, each.target_words, None, {}, {}),
         f"{number}.", each.weights)
        for number, each in enumerate(translations, 1)
    ]  # fmt: skip
    panels, size = _maps(maps, MODELS)
    texts = " ".join(f"{' '.join(each.source_words)}: {each.text}" for each in translations)
    return as_svg(make_figure("alignments", "alignments", (), panels, size, texts, model=model))


def _maps(
    maps: Sequence[tuple[Sentence, str, np.ndarray | None]], across: int
) -> tuple[list[list[Panel]], tuple[float, float]]:
    """Return heat maps with cells of one size, so many side by side, and their size in inches."""
    across = min(across, len(maps))
    columns, lines = (
        max(len(words) for words in of)
        for of in zip(*((s.source_words, s.reference_words) for s, *_ in maps), strict=True)
    )
    above, left = (
        LETTER * max(len(shapes.short_name(word)) for words in of for word in words)
        for of in zip(*((s.source_words, s.reference_words) for s, *_ in maps), strict=True)
    )
    down = math.ceil(len(maps) / across)
    cell = min(
        CELL, ((shapes.WIDE - 0.2) / across - left - 0.25) / columns,
        ((shapes.MAX_HEIGHT - 0.2) / down - above - 0.4) / lines,
    )  # fmt: skip
    panels = [
        _map(sentence, title, weights, max(4, min(7.2, 44 * cell)), (columns, lines))
        for sentence, title, weights in maps
    ]
    wide = max(across * (columns * cell + left + 0.25) + 0.2, shapes.WIDTH)
    high = down * (lines * cell + above + 0.4) + 0.2
    return shapes.in_rows(panels, across), (wide, high)


def _map(
    sentence: Sentence, title: str, weights: np.ndarray | None, size: float,
    shape: tuple[int, int],
) -> Panel:  # fmt: skip
    """Return the weights of a model with the gold links, its words above and at the left."""
    sure, possible = sentence.gold or (set(), set())
    rows = [] if weights is None else shapes.squares(weights)
    for i, j in sorted(possible):
        dash = shapes.SOLID if (i, j) in sure else shapes.DOTTED
        ends = (i - 0.42, i + 0.42), (j - 0.42, j + 0.42)
        rows.append(shapes.area(*ends, "transparent", 1, shapes.SERIES[1], dash))
    rows += word_labels(sentence.source_words, size, True)
    rows += word_labels(sentence.reference_words, size, False)
    return heat_map(rows, *shape, title)
