"""The figures of a translation: links by distance, BLEU by what was read, gradients."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from heed.report.browser import read_prediction_table
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.shapes import EVERYWHERE, FILES, Axis, Figure, Panel
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
from heed.report.results import Results
from heed.tasks.translation.metrics import TRUNCATION

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
    ranges = {
        float(place): str(last) if last == before + 1 else f"{before + 1}–{last}"
        for place, (before, last) in enumerate(itertools.pairwise([-1, *furthest]))
    }
    lines = {}
    for variant, table in tables.items():
        places, value = table["furthest"].map(furthest.index), 100 * table["found"] / table["links"]
        lines[variant] = pd.DataFrame({"x": places, "value": value})
    means = lines[variants[0]].groupby("x")["value"].mean()
    x = Axis(captions()["distances_x"], (-0.3, len(ranges) - 0.7), ranges)
    return [
        make_figure(
            "distances", f"{experiment.key}_distances", results.sources.add(*files),
            [[_panel(experiment, lines, x, "links found, %")]],
            more=describe_choice(results, experiment, drawn), told=experiment.title, media=FILES,
            near=f"{means.iloc[0]:.0f}", far=f"{means.iloc[-1]:.0f}",
        )
    ]  # fmt: skip


def by_share(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by the share of the training pairs; nothing where all models read all."""
    order, models = ordered_variants(results, experiment), experiment.result.models
    groups: dict[object, list[str]] = {}
    for variant in order:
        h = models[variant].hyperparameters
        key = dataclasses.replace(h, training_share=ALL, epochs=ALL)
        groups.setdefault(key, []).append(variant)
    share = {name: float(models[name].hyperparameters.training_share) for name in order}
    lines: dict[str, pd.DataFrame] = {}
    for group in groups.values():
        rows = [(share[n], 100 * each) for n in group for each in models[n].summary["bleu"].values]
        table = pd.DataFrame(rows, columns=["x", "value"])
        if table["x"].nunique() > 1 and len(lines) < MAX_VARIANTS:
            lines[max(group, key=share.__getitem__)] = table
    if not lines:
        return []
    means = {name: table.groupby("x")["value"].mean() for name, table in lines.items()}
    lost = {name: each.iloc[-1] - each.iloc[0] for name, each in means.items()}
    most = max(lost, key=lambda name: lost[name])
    ticks = {x: f"{100 * x:g}%" for x in sorted({x for each in means.values() for x in each.index})}
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
    models, count = results.models(experiment), 0
    paths = [results.prediction_folder(models[name]) / "gradients.parquet" for name in variants]
    tables = read_tables(results, experiment, "lengths", variants)
    drawn: list[dict[str, pd.DataFrame]] = [{}, {}]
    for path, (variant, lengths) in zip(paths, tables.items(), strict=True):
        gradients = read_prediction_table(path)
        count = max(count, gradients["id"].nunique())
        table = gradients_by_length(gradients, np.unique(lengths["longest"]))
        table["value"] = table["forward_relative"].fillna(table["relative"])
        for number, of in enumerate(drawn):
            of[variant] = table[(table["truncation"] > 0) == bool(number)].rename(
                columns={"mean_length": "x"}
            )
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
