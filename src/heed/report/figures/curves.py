"""Curves: loss and the validated metric by epoch; accuracy, or BLEU, by the length of texts."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import pandas as pd

from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.shapes import EVERYWHERE, FILES, Axis, Figure, Mark, Panel
from heed.report.figures.variants import (
    captions,
    describe_choice,
    files_of,
    least_extent,
    line_marks,
    looks,
    make_figure,
    read_tables,
    validation_measure,
)
from heed.report.formats import format_count
from heed.report.results import Results

TRAIN, VALIDATION = "train_loss", "validation_loss"
PANEL_NAME = 17  # characters of a panel's title


def curves(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return loss (above) and the validated metric (below) by epoch, in a panel for each variant.

    A line is a run, and a dot the epoch that was chosen.
    """
    measure, models = validation_measure(experiment), experiment.result.models
    tables, look = read_tables(results, experiment, "history", variants), looks(experiment)
    metric, factor = f"validation_{measure.metric}", measure.scaled(1.0)
    losses, scores, epochs = list[list[Mark]](), list[list[Mark]](), list[int]()
    for variant, table in tables.items():
        solid, best = dataclasses.replace(look[variant], dash=shapes.SOLID), models[variant]
        dashed = dataclasses.replace(solid, dash=shapes.DASHED)
        train, validation = _runs(table, TRAIN, dashed), _runs(table, VALIDATION, solid)
        losses.append([*train, *validation])
        chosen = _chosen(table, metric, best.best_epochs, solid, factor)
        scores.append([*_runs(table, metric, solid, factor), *chosen])
        epochs += best.best_epochs
    train[-1]["end"], validation[-1]["end"] = "train", "validate"
    last = max(int(table["epoch"].max()) for table in tables.values()) + 0.5
    titles = [shapes.short_name(experiment.words[variant], PANEL_NAME) for variant in tables]
    above = Axis(domain=(0.5, last), format="d", count=3, labels=False)
    below = dataclasses.replace(above, title="epoch", labels=True)
    panels = [_side_by_side(losses, above, "loss", titles)]
    panels.append(_side_by_side(scores, below, measure.name, [""] * len(titles)))
    return make_figure(
        "curves", f"{experiment.key}_curves",
        results.sources.add(*files_of(results, experiment, "history", variants)), panels,
        (shapes.WIDTH if len(variants) < 4 else shapes.WIDE, 3.1),
        more=describe_choice(results, experiment, variants),
        told=experiment.title, metric=measure.name, first=min(epochs), last=max(epochs),
    )  # fmt: skip


def _side_by_side(
    marks: Sequence[list[Mark]], x: Axis, name: str, titles: Sequence[str]
) -> list[Panel]:
    """Return panels with one scale, whose labels are at the first."""
    y = Axis(name, shapes.extent(itertools.chain(*marks)), count=4)
    axes = [y, *[dataclasses.replace(y, title="", labels=False)] * (len(marks) - 1)]
    known = zip(marks, axes, titles, strict=True)
    return [Panel(rows, x, axis, title) for rows, axis, title in known]


def _chosen(
    table: pd.DataFrame, metric: str, epochs: Sequence[int], look: shapes.Look, factor: float
) -> Iterator[Mark]:
    """Yield a dot for the epoch of each run that was chosen, where its history has it."""
    values = table.set_index(["seed", "epoch"])[metric].to_dict()
    for at in zip(table["seed"].unique(), epochs, strict=False):
        if at in values:
            yield shapes.point(at[1], factor * values[at], look, 16)


def _runs(table: pd.DataFrame, column: str, look: shapes.Look, factor: float = 1) -> list[Mark]:
    return [
        mark
        for seed, run in table.groupby("seed")
        for mark in shapes.line(
            run["epoch"], factor * run[column], look, f"{column} {seed}", 0.7, False
        )
    ]


LABEL_CHARACTERS = 30  # of the labels of all groups, side by side on paper
THREEFOLD = 3  # from the shortest group to the longest: the page leaves out less


def by_length(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return accuracy, or BLEU, by the length of the text; a file alone where lengths vary little.

    The groups of lengths are those of lengths.csv.
    """
    tables = read_tables(results, experiment, "lengths", variants)
    groups = {variant: by_group(table) for variant, table in tables.items()}
    first, kind = next(iter(groups.values())), f"lengths_of_{experiment.measure.item}s"
    places = {longest: place for place, longest in enumerate(first.index)}
    drawn = {
        variant: pd.DataFrame({"x": table["longest"].map(places), "value": _scores(table)})
        for variant, table in tables.items()
    }
    words = experiment.words
    rows = line_marks(drawn, looks(experiment), words)
    translated = experiment.measure.is_of_sentences
    domain = shapes.extent(rows, low=0) if translated else least_extent(results, "accuracy", rows)
    x = Axis(captions()[f"{kind}_x"], (-0.3, len(first) - 0.7), group_names(first))
    y = Axis("BLEU" if translated else "accuracy", domain)
    lost = {name: each["mean"].iloc[0] - each["mean"].iloc[-1] for name, each in groups.items()}
    most = max(lost, key=lambda name: lost[name])
    varies = first["length"].iloc[-1] >= THREEFOLD * first["length"].iloc[0]
    return make_figure(
        kind, f"{experiment.key}_lengths",
        results.sources.add(*files_of(results, experiment, "lengths", variants)),
        [[Panel(rows, x, y, label_size=7.2)]],
        more=describe_choice(results, experiment, variants), told=experiment.title,
        media=EVERYWHERE if varies or translated else FILES, plain=lost[most] <= 0,
        model=words[most], points=f"{lost[most] * (1 if translated else 100):.1f}",
    )  # fmt: skip


def _scores(table: pd.DataFrame) -> pd.Series:
    return 100 * table["bleu"] if "bleu" in table else table["right"] / table["documents"]


def by_group(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, lowest and highest score of the seeds in each group of lengths.

    They are `mean, min, max, length, count` by `longest`, the length of the group's longest text.
    BLEU is between 0 and 100, accuracy between 0 and 1; `length` is in tokens or words. The table,
    lengths.csv of `heed score`, has a row for each seed and group.
    """
    counted = "sentences" if "bleu" in table else "documents"
    groups = table.assign(value=_scores(table)).groupby("longest")
    others = groups[["mean_length", counted]].mean().set_axis(["length", "count"], axis=1)
    return groups["value"].agg(["mean", "min", "max"]).join(others)


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
