"""The figures of the report: what each shows, of which files, and its words. Drawn by drawing.py."""

import dataclasses
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Path_
from matplotlib.ticker import MaxNLocator, NullFormatter, PercentFormatter
from matplotlib.transforms import Affine2D

from heed.files import reading
from heed.report.answer import PAIR
from heed.report.drawing import GROUND, INK, LINE, REVERSED, SERIES, SOFT, WIDTH, colour, draw, marker, short
from heed.report.language import say
from heed.report.tables import Experiment
from heed.search.result import Search, read_search

LARGE = 12  # classes: with more, a confusion matrix is wider and has no numbers below one percent
Ticks = tuple[list[float], list[str]]
STOPS = {"finished": "o", "no better epoch": "s", "stopped by asha": "v", "out of time": "X", "failed": "X"}


@dataclasses.dataclass(frozen=True)
class Plot:
    """A figure in reports/figures, as the templates use it."""

    key: str  # figures/KEY.svg and .pdf
    title: str
    caption: str
    sources: tuple[Path, ...]
    wide: bool = False


@dataclasses.dataclass(frozen=True)
class Plots:
    """All figures of a report: of each experiment, of each of its models, of each search."""

    experiments: dict[str, list[Plot]]
    models: dict[str, list[Plot]]
    searches: dict[str, list[Plot]]

    def all(self) -> Iterable[Plot]:
        """Return every figure."""
        for group in (self.experiments, self.models, self.searches):
            for found in group.values():
                yield from found


def read(path: Path, made_by: str) -> pd.DataFrame:
    """Return a table of the stages before; every name in it is text. Raises HeedError when it is missing or broken."""
    with reading(path, made_by):
        return pd.read_csv(path, dtype={"label": str, "predicted": str}, keep_default_na=False, na_values=[""])


def plot_all(
    experiments: list[Experiment],
    models: dict[str, dict[str, str]],
    evaluated: Path,
    searched: dict[str, list[Path]],
    into: Path,
) -> Plots:
    """Draw every figure into `into`.

    Args:
        experiments: as tables.py has them.
        models: for each experiment its models' names by variant.
        evaluated: results/evaluate.
        searched: for each experiment the folders of its searches in results/search.
        into: the folder to write to.

    """
    of_experiments, of_models, of_searches = {}, {}, {}
    for experiment in experiments:
        own = {variant: evaluated / model for variant, model in models[experiment.key].items()}
        of_experiments[experiment.key] = [
            curves(experiment, own, into), *class_gain(experiment, own, into), by_length(experiment, own, into), calibration(experiment, own, into),
        ]  # fmt: skip
        for folder in own.values():
            of_models[folder.name] = [confusion(experiment, folder, into)]
        for folder in searched[experiment.key]:
            of_searches[folder.name] = search(experiment, folder, into)
    return Plots(of_experiments, of_models, of_searches)


def curves(experiment: Experiment, folders: dict[str, Path], into: Path) -> Plot:
    """Loss and accuracy by epoch, one line a seed, one row a model; all on the same scales."""
    tables = {variant: _of(folder, "history") for variant, folder in folders.items()}
    seeds = sorted({seed for table in tables.values() for seed in table["seed"]})

    def on(figure: Figure) -> None:
        grid = figure.subplots(len(tables), 2, squeeze=False, sharex=True, sharey="col")
        for row, (variant, table) in zip(grid, tables.items(), strict=True):
            for place, seed in enumerate(seeds):
                part = table[table["seed"] == seed]
                style = {"color": colour(place), "marker": marker(place), "markersize": 2.5, "markevery": [-1]}
                row[0].plot(part["epoch"], part["train_loss"], linestyle=(0, (3, 1.5)), lw=1, **style)
                row[0].plot(part["epoch"], part["validation_loss"], **style)
                row[1].plot(part["epoch"], part["validation_accuracy"], label=say("seed {seed}", seed=seed), **style)
            row[0].set_title(say("{name}: loss", name=short(variant)))
            row[1].set_title(say("{name}: accuracy", name=short(variant)))
        for axes in grid[-1]:
            axes.set_xlabel(say("epoch"))
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        _legend(figure, grid[0][1], len(seeds))

    return _made(
        experiment, "curves", "Training and validation by epoch",
        "One line a seed. Loss: dashed on the training part, solid on the validation part. Accuracy: on the validation part. All models on the same scales.",
        folders.values(), "history", into, (WIDTH, 0.5 + 1.35 * len(tables)), on,
    )  # fmt: skip


def class_gain(experiment: Experiment, folders: dict[str, Path], into: Path) -> list[Plot]:
    """F1 with attention minus F1 without, by class; nothing where there is no such pair."""
    if len(experiment.pair) < 2:
        return []
    without, attention = (
        {row.name: row.cells["f1"] for row in table.rows if row.kind == "class"} for table in experiment.pair
    )
    gains = [
        (name, [100 * (a - b) for a, b in zip(attention[name].values, without[name].values, strict=True)],
         100 * (float(attention[name].published) - float(without[name].published)) if attention[name].published and without[name].published else None)
        for name in attention
    ]  # fmt: skip
    gains.sort(key=lambda each: (np.mean(each[1]), each[0]))

    def on(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (_, values, talk) in enumerate(gains):
            mean = float(np.mean(values))
            axes.plot([0, mean], [place, place], color=SERIES[0], lw=1)
            axes.plot(
                values,
                [place] * len(values),
                "|",
                color=SOFT,
                markersize=5,
                label=say("each seed") if not place else None,
            )
            axes.plot([mean], [place], "o", color=SERIES[0], label=say("mean") if not place else None)
            if talk is not None:
                axes.plot(
                    [talk],
                    [place],
                    "D",
                    color=SERIES[1],
                    markerfacecolor="none",
                    label=say("the talk") if not place else None,
                )
        axes.axvline(0, color=INK, lw=1)
        axes.set_yticks(range(len(gains)), [short(name) for name, _, _ in gains])
        axes.grid(axis="y", visible=False)
        axes.set_ylim(-0.7, len(gains) - 0.3)
        axes.set_xlabel(say("F1, percentage points"))
        _legend(figure, axes, 3)

    return [_made(
        experiment, "class-gain", "Gain by class",
        "F1 with attention minus F1 without, paired by seed: dot the mean, strokes the seeds. A class of few test documents moves much by chance.",
        [folders[table.key] for table in experiment.pair], "classes", into, (WIDTH, 1.0 + 0.17 * len(gains)), on,
    )]  # fmt: skip


def by_length(experiment: Experiment, folders: dict[str, Path], into: Path) -> Plot:
    """Accuracy against the length of the text."""
    tables, places = {variant: _of(folder, "lengths") for variant, folder in folders.items()}, _series(folders)

    def on(figure: Figure) -> None:
        axes = figure.subplots()
        for variant, table in tables.items():
            place = places[variant]
            table = table.assign(accuracy=table["right"] / table["documents"])
            groups = table.groupby("longest")
            at, mean = groups["mean_length"].mean(), groups["accuracy"].mean()
            at = at * (1 + 0.012 * (place - (len(tables) - 1) / 2))  # so that one does not hide the next
            axes.vlines(at, groups["accuracy"].min(), groups["accuracy"].max(), color=colour(place), lw=0.9, alpha=0.7)
            axes.plot(at, mean, color=colour(place), marker=marker(place), label=short(variant))
        axes.set_xscale("log")
        lengths = sorted(next(iter(tables.values())).groupby("longest")["mean_length"].mean())
        axes.set_xticks(*_apart(lengths))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.minorticks_off()
        axes.set_xlabel(say("tokens of the text, mean of each group"))
        axes.set_ylabel(say("accuracy"))
        _legend(figure, axes, 3)

    return _made(
        experiment, "lengths", "Accuracy against the length of the text",
        "The corpus in eight groups of about as many documents, from its shortest to its longest texts. Mean over seeds; the upright stroke goes from the worst seed to the best.",
        folders.values(), "lengths", into, (WIDTH, 2.9), on,
    )  # fmt: skip


def calibration(experiment: Experiment, folders: dict[str, Path], into: Path) -> Plot:
    """How often a model is right where it says how certain it is; all seeds together."""
    tables, places = {variant: _of(folder, "calibration") for variant, folder in folders.items()}, _series(folders)

    def on(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=SOFT, lw=1, linestyle=(0, (1, 2)))
        for variant, table in tables.items():
            place = places[variant]
            steps, error = _by_step(table), expected_error(table)
            certainty, right = steps["sum"] / steps["documents"], steps["right"] / steps["documents"]
            axes.plot(certainty, right, color=colour(place), lw=1.2, label=f"{short(variant)}: {100 * error:.1f}%")
            areas = 70 * steps["documents"] / steps["documents"].max() + 4
            axes.scatter(
                certainty, right, areas, c=colour(place), marker=marker(place), linewidths=0.6, edgecolors=GROUND
            )
        axes.set_xlabel(say("probability of the predicted class"))
        axes.set_ylabel(say("share that is right"))
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.02)
        axes.set_aspect("equal")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1, 0))
        _legend(figure, axes, 2)

    return _made(
        experiment, "calibration", "Calibration",
        "On the dotted line a model is right as often as it says; below it, it is too sure. Beside its name: the expected calibration error. Ten steps of certainty, all seeds together; the larger a mark, the more documents.",
        folders.values(), "calibration", into, (WIDTH, 3.1), on,
    )  # fmt: skip


def _by_step(table: pd.DataFrame) -> pd.DataFrame:
    """Return `documents, right, sum` (of probabilities) by step of certainty, all seeds together."""
    table = table.assign(sum=table["probability"] * table["documents"])
    return table.groupby("low")[["documents", "right", "sum"]].sum()


def expected_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error: the distance of certainty and accuracy, weighted by documents (Guo et al. 2017)."""
    steps = _by_step(table)
    return float((steps["right"] - steps["sum"]).abs().sum() / steps["documents"].sum())


def confusion(experiment: Experiment, folder: Path, into: Path) -> Plot:
    """Who was taken for whom: rows are the true classes, shares of a row, all seeds together."""
    counts = _of(folder, "confusion").groupby(["label", "predicted"])["documents"].sum()
    names = [row.name for row in experiment.tables[0].rows if row.kind == "class"]
    matrix = counts.unstack(fill_value=0).reindex(index=names, columns=names, fill_value=0).to_numpy(float)
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    large = len(names) > LARGE
    size = 0.215 * len(names) + 1.9 if large else min(WIDTH, 0.5 * len(names) + 2.0)

    def on(figure: Figure) -> None:
        axes = figure.subplots()
        percents = np.rint(100 * shares).astype(int)
        for percent in np.unique(percents[percents > 0]):  # one path a shade keeps the file small
            squares = [Path_.unit_rectangle().transformed(Affine2D().translate(column - 0.5, row - 0.5))
                       for row, column in np.argwhere(percents == percent)]  # fmt: skip
            alpha = max(percent / 100, 0.04)
            axes.add_patch(
                PathPatch(Path_.make_compound_path(*squares), facecolor=SERIES[0], alpha=alpha, lw=0, clip_on=False)
            )
        for row, column in np.argwhere(percents > 0):
            ink = REVERSED if percents[row, column] > 55 else INK
            axes.text(
                column, row, f"{percents[row, column]}", ha="center", va="center", fontsize=6 if large else 8, color=ink
            )
        labels = [short(name) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=90 if large or max(map(len, labels)) > 9 else 0)
        axes.set_yticks(range(len(names)), labels)
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.grid(visible=False)
        axes.tick_params(length=0, labelsize=7)
        for place in np.arange(0.5, len(names) - 1):
            axes.axhline(place, color=LINE, lw=0.4)
            axes.axvline(place, color=LINE, lw=0.4)
        axes.set_xlabel(say("predicted"))
        axes.set_ylabel(say("true class"))

    return _made(
        experiment, "confusion", "Who was taken for whom", "Percent of the documents of each true class (row), all seeds together.",
        [folder], "confusion", into, (size, size - 0.3), on, name=f"{folder.name}", wide=large,
    )  # fmt: skip


def search(experiment: Experiment, folder: Path, into: Path) -> list[Plot]:
    """The figures of a search that had trials: score by trial, by hyperparameter, in parallel, and the expected best."""
    if not (about := read_search(folder)):
        return []
    metric = about.metric.replace("_", " ")
    found = [
        _searched(experiment, folder, into, "trials", metric, "Score by trial", "Best validation {metric} of each trial, in the order drawn, and the best so far.",
                  (WIDTH, 2.6), lambda figure: _by_trial(figure, about, metric)),
        _searched(experiment, folder, into, "parameters", metric, "Score by hyperparameter", "One dot a trial: the best validation {metric}; the winner is filled.",
                  (WIDTH, 2.2 * math.ceil(len(about.space) / 2)), lambda figure: _by_parameter(figure, about, metric)),
        _searched(experiment, folder, into, "parallel", metric, "All hyperparameters of each trial", "One line a trial, the darker the better; the winner is the widest.",
                  (WIDTH, 3.0), lambda figure: _parallel(figure, about, metric)),
    ]  # fmt: skip
    if scores := about.expected_best.scores:
        found.append(
            _searched(experiment, folder, into, "expected", metric, "Expected best by number of trials",
                      "The best validation {metric} to be expected of a search of so many trials (Dodge et al. 2019), from the trials of this one.",
                      (WIDTH, 2.4), lambda figure: _expected(figure, scores, metric))
        )  # fmt: skip
    return found


def _by_trial(figure: Figure, about: Search, metric: str) -> None:
    axes = figure.subplots()
    better = np.minimum if about.metric == "loss" else np.maximum
    numbers = [trial.trial for trial in about.scored]
    axes.step(numbers, better.accumulate(about.scores), where="post", color=SOFT, lw=1, label=say("best so far"))
    for stop in dict.fromkeys(trial.stop for trial in about.scored):
        part = [(t.trial, score) for t, score in zip(about.scored, about.scores, strict=True) if t.stop == stop]
        axes.plot(*zip(*part, strict=True), STOPS.get(stop, "o"), color=SERIES[0], label=say(stop))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel(say("trial"))
    axes.set_ylabel(say("validation {metric}", metric=metric))
    _legend(figure, axes, 3)


def _by_parameter(figure: Figure, about: Search, metric: str) -> None:
    keys = list(about.space)
    grid = figure.subplots(math.ceil(len(keys) / 2), 2, squeeze=False, sharey=True)
    for axes, key in zip(grid.flat, keys, strict=False):
        places, ticks = _places(about.space[key], [trial.configuration[key] for trial in about.scored])
        for place, trial, score in zip(places, about.scored, about.scores, strict=True):
            best = trial.trial == about.best.trial
            axes.plot([place], [score], "o", color=SERIES[0], markerfacecolor=SERIES[0] if best else "none")
        axes.set_xlim(-0.08, 1.08)
        axes.set_xticks(*ticks)
        axes.set_title(key)
    for axes in grid[:, 0]:
        axes.set_ylabel(metric)
    for axes in grid.flat[len(keys) :]:
        axes.set_visible(False)


def _parallel(figure: Figure, about: Search, metric: str) -> None:
    axes = figure.subplots()
    keys, trials = list(about.space), about.scored
    scores = np.array(about.scores)
    low, high = float(scores.min()), float(scores.max())
    height = (scores - low) / ((high - low) or 1)
    columns = [_places(about.space[key], [trial.configuration[key] for trial in trials]) for key in keys]
    goodness = 1 - height if about.metric == "loss" else height
    for place in np.argsort(goodness, kind="stable"):
        best = trials[place].trial == about.best.trial
        line = [places[place] for places, _ in columns] + [height[place]]
        axes.plot(
            range(len(line)), line, color=SERIES[0], alpha=0.15 + 0.85 * float(goodness[place]), lw=2.6 if best else 1.1
        )
    ticks: list[Ticks] = [*(ticks for _, ticks in columns), ([0, 1], [f"{low:.3f}", f"{high:.3f}"])]
    for place, (at, texts) in enumerate(ticks):
        axes.axvline(place, color=SOFT, lw=0.8)
        for y, text in zip(at, texts, strict=True):
            axes.text(
                place,
                y,
                f" {text}",
                fontsize=7.5,
                va="center",
                color=INK,
                zorder=3,
                bbox={"facecolor": GROUND, "edgecolor": "none", "pad": 0.6},
            )
    axes.set_xticks(range(len(ticks)), [key.replace("_", "\n") for key in [*keys, metric]])
    axes.set_yticks([])
    axes.set_xlim(-0.15, len(ticks) - 0.5)
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)


def _expected(figure: Figure, scores: list[float], metric: str) -> None:
    axes = figure.subplots()
    axes.plot(range(1, len(scores) + 1), scores, color=SERIES[0], marker="o", markersize=3)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel(say("trials"))
    axes.set_ylabel(say("expected best {metric}", metric=metric))


def _places(dimension: dict[str, list[Any]], values: list[Any]) -> tuple[list[float], Ticks]:
    """Return where each value stands from 0 to 1, and the ticks: both ends of a span, or every choice."""
    ((kind, ends),) = dimension.items()
    if kind == "choice":
        step = 1 / max(len(ends) - 1, 1)
        return [ends.index(value) * step for value in values], (
            [i * step for i in range(len(ends))],
            [f"{end}" for end in ends],
        )
    scale = math.log if kind == "loguniform" else float
    low, high = scale(ends[0]), scale(ends[1])
    middle = math.sqrt(ends[0] * ends[1]) if kind == "loguniform" else (ends[0] + ends[1]) / 2
    return [(scale(value) - low) / (high - low) for value in values], (
        [0, 0.5, 1],
        [f"{each:.2g}" if kind != "integer" else f"{each:.0f}" for each in (ends[0], middle, ends[1])],
    )


def _apart(lengths: list[float]) -> Ticks:
    """Return ticks for these lengths on a logarithmic scale: none closer to the last than a twelfth of the axis."""
    gap = (math.log(lengths[-1]) - math.log(lengths[0])) / 12
    kept = lengths[:1]
    for length in lengths[1:]:
        if math.log(length) - math.log(kept[-1]) >= gap:
            kept.append(length)
    return kept, [f"{length:.0f}" for length in kept]


def _series(variants: Iterable[str]) -> dict[str, int]:
    """Return each variant's colour and marker: attention and baseline have the same in every figure."""
    others = (variant for variant in variants if variant not in PAIR)
    return {"attention": 0, "baseline": 1} | {variant: place for place, variant in enumerate(others, 2)}


def _legend(figure: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=min(columns, 4), columnspacing=1.2)


def _of(folder: Path, what: str) -> pd.DataFrame:
    return read(folder / f"{what}.csv", f"heed evaluate {folder.name}")


def _made(
    experiment: Experiment, what: str, title: str, caption: str, folders: Iterable[Path], table: str, into: Path,
    size: tuple[float, float], on: Any, name: str = "", wide: bool = False,
) -> Plot:  # fmt: skip
    key, title, caption = f"{name or experiment.key}_{what}", say(title), say(caption)
    draw(into / key, _says(experiment, f"{title}. {caption}"), size, on)
    return Plot(key, title, caption, tuple(folder / f"{table}.csv" for folder in folders), wide)


def _searched(
    experiment: Experiment, folder: Path, into: Path, what: str, metric: str, title: str, caption: str,
    size: tuple[float, float], on: Any,
) -> Plot:  # fmt: skip
    key, title, caption = f"{folder.name}_search-{what}", say(title), say(caption, metric=metric)
    draw(
        into / key,
        _says(experiment, say("Search {name}. {title}. {caption}", name=folder.name, title=title, caption=caption)),
        size,
        on,
    )
    return Plot(key, title, caption, (folder / "search.json",))


def _says(experiment: Experiment, text: str) -> str:
    return f"{experiment.title}{f' ({experiment.mark})' if experiment.mark else ''}. {text}"
