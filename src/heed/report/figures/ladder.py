"""The ladder of a study with several corpora: last state, average and attention on each."""

import dataclasses
import textwrap
from collections.abc import Sequence

from heed.evaluation.results import BETTER, SAME, WORSE
from heed.report.figures import shapes
from heed.report.figures.compared import Compared
from heed.report.figures.shapes import Axis, Figure, Mark, Panel
from heed.report.figures.variants import look_of, make_figure, some
from heed.report.sources import Source
from heed.report.words import all_words

FEWEST, TITLE_LINE = 3, 22  # rows; characters of a title's line
ROW, FRAME = 0.42, 1.15  # inches: a corpus; the axis and the legend
HALF, COLUMNS = 0.3, 3  # of a row: half of a band, and where seeds stand below it; of the legend


def ladder(
    found: Sequence[Compared], key: str = "study", sources: tuple[Source, ...] = ()
) -> Figure | None:
    """Return a row for each experiment by the metric of the first; None of fewer than FEWEST."""
    whole = [each for each in found if each.is_whole]
    rows = [each for each in whole if each.measure == whole[0].measure]
    if len(rows) < FEWEST or len({each.corpus for each in rows}) < 2:
        return None
    rows.sort(key=lambda each: each.mean(each.last) - each.mean(each.attention))
    read = sum(each.verdict(each.average, each.last) == BETTER for each in rows)
    weighed = sum(each.verdict(each.attention, each.average) == BETTER for each in rows)
    return make_figure(
        "ladder", key, sources, [[_panel(rows)], [_legend(rows)]],
        (shapes.STUDY, FRAME + ROW * len(rows)), "; ".join(map(str, rows)), zoom=shapes.ZOOM,
        read=some(read, len(rows)), weighed=some(weighed, len(rows)),
        unit=rows[0].measure.long_unit, margin=f"{rows[0].margin:g}",
    )  # fmt: skip


def _panel(rows: Sequence[Compared]) -> Panel:
    marks = [mark for place, row in enumerate(rows) for mark in _row(row, place)]
    labels = {
        float(place): f"{textwrap.fill(row.title, TITLE_LINE)} ({row.mean(row.last):.1f})"
        for place, row in enumerate(rows)
    }
    measure = rows[0].measure
    x = f"{measure.name}: {measure.long_unit} more than the last state"
    y = Axis(domain=(len(rows) - 0.45, -0.55), places=labels, strokes=False)
    return Panel(marks, Axis(x, shapes.extent(marks, "x")), y, height=ROW * len(rows))


def _row(row: Compared, place: int) -> list[Mark]:
    """Return the marks of an experiment, the later above the earlier: scores less the last state's.

    The piece from the average to attention is thick where their difference is shown.
    """
    zero, kinds = row.mean(row.last), (row.last, row.average, row.attention)
    last, average, attention = (row.mean(kind) - zero for kind in kinds)
    near = average - row.margin, average + row.margin
    marks = [
        shapes.area(near, (place - HALF, place + HALF)),
        shapes.rule((last, place), (average, place), shapes.SOFT, 0.8),
        *_piece(average, attention, place, row.verdict(row.attention, row.average)),
        *(_tick(row.mean(row.reference) - zero, place) if row.reference else []),
    ]
    for kind in kinds:
        look = look_of(kind)
        runs = row.runs[kind]
        marks += [shapes.point(x - zero, place + HALF, look, 7, faint=True) for x in runs]
        marks.append(shapes.point(row.mean(kind) - zero, place, look, 40))
    return marks


def _tick(x: float, y: float) -> list[Mark]:
    return [shapes.rule((x, y - HALF), (x, y + HALF), shapes.SOFT, 2.2)]


def _piece(start: float, end: float, y: float, verdict: str) -> list[Mark]:
    if verdict in (BETTER, WORSE, SAME):
        wide = 1.2 if verdict == SAME else 5
        return [shapes.rule((start, y), (end, y), shapes.SERIES[0], wide)]
    ends = min(start, end), max(start, end)
    return [shapes.area(ends, (y - 0.09, y + 0.09), shapes.GROUND, 1, shapes.SERIES[0])]


def _sample(verdict: str) -> shapes.Sample:
    return lambda x, y: _piece(x - 0.012, x + 0.012, y, verdict)


def _legend(rows: Sequence[Compared]) -> Panel:
    """Return the legend: the kinds of model that any row has, the pieces, and the band."""
    entries: list[tuple[str, shapes.Sample]] = []
    for kind in dict.fromkeys(kind for row in rows for kind in row.kinds):
        sample = _tick if kind in {row.reference for row in rows} else shapes.marked(look_of(kind))
        entries.append((all_words()[kind].words, sample))
    for text, verdict in (("better", BETTER), ("practically the same", SAME), ("undecided", "")):
        entries.append((text, _sample(verdict)))
    near = f"within {rows[0].margin:g} of the average"
    entries.append((near, lambda x, y: [shapes.area((x - 0.012, x + 0.012), (y - 0.35, y + 0.35))]))
    height = 0.2 * -(-len(entries) // COLUMNS)
    return dataclasses.replace(shapes.legend(entries, COLUMNS), height=height)
