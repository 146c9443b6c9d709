"""The one figure that is a study's own: a learning curve, a ladder, a staircase, or recency."""

import dataclasses
import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from heed.evaluation.results import BETTER, SAME, WORSE
from heed.report.figures import shapes
from heed.report.figures.compared import Compared, compared
from heed.report.figures.recency import recency
from heed.report.figures.shapes import Axis, Figure, Mark, Panel
from heed.report.figures.variants import (
    captions,
    line_marks,
    look_of,
    make_figure,
    name_with_unit,
    some,
)
from heed.report.formats import format_count
from heed.report.results import Results
from heed.report.sources import Source
from heed.report.words import all_words

FEWEST = 3  # amounts, rows, or steps
COUNT = re.compile(r"\d[\d,.]*\s*")


def study_figure(results: Results) -> Figure | None:
    """Return the first of these that a study has the results for; None of a study without one.

    Several amounts of one kind of text; several corpora; the steps of a translation; recency.
    """
    found, makers = compared(results), (learning_curve, ladder, staircase)
    drawn = (make(found, sources=results.comparison_sources) for make in makers)
    return next(filter(None, drawn), None) or next(iter(recency(results)), None)


def learning_curve(
    found: Sequence[Compared], key: str = "study", sources: tuple[Source, ...] = ()
) -> Figure | None:
    """Return a panel for each kind of text with its scores by amount; None without enough."""
    groups = _by_amount(found)
    rows = list(itertools.chain(*groups))
    if not rows:
        return None
    best = [max(each.kinds, key=each.mean) for each in rows]
    leader = max(dict.fromkeys(best), key=best.count)
    return make_figure(
        "amounts", key, sources, [[_curve(group, group is groups[-1]) for group in groups]],
        (shapes.STUDY, 2.9), "; ".join(map(str, rows)), zoom=shapes.ZOOM,
        weighed=some(map(_weighs, rows)), leader=all_words()[leader].sentence,
        leads=some(each == leader for each in best), margin=f"{rows[0].margin:g}",
    )  # fmt: skip


def _by_amount(found: Sequence[Compared]) -> list[list[Compared]]:
    """Return the experiments of each kind of text with enough amounts, the fewest texts first."""
    groups: dict[str, list[Compared]] = {}
    for each in sorted(found, key=lambda each: each.texts):
        if each.is_whole and each.texts:
            groups.setdefault(each.source, []).append(each)
    return [group for group in groups.values() if len({each.texts for each in group}) >= FEWEST]


def _weighs(each: Compared) -> bool:
    """Return whether attention is better than the average."""
    return each.verdict(each.attention, each.average) == BETTER


def _curve(group: Sequence[Compared], named: bool) -> Panel:
    """Return the lines of a kind of text, and the band of what is practically the average."""
    kinds, amounts, measure = group[0].kinds, [each.texts for each in group], group[0].measure
    means = [each.mean(each.average) for each in group]
    low, high = ([mean + side * group[0].margin for mean in means] for side in (-1, 1))
    marks = shapes.band(amounts, low, high, shapes.SOFT)
    words = {kind: all_words()[kind].words for kind in kinds if named}
    looks = {kind: look_of(kind) for kind in kinds}
    marks += line_marks({kind: _runs(group, kind) for kind in kinds}, looks, words)
    ticks = {float(count): format_count(count) for count in amounts}
    x = Axis("training texts (logarithmic)", (amounts[0] / 1.2, amounts[-1] * 1.2), ticks, "log")
    y, texts = Axis(name_with_unit(measure), shapes.extent(marks)), COUNT.sub("", group[0].title)
    return Panel(marks, x, y, texts[:1].upper() + texts[1:])


def _runs(group: Sequence[Compared], kind: str) -> pd.DataFrame:
    rows = [(each.texts, value) for each in group for value in each.runs[kind]]
    return pd.DataFrame(rows, columns=["x", "value"])


ROW, FRAME = 0.42, 1.15  # inches: a corpus; the axis and the legend
BELOW, COLUMNS = 0.3, 3  # of a row: half of a band, and where seeds stand below it; of the legend


def ladder(
    found: Sequence[Compared], key: str = "study", sources: tuple[Source, ...] = ()
) -> Figure | None:
    """Return a row for each experiment by the metric of the first; None of fewer than FEWEST.

    It has the scores of last state, average and attention on each corpus.
    """
    whole = [each for each in found if each.is_whole]
    rows = [each for each in whole if each.measure == whole[0].measure]
    if len(rows) < FEWEST or len({each.corpus for each in rows}) < 2:
        return None
    rows.sort(key=lambda each: each.mean(each.last) - each.mean(each.attention))
    return make_figure(
        "ladder", key, sources, [[_rungs(rows)], [_legend(rows)]],
        (shapes.STUDY, FRAME + ROW * len(rows)), "; ".join(map(str, rows)), zoom=shapes.ZOOM,
        read=some(each.verdict(each.average, each.last) == BETTER for each in rows),
        weighed=some(map(_weighs, rows)), unit=rows[0].measure.long_unit,
        margin=f"{rows[0].margin:g}",
    )  # fmt: skip


def _rungs(rows: Sequence[Compared]) -> Panel:
    marks = [mark for place, row in enumerate(rows) for mark in _row(row, place)]
    labels = (f"{textwrap.fill(row.title, 22)} ({row.mean(row.last):.1f})" for row in rows)
    places: dict[float, str] = dict(enumerate(labels))
    measure = rows[0].measure
    x = f"{measure.name}: {measure.long_unit} more than the last state"
    y = Axis(domain=(len(rows) - 0.45, -0.55), places=places, strokes=False)
    return Panel(marks, Axis(x, shapes.extent(marks, "x")), y, height=ROW * len(rows))


def _row(row: Compared, place: int) -> Iterator[Mark]:
    """Yield the marks of an experiment, the later above the earlier: scores less the last state's.

    The piece from the average to attention is thick where their difference is shown.
    """
    zero, kinds = row.mean(row.last), (row.last, row.average, row.attention)
    last, average, attention = (row.mean(kind) - zero for kind in kinds)
    near = average - row.margin, average + row.margin
    yield shapes.area(near, (place - BELOW, place + BELOW))
    yield shapes.rule((last, place), (average, place), shapes.SOFT, 0.8)
    yield _piece(average, attention, place, row.verdict(row.attention, row.average))
    if row.reference:
        yield _tick(row.mean(row.reference) - zero, place)
    for kind in kinds:
        look = look_of(kind)
        for x in row.runs[kind]:
            yield shapes.point(x - zero, place + BELOW, look, 7, faint=True)
        yield shapes.point(row.mean(kind) - zero, place, look, 40)


def _tick(x: float, y: float) -> Mark:
    return shapes.rule((x, y - BELOW), (x, y + BELOW), shapes.SOFT, 2.2)


def _piece(start: float, end: float, y: float, verdict: str) -> Mark:
    if verdict in (BETTER, WORSE, SAME):
        wide = 1.2 if verdict == SAME else 5
        return shapes.rule((start, y), (end, y), shapes.SERIES[0], wide)
    ends = min(start, end), max(start, end)
    return shapes.area(ends, (y - 0.09, y + 0.09), shapes.GROUND, 1, shapes.SERIES[0])


def _sample(verdict: str) -> shapes.Sample:
    return lambda x, y: _piece(x - 0.012, x + 0.012, y, verdict)


def _legend(rows: Sequence[Compared]) -> Panel:
    """Return the legend: the kinds of model that any row has, the pieces, and the band."""
    references = {row.reference for row in rows}
    entries: list[tuple[str, shapes.Sample]] = [
        (all_words()[kind].words, _tick if kind in references else shapes.marked(look_of(kind)))
        for kind in dict.fromkeys(kind for row in rows for kind in row.kinds)
    ]
    pieces = ("better", BETTER), ("practically the same", SAME), ("undecided", "")
    entries += [(text, _sample(verdict)) for text, verdict in pieces]
    near = f"within {rows[0].margin:g} of the average"
    entries.append((near, lambda x, y: shapes.area((x - 0.012, x + 0.012), (y - 0.35, y + 0.35))))
    height = 0.2 * -(-len(entries) // COLUMNS)
    return dataclasses.replace(shapes.legend(entries, COLUMNS), height=height)


STEPS = "last-state", "repeated", "decoder-uniform", "diagonal", "decoder-attention"
HALF, SEEDS = 0.5, 0.36  # of a step: half of it, and where its seeds are spread


def staircase(
    found: Sequence[Compared], key: str = "study", sources: tuple[Source, ...] = ()
) -> Figure | None:
    """Return the staircase of the first experiment that has one, of real text if there is any.

    It shows what each part of attention adds to the last state.
    """
    for each in sorted(found, key=lambda each: each.generated):
        means = {kind: each.mean(kind) for kind in STEPS if kind in each.runs}
        if len(means) >= FEWEST and {STEPS[0], STEPS[-1]} <= means.keys():
            break
    else:
        return None
    values = [*means.values()]
    gains = [after - before for before, after in itertools.pairwise(values)]
    most = max(range(len(gains)), key=gains.__getitem__)
    return make_figure(
        "staircase", key, sources, [[_stairs(each, means)]], (shapes.STUDY, 3.2),
        ", ".join(f"{all_words()[kind].words} {mean:.1f}" for kind, mean in means.items()),
        zoom=shapes.ZOOM, step=captions()[f"adds_{[*means][most + 1]}"], gain=f"{gains[most]:.1f}",
        total=f"{values[-1] - values[0]:.1f}", metric=each.measure.name, experiment=each.title,
        margin=f"{each.margin:g}",
    )  # fmt: skip


def _stairs(found: Compared, means: Mapping[str, float]) -> Panel:
    marks, labels, before = list[Mark](), dict[float, str](), 0.0
    if found.reference:
        y = found.mean(found.reference)
        line = shapes.rule((len(means) - HALF, y), (-HALF, y), shapes.SOFT, dash=shapes.DASHED)
        marks.append(line | {"end": all_words()[found.reference].words})
    for place, (kind, mean) in enumerate(means.items()):
        look, (start, end) = look_of(kind), (place - HALF, place + HALF)
        if place:
            gain = f"{mean - before:+.1f}".replace("-", "−")
            marks += [
                shapes.area((start, end), (before - found.margin, before + found.margin)),
                shapes.rule((start, before), (start, mean), shapes.SOFT),
                shapes.words(start, (before + mean) / 2, gain, size=9, at=(4, 0), bold=True),
            ]
        marks.append(shapes.rule((start, mean), (end, mean), look.colour, 2.6))
        runs, before = found.runs[kind], mean
        for number, value in enumerate(runs):
            aside = SEEDS * ((number + 0.5) / len(runs) - 0.5)
            marks.append(shapes.point(place + aside, value, look, 9, faint=True))
        labels[float(place)] = f"{textwrap.fill(all_words()[kind].words, 14)}\n{mean:.1f}"
    low, high = shapes.extent(marks, margin=0.08)
    x = Axis(domain=(-HALF, len(means) - HALF), places=labels)
    return Panel(marks, x, Axis(f"{found.measure.name}, 0 to 100", (max(low, 0), high)))
