"""Heat maps of one document: its rankings below each other, and self-attention head by head."""

import dataclasses
import math
import pathlib

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from heed.report.blocks import EVERYWHERE, PAGE, Figure
from heed.report.browser import full_colour, read_prediction_table
from heed.report.experiments import Experiment
from heed.report.explanations import Explanation
from heed.report.figures import drawing
from heed.report.figures.drawing import INK, SERIES, SOFT, WIDTH, Style, short_name
from heed.report.figures.lecture_002 import heading
from heed.report.language import say
from heed.report.results import Results

WORDS = 60  # that are drawn of a document
BEFORE = 10  # of them before the first rationale, where the document is longer
STRIP = 22  # words below each other's rankings in one line
RANK_CELL, RANK_LETTER = 0.155, 0.06  # inches: a row, a letter of a word


@dataclasses.dataclass(frozen=True)
class Document:
    """A document with its units that are drawn, from unit `first`."""

    name: str
    label: str
    predicted: str
    first: int
    words: list[str]
    units: pd.DataFrame


def document_rankings(results: Results) -> list[Figure]:
    """Return a figure for each experiment: its first explained model that chooses its weights.

    Text that heed did not generate is on the page alone, and not in what is published.
    """
    figures = []
    for experiment in results.experiments:
        if experiment.measure.is_of_sentences or not results.prints_texts(experiment):
            continue
        models = experiment.result.models
        for each in results.explanations:
            is_own = each.experiment.key == experiment.key and not each.is_of_encoder
            if is_own and each.has_weights and models[each.variant].hyperparameters.chooses_weights:
                figures += _rankings_figure(results, each)
                break
    return figures


def _rankings_figure(results: Results, explanation: Explanation) -> list[Figure]:
    document = choose_document(explanation)
    if document is None:
        return []
    experiment = explanation.experiment
    claim = say(
        "Shows that rankings of the same prediction differ, and where. One document shows no more."
    )
    caption = say(
        "Document {name}, {label}, predicted {predicted}, from word {first}; of the first "
        "documents drawn, the first by name that has a rationale (without any: the first). First "
        "seed. The stronger the colour, the higher in its row; dash: not measured.",
        name=document.name,
        label=document.label,
        predicted=document.predicted,
        first=document.first + 1,
    )
    rows, strips = _rows(document), math.ceil(len(document.words) / STRIP)
    label_height = RANK_LETTER * max(len(short_name(word)) for word in document.words) + 0.05
    height = 0.35 + strips * (RANK_CELL * len(rows) + label_height + 0.15)
    paths = (explanation.folder / f"{name}.parquet" for name in ("documents", "units"))
    return [
        Figure(
            f"{experiment.key}_rankings",
            say("Rankings over one document"),
            caption,
            results.sources.add(*paths),
            lambda figure: _draw_rankings(figure, document.words, rows, strips),
            (WIDTH, height),
            subject=", ".join(filter(None, [explanation.variant, heading(results, explanation)])),
            alt_text=drawing.alt_text(experiment, f"{claim} {caption} {' '.join(document.words)}"),
            claim=claim,
            media=EVERYWHERE if experiment.generated else (PAGE,),
        )
    ]


def choose_document(explanation: Explanation) -> Document | None:
    """Return the document of a rule in which no result has a part; None where no text is kept.

    Of the documents with all rankings in the first seed: the first by name that has a rationale,
    else the first by name.
    """
    documents = explanation.read("documents")
    if "text" not in documents:
        return None
    documents = documents[documents["seed"] == documents["seed"].min()].dropna(subset="text")
    if documents.empty:
        return None
    documents = documents.sort_values("id", key=lambda names: names.astype(str))
    units = explanation.read("units")
    units = units[units["seed"] == documents["seed"].iloc[0]]
    known = documents[documents["id"].isin(units[units["rationale"]]["id"])]
    row = (documents if known.empty else known).iloc[0]
    own = units[units["id"] == row["id"]].sort_values("unit")
    first = first_word(own["rationale"].to_numpy(bool))
    own = own.iloc[first : first + WORDS]
    words = [row["text"][unit.start : unit.end] for unit in own.itertuples()]
    return Document(str(row["id"]), str(row["label"]), str(row["predicted"]), first, words, own)


def first_word(rationale: np.ndarray) -> int:
    """Return the first unit that is drawn: 0 where all are, or none belongs to the rationale."""
    if len(rationale) <= WORDS or not rationale.any():
        return 0
    return int(np.clip(rationale.argmax() - BEFORE, 0, len(rationale) - WORDS))


def _rows(document: Document) -> dict[str, np.ndarray]:
    """Return the rows of the figure: values from 0 to 1, NaN where there is none."""
    names = {
        "attention": say("attention"),
        "gradient": say("gradient"),
        "leave_one_out": say("leave-one-out"),
        "rationale": say("rationale"),
    }
    rows = {}
    for ranking, name in names.items():
        values = document.units[ranking].to_numpy(np.float64)
        largest = np.nanmax(values, initial=0)
        if ranking != "rationale" or largest > 0:
            rows[name] = values / largest if largest > 0 else values
    return rows


def _draw_rankings(
    figure: matplotlib.figure.Figure, words: list[str], rows: dict[str, np.ndarray], strips: int
) -> None:
    length = math.ceil(len(words) / strips)
    for number, axes in enumerate(figure.subplots(strips, 1, squeeze=False)[:, 0]):
        part = slice(number * length, (number + 1) * length)
        _draw_strip(axes, words[part], {key: row[part] for key, row in rows.items()})


def _draw_strip(axes: Axes, words: list[str], rows: dict[str, np.ndarray]) -> None:
    """Draw the rankings of some words below each other, and the words below them."""
    for y, (name, values) in enumerate(rows.items()):
        fill = INK if name == say("rationale") else SERIES[0]
        for x, value in enumerate(values):
            if np.isnan(value):
                axes.plot([x - 0.2, x + 0.2], [y, y], color=SOFT, lw=0.6)
            elif value > 0:
                square: Style = {"facecolor": fill, "alpha": round(float(value), 2), "lw": 0}
                axes.add_patch(Rectangle((x - 0.5, y - 0.42), 1, 0.84, **square))
    axes.set_xticks(range(len(words)), map(short_name, words), rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=7)
    axes.set_xlim(-0.5, STRIP - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


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
    documents = read_prediction_table(path).groupby("id", sort=False)
    return [
        _figure(results, experiment, variant, document, f"{model}_heads-{number}", path)
        for number, (_, document) in enumerate(documents, 1)
    ]


def _figure(
    results: Results,
    experiment: Experiment,
    variant: str,
    document: pd.DataFrame,
    key: str,
    path: pathlib.Path,
) -> Figure:
    keys = document.drop_duplicates("key").sort_values("key")
    words, heads, first = keys["key_word"].tolist(), document["head"].nunique(), document.iloc[0]
    caption = say(
        "Document {name}, {label}, predicted {predicted}; first seed. A row is a word that "
        "attends, a column a word that it attends to; the weights of a row sum to 1. The stronger "
        "the colour of a square, the more weight; full colour is the head’s largest weight, "
        "printed above it, or three times an equal weight, whichever is more.",
        name=first["id"],
        label=first["label"],
        predicted=first["predicted"],
    )
    if document["rationale"].any():
        caption += " " + say("Words of the rationale are bold.")
    if heads > MAX_HEADS:
        caption += " " + say("The first {drawn} of {heads} heads.", drawn=MAX_HEADS, heads=heads)
    drawn = min(heads, MAX_HEADS)
    label = LETTER * max(len(short_name(word)) for word in words)
    side = CELL * len(words) + GAP
    columns = max(1, min(drawn, ACROSS, int((PAPER_WIDTH - label - 0.2) / side)))
    rows = math.ceil(drawn / columns)
    width, height = columns * side + label + 0.2, rows * side + label + FRAME
    fits = width <= PAPER_WIDTH and height <= PAPER_HEIGHT
    return Figure(
        key,
        say("Self-attention, word by word and head by head"),
        caption,
        results.sources.add(path),
        lambda figure: _draw(figure, document, keys, (rows, columns)),
        (max(width, WIDTH), height),
        subject=variant,
        alt_text=drawing.alt_text(experiment, f"{caption} {' '.join(words)}"),
        wide=width > COLUMN,
        in_rows=True,
        media=EVERYWHERE if experiment.generated and fits else (PAGE,),
    )


def _draw(
    figure: matplotlib.figure.Figure,
    document: pd.DataFrame,
    keys: pd.DataFrame,
    shape: tuple[int, int],
) -> None:
    grid = figure.subplots(*shape, squeeze=False)
    heads = [rows for _, rows in document.groupby("head")]
    for axes in grid.flat[len(heads) :]:
        axes.set_visible(False)
    for index, (axes, head) in enumerate(zip(grid.flat, heads, strict=False)):
        weights = head.pivot(index="query", columns="key", values="weight").to_numpy(np.float64)
        draw_squares(axes, weights / full_colour(weights))
        title = say("head {number} (largest {weight})", number=index + 1,
                    weight=f"{weights.max():.2f}")  # fmt: skip
        axes.set_title(title, fontsize=SIZE)
        _label(axes, keys, at_top=index < shape[1], at_left=index % shape[1] == 0)


def draw_squares(axes: Axes, weights: np.ndarray) -> None:
    """Draw a square for each weight from 0 to 1, (rows, columns): the stronger, the more.

    One path for each shade keeps the file small.
    """
    shades = np.rint(SHADES * weights).astype(int)
    for shade in np.unique(shades[shades > 0]):
        squares = [
            Path.unit_rectangle().transformed(Affine2D().translate(column - 0.5, row - 0.5))
            for row, column in np.argwhere(shades == shade)
        ]
        path, alpha = Path.make_compound_path(*squares), min(shade / SHADES, 1)
        axes.add_patch(PathPatch(path, facecolor=SERIES[0], alpha=alpha, lw=0, clip_on=False))


def _label(axes: Axes, keys: pd.DataFrame, at_top: bool, at_left: bool) -> None:
    """Write the words above a head's weights and at their left; rationale is bold."""
    names = [short_name(word) for word in keys["key_word"]]
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(names)), names if at_top else [""] * len(names), rotation=90)
    axes.set_yticks(range(len(names)), names if at_left else [""] * len(names))
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        for label, marked in zip(labels, keys["rationale"], strict=True):
            style: Style = {"weight": "bold" if marked else "normal", "fontsize": SIZE}
            label.set(color=INK if marked else SOFT, **style)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.tick_params(length=0)
