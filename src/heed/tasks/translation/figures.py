"""The figures of a translation: links by distance, BLEU by what was read, gradients, states."""

import dataclasses
import itertools
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.browser import read_prediction_table
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.variants import (
    MAX_VARIANTS,
    describe_choice,
    looks,
    make_figure,
    ordered_variants,
    read_tables,
)
from heed.report.results import Results
from heed.tasks.translation.metrics import TRUNCATION
from heed.tasks.translation.sentences import predicted_path

ALL = 1_000_000  # in place of the hyperparameters by which models of one group differ
TITLE_LINE = 14  # characters of a panel's title


def by_distance(results: Results, experiment: Experiment, drawn: Sequence[str]) -> list[Figure]:
    """Return the share of gold links that attention finds, by how far they reach."""
    models = results.comparison.experiments[experiment.key].models
    variants = [name for name in drawn if models[name].hyperparameters.learns_weights]
    folders = [results.evaluation_folder(models[name].model) for name in variants]
    if not folders or not all((folder / "distances.csv").exists() for folder in folders):
        return []
    tables = read_tables(results, experiment, "distances", variants)
    furthest = sorted({*map(int, pd.concat(tables.values())["furthest"])})
    ranges = {
        float(place): str(last) if last == before + 1 else f"{before + 1}–{last}"
        for place, (before, last) in enumerate(itertools.pairwise([-1, *furthest]))
    }
    lines = {}
    for variant, table in tables.items():
        places, found = table["furthest"].map(furthest.index), table["found"] / table["links"]
        lines[variant] = table.assign(group=places, x=places, value=100 * found)
    caption = described("distances") + describe_choice(results, experiment, drawn)
    name = "words between the positions of a linked pair"
    x = Axis(name, (-0.3, len(ranges) - 0.7), ranges)
    title, sources = "Alignment by distance", ("distances", "distances")
    y = "links found, %"
    return [_line_figure(results, experiment, sources, title, caption, x, y, lines)]


def by_share(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by the share of the training pairs; nothing where all models read all."""
    order = ordered_variants(results, experiment)
    groups = _groups(results, experiment, "training_share", "epochs")
    groups = sorted(groups, key=lambda group: order.index(group[-1]))[:MAX_VARIANTS]
    if not groups:
        return []
    models = results.comparison.experiments[experiment.key].models
    lines = {}
    for group in groups:
        rows = [
            (models[name].hyperparameters.training_share, 100 * value)
            for name in group
            for value in models[name].summary["bleu"].values
        ]
        table = pd.DataFrame(rows, columns=["x", "value"])
        lines[group[-1]] = table.assign(group=table["x"])
    shares = sorted({share for table in lines.values() for share in table["x"]})
    caption = described("shares")
    ticks = {share: f"{100 * share:g}%" for share in shares}
    x = Axis("share of the training pairs", (shares[0] / 1.1, shares[-1] * 1.1), ticks, "log")
    title, sources = "BLEU against the number of training pairs", ("shares", "")
    return [_line_figure(results, experiment, sources, title, caption, x, "BLEU", lines)]


def by_cap(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by source length of models that read no long pairs; nothing without such."""
    groups = _groups(results, experiment, "max_source_tokens", "max_target_tokens")
    if not groups:
        return []
    compared = {name for group in groups for name in group}
    variants = [name for name in ordered_variants(results, experiment) if name in compared]
    tables = read_tables(results, experiment, "lengths", variants[:MAX_VARIANTS])
    names = {"longest": "group", "mean_length": "x"}
    lines = {
        variant: table.rename(columns=names).assign(value=100 * table["bleu"])
        for variant, table in tables.items()
    }
    models = results.comparison.experiments[experiment.key].models
    capped = [name for group in groups for name in group[:-1]]
    caps = sorted({models[name].hyperparameters.max_source_tokens for name in capped})
    caption = described(
        "caps",
        cap=", ".join(map(str, caps)),
    )
    x = Axis("words of the source, mean of each group")
    title, sources = "Trained on short sources alone", ("caps", "lengths")
    return [_line_figure(results, experiment, sources, title, caption, x, "BLEU", lines, caps)]


def _line_figure(
    results: Results,
    experiment: Experiment,
    sources: tuple[str, str],
    title: str,
    caption: str,
    x: Axis,
    y_title: str,
    lines: Mapping[str, pd.DataFrame],
    upright: Sequence[float] = (),
) -> Figure:
    """Return a figure of `x` and `value` by variant; lines go through the means of each `group`."""
    rows, look = list[Mark](), looks(results)
    for variant, table in lines.items():
        own = look[variant]
        points = zip(table["x"], table["value"], strict=True)
        rows += [shapes.point(*each, own, 9, hollow=True, wide=0.6) for each in points]
        means = table.groupby("group")[["x", "value"]].mean()
        rows += shapes.line(means["x"], means["value"], own, variant, end=variant)
    domain = shapes.extent(rows, low=0)
    x = x if x.places else dataclasses.replace(x, domain=shapes.extent(rows, "x"))
    rows += [
        shapes.rule((each, 0), (each, domain[1]), shapes.SOFT, dash=shapes.DASHED)
        for each in upright
    ]
    panel = Panel(rows, x, Axis(y_title, domain))
    size = shapes.WIDTH, shapes.HEIGHT
    return make_figure(results, experiment, *sources, title, caption, size, [[panel]], lines)


def _groups(results: Results, experiment: Experiment, name: str, other: str) -> list[list[str]]:
    """Return groups of variants that differ in `name`, the least first, or in `other`, alone."""
    models = results.comparison.experiments[experiment.key].models
    groups: dict[object, list[str]] = {}
    for variant, model in models.items():
        h = model.hyperparameters
        if h.decoder != "concatenate" and not (h.attends and h.score == "location"):
            # of those two the cap is a size of the network
            key = dataclasses.replace(h, **{name: ALL, other: ALL})
            groups.setdefault(key, []).append(variant)

    def value(variant: str) -> float:
        return float(getattr(models[variant].hyperparameters, name))

    differing = [group for group in groups.values() if len({*map(value, group)}) > 1]
    return [sorted(group, key=value) for group in differing]


def first_word(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the gradient at the first word by the source's length: whole, and truncated."""
    models, look = results.models(experiment), looks(results)
    paths = [predicted_path(results, models[variant], "gradients") for variant in variants]
    paths += [results.evaluation_folder(models[variant]) / "lengths.csv" for variant in variants]
    tables, count = {}, 0
    for variant, lengths in read_tables(results, experiment, "lengths", variants).items():
        gradients = read_prediction_table(predicted_path(results, models[variant], "gradients"))
        tables[variant] = gradients_by_length(gradients, np.unique(lengths["longest"]))
        count = max(count, gradients["id"].nunique())
    title = "Gradient at the first word of the source"
    caption = described("gradients", count=count)

    arguments = "gradients", "", title, caption, (shapes.WIDTH, shapes.HEIGHT)
    figure = make_figure(results, experiment, *arguments, [_gradients(tables, look)], ())
    return dataclasses.replace(figure, sources=results.sources.add(*paths))


def _gradients(tables: Mapping[str, pd.DataFrame], look: Mapping[str, shapes.Look]) -> list[Panel]:
    titles = "through all steps", f"truncated to {TRUNCATION} steps"
    rows: tuple[list[Mark], list[Mark]] = [], []
    for number, (variant, table) in itertools.product(range(2), tables.items()):
        part = table[(table["truncation"] > 0) == bool(number)]
        # a model without recurrence has no forward direction
        x, y = part["mean_length"], part["forward_relative"].fillna(part["relative"])
        at_left = not number and not (table["truncation"] > 0).any()  # else named at the right
        end = variant if number or at_left else ""
        rows[number].extend(shapes.line(x, y, look[variant], variant, end=end))
    domain, lengths = (
        shapes.extent([*rows[0], *rows[1]], low=0),
        shapes.extent([*rows[0], *rows[1]], "x"),
    )
    return [
        Panel(
            rows[number],
            Axis("words of the source", lengths, count=3),
            Axis("" if number else "gradient, mean word = 1", domain, labels=not number),
            textwrap.fill(title, TITLE_LINE),  # no wider than the panel on paper
        )
        for number, title in enumerate(titles)
    ]


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
