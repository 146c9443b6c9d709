"""Shares as shades: words of one text by rank, self-attention by head, confusions of classes."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from heed.report.browser import excerpt, full_colour, read_prediction_table, typical_documents
from heed.report.explanations import Explanation
from heed.report.figures import shapes
from heed.report.figures.recency import coloured
from heed.report.figures.shapes import EVERYWHERE, PAGE, Axis, Figure, Heads, Mark, Panel
from heed.report.figures.variants import Drawn, make_figure, ordered_variants
from heed.report.results import Results

RANKINGS = "attention", "gradient", "leave_one_out"
WORDS, LETTERS = 40, 86  # of a text and of a line, at most
# of confusions:
FEW, LARGE, LONGEST = 3, 12, 18  # classes that a figure shows, at least and most; letters of a name
LARGEST, ENOUGH, SIGN = 0.42, 0.19, 0.062  # inches: of a cell at most and about at least, a letter
TITLE, LABELS, BESIDE = 0.3, 0.45, 0.1  # inches: above a matrix, of the axes, beside a matrix


def document_rankings(results: Results) -> Iterator[Figure]:
    """Yield a figure for each experiment: its first explained model that chooses its weights."""
    first = dict[str, Explanation]()
    for model in results.explanations:
        own = model.experiment
        if model.is_of_encoder or not model.has_weights or own.measure.is_of_sentences:
            continue
        if own.result.models[model.variant].hyperparameters.chooses_weights:
            first.setdefault(own.key, model)
    for model in first.values():
        if results.prints_texts(model.experiment):
            yield from _rankings(Drawn(results, model.experiment, [model.variant]), model)


def _rankings(drawn: Drawn, explanation: Explanation) -> Iterator[Figure]:
    """Yield the typical text of the first class in the first seed (see `typical_documents`)."""
    documents, units = explanation.read("documents"), explanation.read("units")
    if "text" not in documents:
        return
    documents = documents[documents["seed"] == documents["seed"].min()]
    columns = {"rationale_weight": "share", "max_weight": "largest", "units": "words"}
    table = documents.rename(columns=columns).assign(shown=documents["text"].notna())
    if "share" not in table:  # of a corpus without any rationale
        table["share"] = np.nan
    row = table.loc[min(typical_documents(table, 1).values())]
    own = units[(units["seed"] == row["seed"]) & (units["id"] == row["id"])]
    own = own.sort_values("unit").reset_index(drop=True)
    part = excerpt(own.assign(weight=own["attention"].fillna(0)), WORDS)
    said = [row["text"][unit.start : unit.end] for unit in part.itertuples()]
    marked, panels = part["rationale"].fillna(0).astype(bool).tolist(), []
    for ranking in (name for name in RANKINGS if own[name].notna().any()):
        shades = own[ranking].fillna(0).to_numpy(np.float64).clip(0)
        shown = (shades / full_colour(shades))[part.index]
        panels.append(coloured(said, shown, ranking.replace("_", "-"), marked, LETTERS))
    drawn.files += [explanation.folder / f"{name}.parquet" for name in ("documents", "units")]
    experiment = drawn.experiment
    yield drawn.figure(
        "rankings", panels, (shapes.WIDE, sum(panel.height + 0.3 for panel in panels)),
        told=f"{experiment.title}, {row['label']}: {' '.join(said)}.",
        media=EVERYWHERE if experiment.publishable else PAGE,
        subject=experiment.words[explanation.variant],
    )  # fmt: skip


# Inches: a letter, a pair of words, between two heads, around all; the largest figure on paper, and
# the widest in a column of it.
LETTER, CELL, GAP, FRAME = 0.064, 0.106, 0.25, 0.4
PAPER_WIDTH, PAPER_HEIGHT, COLUMN = 6.8, 6.1, 3.3
MODELS, ACROSS, MAX_HEADS = 2, 4, 8  # that have heads; heads side by side at most, and in all
SIZE = 7.2  # points of words: the smallest print on paper has 7


def heads(drawn: Drawn) -> Iterator[Figure]:
    """Yield the short documents of the first models with learned self-attention."""
    results, experiment = drawn.results, drawn.experiment
    every = {name: model.hyperparameters for name, model in experiment.result.models.items()}
    variants = [n for n, h in every.items() if h.attends_to_states and not h.hierarchical]
    for variant in variants[:MODELS] if results.prints_texts(experiment) else []:
        model = results.models(experiment)[variant]
        path = results.prediction_folder(model) / "heads.parquet"
        own = Drawn(results, experiment, [variant], [path])
        documents = read_prediction_table(path).groupby("id", sort=False)
        for number, (_, document) in enumerate(documents, 1):
            yield _heads(own, document, f"{model}_heads-{number}")


def _heads(drawn: Drawn, document: pd.DataFrame, key: str) -> Figure:
    first, every = document.iloc[0], _every_head(document)
    words, count = every.words, min(len(every.names), MAX_HEADS)
    more = " Words of the rationale are bold." * any(every.marked)
    if count < len(every.names):
        more += f" The first {MAX_HEADS} of {len(every.names)} heads."
    label, side = LETTER * max(map(len, words)), CELL * len(words) + GAP
    columns = max(1, min(count, ACROSS, int((PAPER_WIDTH - label - 0.2) / side)))
    panels = []
    for number, weights in enumerate(every.weights[:count]):
        rows = shapes.squares(weights / full_colour(weights))
        rows += word_labels(words, SIZE, True, every.marked) if number < columns else []
        rows += word_labels(words, SIZE, False, every.marked) if number % columns == 0 else []
        panels.append(shapes.heat_map(rows, len(words), len(words), every.names[number]))
    width, height = columns * side + label + 0.2, -(-count // columns) * side + label + FRAME
    is_small = width <= PAPER_WIDTH and height <= PAPER_HEIGHT
    experiment, (subject,) = drawn.experiment, drawn.variants
    return make_figure(
        "heads", key, panels, (max(width, shapes.WIDTH), height), " ".join(words), more,
        drawn.results.sources.add(*drawn.files), columns=columns, wide=width > COLUMN,
        media=EVERYWHERE if experiment.publishable and is_small else PAGE,
        heads=every if len(every.names) > 1 else None, subject=experiment.words[subject],
        name=first["id"], label=first["label"], predicted=first["predicted"],
    )  # fmt: skip


def _every_head(document: pd.DataFrame) -> Heads:
    keys = document.drop_duplicates("key").sort_values("key")
    by_place = document.sort_values(["head", "query", "key"])["weight"].to_numpy(np.float64)
    weights = by_place.reshape(-1, len(keys), len(keys))
    titles = [f"head {number} (largest {head.max():.2f})" for number, head in enumerate(weights, 1)]
    words = [shapes.short_name(str(word)) for word in keys["key_word"]]
    return Heads(titles, words, [bool(is_rationale) for is_rationale in keys["rationale"]], weights)


def word_labels(
    names: list[str], size: float, above: bool, marked: Iterable[bool] = ()
) -> list[Mark]:
    """Return the words above a heat map or at its left; those that are marked are bold."""
    rows = []
    for place, (name, bold) in enumerate(itertools.zip_longest(names, marked, fillvalue=False)):
        x, y, dx = (place, -0.5, 2) if above else (-0.5, place, -2)
        style: Mark = {"angle": -90} if above else {"align": "right"}
        style |= {"colour": shapes.INK, "wide": shapes.BOLD} if bold else {"colour": shapes.SOFT}
        text = shapes.short_name(str(name))
        rows.append(shapes.mark("text", x, y, text=text, size=size, dx=dx, **style))
    return rows


def matrices(drawn: Drawn) -> Iterator[Figure]:
    """Yield the confusion matrices of all models: those of two classes are their recalls."""
    results, experiment = drawn.results, drawn.experiment
    classes, words, shares = experiment.result.groups["classes"], experiment.words, {}
    count = len(classes)
    if not FEW <= count <= LARGE:
        return
    drawn = Drawn(results, experiment, ordered_variants(results, experiment))
    for variant, table in drawn.read("confusion").items():
        counts = table.groupby(["label", "predicted"])["documents"].sum().unstack(fill_value=0)
        whole = counts.reindex(index=classes, columns=classes, fill_value=0).to_numpy()
        shares[variant] = whole / whole.sum(axis=1, keepdims=True).clip(1)
    wrong = np.mean([*shares.values()], axis=0) * (1 - np.eye(count))
    label, predicted = np.unravel_index(wrong.argmax(), wrong.shape)
    labels, models = [shapes.short_name(name, LONGEST) for name in classes], len(shares)
    margin = SIGN * max(map(len, labels)) + LABELS
    columns = min(max(int((shapes.WIDE - margin) / (ENOUGH * count + BESIDE)), 1), models)
    panels = (columns, -(-models // columns))
    cell, size = shapes.grid((count, count), (BESIDE, TITLE), (margin, margin), panels, LARGEST)
    made = [
        _matrix(matrix, words[name], labels, cell, place % columns == 0, place >= models - columns)
        for place, (name, matrix) in enumerate(shares.items())
    ]
    yield drawn.figure(
        "confusion", made, size, columns=columns, label=classes[label],
        predicted=classes[predicted],
    )  # fmt: skip


def _matrix(
    shares: np.ndarray, name: str, labels: Sequence[str], cell: float, left: bool, below: bool
) -> Panel:
    """Return a matrix with the labels of its axes where it stands at the left, or below."""
    percents, count = np.rint(100 * shares).astype(int), len(labels)
    rows = shapes.squares(np.maximum(percents / 100, 0.05 * (percents > 0)), 100)
    for row, column in np.argwhere(percents > 0) if cell >= 0.15 else ():
        ink = shapes.REVERSED if percents[row, column] > 55 else shapes.INK
        style = {"text": f"{percents[row, column]}", "size": min(8.0, 40 * cell), "colour": ink}
        rows.append(shapes.mark("text", column, row, align="center", **style))
    title = shapes.short_name(name, max(10, int(15 * cell * count)))
    ends, places, size = (-0.5, count - 0.5), dict(enumerate(labels)), max(5, min(7.5, 45 * cell))
    x = Axis("predicted" * below, ends, places, labels=below, strokes=False, angle=-90)
    y = Axis("true class" * left, ends[::-1], places, labels=left, strokes=False)
    return Panel(rows, x, y, title, count, 1, grid=False, label_size=size)
