"""The one figure that is a study's own: a learning curve, a ladder, a staircase, or recency."""

import dataclasses
import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import pandas as pd

from heed.evaluation.results import BETTER, SAME, WORSE
from heed.report.figures import shapes, variants
from heed.report.figures.compared import Compared, compared
from heed.report.figures.recency import recency
from heed.report.figures.shapes import BOLD, Axis, Figure, Mark, Panel, mark
from heed.report.figures.variants import look_of, some
from heed.report.formats import format_count, read_yaml
from heed.report.results import Results
from heed.report.words import all_words

FEWEST = 3  # amounts, rows, or steps
COUNT = re.compile(r"\d[\d,.]*\s*")


def study_figure(results: Results) -> Figure | None:
    """Return the first figure that a study has the results for; None of a study without one."""
    found = compared(results)
    for make in (learning_curve, ladder, staircase):
        if figure := make(found):
            return dataclasses.replace(figure, sources=results.comparison_sources)
    return next(recency(results), None)


def _make(
    kind: str, panels: list[Panel], height: float, found: list[Compared], told: str = "", **own: Any
) -> Figure:
    """Return a study's own figure; `found` are the experiments in it, which it tells else."""
    weighed, margin = some(row.weighing == BETTER for row in found), f"{found[0].margin:g}"
    own |= {"weighed": weighed, "margin": margin, "told": told or "; ".join(map(str, found))}
    return variants.make_figure(kind, "study", panels, (shapes.STUDY, height), **own)


def learning_curve(found: Sequence[Compared]) -> Figure | None:
    """Return a panel for each kind of text with its scores by amount; None without enough."""
    by_source: dict[str, list[Compared]] = {}
    for row in sorted(found, key=attrgetter("texts")):
        if all(row.roles[:3]) and row.texts:
            by_source.setdefault(row.source, []).append(row)
    groups = [of for of in by_source.values() if len({*map(attrgetter("texts"), of)}) >= FEWEST]
    if not groups:
        return None
    rows = [*itertools.chain(*groups)]
    best = [max(row.kinds, key=row.mean) for row in rows]
    leader = max(dict.fromkeys(best), key=best.count)
    panels = [_curve(group, group is groups[-1]) for group in groups]
    return _make(
        "amounts", panels, 2.9, rows, columns=len(groups), leader=all_words()[leader].sentence,
        leads=some(kind == leader for kind in best),
    )  # fmt: skip


def _curve(group: Sequence[Compared], named: bool) -> Panel:
    """Return the lines of a kind of text, and the band of what is practically the average."""
    first, marks = group[0], list[Mark]()
    for row in group:
        middle = row.mean(row.roles[1])
        marks.append(mark("band", row.texts, (middle - first.margin, middle + first.margin)))
    tables = {}
    for kind in first.kinds:
        runs = [(row.texts, value) for row in group for value in row.runs.get(kind, ())]
        tables[kind] = pd.DataFrame(runs, columns=["x", "value"])
    words = {kind: all_words()[kind].words for kind in tables if named}
    marks += variants.line_marks(tables, {kind: look_of(kind) for kind in tables}, words)
    ticks = {row.texts: format_count(row.texts) for row in group}
    x = Axis("training texts (logarithmic)", (min(ticks) / 1.2, max(ticks) * 1.2), ticks, "log")
    y = Axis(variants.name_with_unit(first.measure), shapes.extent(marks))
    texts = COUNT.sub("", first.title)
    return Panel(marks, x, y, texts[:1].upper() + texts[1:])


ROW, FRAME = 0.42, 1.15  # inches: a corpus; the axis and the legend
BELOW, COLUMNS = 0.3, 3  # of a row: half of a band, and where seeds stand below it; of the legend


def ladder(found: Sequence[Compared]) -> Figure | None:
    """Return a row for each corpus by the first one's metric, the largest gain first; or None."""
    rows = _whole(found)
    if len(rows) < FEWEST or len({row.corpus for row in rows}) < 2:
        return None
    marks = [mark for place, row in enumerate(rows) for mark in _rung(row, place)]
    labels = (f"{textwrap.fill(row.title, 22)} ({row.mean(row.roles[0]):.1f})" for row in rows)
    measure, height = rows[0].measure, ROW * len(rows)
    title = f"{measure.name}: {measure.long_unit} more than the last state"
    x = Axis(title, shapes.extent(marks, "x"))
    y = Axis("", (len(rows) - 0.45, -0.55), dict(enumerate(labels)), strokes=False)
    return _make(
        "ladder", [Panel(marks, x, y, height=height), _legend(rows)], FRAME + height, rows,
        "; ".join(map(str, rows)), unit=measure.long_unit,
        read=some(row.verdict(row.roles[1], row.roles[0]) == BETTER for row in rows),
    )  # fmt: skip


def _whole(found: Sequence[Compared]) -> list[Compared]:
    whole = [row for row in found if all(row.roles[:3])]
    rows = (row for row in whole if row.measure == whole[0].measure)
    return sorted(rows, key=lambda row: row.mean(row.roles[0]) - row.mean(row.roles[2]))


def _rung(row: Compared, place: int) -> Iterator[Mark]:
    """Yield the scores of an experiment less the last state's; thick is what is shown."""
    zero, *_ = means = [row.mean(kind) for kind in row.kinds]
    last, average, attention, *outside = (mean - zero for mean in means)
    yield _near(average, row.margin, place, BELOW)
    yield mark("rule", (last, average), place, colour=shapes.SOFT, wide=0.8)
    yield _piece(average, attention, place, row.weighing)
    yield from (_tick(x, place) for x in outside)
    for kind in row.roles[:3]:
        look = look_of(kind)
        for x in row.runs[kind]:
            yield shapes.point(x - zero, place + BELOW, look, 7, faint=True)
        yield shapes.point(row.mean(kind) - zero, place, look, 40)


def _near(x: float, margin: float, y: float, height: float) -> Mark:
    return mark("square", (x - margin, x + margin), (y - height, y + height))


def _tick(x: float, y: float) -> Mark:
    return mark("rule", x, (y - BELOW, y + BELOW), colour=shapes.SOFT, wide=2.2)


def _piece(start: float, end: float, y: float, verdict: str) -> Mark:
    style: Mark = {"colour": shapes.SERIES[0]}
    if verdict in (BETTER, WORSE, SAME):
        return mark("rule", (start, end), y, wide=1.2 if verdict == SAME else 5, **style)
    ends = (min(start, end), max(start, end)), (y - 0.09, y + 0.09)
    return mark("square", *ends, fill=shapes.GROUND, shade=1, dash=(), **style)


def _legend(rows: Sequence[Compared]) -> Panel:
    """Return the legend: the kinds of model that any row has, the pieces, and the band."""
    outside = {row.roles[3] for row in rows}
    entries: dict[str, shapes.Sample] = {
        all_words()[kind].words: _tick if kind in outside else shapes.sample(look_of(kind))
        for kind in dict.fromkeys(kind for row in rows for kind in row.kinds)
    }
    pieces = {"better": BETTER, "practically the same": SAME, "undecided": ""}
    entries |= {
        text: lambda x, y, verdict=verdict: _piece(x - 0.012, x + 0.012, y, verdict)
        for text, verdict in pieces.items()
    }
    entries[f"within {rows[0].margin:g} of the average"] = lambda x, y: _near(x, 0.012, y, 0.35)
    return shapes.legend(entries, 0.2, COLUMNS)


STEPS = "last-state", "repeated", "decoder-uniform", "diagonal", "decoder-attention"
HALF, SEEDS = 0.5, 0.36  # of a step: half of it, and where its seeds are spread


def staircase(found: Sequence[Compared]) -> Figure | None:
    """Return what each part of attention adds, in one experiment, of real text if there is any."""
    for row in sorted(found, key=attrgetter("generated")):
        means = {kind: row.mean(kind) for kind in STEPS if kind in row.runs}
        if len(means) >= FEWEST and {STEPS[0], STEPS[-1]} <= means.keys():
            break
    else:
        return None
    steps, values = itertools.pairwise(means), [*means.values()]
    gain, most = max((means[kind] - means[before], kind) for before, kind in steps)
    return _make(
        "staircase", [_stairs(row, means)], 3.2, [row],
        ", ".join(f"{all_words()[kind].words} {mean:.1f}" for kind, mean in means.items()),
        step=read_yaml(variants.CAPTIONS)["staircase"]["steps"][most], gain=f"{gain:.1f}",
        total=f"{values[-1] - values[0]:.1f}", metric=row.measure.name, experiment=row.title,
    )  # fmt: skip


def _stairs(found: Compared, means: Mapping[str, float]) -> Panel:
    marks, labels, before = list[Mark](), dict[float, str](), 0.0
    if reference := found.roles[3]:
        y = found.mean(reference)
        line = mark("rule", (len(means) - HALF, -HALF), y, colour=shapes.SOFT, dash=shapes.DASHED)
        marks.append(line | {"end": all_words()[reference].words})
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
