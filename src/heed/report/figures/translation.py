"""The figures of a translation: alignments, links by distance, BLEU by share, gradients."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from heed.report.browser import read_prediction_table
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.heatmaps import heat_map, word_labels
from heed.report.figures.shapes import EVERYWHERE, FILES, PAGE, Axis, Figure, Panel
from heed.report.figures.variants import (
    MAX_VARIANTS,
    captions,
    describe_choice,
    files_of,
    line_marks,
    looks,
    make_figure,
    ordered_variants,
    read_tables,
)
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
    sentences, words = read_sentences(results, experiment), experiment.words
    weighed = set().union(*(each.weights for each in sentences))
    order = dict.fromkeys([*experiment.result.attention, *experiment.result.models])
    known = [*filter(weighed.__contains__, order)][:MODELS]
    models = results.models(experiment)
    files = (results.prediction_folder(models[name]) / "weights.parquet" for name in known)
    sources, media = results.sources.add(*files), EVERYWHERE if experiment.publishable else PAGE
    return [
        make_figure(
            "alignments", f"{experiment.key}_alignment-{number}", sources,
            *_maps([(each, words[name], each.weights.get(name)) for name in known]),
            f"{each.source} {each.reference}", media=media, model=words[known[0]],
            subject=" / ".join(words[name] for name in known),
        )
        for number, each in enumerate(sentences if known else [], 1)
    ]  # fmt: skip


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
    texts = " ".join(f"{' '.join(each.source_words)}: {each.text}" for each in translations)
    return as_svg(make_figure("alignments", "alignments", (), *_maps(maps), texts, model=model))


def _maps(
    maps: Sequence[tuple[Sentence, str, np.ndarray | None]],
) -> tuple[list[list[Panel]], tuple[float, float]]:
    """Return heat maps with cells of one size, and their size in inches together."""
    across = min(MODELS, len(maps))
    sides = [*zip(*((s.source_words, s.reference_words) for s, *_ in maps), strict=True)]
    columns, lines = (max(map(len, of)) for of in sides)
    above, left = (
        LETTER * max(len(shapes.short_name(word)) for words in of for word in words) for of in sides
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


ALL = 1_000_000  # in place of the hyperparameters by which models of one group differ


def by_distance(results: Results, experiment: Experiment, drawn: Sequence[str]) -> list[Figure]:
    """Return the share of gold links that attention finds, by how far they reach: a file alone."""
    models = experiment.result.models
    variants = [name for name in drawn if models[name].hyperparameters.learns_weights]
    files = files_of(results, experiment, "distances", variants)
    if not files or not all(map(Path.exists, files)):
        return []
    tables = read_tables(results, experiment, "distances", variants)
    furthest = sorted({*map(int, pd.concat(tables.values())["furthest"])})
    ranges = [
        str(last) if last == before + 1 else f"{before + 1}–{last}"
        for before, last in itertools.pairwise([-1, *furthest])
    ]
    lines = {}
    for variant, table in tables.items():
        places, value = table["furthest"].map(furthest.index), 100 * table["found"] / table["links"]
        lines[variant] = pd.DataFrame({"x": places, "value": value})
    means = lines[variants[0]].groupby("x")["value"].mean()
    x = Axis(captions()["distances_x"], (-0.3, len(ranges) - 0.7), dict(enumerate(ranges)))
    return [
        make_figure(
            "distances", f"{experiment.key}_distances", results.sources.add(*files),
            [[_panel(experiment, lines, x, "links found, %")]],
            more=describe_choice(results, experiment, drawn), told=experiment.title, media=FILES,
            near=f"{means.iloc[0]:.0f}", far=f"{means.iloc[-1]:.0f}",
        )
    ]  # fmt: skip


def _by_share(results: Results, experiment: Experiment) -> dict[str, pd.DataFrame]:
    """Return BLEU by training share of the models that differ in nothing else, by their largest."""
    models, groups = experiment.result.models, dict[object, list[str]]()
    for variant in ordered_variants(results, experiment):
        h = models[variant].hyperparameters
        key = dataclasses.replace(h, training_share=ALL, epochs=ALL)
        groups.setdefault(key, []).append(variant)
    share = {name: float(each.hyperparameters.training_share) for name, each in models.items()}
    lines = {}
    for group in groups.values():
        rows = [(share[n], 100 * each) for n in group for each in models[n].summary["bleu"].values]
        table = pd.DataFrame(rows, columns=["x", "value"])
        if table["x"].nunique() > 1:
            lines[max(group, key=share.__getitem__)] = table
    return dict(itertools.islice(lines.items(), MAX_VARIANTS))


def by_share(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by the share of the training pairs; nothing where all models read all."""
    lines = _by_share(results, experiment)
    if not lines:
        return []
    means = {name: table.groupby("x")["value"].mean() for name, table in lines.items()}
    lost = {name: each.iloc[-1] - each.iloc[0] for name, each in means.items()}
    most = max(lost, key=lambda name: lost[name])
    shares = sorted({*itertools.chain(*(each.index for each in means.values()))})
    ticks = {x: f"{100 * x:g}%" for x in shares}
    x = Axis("share of the training pairs", (min(ticks) / 1.1, max(ticks) * 1.1), ticks, "log")
    return [
        make_figure(
            "shares", f"{experiment.key}_shares", results.comparison_sources,
            [[_panel(experiment, lines, x, "BLEU")]], told=experiment.title,
            model=experiment.words[most], points=f"{lost[most]:.1f}", media=EVERYWHERE,
        )
    ]  # fmt: skip


def _panel(experiment: Experiment, lines: Mapping[str, pd.DataFrame], x: Axis, y: str) -> Panel:
    rows = line_marks(lines, looks(experiment), experiment.words)
    return Panel(rows, x, Axis(y, shapes.extent(rows, low=0)))


def first_word(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the gradient at the first word by the source's length, whole and truncated.

    It is a file alone. A model without recurrence has no forward direction.
    """
    models, count, found = results.models(experiment), 0, {}
    paths = [results.prediction_folder(models[name]) / "gradients.parquet" for name in variants]
    tables = read_tables(results, experiment, "lengths", variants)
    for path, (variant, lengths) in zip(paths, tables.items(), strict=True):
        gradients = read_prediction_table(path)
        count = max(count, gradients["id"].nunique())
        table = gradients_by_length(gradients, np.unique(lengths["longest"]))
        value = table["forward_relative"].fillna(table["relative"])
        found[variant] = table.assign(x=table["mean_length"], value=value)
    drawn = [
        {name: each[(each["truncation"] > 0) == truncated] for name, each in found.items()}
        for truncated in (False, True)
    ]
    look, words = looks(experiment), experiment.words
    rows = [line_marks(of, look, words if number else {}) for number, of in enumerate(drawn)]
    x = Axis("words of the source", shapes.extent([*rows[0], *rows[1]], "x"), count=3)
    y = Axis("gradient, mean word = 1", shapes.extent([*rows[0], *rows[1]], low=0))
    bare, titles = dataclasses.replace(y, title="", labels=False), f"through {TRUNCATION} steps"
    paths += files_of(results, experiment, "lengths", variants)
    return make_figure(
        "gradients", f"{experiment.key}_gradients", results.sources.add(*paths),
        [[Panel(rows[0], x, y, "through all steps"), Panel(rows[1], x, bare, titles)]],
        told=experiment.title, media=FILES, count=count,
        share=f"{drawn[0][variants[0]]['value'].iloc[-1]:.2f}",
    )  # fmt: skip


def gradients_by_length(table: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """Return the mean gradient at the first position, relative to the sentence's, by length."""
    first = table[table["position"] == 0]
    longest = np.asarray(edges)[np.searchsorted(edges, first["source_words"].to_numpy())]
    groups = first.assign(longest=longest).groupby(["truncation", "longest"], sort=True)
    return groups.agg(
        sentences=("id", "size"),
        mean_length=("source_words", "mean"),
        relative=("relative", "mean"),
        forward_relative=("forward_relative", "mean"),
    ).reset_index()
