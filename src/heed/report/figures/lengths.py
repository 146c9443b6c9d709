"""Accuracy, or BLEU, by the length of the text, where recency and the bottleneck are seen."""

from collections.abc import Sequence

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes

from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import HEIGHT, LINE, SOFT, WIDTH, label_ends
from heed.report.figures.variants import (
    MAX_VARIANTS,
    Look,
    Tables,
    describe_choice,
    draw_panels,
    looks,
    make_figure,
    panel_size,
    read_tables,
)
from heed.report.formats import format_count
from heed.report.language import say
from heed.report.results import Results

AXES = 1.9  # inches: the height of the axes
LABEL_CHARACTERS = 30  # of the labels of all groups, side by side on paper
PANEL, FRAME = 1.15, 0.75


def by_length(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "lengths"
) -> Figure:
    """Return accuracy, or BLEU, by the length of the text: its mean and its range over seeds.

    With more than four variants each has a panel of its own.
    """
    tables = read_tables(results, experiment, "lengths", variants)
    look, with_panels = looks(results), len(variants) > MAX_VARIANTS
    translated = experiment.measure.is_translation
    name = "BLEU" if translated else say("accuracy")

    def draw(figure: matplotlib.figure.Figure) -> None:
        if with_panels:
            _draw_panels(figure, tables, look, name, translated)
        else:
            _draw_together(figure, tables, look, name, translated)

    return make_figure(
        results,
        experiment,
        key,
        "lengths",
        say("BLEU against the length of the source")
        if translated
        else say("Accuracy against the length of the text"),
        _describe(translated) + describe_choice(results, experiment, variants),
        panel_size(len(variants), PANEL, FRAME) if with_panels else (WIDTH, HEIGHT),
        draw,
        variants,
    )


def by_group(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, lowest and highest figure of the seeds in each group of lengths.

    Args:
        table: lengths.csv of `heed score`: a row for each seed and group.

    Returns:
        `mean, min, max, length, count` by `longest`, the length of the group's longest text.
        BLEU is between 0 and 100, accuracy between 0 and 1; `length` is in tokens or words.

    """
    values = 100 * table["bleu"] if "bleu" in table else table["right"] / table["documents"]
    groups = table.assign(value=values).groupby("longest")
    counted = "sentences" if "bleu" in table else "documents"
    frame = groups["value"].agg(["mean", "min", "max"])
    frame["length"] = groups["mean_length"].mean()
    frame["count"] = groups[counted].mean()
    return frame


def _describe(translated: bool) -> str:
    if translated:
        return say(
            "The test sentences in groups of about equal size, from the shortest to the longest; "
            "below each mean length, how many they are. Line: the mean over seeds; band: from the "
            "worst seed to the best. A model without attention has to keep the whole source in "
            "one vector, whatever its length."
        )
    return say(
        "The corpus in eight groups of about equal numbers of documents, from its shortest to "
        "its longest texts; below each mean length, the test documents of a seed. Line: the mean "
        "over seeds; band: from the worst seed to the best. A model that reads its last state "
        "alone may lose what stands far from the end of a long text."
    )


def _draw_line(axes: Axes, groups: pd.DataFrame, look: Look) -> None:
    x = range(len(groups))
    axes.fill_between(x, groups["min"], groups["max"], color=look.colour, alpha=0.15, lw=0)
    axes.plot(x, groups["mean"], **look.style)


def _draw_together(
    figure: matplotlib.figure.Figure,
    tables: Tables,
    look: dict[str, Look],
    name: str,
    translated: bool,
) -> None:
    axes = figure.subplots()
    groups = {variant: by_group(table) for variant, table in tables.items()}
    for variant, each in groups.items():
        _draw_line(axes, each, look[variant])
    if translated:
        axes.set_ylim(bottom=0)
    _name_groups(axes, next(iter(groups.values())), translated)
    axes.set_ylabel(name)
    ends = [look[key].end(key, range(len(each)), each["mean"]) for key, each in groups.items()]
    label_ends(axes, ends, AXES)


def _name_groups(axes: Axes, groups: pd.DataFrame, translated: bool) -> None:
    """Label each group with its mean length and the number of its documents or sentences.

    Long numbers stand on two lines in turn: side by side they would touch.
    """
    counts = [f"({format_count(round(count))})" for count in groups["count"]]
    are_long = len(counts) * max(map(len, counts)) > LABEL_CHARACTERS
    texts = [
        f"{length:.0f}\n" + "\n" * (are_long and place % 2) + count
        for place, (length, count) in enumerate(zip(groups["length"], counts, strict=True))
    ]
    axes.set_xticks(range(len(groups)), texts, fontsize=7)
    if translated:
        axes.set_xlabel(say("words of the source, mean of each group (sentences)"))
    else:
        axes.set_xlabel(say("tokens of the text, mean of each group (test documents)"))


def _draw_panels(
    figure: matplotlib.figure.Figure,
    tables: Tables,
    look: dict[str, Look],
    name: str,
    translated: bool,
) -> None:
    """Draw a panel for each variant, before the means of all others."""
    groups = {variant: by_group(table) for variant, table in tables.items()}

    def draw(axes: Axes, variant: str) -> None:
        for each in groups.values():
            axes.plot(range(len(each)), each["mean"], color=LINE, lw=0.7)
        _draw_line(axes, groups[variant], look[variant])
        lengths = groups[variant]["length"].tolist()
        ends = sorted({0, len(lengths) - 1})
        axes.set_xticks(ends, [f"{lengths[end]:.0f}" for end in ends])

    for axes in draw_panels(figure, [*tables], draw):
        axes.set_ylabel(name)
    label = (
        say("words of the source, mean of each group")
        if translated
        else say("tokens of the text, mean of each group")
    )
    figure.supxlabel(label, fontsize=9, color=SOFT)
