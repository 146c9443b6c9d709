"""The figure of the lectures' claim on gradients: how much reaches the first word of the source."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from heed.files import reading
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import HEIGHT, WIDTH, LineEnd, label_ends, short_name
from heed.report.figures.variants import Look, looks
from heed.report.language import say
from heed.report.results import Results, read_table
from heed.tasks.translation.gradients import TRUNCATION, by_length

AXES = 1.9  # inches: the height of the axes
TITLE_LINE = 14  # characters of a panel's title


def first_word(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the gradient at the first word by the source's length: whole, and truncated.

    Of a recurrent encoder it is that of the forward direction.
    """
    models = results.models(experiment)
    paths = {
        variant: results.folder / "predict" / models[variant] / "gradients.parquet"
        for variant in variants
    }
    lengths = [results.evaluation_folder(models[variant]) / "lengths.csv" for variant in variants]
    gradients = {variant: _read(path) for variant, path in paths.items()}
    tables = {
        variant: by_length(gradients[variant], _edges(path))
        for variant, path in zip(variants, lengths, strict=True)
    }

    title = say("Gradient at the first word of the source")
    caption = say(
        "The norm of the gradient of the reference’s log probability with respect to what the "
        "encoder reads at the first word, divided by its mean over all words of the sentence. Of a "
        "recurrent encoder, the part that goes through its forward direction, where the first word "
        "is the furthest from the translation. Right: backpropagation through time is truncated; a "
        "transformer has none. Means over groups of {count} test sentences by length, first seed.",
        count=max(table["id"].nunique() for table in gradients.values()),
    )
    return Figure(
        f"{experiment.key}_gradients",
        title,
        caption,
        results.sources.add(*paths.values(), *lengths),
        lambda figure: _draw(figure, tables, looks(results)),
        (WIDTH, HEIGHT),
        alt_text=drawing.alt_text(experiment, caption),
        mark=experiment.mark,
    )


def _draw(
    figure: matplotlib.figure.Figure, tables: Mapping[str, pd.DataFrame], look: Mapping[str, Look]
) -> None:
    whole, truncated = figure.subplots(1, 2, sharex=True, sharey=True)
    ends: list[LineEnd] = []
    ends_truncated: list[LineEnd] = []
    for variant, table in tables.items():
        ends += _draw_line(whole, variant, table.query("truncation == 0"), look[variant])
        ends_truncated += _draw_line(
            truncated, variant, table.query("truncation > 0"), look[variant]
        )
    whole.set_title(_broken(say("through all steps")))
    truncated.set_title(_broken(say("truncated to {steps} steps", steps=TRUNCATION)))
    whole.set_ylabel(say("gradient, mean word = 1"))
    whole.set_ylim(bottom=0)
    for axes in (whole, truncated):
        axes.set_xlabel(say("words of the source"))
    named = {end.text for end in ends_truncated}
    label_ends(whole, [end for end in ends if end.text not in named], AXES)
    label_ends(truncated, ends_truncated, AXES)


def _broken(title: str) -> str:
    """Return a panel's title on lines that are no wider than the panel on paper."""
    return textwrap.fill(title, TITLE_LINE)


def _draw_line(axes: Axes, variant: str, table: pd.DataFrame, look: Look) -> list[LineEnd]:
    """Draw the groups of a model; a model without recurrence has no forward direction.

    Returns the end of the line for its label, nothing where there is no line.
    """
    values = table["forward_relative"].fillna(table["relative"])
    axes.plot(table["mean_length"], values, label=short_name(variant), **look.style)
    return [look.end(variant, table["mean_length"], values)] if len(values) else []


def _read(path: Path) -> pd.DataFrame:
    with reading(path, f"heed score {path.parent.name}"):
        return pd.read_parquet(path)


def _edges(path: Path) -> np.ndarray:
    """Return the longest source of each group of `heed score`."""
    return np.unique(read_table(path)["longest"].to_numpy())
