"""The figure of lecture 001's recap: the states of sentences, projected to a plane."""

from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from heed.evaluation.verdicts import BASELINE
from heed.files import reading
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import WIDTH, colour, legend, marker, short_name
from heed.report.formats import format_number
from heed.report.language import say, say_count
from heed.report.results import Results

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
