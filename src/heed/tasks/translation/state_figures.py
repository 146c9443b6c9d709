"""The figure of lecture 001's recap: the states of sentences, projected to a plane."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from heed.evaluation.results import BASELINE
from heed.files import reading
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    HEIGHT,
    WIDTH,
    LineEnd,
    colour,
    label_ends,
    legend,
    marker,
    short_name,
)
from heed.report.figures.variants import Look, looks
from heed.report.formats import format_number
from heed.report.language import say, say_count
from heed.report.results import Results, read_table
from heed.tasks.translation.gradients import TRUNCATION, by_length

GROUPS = 3  # of sentences, by their length


def sentence_states(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the states of baseline and first attention variant, side by side in planes.

    Nothing where there is neither; where the states of a model have one dimension or are all
    the same; or where all sentences have the same length.
    """
    models, result = results.models(experiment), results.comparison.experiments[experiment.key]
    variants = [name for name in (BASELINE, *result.attention[:1]) if name in models]
    paths = [results.folder / "predict" / models[name] / "states.parquet" for name in variants]
    tables = dict(zip(variants, map(_read, paths), strict=True))
    if not tables or not all(map(_spans_a_plane, tables.values())):
        return []
    groups = _groups(next(iter(tables.values())))
    if len(groups) < 2:
        return []

    def draw(figure: matplotlib.figure.Figure) -> None:
        row = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (variant, table) in zip(row, tables.items(), strict=True):
            _draw_plane(axes, table, groups)
            axes.set_title(short_name(variant))
        legend(figure, row[0], GROUPS)

    title = say("States of sentences, projected to a plane")
    caption = _caption(len(next(iter(tables.values()))))
    return [
        Figure(
            f"{experiment.key}_states",
            title,
            caption,
            results.sources.add(*paths),
            draw,
            (WIDTH, 2.9),
            alt_text=drawing.alt_text(experiment, caption),
            mark=experiment.mark,
        )
    ]


def _caption(count: int) -> str:
    """Return what the marks are, and what may be read in the planes."""
    return say(
        "A mark is a test sentence: the state that the decoder starts from (of a transformer, the "
        "mean of the encoder’s states), on the two directions in which the states of the model "
        "vary most. In such planes sentences of like meaning may lie together; here the marks "
        "show the length of the source alone. {count} sentences, chosen by their length, first "
        "seed. What lies apart in a plane is apart in the states. What lies together need not be "
        "alike: the axes say how much of the variance they show. Each plane has axes of its own.",
        count=count,
    )


def _read(path: Path) -> pd.DataFrame:
    with reading(path, f"heed score {path.parent.name}"):
        return pd.read_parquet(path)


def _states(table: pd.DataFrame) -> np.ndarray:
    """Return the states, (sentences, size)."""
    return np.stack(list(table["state"])).astype(np.float64)


def project(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return states on their first two principal components, and the shares of the variance.

    As scikit-learn's PCA does, whose import takes longer than the figure: the largest weight of a
    component is positive.

    Args:
        states: (sentences, size).

    Returns: points (sentences, 2), shares (2,).

    """
    centred = states - states.mean(axis=0)
    _, singular, components = np.linalg.svd(centred, full_matrices=False)
    components = components[:2]
    largest = np.abs(components).argmax(axis=1)
    components *= np.sign(components[[0, 1], largest])[:, np.newaxis]
    return centred @ components.T, singular[:2] ** 2 / (singular**2).sum()


def _spans_a_plane(table: pd.DataFrame) -> bool:
    states = _states(table)
    return states.shape[1] > 1 and bool(np.ptp(states, axis=0).any())


def _groups(table: pd.DataFrame) -> list[tuple[int, int]]:
    """Return the shortest and the longest sentence of each group; groups have about equal size."""
    words = np.sort(table["source_words"].to_numpy())
    edges = np.unique([part[-1] for part in np.array_split(words, GROUPS) if len(part)])
    parts = np.split(words, np.searchsorted(words, edges, side="right")[:-1])
    return [(int(part[0]), int(part[-1])) for part in parts]


def _draw_plane(axes: Axes, table: pd.DataFrame, groups: list[tuple[int, int]]) -> None:
    """Draw the states on their first two principal components, by group."""
    points, shares = project(_states(table))
    for series, (shortest, longest) in enumerate(groups):
        part = points[table["source_words"].between(shortest, longest)]
        axes.plot(
            *part.T,
            linestyle="none",
            marker=marker(series),
            markersize=3.5,
            alpha=0.7,
            color=colour(series),
            label=_label(shortest, longest),
        )
    first, second = (format_number(100 * share, 0) for share in shares)
    axes.set_xlabel(say("first direction, {share}%", share=first))
    axes.set_ylabel(say("second direction, {share}%", share=second))
    axes.set_aspect("equal", adjustable="datalim")
    axes.tick_params(labelleft=False, labelbottom=False, length=0)


def _label(shortest: int, longest: int) -> str:
    if shortest == longest:
        return say_count("{count} word", "{count} words", shortest)
    return say("{length} words", length=f"{shortest}–{longest}")


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


def _edges(path: Path) -> np.ndarray:
    """Return the longest source of each group of `heed score`."""
    return np.unique(read_table(path)["longest"].to_numpy())
