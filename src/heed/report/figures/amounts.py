"""The learning curve of a study that trains on several amounts of the same texts."""

import re
from collections.abc import Sequence

import pandas as pd

from heed.evaluation.results import BETTER
from heed.report.figures import shapes
from heed.report.figures.compared import Compared
from heed.report.figures.shapes import Axis, Figure, Panel
from heed.report.figures.variants import line_marks, look_of, make_figure, some
from heed.report.formats import format_count
from heed.report.sources import Source
from heed.report.words import all_words

FEWEST, HEIGHT = 3, 2.9  # amounts; inches
COUNT = re.compile(r"\d[\d,.]*\s*")


def learning_curve(
    found: Sequence[Compared], key: str = "study", sources: tuple[Source, ...] = ()
) -> Figure | None:
    """Return a panel for each kind of text with its scores by amount; None without enough."""
    groups: dict[str, list[Compared]] = {}
    for each in sorted(found, key=lambda each: each.texts):
        if each.is_whole and each.texts:
            groups.setdefault(each.source, []).append(each)
    drawn = [group for group in groups.values() if len({each.texts for each in group}) >= FEWEST]
    rows = [each for group in drawn for each in group]
    if not rows:
        return None
    weighed = sum(each.verdict(each.attention, each.average) == BETTER for each in rows)
    best = [max(each.kinds, key=each.mean) for each in rows]
    leader = max(dict.fromkeys(best), key=best.count)
    return make_figure(
        "amounts", key, sources, [[_panel(group, group is drawn[-1]) for group in drawn]],
        (shapes.STUDY, HEIGHT), "; ".join(map(str, rows)), zoom=shapes.ZOOM,
        weighed=some(weighed, len(rows)), leader=all_words()[leader].sentence,
        leads=some(best.count(leader), len(rows)), margin=f"{rows[0].margin:g}",
    )  # fmt: skip


def _panel(group: Sequence[Compared], named: bool) -> Panel:
    """Return the lines of a kind of text, and the band of what is practically the average."""
    kinds, amounts, measure = group[0].kinds, [each.texts for each in group], group[0].measure
    values = {
        kind: [(each.texts, value) for each in group for value in each.runs[kind]] for kind in kinds
    }
    tables = {kind: pd.DataFrame(rows, columns=["x", "value"]) for kind, rows in values.items()}
    low, high = (
        [each.mean(each.average) + side * each.margin for each in group] for side in (-1, 1)
    )
    marks = shapes.band(amounts, low, high, shapes.SOFT)
    words = {kind: all_words()[kind].words for kind in kinds if named}
    marks += line_marks(tables, {kind: look_of(kind) for kind in kinds}, words)
    ticks = {float(count): format_count(count) for count in amounts}
    x = Axis("training texts (logarithmic)", (amounts[0] / 1.2, amounts[-1] * 1.2), ticks, "log")
    y = f"{measure.name}, %" if measure.is_accuracy else measure.name
    texts = COUNT.sub("", group[0].title)
    return Panel(marks, x, Axis(y, shapes.extent(marks)), texts[:1].upper() + texts[1:])
