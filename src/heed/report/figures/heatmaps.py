"""Heat maps of one document: its rankings below each other, and self-attention head by head."""

import dataclasses
import itertools
import math
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from heed.report.blocks import EVERYWHERE, PAGE, Axis, Figure, Heads, Mark, Panel
from heed.report.browser import (
    describe_shares,
    excerpt,
    full_colour,
    read_prediction_table,
    typical_documents,
)
from heed.report.experiments import Experiment
from heed.report.explanations import Explanation
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.lecture_002 import heading
from heed.report.results import Results

STRIP = 22  # words below each other's rankings in one line
STRIPS = 4  # of all documents of a figure together
CLASSES = 3  # of which a document is drawn
RANK_CELL, RANK_LETTER = 0.155, 0.06  # inches: a row, a letter of a word
RANK_TITLE, RANK_GAP = 0.2, 0.15  # inches above a document, and around a strip


@dataclasses.dataclass(frozen=True)
class Document:
    """A document of an explained model: the words drawn, from the word `first`.

    `weight_shown` is the share of all weight that they have; `rows` are the rankings by name, from
    0 to 1 and NaN where there is none; `share` is that of the weight on the rationale, NaN without
    one; `largest` is the largest weight.
    """

    name: str
    label: str
    predicted: str
    first: int
    weight_shown: float
    words: list[str]
    rows: dict[str, np.ndarray]
    share: float
    largest: float

    @property
    def strips(self) -> int:
        """The lines that its words take."""
        return math.ceil(len(self.words) / STRIP)

    @property
    def height(self) -> float:
        """The inches that it takes."""
        label = RANK_LETTER * max(len(shapes.short_name(word)) for word in self.words) + 0.05
        return RANK_TITLE + self.strips * (RANK_CELL * len(self.rows) + label + RANK_GAP)

    @property
    def title(self) -> str:
        """The classes, and the weight that its colours are of."""
        weight = (
            f"largest weight {self.largest:.1%}"
            if math.isnan(self.share)
            else f"{self.share:.1%} of the weight on the rationale"
        )
        wrong = "" if self.label == self.predicted else f", predicted {self.predicted}"
        return f"{self.label}{wrong}: {weight}"


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
            is_own = each.experiment.key == experiment.key and not each.is_of_encoder
            if is_own and each.has_weights and models[each.variant].hyperparameters.chooses_weights:
                figures += _rankings_figure(results, each)
                break
    return figures


def _rankings_figure(results: Results, explanation: Explanation) -> list[Figure]:
    documents = choose_documents(explanation)
    if not documents:
        return []
    experiment = explanation.experiment
    claim = (
        "Shows that rankings of the same prediction differ, and where. One document of a class "
        "shows no more."
    )
    caption = _rankings_caption(explanation, documents)
    height = min(0.2 + sum(each.height for each in documents), shapes.MAX_HEIGHT)
    paths = (explanation.folder / f"{name}.parquet" for name in ("documents", "units"))
    words = " ".join(word for each in documents for word in each.words)
    return [
        Figure(
            f"{experiment.key}_rankings",
            "Rankings over one document of each class",
            caption,
            results.sources.add(*paths),
            [[strip] for document in documents for strip in _strips(document)],
            (shapes.WIDTH, height),
            subject=", ".join(filter(None, [explanation.variant, heading(results, explanation)])),
            alt_text=f"{claim} {caption} {words}",
            claim=claim,
            media=EVERYWHERE if experiment.publishable else (PAGE,),
        )
    ]


def _rankings_caption(explanation: Explanation, documents: list[Document]) -> str:
    explained = _of_first_seed(explanation)
    names = ", ".join(
        f"{each.name} from word {each.first + 1}, with {each.weight_shown:.0%} of the weight"
        for each in documents
    )
    rule = (
        f"Of each class, among the {explained['text'].count()} documents with all rankings, the "
        "one whose share of weight on the rationale is nearest to the class’s median (in a class "
        f"without a rationale, whose largest weight is): {names}; of a long one the successive "
        "words with the most weight on the rationale; of as much, to 1%, those with the most "
        "weight."
    )
    medians = explained.groupby("label")["rationale_weight"].median().dropna()
    if len(medians):
        shares = {str(label): float(each) for label, each in medians.items()}
        rule += (
            f" The medians of all {explained['rationale_weight'].count()} explained documents with "
            f"a rationale: {describe_shares(shares)}."
        )
    return (
        f"{rule} First seed. The stronger the colour, the higher in its row; full colour is the "
        "row’s largest value in the whole document, or three times its mean, whichever is more. "
        "Dash: not measured."
    )


def _of_first_seed(explanation: Explanation) -> pd.DataFrame:
    documents = explanation.read("documents")
    if "rationale_weight" not in documents:  # of a corpus without any rationale
        documents = documents.assign(rationale_weight=math.nan)
    return documents[documents["seed"] == documents["seed"].min()]


def choose_documents(explanation: Explanation) -> list[Document]:
    """Return the typical document of each class in the first seed (see `typical_documents`).

    Nothing where the text of no document is kept: it is kept of those with all rankings.
    """
    documents = _of_first_seed(explanation)
    if "text" not in documents:
        return []
    columns = {"rationale_weight": "share", "max_weight": "largest", "units": "words"}
    table = documents.rename(columns=columns).assign(shown=documents["text"].notna())
    units = explanation.read("units")
    units = units[units["seed"] == documents["seed"].min()]
    chosen = [*typical_documents(table, CLASSES).values()]
    words = STRIP * (STRIPS // max(len(chosen), 2))
    return [_document(row, units, words) for row in table.loc[chosen].itertuples()]


def _document(row: Any, units: pd.DataFrame, words: int) -> Document:
    own = units[units["id"] == row.id].sort_values("unit").reset_index(drop=True)
    part = excerpt(own.assign(weight=own["attention"].fillna(0)), words)
    rows = {name: values[part.index] for name, values in _rows(own).items()}
    head = str(row.id), str(row.label), str(row.predicted), int(part.index[0])
    texts = [row.text[unit.start : unit.end] for unit in part.itertuples()]
    shares = float(row.share), float(row.largest)
    return Document(*head, float(part["weight"].sum()), texts, rows, *shares)


def _rows(units: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the rankings of a document: values from 0 to 1, NaN where there is none."""
    names = {
        "attention": "attention",
        "gradient": "gradient",
        "leave_one_out": "leave-one-out",
        "rationale": "rationale",
    }
    rows = {}
    for ranking, name in names.items():
        values = units[ranking].to_numpy(np.float64)
        known = values[~np.isnan(values)]
        if ranking == "rationale":
            if known.any():
                rows[name] = values
        else:
            rows[name] = values / full_colour(known) if len(known) else values
    return rows


def _strips(document: Document) -> Iterator[Panel]:
    length = math.ceil(len(document.words) / document.strips)
    for number in range(document.strips):
        part = slice(number * length, (number + 1) * length)
        rows = {key: row[part] for key, row in document.rows.items()}
        strip = _strip(document.words[part], rows)
        yield strip if number else dataclasses.replace(strip, title=document.title)


def _strip(text: list[str], rows: dict[str, np.ndarray]) -> Panel:
    """Return the rankings of some words below each other, and the words below them."""
    marks: list[Mark] = []
    for y, (name, values) in enumerate(rows.items()):
        fill = shapes.INK if name == "rationale" else shapes.SERIES[0]
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
    every = _every_head(document, keys)
    caption = described(
        "heads", name=first["id"], label=first["label"], predicted=first["predicted"]
    )
    if document["rationale"].any():
        caption += " Words of the rationale are bold."
    if heads > MAX_HEADS:
        caption += f" The first {MAX_HEADS} of {heads} heads."
    drawn = min(heads, MAX_HEADS)
    label = LETTER * max(len(shapes.short_name(word)) for word in words)
    side = CELL * len(words) + GAP
    columns = max(1, min(drawn, ACROSS, int((PAPER_WIDTH - label - 0.2) / side)))
    rows = math.ceil(drawn / columns)
    width, height = columns * side + label + 0.2, rows * side + label + FRAME
    fits = width <= PAPER_WIDTH and height <= PAPER_HEIGHT
    return Figure(
        key,
        "Self-attention, word by word and head by head",
        caption,
        results.sources.add(path),
        _heads(every, keys, columns),
        (max(width, shapes.WIDTH), height),
        subject=variant,
        alt_text=shapes.alt_text(experiment, f"{caption} {' '.join(words)}"),
        wide=width > COLUMN,
        in_rows=True,
        media=EVERYWHERE if experiment.publishable and fits else (PAGE,),
        heads=every if heads > 1 else None,
    )


def _every_head(document: pd.DataFrame, keys: pd.DataFrame) -> Heads:
    """Return the weights of all heads in a document, each with its name."""
    by_place = document.sort_values(["head", "query", "key"])["weight"].to_numpy(np.float64)
    weights = by_place.reshape(-1, len(keys), len(keys))
    names = [f"head {number} (largest {head.max():.2f})" for number, head in enumerate(weights, 1)]
    words = [shapes.short_name(str(word)) for word in keys["key_word"]]
    return Heads(names, words, [bool(each) for each in keys["rationale"]], weights)


def _heads(every: Heads, keys: pd.DataFrame, columns: int) -> list[list[Panel]]:
    panels, names = [], keys["key_word"].tolist()
    drawn = zip(every.names[:MAX_HEADS], every.weights, strict=False)
    for number, (title, weights) in enumerate(drawn):
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
