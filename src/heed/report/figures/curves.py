"""Curves: loss and the validated figure by epoch; accuracy, or BLEU, by the length of texts."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import pandas as pd

from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.variants import (
    MAX_VARIANTS,
    PANEL_NAME,
    Tables,
    describe_choice,
    in_rows,
    least_extent,
    looks,
    make_figure,
    panel_columns,
    read_tables,
    validation_measure,
)
from heed.report.formats import format_count, name_runs
from heed.report.measures import Measure, degenerate_seeds
from heed.report.results import Results

PANEL, FRAME = 1.0, 0.9  # inches: the height of a panel, and of all that is around the panels
TRAIN, VALIDATION = "train_loss", "validation_loss"


def curves(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "curves"
) -> Figure:
    """Return loss (above) and the validated figure (below) by epoch, in a panel for each variant.

    A degenerate run is no part of the band, and is drawn alone, unless every run is degenerate.
    """
    measure, seeds = validation_measure(experiment), results.comparison.seeds_of(experiment.key)
    tables, result = read_tables(results, experiment, "history", variants), experiment.result
    degenerate = {
        name: [*degenerate_seeds(result.models[name], result, seeds)] for name in variants
    }
    alone = {name: runs for name, runs in degenerate.items() if 0 < len(runs) < len(seeds)}
    caption = described("curves", metric=measure.name)
    caption += _describe_degenerate(degenerate, alone)
    rows = 2 * -(-len(variants) // panel_columns(len(variants)))
    size = (
        shapes.WIDTH if len(variants) <= MAX_VARIANTS else shapes.WIDE,
        min(FRAME + PANEL * rows, shapes.MAX_HEIGHT),
    )
    return make_figure(
        results,
        experiment,
        key,
        "history",
        "Training and validation by epoch",
        caption + describe_choice(results, experiment, variants),
        size,
        _panels(tables, looks(results), alone, measure),
        variants,
    )


def _describe_degenerate(degenerate: dict[str, list[int]], alone: dict[str, list[int]]) -> str:
    """Return sentences on degenerate runs: those drawn `alone`, and models that have no other."""
    text = ""
    if alone:
        runs = "; ".join(name_runs(name, seeds) for name, seeds in alone.items())
        text += f" Thin, and no part of a band: degenerate runs ({runs})."
    if names := [name for name, runs in degenerate.items() if runs and name not in alone]:
        text += f" Every run is degenerate of: {', '.join(names)}."
    return text


def _panels(
    tables: Tables,
    look: Mapping[str, shapes.Look],
    alone: Mapping[str, list[int]],
    measure: Measure,
) -> list[list[Panel]]:
    """Return a row of panels of the loss and one of the metric, for each row of variants."""
    metric = f"validation_{measure.metric}"
    losses = _quantity(tables, look, alone, {TRAIN: shapes.DASHED, VALIDATION: shapes.SOLID}, 1.0)
    values = _quantity(tables, look, alone, {metric: shapes.SOLID}, measure.scaled(1.0))
    named = [*tables][panel_columns(len(tables)) - 1]  # the uppermost at the right
    for key, text in ((TRAIN, "train"), (VALIDATION, "validate")):
        line = [row for row in losses[named] if row["kind"] == "line" and row["name"] == key]
        line[-1]["end"] = text
    domain, heights = (shapes.extent(itertools.chain(*each.values())) for each in (losses, values))
    epochs = 0.5, max(int(table["epoch"].max()) for table in tables.values()) + 0.5
    x = Axis("epoch", epochs, format="d", count=3)
    above = [
        Panel(rows, x, Axis("loss", domain, count=4), shapes.short_name(variant, PANEL_NAME))
        for variant, rows in losses.items()
    ]
    y = Axis(shapes.short_name(measure.name), heights, count=4)
    below = in_rows([Panel(rows, x, y) for rows in values.values()])
    return [*itertools.chain(*zip(map(_unnamed, in_rows(above)), below, strict=True))]


def _unnamed(panels: list[Panel]) -> list[Panel]:
    """Return panels without title and labels of the axis below them."""
    bare = dataclasses.replace(panels[0].x, title="", labels=False)
    return [dataclasses.replace(each, x=bare) for each in panels]


def _quantity(
    tables: Tables,
    look: Mapping[str, shapes.Look],
    alone: Mapping[str, list[int]],
    drawn: Mapping[str, tuple[float, ...]],
    factor: float,
) -> dict[str, list[Mark]]:
    """Return the marks of each variant: means and bands over seeds, and runs that are alone."""
    rows: dict[str, list[Mark]] = {variant: [] for variant in tables}
    for variant, table in tables.items():
        for column, dash in drawn.items():
            runs = factor * table.pivot(index="epoch", columns="seed", values=column)
            seeds, style = alone.get(variant, []), dataclasses.replace(look[variant], dash=dash)
            others = runs.drop(columns=seeds)
            low, high = others.min(axis=1), others.max(axis=1)
            rows[variant] += shapes.band(others.index, low, high, style.colour, column)
            wide, marked = (1.0, "none") if dash else (1.4, "last")
            rows[variant] += shapes.line(
                others.index, others.mean(axis=1), style, column, wide, marked
            )
            for seed in seeds:
                rows[variant] += shapes.line(
                    runs.index,
                    runs[seed],
                    style,
                    f"{column} {seed}",
                    0.6,
                    "last",
                    "" if column in (TRAIN, VALIDATION) else f"seed {seed}",
                )
    return rows


LABEL_CHARACTERS = 30  # of the labels of all groups, side by side on paper


def by_length(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "lengths"
) -> Figure:
    """Return accuracy, or BLEU, by the length of the text: its mean and its range over seeds."""
    tables = read_tables(results, experiment, "lengths", variants)
    groups = {variant: by_group(table) for variant, table in tables.items()}
    look, translated = looks(results), experiment.measure.is_of_sentences
    caption = described(f"lengths_of_{experiment.measure.item}s")
    metric, text = ("BLEU", "source") if translated else ("Accuracy", "text")
    return make_figure(
        results,
        experiment,
        key,
        "lengths",
        f"{metric} against the length of the {text}",
        caption + describe_choice(results, experiment, variants),
        (shapes.WIDTH, shapes.HEIGHT),
        [[_lengths(results, groups, look, translated)]],
        variants,
    )


def by_group(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, lowest and highest figure of the seeds in each group of lengths.

    They are `mean, min, max, length, count` by `longest`, the length of the group's longest text.
    BLEU is between 0 and 100, accuracy between 0 and 1; `length` is in tokens or words. The table,
    lengths.csv of `heed score`, has a row for each seed and group.
    """
    values = 100 * table["bleu"] if "bleu" in table else table["right"] / table["documents"]
    counted = "sentences" if "bleu" in table else "documents"
    groups = table.assign(value=values).groupby("longest")
    others = groups[["mean_length", counted]].mean().set_axis(["length", "count"], axis=1)
    return groups["value"].agg(["mean", "min", "max"]).join(others)


def _lengths(
    results: Results, groups: Tables, look: Mapping[str, shapes.Look], translated: bool
) -> Panel:
    rows: list[Mark] = []
    for variant, each in groups.items():
        x = range(len(each))
        rows += shapes.band(x, each["min"], each["max"], look[variant].colour, variant)
        rows += shapes.line(x, each["mean"], look[variant], variant, end=variant)
    domain = shapes.extent(rows, low=0) if translated else least_extent(results, "accuracy", rows)
    named = next(iter(groups.values()))
    label = (
        "words of the source, mean of each group (sentences)"
        if translated
        else "tokens of the text, mean of each group (test documents)"
    )
    x_axis = Axis(label, (-0.3, len(named) - 0.7), group_names(named))
    y_axis = Axis("BLEU" if translated else "accuracy", domain)
    return Panel(rows, x_axis, y_axis, label_size=7.2)


def group_names(groups: pd.DataFrame) -> dict[float, str]:
    """Return the label of each group: its mean length, the number of its documents or sentences.

    Long numbers stand on two lines in turn: side by side they would touch.
    """
    counts = [f"({format_count(round(count))})" for count in groups["count"]]
    are_long = len(counts) * max(map(len, counts)) > LABEL_CHARACTERS
    return {
        float(place): f"{length:.0f}\n" + "\n" * (are_long and place % 2) + count
        for place, (length, count) in enumerate(zip(groups["length"], counts, strict=True))
    }
