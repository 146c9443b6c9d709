"""The figure of the lectures' claim on gradients: how much reaches the first word of the source."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from heed.files import reading
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import WIDTH, colour, legend, marker, short_name
from heed.report.language import say
from heed.report.results import Results, read_table
from heed.tasks.translation.gradients import TRUNCATION, by_length


def first_word(results: Results, experiment: Experiment, series: Mapping[str, int]) -> Figure:
    """Return the gradient at the first word by the source's length: whole, and truncated.

    Of a recurrent encoder it is that of the forward direction.

    Args:
        results, experiment: as of every figure.
        series: the variants that are drawn, and the number of the series of each.

    """
    models = results.models(experiment)
    paths = {
        variant: results.folder / "predict" / models[variant] / "gradients.parquet"
        for variant in series
    }
    lengths = [results.evaluation_folder(models[variant]) / "lengths.csv" for variant in series]
    gradients = {variant: _read(path) for variant, path in paths.items()}
    tables = {
        variant: by_length(gradients[variant], _edges(path))
        for variant, path in zip(series, lengths, strict=True)
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
        lambda figure: _draw(figure, tables, series),
        (WIDTH, 2.9),
        alt_text=drawing.alt_text(experiment, f"{title}. {caption}"),
        mark=experiment.mark,
    )


def _draw(
    figure: matplotlib.figure.Figure, tables: Mapping[str, pd.DataFrame], series: Mapping[str, int]
) -> None:
    whole, truncated = figure.subplots(1, 2, sharex=True, sharey=True)
    for variant, number in series.items():
        _draw_line(whole, variant, tables[variant].query("truncation == 0"), number)
        _draw_line(truncated, variant, tables[variant].query("truncation > 0"), number)
    whole.set_title(say("through all steps"))
    truncated.set_title(say("truncated to {steps} steps", steps=TRUNCATION))
    whole.set_ylabel(say("gradient, mean word = 1"))
    whole.set_ylim(bottom=0)
    for axes in (whole, truncated):
        axes.set_xlabel(say("words of the source"))
    legend(figure, whole, 3)


def _draw_line(axes: Axes, variant: str, table: pd.DataFrame, series: int) -> None:
    """Draw the groups of a model; a model without recurrence has no forward direction."""
    values = table["forward_relative"].fillna(table["relative"])
    style: drawing.Style = {"color": colour(series), "marker": marker(series)}
    axes.plot(table["mean_length"], values, label=short_name(variant), **style)


def _read(path: Path) -> pd.DataFrame:
    with reading(path, f"heed predict {path.parent.name}"):
        return pd.read_parquet(path)


def _edges(path: Path) -> np.ndarray:
    """Return the longest source of each group of `heed evaluate`."""
    return np.unique(read_table(path)["longest"].to_numpy())
