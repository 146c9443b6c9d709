"""Weights in one text: its rankings as coloured words, and self-attention head by head."""

import dataclasses
import itertools
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from heed.report.browser import excerpt, full_colour, read_prediction_table, typical_documents
from heed.report.experiments import Experiment
from heed.report.explanations import Explanation
from heed.report.figures import shapes
from heed.report.figures.recency import coloured
from heed.report.figures.shapes import EVERYWHERE, PAGE, Figure, Heads, Mark, Panel
from heed.report.figures.variants import make_figure
from heed.report.results import Results
from heed.report.sources import Source

RANKINGS = "attention", "gradient", "leave_one_out"
WORDS, LETTERS = 40, 86  # of a text and of a line, at most


def document_rankings(results: Results) -> list[Figure]:
    """Return a figure for each experiment: its first explained model that chooses its weights.

    Text that may not be published is on the page alone.
    """
    figures = []
    for experiment in results.experiments:
        if experiment.measure.is_of_sentences or not results.prints_texts(experiment):
            continue
        models = experiment.result.models
        for each in results.explanations:
            own = each.experiment.key == experiment.key and not each.is_of_encoder
            if own and each.has_weights and models[each.variant].hyperparameters.chooses_weights:
                figures += _rankings(results, experiment, each)
                break
    return figures


def _rankings(results: Results, experiment: Experiment, each: Explanation) -> list[Figure]:
    """Return the typical text of the first class in the first seed (see `typical_documents`)."""
    documents, units = each.read("documents"), each.read("units")
    if "text" not in documents:
        return []
    documents = documents[documents["seed"] == documents["seed"].min()]
    if "rationale_weight" not in documents:  # of a corpus without any rationale
        documents = documents.assign(rationale_weight=math.nan)
    columns = {"rationale_weight": "share", "max_weight": "largest", "units": "words"}
    table = documents.rename(columns=columns).assign(shown=documents["text"].notna())
    row = table.loc[min(typical_documents(table, 1).values())]
    own = units[(units["seed"] == row["seed"]) & (units["id"] == row["id"])]
    own = own.sort_values("unit").reset_index(drop=True)
    part = excerpt(own.assign(weight=own["attention"].fillna(0)), WORDS)
    said = [row["text"][unit.start : unit.end] for unit in part.itertuples()]
    panels = []
    for ranking in (name for name in RANKINGS if own[name].notna().any()):
        shades = own[ranking].fillna(0).to_numpy(np.float64).clip(0)
        shown = (shades / full_colour(shades))[part.index]
        marked = part["rationale"].fillna(0).astype(bool).tolist()
        panels.append([coloured(said, shown, ranking.replace("_", "-"), marked, LETTERS)])
    files = (each.folder / f"{name}.parquet" for name in ("documents", "units"))
    figure = make_figure(
        "rankings", f"{experiment.key}_rankings", results.sources.add(*files), panels,
        (shapes.WIDE, sum(panel.height + 0.3 for (panel,) in panels)),
        f"{experiment.title}, {row['label']}: {' '.join(said)}.",
        media=EVERYWHERE if experiment.publishable else PAGE,
        subject=experiment.words[each.variant],
    )  # fmt: skip
    return [figure]


# Inches: a letter, a pair of words, between two heads, around all; the largest figure on paper, and
# the widest in a column of it.
LETTER, CELL, GAP, FRAME = 0.064, 0.106, 0.25, 0.4
PAPER_WIDTH, PAPER_HEIGHT, COLUMN = 6.8, 6.1, 3.3
ACROSS, MAX_HEADS = 4, 8  # heads side by side at most, and in all
SIZE = 7.2  # points of words: the smallest print on paper has 7


def head_weights(results: Results, experiment: Experiment, variant: str) -> list[Figure]:
    """Return a figure for each short document of a model that has self-attention.

    Nothing for a model without it, and where no test document is short enough.
    """
    model, subject = results.models(experiment)[variant], experiment.words[variant]
    path = results.prediction_folder(model) / "heads.parquet"
    documents, sources = read_prediction_table(path), results.sources.add(path)
    return [
        _heads(experiment, document, f"{model}_heads-{number}", sources, subject)
        for number, (_, document) in enumerate(documents.groupby("id", sort=False), 1)
    ]


def _heads(
    experiment: Experiment, document: pd.DataFrame, key: str, sources: tuple[Source, ...],
    subject: str,
) -> Figure:  # fmt: skip
    first, every = document.iloc[0], _every_head(document)
    words, drawn = every.words, min(len(every.names), MAX_HEADS)
    more = " Words of the rationale are bold." * any(every.marked)
    if drawn < len(every.names):
        more += f" The first {MAX_HEADS} of {len(every.names)} heads."
    label, side = LETTER * max(map(len, words)), CELL * len(words) + GAP
    columns = max(1, min(drawn, ACROSS, int((PAPER_WIDTH - label - 0.2) / side)))
    panels = []
    for number, weights in enumerate(every.weights[:drawn]):
        rows = shapes.squares(weights / full_colour(weights))
        rows += word_labels(words, SIZE, True, every.marked) if number < columns else []
        rows += word_labels(words, SIZE, False, every.marked) if number % columns == 0 else []
        panels.append(heat_map(rows, len(words), len(words), every.names[number]))
    lines = shapes.in_rows(panels, columns)
    width, height = columns * side + label + 0.2, len(lines) * side + label + FRAME
    fits = width <= PAPER_WIDTH and height <= PAPER_HEIGHT
    figure = make_figure(
        "heads", key, sources, lines, (max(width, shapes.WIDTH), height), " ".join(words), more,
        EVERYWHERE if experiment.publishable and fits else PAGE, subject=subject,
        name=first["id"], label=first["label"], predicted=first["predicted"],
    )  # fmt: skip
    heads = every if len(every.names) > 1 else None
    return dataclasses.replace(figure, wide=width > COLUMN, heads=heads)


def _every_head(document: pd.DataFrame) -> Heads:
    """Return the weights of all heads in a document, each with its name."""
    keys = document.drop_duplicates("key").sort_values("key")
    by_place = document.sort_values(["head", "query", "key"])["weight"].to_numpy(np.float64)
    weights = by_place.reshape(-1, len(keys), len(keys))
    titles = [f"head {number} (largest {head.max():.2f})" for number, head in enumerate(weights, 1)]
    words = [shapes.short_name(str(word)) for word in keys["key_word"]]
    return Heads(titles, words, [bool(each) for each in keys["rationale"]], weights)


def heat_map(rows: list[Mark], columns: int, lines: int, title: str = "") -> Panel:
    """Return a panel of squares without axes, whose words are among its rows."""
    axes = shapes.bare((-0.5, columns - 0.5)), shapes.bare((lines - 0.5, -0.5))
    return Panel(rows, *axes, title, lines, lines / columns, grid=False)


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
