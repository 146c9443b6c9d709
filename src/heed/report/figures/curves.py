"""Curves: loss and the validated metric by epoch; accuracy, or BLEU, by the length of texts."""

import dataclasses
import itertools
from collections.abc import Iterator

import pandas as pd

from heed.report.figures import shapes
from heed.report.figures.shapes import EVERYWHERE, FILES, Axis, Figure, Mark, Panel
from heed.report.figures.variants import CAPTIONS, Drawn, least_extent, looks
from heed.report.formats import format_count, read_yaml

PANEL_NAME = 17  # characters of a panel's title


def curves(drawn: Drawn) -> Iterator[Figure]:
    """Yield loss and the validated metric by epoch, each run a line, a panel for each variant."""
    experiment, measure = drawn.experiment, drawn.experiment.measure.first_validated
    tables, look, epochs = drawn.read("history"), looks(experiment), list[int]()
    metric, factor = f"validation_{measure.metric}", measure.scaled(1.0)
    losses, scores = list[list[Mark]](), list[list[Mark]]()
    for variant, table in tables.items():
        solid = dataclasses.replace(look[variant], dash=shapes.SOLID)
        dashed = dataclasses.replace(solid, dash=shapes.DASHED)
        train = _runs(table, "train_loss", dashed)
        validation = _runs(table, "validation_loss", solid)
        losses.append(train + validation)
        values = factor * table.set_index(["seed", "epoch"])[metric]
        best = experiment.result.models[variant].best_epochs
        chosen = zip(table["seed"].unique(), best, strict=False)
        dots = [shapes.point(at[1], values[at], solid, 16) for at in chosen if at in values]
        scores.append(_runs(table, metric, solid, factor) + dots)
        epochs += best
    train[-1]["end"], validation[-1]["end"] = "train", "validate"
    last = max(table["epoch"].max() for table in tables.values()) + 0.5
    x, panels = Axis("", (0.5, last), format="d", count=3, labels=False), list[Panel]()
    below = dataclasses.replace(x, title="epoch", labels=True)
    for axis, name, marks in ((x, "loss", losses), (below, measure.name, scores)):
        y = Axis(name, shapes.extent(itertools.chain(*marks)), count=4)
        for variant, rows in zip(tables, marks, strict=True):
            title = shapes.short_name(experiment.words[variant], PANEL_NAME) if axis is x else ""
            panels.append(Panel(rows, axis, y, title))
            y = dataclasses.replace(y, title="", labels=False)
    width = shapes.WIDTH if len(tables) < 4 else shapes.WIDE
    yield drawn.figure(
        "curves", panels, (width, 3.1), more=drawn.choice, columns=len(tables),
        metric=measure.name, first=min(epochs), last=max(epochs),
    )  # fmt: skip


def _runs(table: pd.DataFrame, column: str, look: shapes.Look, factor: float = 1) -> list[Mark]:
    marks: list[Mark] = []
    for seed, run in table.groupby("seed"):
        values = factor * run[column]
        marks += shapes.line(run["epoch"], values, look, f"{column} {seed}", wide=0.7)
    return marks


LABEL_CHARACTERS = 30  # of the labels of all groups, side by side on paper
THREEFOLD = 3  # from the shortest group to the longest: the page leaves out less


def by_length(drawn: Drawn) -> Iterator[Figure]:
    """Yield accuracy, or BLEU, by the length of the text; a file alone if it varies little."""
    experiment, measure, tables = drawn.experiment, drawn.experiment.measure, drawn.read("lengths")
    groups = {variant: by_group(table) for variant, table in tables.items()}
    first, kind = next(iter(groups.values())), f"lengths_of_{measure.item}s"
    places = {longest: place for place, longest in enumerate(first.index)}
    rows = drawn.lines({
        variant: pd.DataFrame({"x": table["longest"].map(places), "value": _scores(table)})
        for variant, table in tables.items()
    })  # fmt: skip
    name, domain, scale = "BLEU", shapes.extent(rows, low=0), 1
    if not measure.is_of_sentences:
        name, domain, scale = "accuracy", least_extent(drawn.results, "accuracy", rows), 100
    x = Axis(read_yaml(CAPTIONS)[kind]["x"], (-0.3, len(first) - 0.7), group_names(first))
    lost = {name: group["mean"].iloc[0] - group["mean"].iloc[-1] for name, group in groups.items()}
    most = max(lost, key=lost.__getitem__)
    varies = first["length"].iloc[-1] >= THREEFOLD * first["length"].iloc[0]
    yield drawn.figure(
        kind, [Panel(rows, x, Axis(name, domain), label_size=7.2)], more=drawn.choice,
        media=EVERYWHERE if varies or measure.is_of_sentences else FILES, plain=lost[most] <= 0,
        model=experiment.sentences[most], points=f"{scale * lost[most]:.1f}",
    )  # fmt: skip


def _scores(table: pd.DataFrame) -> pd.Series:
    return 100 * table["bleu"] if "bleu" in table else table["right"] / table["documents"]


def by_group(table: pd.DataFrame) -> pd.DataFrame:
    """Return `mean, min, max` of the seeds, `length, count` by `longest`, of each group of lengths.

    BLEU is between 0 and 100, accuracy between 0 and 1; `length` is in tokens or words.
    """
    counted = "sentences" if "bleu" in table else "documents"
    groups = table.assign(value=_scores(table)).groupby("longest")
    others = groups[["mean_length", counted]].mean().set_axis(["length", "count"], axis=1)
    return groups["value"].agg(["mean", "min", "max"]).join(others)


def group_names(groups: pd.DataFrame) -> dict[float, str]:
    """Return the labels of groups; long ones stand on two lines in turn, since they would touch."""
    counts = [f"({format_count(round(count))})" for count in groups["count"]]
    lines = 1 + (len(counts) * max(map(len, counts)) > LABEL_CHARACTERS)
    labels = enumerate(zip(groups["length"], counts, strict=True))
    return {n: f"{length:.0f}\n" + "\n" * (n % lines) + count for n, (length, count) in labels}
