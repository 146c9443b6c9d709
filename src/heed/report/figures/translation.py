"""The figures of a translation: alignments, BLEU by share, gradients."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heed.report.browser import read_prediction_table
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.heatmaps import word_labels
from heed.report.figures.shapes import EVERYWHERE, PAGE, Axis, Figure, Mark, Panel
from heed.report.figures.variants import MAX_VARIANTS, Drawn, make_figure, ordered_variants
from heed.report.figures.vega import as_svg
from heed.report.results import Results
from heed.tasks.translation.metrics import TRUNCATION, Gold, read_links

if TYPE_CHECKING:  # it loads torch
    from heed.tasks.translation.prediction import Translation

MODELS = 2  # side by side
CELL, LETTER = 0.17, 0.062  # inches: a pair of words in a heat map, a letter of a label
ALL = 1_000_000  # in place of the hyperparameters by which models of one group differ


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


Maps = list[tuple[Sentence, str, np.ndarray | None]]  # a sentence, a title and weights


def read_sentences(results: Results, experiment: Experiment) -> list[Sentence]:
    """Return the sentences, the same for all models, by length. Raises HeedError: a broken file."""
    tables, weights = {}, {}
    for variant, model in results.models(experiment).items():
        folder = results.prediction_folder(model)
        tables[variant] = read_prediction_table(folder / "sentences.parquet").set_index("id")
        weights[variant] = read_prediction_table(folder / "weights.parquet")
    first, sentences = next(iter(tables.values())), []  # all have the same
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


def alignments(drawn: Drawn) -> Iterator[Figure]:
    """Yield a heat map of each sentence that is shown: of the first two models with weights."""
    results, experiment, words = drawn.results, drawn.experiment, drawn.experiment.words
    if not results.prints_texts(experiment):
        return
    sentences, models = read_sentences(results, experiment), results.models(experiment)
    weighed = set().union(*(sentence.weights for sentence in sentences))
    order = dict.fromkeys([*experiment.result.attention, *experiment.result.models])
    known = [*filter(weighed.__contains__, order)][:MODELS]
    files = [results.prediction_folder(models[name]) / "weights.parquet" for name in known]
    for number, sentence in enumerate(sentences if known else [], 1):
        maps = [(sentence, words[name], sentence.weights.get(name)) for name in known]
        yield _alignment(
            f"{experiment.key}_alignment-{number}", maps, f"{sentence.source} {sentence.reference}",
            words[known[0]], sources=results.sources.add(*files),
            media=EVERYWHERE if experiment.publishable else PAGE,
            subject=" / ".join(words[name] for name in known),
        )  # fmt: skip


def first_alignment(drawn: Drawn) -> Iterator[Figure]:
    """Yield the alignment of the sentence in the middle, by length, for the first screen."""
    found = [*alignments(drawn)]
    yield from (dataclasses.replace(plot, key="alignment") for plot in found[len(found) // 2 :][:1])


def alignment_picture(model: str, translations: "Sequence[Translation]") -> str:
    """Return a heat map of each translation with the weights of a model, numbered, in SVG."""
    maps: Maps = []
    for number, translation in enumerate(translations, 1):
        sides = translation.source_words, translation.target_words
        sentence = Sentence("", translation.text, *sides, None, {}, {})
        maps.append((sentence, f"{number}.", translation.weights))
    texts = " ".join(f"{' '.join(s.source_words)}: {s.reference}" for s, *_ in maps)
    return as_svg(_alignment("alignments", maps, texts, model))


def _alignment(key: str, maps: Maps, told: str, model: str, **about: Any) -> Figure:
    """Return heat maps with cells of one size."""
    across = min(MODELS, len(maps))
    sides = [*zip(*((s.source_words, s.reference_words) for s, *_ in maps), strict=True)]
    columns, lines = (max(map(len, of)) for of in sides)
    above, left = (
        LETTER * max(len(shapes.short_name(word)) for words in of for word in words) for of in sides
    )
    frame, count = (left + 0.25, above + 0.4), (across, -(-len(maps) // across))
    cell, size = shapes.grid((columns, lines), frame, (0.2, 0.2), count, CELL)
    letters = max(4, min(7.2, 44 * cell))
    drawn = ((_marks(sentence, weights, letters), title) for sentence, title, weights in maps)
    panels = [shapes.heat_map(marks, columns, lines, title) for marks, title in drawn]
    return make_figure("alignments", key, panels, size, told, columns=across, model=model, **about)


def _marks(sentence: Sentence, weights: np.ndarray | None, size: float) -> list[Mark]:
    """Return the weights of a model with the gold links, its words above and at the left."""
    sure, possible = sentence.gold or (set(), set())
    rows = [] if weights is None else shapes.squares(weights)
    style: Mark = {"fill": "transparent", "shade": 1, "colour": shapes.SERIES[1]}
    for i, j in sorted(possible):
        ends, dash = (i - 0.42, i + 0.42), shapes.SOLID if (i, j) in sure else shapes.DOTTED
        rows.append(shapes.mark("square", ends, (j - 0.42, j + 0.42), dash=dash, **style))
    rows += word_labels(sentence.source_words, size, True)
    return rows + word_labels(sentence.reference_words, size, False)


def by_share(drawn: Drawn) -> Iterator[Figure]:
    """Yield BLEU by the share of training pairs, a line for models with no other difference."""
    lines = dict(itertools.islice(_lines_by_share(drawn), MAX_VARIANTS))
    if not lines:
        return
    means = {name: table.groupby("x")["value"].mean() for name, table in lines.items()}
    lost = {name: scores.iloc[-1] - scores.iloc[0] for name, scores in means.items()}
    most, rows = max(lost, key=lost.__getitem__), drawn.lines(lines)
    ticks = {x: f"{100 * x:g}%" for x in sorted(pd.concat(means.values()).index.unique())}
    x = Axis("share of the training pairs", (min(ticks) / 1.1, max(ticks) * 1.1), ticks, "log")
    panel = Panel(rows, x, Axis("BLEU", shapes.extent(rows, low=0)))
    yield drawn.figure(
        "shares", [panel], sources=drawn.results.comparison_sources,
        model=drawn.experiment.sentences[most], points=f"{lost[most]:.1f}",
    )  # fmt: skip


def _lines_by_share(drawn: Drawn) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each line, and BLEU, `value`, by share, `x`, of all runs on it."""
    models, groups = drawn.experiment.result.models, dict[object, list[str]]()
    for variant in ordered_variants(drawn.results, drawn.experiment):
        h = models[variant].hyperparameters
        key = dataclasses.replace(h, training_share=ALL, epochs=ALL)
        groups.setdefault(key, []).append(variant)
    share = {name: float(model.hyperparameters.training_share) for name, model in models.items()}
    for group in groups.values():
        rows = [(share[n], 100 * bleu) for n in group for bleu in models[n].summary["bleu"].values]
        table = pd.DataFrame(rows, columns=["x", "value"])
        if table["x"].nunique() > 1:
            yield max(group, key=share.__getitem__), table


def first_word(drawn: Drawn) -> Iterator[Figure]:
    """Yield the gradient at the first word by length, whole and truncated: a file alone."""
    results, models, count, found = drawn.results, drawn.results.models(drawn.experiment), 0, {}
    for variant, lengths in drawn.read("lengths").items():
        drawn.files.append(results.prediction_folder(models[variant]) / "gradients.parquet")
        gradients = read_prediction_table(drawn.files[-1])
        count = max(count, gradients["id"].nunique())
        table = gradients_by_length(gradients, np.unique(lengths["longest"]))
        value = table["forward_relative"].fillna(table["relative"])
        found[variant] = table.assign(x=table["mean_length"], value=value)
    whole, cut = (
        {name: table[(table["truncation"] > 0) == truncated] for name, table in found.items()}
        for truncated in (False, True)
    )
    left, right = drawn.lines(whole, named=False), drawn.lines(cut)
    x = Axis("words of the source", shapes.extent([*left, *right], "x"), count=3)
    y = Axis("gradient, mean word = 1", shapes.extent([*left, *right], low=0))
    bare, cut_off = dataclasses.replace(y, title="", labels=False), f"through {TRUNCATION} steps"
    panels = [Panel(left, x, y, "through all steps"), Panel(right, x, bare, cut_off)]
    yield drawn.figure(
        "gradients", panels, columns=2, count=count,
        share=f"{whole[drawn.variants[0]]['value'].iloc[-1]:.2f}",
    )  # fmt: skip


def gradients_by_length(table: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """Return the mean gradient at the first position, relative to the sentence's, by length."""
    first = table[table["position"] == 0]
    longest = edges[np.searchsorted(edges, first["source_words"].to_numpy())]
    groups = first.assign(longest=longest).groupby(["truncation", "longest"], sort=True)
    means = groups[["source_words", "relative", "forward_relative"]].mean()
    return means.rename(columns={"source_words": "mean_length"}).reset_index()
