"""Figures of a search: score by trial and by hyperparameter, all trials, the expected best."""

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.report.blocks import PAGE, Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import GROUND, INK, SERIES, SOFT, WIDTH, Draw, Style, legend
from heed.report.language import say
from heed.report.measures import Measure
from heed.report.results import Results
from heed.search.results import Search

Ticks = tuple[list[float], list[str]]
STOPS = {"no better epoch": "s", "stopped by asha": "v", "out of time": "X", "failed": "X"}


def figures(results: Results, experiment: Experiment, search: Search, folder: Path) -> list[Figure]:
    """Return the figures of a search that had trials."""
    sources = results.sources.add(folder / "search.json")
    measure = Measure(experiment.measure.task, search.metric)
    search_figures = []
    for key, title, caption, height, draw in _definitions(search.rescored(measure.scaled), measure):
        text = say("Search {name}. {caption}", name=folder.name, caption=caption)
        search_figures.append(
            Figure(
                f"{folder.name}_search-{key}",
                title,
                caption,
                sources,
                draw,
                (WIDTH, height),
                alt_text=drawing.alt_text(experiment, text),
                mark=experiment.mark,
                media=(PAGE,),  # paper has what was tried and what won, in a sentence
            )
        )
    return search_figures


def _definitions(search: Search, measure: Measure) -> list[tuple[str, str, str, float, Draw]]:
    """Return the key, title, caption, height and drawing of each figure."""
    metric, drawn = measure.name, _describe_drawn(search)
    ordered = say(
        "Best validation {metric} by trial, in the order drawn, and the best so far.",
        metric=metric,
    )
    dots = say("A dot is a trial's best validation {metric}; the winner is filled.", metric=metric)
    lines = say("A line is a trial, stronger for a better one; the winner is the widest.")
    height = 0.4 + 1.5 * math.ceil(len(search.space) / _columns(search))
    figures: list[tuple[str, str, str, float, Callable[..., None]]] = [
        ("trials", say("Score by trial"), ordered, 2.6, _by_trial),
        ("parameters", say("Score by hyperparameter"), dots, height, _by_parameter),
        ("parallel", say("All hyperparameters of the trials"), lines, 3.0, _parallel),
    ]
    definitions: list[tuple[str, str, str, float, Draw]] = [
        (
            key,
            title,
            f"{caption} {drawn}",
            inches,
            functools.partial(draw, search=search, metric=metric),
        )
        for key, title, caption, inches, draw in figures
    ]
    if scores := search.expected_best.scores:
        title = say("Expected best by number of trials")
        caption = say(
            "The expected best validation {metric} of a search with so many trials (Dodge et al. "
            "2019), estimated from the trials of this one.",
            metric=metric,
        )
        definitions.append(
            ("expected", title, caption, 2.4, lambda figure: _expected(figure, scores, metric))
        )
    return definitions


def _describe_drawn(search: Search) -> str:
    """Return how many trials a figure has, and which it lacks."""
    if not search.unscored:
        return say("All {trials} trials are drawn.", trials=len(search.trials))
    stops = ", ".join(f"{say(stop)} {count}" for stop, count in search.unscored.items())
    return say(
        "{scored} of {trials} trials are drawn; the others have no score: {stops}.",
        scored=len(search.scored),
        trials=len(search.trials),
        stops=stops,
    )


def _by_trial(figure: matplotlib.figure.Figure, search: Search, metric: str) -> None:
    axes = figure.subplots()
    better = np.minimum if search.metric == "loss" else np.maximum
    numbers = [trial.trial for trial in search.scored]
    best = better.accumulate(search.scores)
    axes.step(numbers, best, where="post", color=SOFT, lw=1, label=say("best so far"))
    scored = list(zip(search.scored, search.scores, strict=True))
    for stop in dict.fromkeys(trial.stop for trial in search.scored):
        part = [(trial.trial, score) for trial, score in scored if trial.stop == stop]
        axes.plot(*zip(*part, strict=True), STOPS.get(stop, "o"), color=SERIES[0], label=say(stop))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel(say("trial"))
    axes.set_ylabel(say("validation {metric}", metric=metric))
    legend(figure, axes, 3)


def _columns(search: Search) -> int:
    """Return how many hyperparameters stand side by side: the layout with the fewest gaps."""
    count = len(search.space)
    return min((3, 2), key=lambda columns: (-count % columns, -columns)) if count > 1 else 1


def _by_parameter(figure: matplotlib.figure.Figure, search: Search, metric: str) -> None:
    keys = list(search.space)
    columns = _columns(search)
    grid = figure.subplots(math.ceil(len(keys) / columns), columns, squeeze=False, sharey=True)
    for axes, key in zip(grid.flat, keys, strict=False):
        tried = [trial.configuration[key] for trial in search.scored]
        positions, ticks = _positions(search.space[key], tried)
        for x, trial, score in zip(positions, search.scored, search.scores, strict=True):
            filled = SERIES[0] if trial.trial == search.best.trial else "none"
            axes.plot([x], [score], "o", color=SERIES[0], markerfacecolor=filled)
        axes.set_xlim(-0.08, 1.08)
        axes.set_xticks(*ticks)
        axes.set_title(key)
    for axes in grid[:, 0]:
        axes.set_ylabel(metric)
    for axes in grid.flat[len(keys) :]:
        axes.set_visible(False)


def _parallel(figure: matplotlib.figure.Figure, search: Search, metric: str) -> None:
    axes = figure.subplots()
    keys, trials, scores = list(search.space), search.scored, np.array(search.scores)
    low, high = float(scores.min()), float(scores.max())
    height = (scores - low) / ((high - low) or 1)
    columns = [
        _positions(search.space[key], [trial.configuration[key] for trial in trials])
        for key in keys
    ]
    quality = 1 - height if search.metric == "loss" else height
    for index in np.argsort(quality, kind="stable"):
        width = 2.6 if trials[index].trial == search.best.trial else 1.1
        line = [positions[index] for positions, _ in columns] + [height[index]]
        alpha = 0.15 + 0.85 * float(quality[index])
        axes.plot(range(len(line)), line, color=SERIES[0], alpha=alpha, lw=width)
    ends = ([0.0, 1.0], [f"{low:.3f}", f"{high:.3f}"])
    ticks: list[Ticks] = [*(ticks for _, ticks in columns), ends]
    _upright(axes, ticks)
    axes.set_xticks(range(len(ticks)), [key.replace("_", "\n") for key in [*keys, metric]])
    axes.set_yticks([])
    axes.set_xlim(-0.15, len(ticks) - 0.5)
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)


def _upright(axes: Axes, ticks: list[Ticks]) -> None:
    """Draw an upright axis a hyperparameter, with its ticks."""
    box = {"facecolor": GROUND, "edgecolor": "none", "pad": 0.6}
    for x, (positions, texts) in enumerate(ticks):
        axes.axvline(x, color=SOFT, lw=0.8)
        for y, text in zip(positions, texts, strict=True):
            style: Style = {"fontsize": 7.5, "va": "center", "color": INK, "zorder": 3}
            axes.text(x, y, f" {text}", bbox=box, **style)


def _expected(figure: matplotlib.figure.Figure, scores: list[float], metric: str) -> None:
    axes = figure.subplots()
    axes.plot(range(1, len(scores) + 1), scores, color=SERIES[0], marker="o", markersize=3)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel(say("trials"))
    axes.set_ylabel(say("expected best {metric}", metric=metric))


def _positions(dimension: dict[str, list[Any]], values: list[Any]) -> tuple[list[float], Ticks]:
    """Scale the values to 0 to 1; return them, and ticks at the ends of a span or every choice."""
    ((kind, ends),) = dimension.items()
    if kind == "choice":
        step = 1 / max(len(ends) - 1, 1)
        ticks = [index * step for index in range(len(ends))], [f"{end}" for end in ends]
        return [ends.index(value) * step for value in values], ticks
    logarithmic = kind == "loguniform"
    scale = math.log if logarithmic else float
    low, high = scale(ends[0]), scale(ends[1])
    middle = math.sqrt(ends[0] * ends[1]) if logarithmic else (ends[0] + ends[1]) / 2
    specification = ".0f" if kind == "integer" else ".2g"
    texts = [format(value, specification) for value in (ends[0], middle, ends[1])]
    return [(scale(value) - low) / (high - low) for value in values], ([0, 0.5, 1], texts)
