"""Labels at the ends of lines, in place of a legend: no two of them overlap."""

import dataclasses
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation, Transform

from heed.report.figures.drawing import INK, SOFT, Style, short_name

SIZE = 8  # points
LINE_HEIGHT = 0.145  # inches of a label of that size
MAX_LABEL = 20  # characters
LEADER, MARKER, TEXT = 7, 11, 16  # points from the axes: end of the thin line, marker, name


@dataclasses.dataclass(frozen=True)
class LineEnd:
    """The last point of a line, in data coordinates, and how the line looks."""

    x: float
    y: float
    text: str
    colour: str
    marker: str = ""


def label_ends(axes: Axes, ends: Sequence[LineEnd], height: float) -> None:
    """Print the name of each line to the right of the axes, at the height of its end.

    Labels that would overlap are pushed apart, and a thin line leads from each to its end. The
    limits of the axes stay as they are from now on.

    Args:
        axes: after everything is drawn.
        ends: of the lines, in any order.
        height: of the axes, in inches; they may be higher.

    """
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    to_axes = axes.transData + axes.transAxes.inverted()
    fractions = [float(to_axes.transform((end.x, end.y))[1]) for end in ends]
    leader: Style = {"arrowstyle": "-", "color": SOFT, "lw": 0.5, "shrinkA": 0, "shrinkB": 2}
    for end, y in zip(ends, spread_apart(fractions, LINE_HEIGHT / height), strict=True):
        axes.annotate(
            "", (end.x, end.y), (1, y), "data", _right_of(axes, LEADER), arrowprops=leader,
            annotation_clip=False,
        )  # fmt: skip
        if end.marker:
            at = _right_of(axes, MARKER)
            dot: Style = {"s": 14, "c": end.colour, "marker": end.marker, "clip_on": False}
            axes.scatter([1], [y], transform=at, **dot)
        text: Style = {"va": "center", "fontsize": SIZE, "color": INK, "gid": "label"}
        at = _right_of(axes, TEXT if end.marker else MARKER)
        axes.text(1, y, short_name(end.text, MAX_LABEL), transform=at, clip_on=False, **text)


def _right_of(axes: Axes, points: float) -> Transform:
    """Return the coordinates of the axes, moved to the right by so many points."""
    figure = axes.get_figure()
    assert figure is not None  # these axes were made by a figure
    return axes.transAxes + ScaledTranslation(points / 72, 0, figure.dpi_scale_trans)


def spread_apart(
    positions: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Return positions near these, in the same order, no two closer than `gap`.

    They lie between `low` and `high` where there is room for all of them; else they begin at
    `high`, and the last ones are below `low`.
    """
    order = sorted(range(len(positions)), key=lambda index: (positions[index], index))
    placed: list[float] = []
    for index in order:
        lowest = placed[-1] + gap if placed else low
        placed.append(max(positions[index], lowest))
    ceiling = high
    for number in reversed(range(len(placed))):
        placed[number] = min(placed[number], ceiling)
        ceiling = placed[number] - gap
    return [place for _, place in sorted(zip(order, placed, strict=True))]
