"""Self-attention token by token and head by head, as on the talk's slide (lecture 000)."""

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from heed.report.blocks import EVERYWHERE, PAGE, Figure
from heed.report.documents import full_colour, read_prediction_table
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import INK, SERIES, SOFT, WIDTH, Style, short_name
from heed.report.language import say
from heed.report.results import Results

# Inches: a pair of words, a letter of a label, between two heads, around all; the largest figure
# on paper, and the widest in a column of it.
CELL, LETTER, GAP, FRAME = 0.106, 0.064, 0.25, 0.4
PAPER_WIDTH, PAPER_HEIGHT, COLUMN = 6.8, 6.1, 3.3
SIZE = 7  # points of words: the smallest print on paper
ACROSS = 4  # heads side by side at most
MAX_HEADS = 8  # that are drawn
SHADES = 20  # steps of a weight's shade


def head_weights(results: Results, experiment: Experiment, variant: str) -> list[Figure]:
    """Return a figure for each short document of a model that has self-attention.

    Nothing for a model without it, and where no test document is short enough.
    """
    model = results.models(experiment)[variant]
    path = results.prediction_folder(model) / "heads.parquet"
    table = read_prediction_table(path)
    return [
        _figure(results, experiment, variant, document, number)
        for number, (_, document) in enumerate(table.groupby("id", sort=False), 1)
    ]


def _figure(
    results: Results, experiment: Experiment, variant: str, document: pd.DataFrame, number: int
) -> Figure:
    model = results.models(experiment)[variant]
    words = document.drop_duplicates("key").sort_values("key")["key_word"].tolist()
    heads = document["head"].nunique()
    first = document.iloc[0]
    title = say("Self-attention, word by word and head by head")
    caption = say(
        "Document {name}, {label}, predicted {predicted}; first seed. A row is a word that "
        "attends, a column a word that it attends to; the weights of a row sum to 1. The stronger "
        "the colour of a square, the more weight; full colour is the head’s largest weight, "
        "printed above it, or three times an equal weight, whichever is more.",
        name=first["id"],
        label=first["label"],
        predicted=first["predicted"],
    )
    if document["evidence"].any():
        caption += " " + say("Words of the evidence are bold.")
    if heads > MAX_HEADS:
        caption += " " + say("The first {drawn} of {heads} heads.", drawn=MAX_HEADS, heads=heads)
    drawn = min(heads, MAX_HEADS)
    label = LETTER * max(len(short_name(word)) for word in words)
    side = CELL * len(words)
    columns = max(1, min(drawn, ACROSS, int((PAPER_WIDTH - label - 0.2) / (side + GAP))))
    rows = -(-drawn // columns)
    width, height = columns * (side + GAP) + label + 0.2, rows * (side + GAP) + label + FRAME
    fits = width <= PAPER_WIDTH and height <= PAPER_HEIGHT
    text = " ".join(words)
    return Figure(
        f"{model}_heads-{number}",
        title,
        caption,
        results.sources.add(results.prediction_folder(model) / "heads.parquet"),
        lambda figure: _draw(figure, document, words, (rows, columns)),
        (max(width, WIDTH), height),
        subject=variant,
        alt_text=drawing.alt_text(experiment, f"{caption} {text}"),
        mark=experiment.mark,
        wide=width > COLUMN,
        in_rows=True,
        media=EVERYWHERE if experiment.generated and fits else (PAGE,),
    )


def _draw(
    figure: matplotlib.figure.Figure,
    document: pd.DataFrame,
    words: list[str],
    shape: tuple[int, int],
) -> None:
    grid = figure.subplots(*shape, squeeze=False)
    keys = document.drop_duplicates("key").sort_values("key")
    is_evidence = keys["evidence"].to_numpy(bool)
    heads = [rows for _, rows in document.groupby("head")]
    for index, axes in enumerate(grid.flat):
        if index >= len(heads):
            axes.set_visible(False)
            continue
        weights = heads[index].pivot(index="query", columns="key", values="weight")
        _draw_head(axes, weights.to_numpy(np.float64))
        largest = f"{weights.to_numpy().max():.2f}"
        axes.set_title(
            say("head {number} (largest {weight})", number=index + 1, weight=largest), fontsize=SIZE
        )
        at_top, at_left = index < shape[1], index % shape[1] == 0
        _label(axes, words, is_evidence, at_top, at_left)


def _draw_head(axes: Axes, weights: np.ndarray) -> None:
    """Draw a square for each weight; one path for each shade keeps the file small."""
    shades = np.rint(SHADES * weights / full_colour(weights)).astype(int)
    for shade in np.unique(shades[shades > 0]):
        squares = [
            Path.unit_rectangle().transformed(Affine2D().translate(column - 0.5, row - 0.5))
            for row, column in np.argwhere(shades == shade)
        ]
        path = Path.make_compound_path(*squares)
        axes.add_patch(PathPatch(path, facecolor=SERIES[0], alpha=shade / SHADES, lw=0))


def _label(
    axes: Axes, words: list[str], is_evidence: np.ndarray, at_top: bool, at_left: bool
) -> None:
    """Write the words above a head's weights and at their left; evidence is bold."""
    names = list(map(short_name, words))
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(names)), names if at_top else [""] * len(names), rotation=90)
    axes.set_yticks(range(len(names)), names if at_left else [""] * len(names))
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        for label, marked in zip(labels, is_evidence, strict=True):
            style: Style = {"weight": "bold" if marked else "normal", "fontsize": SIZE}
            label.set(color=INK if marked else SOFT, **style)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.tick_params(length=0)
