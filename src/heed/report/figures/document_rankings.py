"""The rankings of one document side by side: how they differ on the same words."""

import dataclasses

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from heed.report.blocks import EVERYWHERE, PAGE, Figure
from heed.report.explanations import Explanation, ranking_names
from heed.report.figures import drawing
from heed.report.figures.drawing import INK, SERIES, SOFT, WIDTH, Style, short_name
from heed.report.figures.model_rows import heading
from heed.report.language import say
from heed.report.results import Results

WORDS = 60  # that are drawn of a document
BEFORE = 10  # of them before the first evidence, where the document is longer
STRIP = 22  # words below each other's rankings in one line
CELL, LETTER = 0.155, 0.06  # inches: a row, a letter of a word
RANKINGS = ("attention", "gradient", "leave_one_out")


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
        if experiment.measure.is_of_sentences:
            continue
        models = results.comparison.experiments[experiment.key].models
        explained = [
            each
            for each in results.explanations
            if each.experiment.key == experiment.key
            and each.has_weights
            and models[each.variant].hyperparameters.chooses_weights
        ]
        if explained and (experiment.generated or results.with_documents):
            figures += _figure(results, explained[0])
    return figures


def _figure(results: Results, explanation: Explanation) -> list[Figure]:
    document = choose_document(explanation)
    if document is None:
        return []
    experiment = explanation.experiment
    claim = say(
        "Shows that rankings of the same prediction differ, and where. One document shows no more."
    )
    caption = say(
        "Document {name}, {label}, predicted {predicted}, from word {first}; of the first "
        "documents drawn, the first by name that has evidence (without any: the first). First "
        "seed. The stronger the colour, the higher in its row; dash: not measured.",
        name=document.name,
        label=document.label,
        predicted=document.predicted,
        first=document.first + 1,
    )
    strips = -(-len(document.words) // STRIP)
    height = 0.35 + strips * (CELL * len(_rows(document)) + _label_height(document) + 0.15)
    paths = (explanation.folder / f"{name}.parquet" for name in ("documents", "units"))
    return [
        Figure(
            f"{experiment.key}_rankings",
            say("Rankings over one document"),
            caption,
            results.sources.add(*paths),
            lambda figure: _draw(figure, document, strips),
            (WIDTH, height),
            subject=", ".join(filter(None, [explanation.variant, heading(results, explanation)])),
            alt_text=drawing.alt_text(experiment, f"{claim} {caption} {' '.join(document.words)}"),
            mark=experiment.mark,
            claim=claim,
            media=EVERYWHERE if experiment.generated else (PAGE,),
        )
    ]


def choose_document(explanation: Explanation) -> Document | None:
    """Return the document of a rule in which no result has a part; None where no text is kept.

    Of the documents with all rankings in the first seed: the first by name that has evidence, else
    the first by name.
    """
    documents = explanation.read("documents")
    if "text" not in documents:
        return None
    documents = documents[documents["seed"] == documents["seed"].min()].dropna(subset="text")
    if documents.empty:
        return None
    units = explanation.read("units")
    units = units[(units["seed"] == documents["seed"].iloc[0]) & units["id"].isin(documents["id"])]
    with_evidence = set(units[units["evidence"]]["id"])
    documents = documents.sort_values("id", key=lambda names: names.astype(str))
    known = documents[documents["id"].isin(with_evidence)]
    row = (documents if known.empty else known).iloc[0]
    own = units[units["id"] == row["id"]].sort_values("unit")
    first = first_word(own["evidence"].to_numpy(bool))
    own = own.iloc[first : first + WORDS]
    words = [row["text"][unit.start : unit.end] for unit in own.itertuples()]
    return Document(str(row["id"]), str(row["label"]), str(row["predicted"]), first, words, own)


def first_word(evidence: np.ndarray) -> int:
    """Return the first unit that is drawn: 0 where all are, or none is evidence."""
    if len(evidence) <= WORDS or not evidence.any():
        return 0
    return int(np.clip(evidence.argmax() - BEFORE, 0, len(evidence) - WORDS))


def _rows(document: Document) -> dict[str, np.ndarray]:
    """Return the rows of the figure: values from 0 to 1, NaN where there is none."""
    names = ranking_names()
    rows = {names[ranking]: document.units[ranking].to_numpy(np.float64) for ranking in RANKINGS}
    shades = {}
    for name, values in rows.items():
        largest = np.nanmax(values) if np.isfinite(values).any() else 0
        shades[name] = values / largest if largest > 0 else values
    evidence = document.units["evidence"].to_numpy(np.float64)
    return shades | ({say("evidence"): evidence} if evidence.any() else {})


def _label_height(document: Document) -> float:
    """Return the inches that the longest word takes, turned."""
    return LETTER * max(len(short_name(word)) for word in document.words) + 0.05


def _draw(figure: matplotlib.figure.Figure, document: Document, strips: int) -> None:
    grid = figure.subplots(strips, 1, squeeze=False)[:, 0]
    rows = _rows(document)
    length = -(-len(document.words) // strips)
    for number, axes in enumerate(grid):
        part = slice(number * length, (number + 1) * length)
        _draw_strip(axes, document.words[part], {key: row[part] for key, row in rows.items()})


def _draw_strip(axes: Axes, words: list[str], rows: dict[str, np.ndarray]) -> None:
    """Draw the rankings of some words below each other, and the words below them."""
    for y, (name, values) in enumerate(rows.items()):
        fill = INK if name == say("evidence") else SERIES[0]
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
