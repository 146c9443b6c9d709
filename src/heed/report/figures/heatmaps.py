"""Heat maps of one document: its rankings below each other, and self-attention head by head."""

import dataclasses
import itertools
import math
import pathlib
from collections.abc import Iterable

import numpy as np
import pandas as pd

from heed.report.blocks import EVERYWHERE, PAGE, Axis, Figure, Mark, Panel
from heed.report.browser import full_colour, read_prediction_table
from heed.report.experiments import Experiment
from heed.report.explanations import Explanation
from heed.report.figures import shapes
from heed.report.figures.captions import described
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
    caption = described(
        "rankings",
        name=document.name,
        label=document.label,
        predicted=document.predicted,
        first=document.first + 1,
    )
    rows, strips = _rows(document), math.ceil(len(document.words) / STRIP)
    label_height = RANK_LETTER * max(len(shapes.short_name(word)) for word in document.words) + 0.05
    height = 0.35 + strips * (RANK_CELL * len(rows) + label_height + 0.15)
    paths = (explanation.folder / f"{name}.parquet" for name in ("documents", "units"))
    return [
        Figure(
            f"{experiment.key}_rankings",
            say("Rankings over one document"),
            caption,
            results.sources.add(*paths),
            _strips(document.words, rows, strips),
            (shapes.WIDTH, height),
            subject=", ".join(filter(None, [explanation.variant, heading(results, explanation)])),
            alt_text=shapes.alt_text(experiment, f"{claim} {caption} {' '.join(document.words)}"),
            mark=experiment.mark,
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


def _strips(text: list[str], rows: dict[str, np.ndarray], strips: int) -> list[list[Panel]]:
    length = math.ceil(len(text) / strips)
    parts = [slice(number * length, (number + 1) * length) for number in range(strips)]
    return [[_strip(text[each], {key: row[each] for key, row in rows.items()})] for each in parts]


def _strip(text: list[str], rows: dict[str, np.ndarray]) -> Panel:
    """Return the rankings of some words below each other, and the words below them."""
    marks: list[Mark] = []
    for y, (name, values) in enumerate(rows.items()):
        fill = shapes.INK if name == say("rationale") else shapes.SERIES[0]
        for x, value in enumerate(values):
            if np.isnan(value):
                marks.append(shapes.rule((x - 0.2, y), (x + 0.2, y), shapes.SOFT, 0.6))
            elif value > 0:
                marks.append(shapes.square(x, y, value, fill, 0.42))
    x_places = {float(place): shapes.short_name(word) for place, word in enumerate(text)}
    y_places = {float(place): name for place, name in enumerate(rows)}
    x_axis = Axis(domain=(-0.5, STRIP - 0.5), places=x_places, strokes=False, angle=-90)
    y_axis = Axis(domain=(len(rows) - 0.5, -0.5), places=y_places, strokes=False)
    return Panel(marks, x_axis, y_axis, grid=False, label_size=SIZE)


# Inches: a pair of words, a letter of a label, between two heads, around all; the largest figure
# on paper, and the widest in a column of it.
CELL, LETTER, GAP, FRAME = 0.106, 0.064, 0.25, 0.4
PAPER_WIDTH, PAPER_HEIGHT, COLUMN = 6.8, 6.1, 3.3
SIZE = 7.2  # points of words: the smallest print on paper has 7
ACROSS = 4  # heads side by side at most
MAX_HEADS = 8  # that are drawn


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
    caption = described(
        "heads", name=first["id"], label=first["label"], predicted=first["predicted"]
    )
    if document["rationale"].any():
        caption += " " + say("Words of the rationale are bold.")
    if heads > MAX_HEADS:
        caption += " " + say("The first {drawn} of {heads} heads.", drawn=MAX_HEADS, heads=heads)
    drawn = min(heads, MAX_HEADS)
    label = LETTER * max(len(shapes.short_name(word)) for word in words)
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
        _heads(document, keys, columns),
        (max(width, shapes.WIDTH), height),
        subject=variant,
        alt_text=shapes.alt_text(experiment, f"{caption} {' '.join(words)}"),
        mark=experiment.mark,
        wide=width > COLUMN,
        in_rows=True,
        media=EVERYWHERE if experiment.generated and fits else (PAGE,),
    )


def _heads(document: pd.DataFrame, keys: pd.DataFrame, columns: int) -> list[list[Panel]]:
    panels, names = [], keys["key_word"].tolist()
    for number, (_, head) in enumerate([*document.groupby("head")][:MAX_HEADS]):
        weights = head.pivot(index="query", columns="key", values="weight").to_numpy(np.float64)
        title = say("head {number} (largest {weight})", number=number + 1,
                    weight=f"{weights.max():.2f}")  # fmt: skip
        rows = shapes.squares(weights / full_colour(weights))
        if number < columns:
            rows += word_labels(names, SIZE, True, keys["rationale"])
        if number % columns == 0:
            rows += word_labels(names, SIZE, False, keys["rationale"])
        panels.append(heat_map(rows, len(names), len(names), title))
    return [panels[start : start + columns] for start in range(0, len(panels), columns)]


def heat_map(rows: list[Mark], columns: int, lines: int, title: str = "") -> Panel:
    """Return a panel of squares without axes, whose words are among its rows."""
    x = Axis(domain=(-0.5, columns - 0.5), places={}, strokes=False)
    y = Axis(domain=(lines - 0.5, -0.5), places={}, strokes=False)
    return Panel(rows, x, y, title, lines, lines / columns, grid=False)


def word_labels(
    names: list[str], size: float, above: bool, marked: Iterable[bool] = ()
) -> list[Mark]:
    """Return the words above a heat map or at its left; those that are marked are bold."""
    rows = []
    for place, (name, bold) in enumerate(itertools.zip_longest(names, marked, fillvalue=False)):
        x, y = (place, -0.5) if above else (-0.5, place)
        align, at, angle = ("left", (2, 0), -90) if above else ("right", (-2, 0), 0)
        style = shapes.INK if bold else shapes.SOFT, size, align, at, angle, bool(bold)
        rows.append(shapes.words(x, y, shapes.short_name(str(name)), *style))
    return rows
