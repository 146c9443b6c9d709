"""The one figure that is a study's own: a learning curve, a ladder, a staircase, or recency."""

import dataclasses
import functools
import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from heed.evaluation.results import BETTER, SAME, WORSE
from heed.report.figures import shapes
from heed.report.figures.compared import Compared, compared
from heed.report.figures.recency import recency
from heed.report.figures.shapes import BOLD, Axis, Figure, Mark, Panel, mark
from heed.report.figures.variants import (
    CAPTIONS,
    line_marks,
    look_of,
    make_figure,
    name_with_unit,
    some,
)
from heed.report.formats import format_count, read_yaml
from heed.report.results import Results
from heed.report.words import all_words

FEWEST = 3  # amounts, rows, or steps
COUNT = re.compile(r"\d[\d,.]*\s*")


def study_figure(results: Results) -> Figure | None:
    """Return the first of these that a study has the results for; None of a study without one.

    Several amounts of one kind of text; several corpora; the steps of a translation; recency.
    """
    found = compared(results)
    for make in (learning_curve, ladder, staircase):
        if figure := make(found):
            return dataclasses.replace(figure, sources=results.comparison_sources)
    return next(recency(results), None)


def learning_curve(found: Sequence[Compared]) -> Figure | None:
    """Return a panel for each kind of text with its scores by amount; None without enough."""
    whole = [each for each in found if each.is_whole and each.texts]
    by_source: dict[str, list[Compared]] = {}
    for each in sorted(whole, key=lambda each: each.texts):
        by_source.setdefault(each.source, []).append(each)
    groups = [*filter(_has_amounts, by_source.values())]
    if not groups:
        return None
    rows = [*itertools.chain(*groups)]
    best = [max(each.kinds, key=each.mean) for each in rows]
    leader = max(dict.fromkeys(best), key=best.count)
    return make_figure(
        "amounts", "study", [_curve(group, group is groups[-1]) for group in groups],
        (shapes.STUDY, 2.9), "; ".join(map(str, rows)), columns=len(groups),
        weighed=some(each.weighing == BETTER for each in rows), margin=f"{rows[0].margin:g}",
        leader=all_words()[leader].sentence, leads=some(each == leader for each in best),
    )  # fmt: skip


def _has_amounts(group: Sequence[Compared]) -> bool:
    return len({each.texts for each in group}) >= FEWEST


def _curve(group: Sequence[Compared], named: bool) -> Panel:
    """Return the lines of a kind of text, and the band of what is practically the average."""
    first, amounts = group[0], [each.texts for each in group]
    marks = []
    for each in group:
        middle, margin = each.mean(each.average), first.margin
        marks.append(mark("band", each.texts, (middle - margin, middle + margin)))
    tables = {kind: _by_amount(group, kind) for kind in first.kinds}
    words = {kind: all_words()[kind].words for kind in tables if named}
    marks += line_marks(tables, {kind: look_of(kind) for kind in tables}, words)
    ticks = {count: format_count(count) for count in amounts}
    x = Axis("training texts (logarithmic)", (amounts[0] / 1.2, amounts[-1] * 1.2), ticks, "log")
    y, texts = Axis(name_with_unit(first.measure), shapes.extent(marks)), COUNT.sub("", first.title)
    return Panel(marks, x, y, texts[:1].upper() + texts[1:])


def _by_amount(group: Sequence[Compared], kind: str) -> pd.DataFrame:
    """Return the scores of all runs of a kind, `value`, by the number of texts, `x`."""
    runs = [(each.texts, value) for each in group for value in each.runs[kind]]
    return pd.DataFrame(runs, columns=["x", "value"])


ROW, FRAME = 0.42, 1.15  # inches: a corpus; the axis and the legend
BELOW, COLUMNS = 0.3, 3  # of a row: half of a band, and where seeds stand below it; of the legend


def ladder(found: Sequence[Compared]) -> Figure | None:
    """Return a row for each experiment by the metric of the first; None of fewer than FEWEST.

    It has the scores of last state, average and attention on each corpus.
    """
    rows = _rows_of_one_metric(found)
    if len(rows) < FEWEST or len({each.corpus for each in rows}) < 2:
        return None
    marks = [mark for place, row in enumerate(rows) for mark in _rung(row, place)]
    labels = (f"{textwrap.fill(row.title, 22)} ({row.mean(row.last):.1f})" for row in rows)
    measure, height = rows[0].measure, ROW * len(rows)
    title = f"{measure.name}: {measure.long_unit} more than the last state"
    x = Axis(title, shapes.extent(marks, "x"))
    y = Axis("", (len(rows) - 0.45, -0.55), dict(enumerate(labels)), strokes=False)
    return make_figure(
        "ladder", "study", [Panel(marks, x, y, height=height), _legend(rows)],
        (shapes.STUDY, FRAME + height), "; ".join(map(str, rows)),
        read=some(each.verdict(each.average, each.last) == BETTER for each in rows),
        weighed=some(each.weighing == BETTER for each in rows), unit=measure.long_unit,
        margin=f"{rows[0].margin:g}",
    )  # fmt: skip


def _rows_of_one_metric(found: Sequence[Compared]) -> list[Compared]:
    """Return the experiments by the metric of the first, the largest gain of attention first."""
    whole = [each for each in found if each.is_whole]
    rows = [each for each in whole if each.measure == whole[0].measure]
    return sorted(rows, key=lambda each: each.mean(each.last) - each.mean(each.attention))


def _rung(row: Compared, place: int) -> Iterator[Mark]:
    """Yield the marks of an experiment, the later above the earlier: scores less the last state's.

    The piece from the average to attention is thick where their difference is shown.
    """
    zero, kinds = row.mean(row.last), (row.last, row.average, row.attention)
    last, average, attention = (row.mean(kind) - zero for kind in kinds)
    yield _near(average, row.margin, place, BELOW)
    yield mark("rule", (last, average), place, colour=shapes.SOFT, wide=0.8)
    yield _piece(average, attention, place, row.weighing)
    if row.reference:
        yield _tick(row.mean(row.reference) - zero, place)
    for kind in kinds:
        look = look_of(kind)
        for x in row.runs[kind]:
            yield shapes.point(x - zero, place + BELOW, look, 7, faint=True)
        yield shapes.point(row.mean(kind) - zero, place, look, 40)


def _near(x: float, margin: float, y: float, height: float) -> Mark:
    return mark("square", (x - margin, x + margin), (y - height, y + height))


def _tick(x: float, y: float) -> Mark:
    return mark("rule", x, (y - BELOW, y + BELOW), colour=shapes.SOFT, wide=2.2)


def _piece(start: float, end: float, y: float, verdict: str) -> Mark:
    if verdict in (BETTER, WORSE, SAME):
        wide = 1.2 if verdict == SAME else 5
        return mark("rule", (start, end), y, colour=shapes.SERIES[0], wide=wide)
    ends = (min(start, end), max(start, end)), (y - 0.09, y + 0.09)
    return mark("square", *ends, fill=shapes.GROUND, shade=1, colour=shapes.SERIES[0], dash=())


def _sample(verdict: str, x: float, y: float) -> Mark:
    return _piece(x - 0.012, x + 0.012, y, verdict)


def _legend(rows: Sequence[Compared]) -> Panel:
    """Return the legend: the kinds of model that any row has, the pieces, and the band."""
    references = {row.reference for row in rows}
    entries: dict[str, shapes.Sample] = {
        all_words()[kind].words: _tick if kind in references else shapes.sample(look_of(kind))
        for kind in dict.fromkeys(kind for row in rows for kind in row.kinds)
    }
    pieces = {"better": BETTER, "practically the same": SAME, "undecided": ""}
    entries |= {text: functools.partial(_sample, verdict) for text, verdict in pieces.items()}
    near = f"within {rows[0].margin:g} of the average"
    return shapes.legend(entries | {near: lambda x, y: _near(x, 0.012, y, 0.35)}, 0.2, COLUMNS)


STEPS = "last-state", "repeated", "decoder-uniform", "diagonal", "decoder-attention"
HALF, SEEDS = 0.5, 0.36  # of a step: half of it, and where its seeds are spread


def staircase(found: Sequence[Compared]) -> Figure | None:
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
    steps = itertools.pairwise(means.items())
    gains = {kind: after - before for (_, before), (kind, after) in steps}
    most = max(gains, key=gains.__getitem__)
    return make_figure(
        "staircase", "study", [_stairs(each, means)], (shapes.STUDY, 3.2),
        ", ".join(f"{all_words()[kind].words} {mean:.1f}" for kind, mean in means.items()),
        step=read_yaml(CAPTIONS)["staircase"]["steps"][most],
        gain=f"{gains[most]:.1f}", total=f"{values[-1] - values[0]:.1f}",
        metric=each.measure.name, experiment=each.title, margin=f"{each.margin:g}",
    )  # fmt: skip


def _stairs(found: Compared, means: Mapping[str, float]) -> Panel:
    marks, labels, before = list[Mark](), dict[float, str](), 0.0
    if found.reference:
        y = found.mean(found.reference)
        line = mark("rule", (len(means) - HALF, -HALF), y, colour=shapes.SOFT, dash=shapes.DASHED)
        marks.append(line | {"end": all_words()[found.reference].words})
    for place, (kind, mean) in enumerate(means.items()):
        look, (start, end) = look_of(kind), (place - HALF, place + HALF)
        if place:
            gain = f"{mean - before:+.1f}".replace("-", "−")
            marks += [
                mark("square", (start, end), (before - found.margin, before + found.margin)),
                mark("rule", start, (before, mean), colour=shapes.SOFT),
                mark("text", start, (before + mean) / 2, text=gain, size=9, wide=BOLD, dx=4),
            ]
        marks.append(mark("rule", (start, end), mean, colour=look.colour, wide=2.6))
        runs, before = found.runs[kind], mean
        for number, value in enumerate(runs):
            aside = SEEDS * ((number + 0.5) / len(runs) - 0.5)
            marks.append(shapes.point(place + aside, value, look, 9, faint=True))
        labels[place] = f"{textwrap.fill(all_words()[kind].words, 14)}\n{mean:.1f}"
    low, high = shapes.extent(marks, margin=0.08)
    x = Axis(domain=(-HALF, len(means) - HALF), places=labels)
    return Panel(marks, x, Axis(f"{found.measure.name}, 0 to 100", (max(low, 0), high)))
