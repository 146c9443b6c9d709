"""The pictures of the docs, from the published studies, by `make picture`."""

import dataclasses
import itertools
import operator
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from heed.evaluation.comparison import side_of
from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.files import write_text
from heed.report.figures import shapes
from heed.report.figures.compared import published
from heed.report.figures.shapes import Axis, Figure, Mark, Panel, mark
from heed.report.figures.study import ladder, learning_curve, staircase
from heed.report.figures.variants import make_figure
from heed.report.figures.vega import as_svg
from heed.report.measures import Measure
from heed.study import load
from heed.terminal import escape_markdown

PAGE, STUDIES = Path("docs/studies/index.md"), Path("docs/studies")
PLACE = re.compile(r"(<!-- forest plot: begin -->\n).*?(<!-- forest plot: end)", re.DOTALL)
OWN = {  # study → its own figure, in docs/figures; that of several corpora is of these studies
    "ladder": (ladder, ("imdb", "yelp", "headlines", "joined", "letters", "explanation")),
    "staircase": (staircase, ("translation",)),
    "amounts": (learning_curve, ("amounts",)),
}


def write_pictures(root: Path) -> None:
    """Write the pictures, and the line of the forest plot into the index of the studies."""
    figure = forest_plot(root / STUDIES)
    for picture in (figure, *own_figures(root / STUDIES)):
        folder = STUDIES if picture is figure else "docs/figures"
        write_text(root / folder / f"{picture.key}.svg", as_svg(picture))
    image = f"![{escape_markdown(figure.title)}]({figure.key}.svg)\n"
    text = (root / PAGE).read_text(encoding="utf-8")
    write_text(root / PAGE, PLACE.sub(lambda place: place[1] + image + place[2], text))


def own_figures(studies: Path) -> Iterator[Figure]:
    """Yield the ladder, the staircase and the learning curve of the published studies."""
    for key, (make, names) in OWN.items():
        if made := make([experiment for name in names for experiment in published(studies / name)]):
            yield dataclasses.replace(made, key=key)


def primary_comparisons(studies: Path) -> list[dict[str, str]]:
    """Return attention against its control in every published experiment, the largest gain first.

    They are rows of verdicts.csv, with title, models and group; each group has its scale.
    """
    found = list[Any]()
    for path in sorted(studies.glob("*/verdicts.csv")):
        params, study = load(path.parent / "params.yaml"), path.parent.name
        table = pd.read_csv(path, dtype=str, keep_default_na=False).query("family == 'primary'")
        for row in table.to_dict("records"):
            declared = params.experiments[row["experiment"]]
            unit = Measure(declared.task, row["metric"]).long_unit
            models = f"{study}: {row['first']} against {row['second']}".replace("-", " ")
            group = f"{(row['mark'] or 'real text').capitalize()}, {unit}"
            about = {"title": declared.title, "models": models, "group": group}
            if row["verdict"] == SAME:  # better even by less than a point
                about["verdict"] = side_of((float(row["low_pp"]), float(row["high_pp"])))
            found.append(row | about | {"margin": str(params.study.equivalence_margin)})
    return sorted(found, key=lambda row: -float(row["difference_pp"]))


CORPUS, MEAN = "one corpus", "mean over corpora; dashed: another corpus"
LOOKS = {  # by verdict; what says nothing is hollow
    BETTER: (shapes.Look(shapes.SERIES[0], "triangle-up"), ""),
    WORSE: (shapes.Look(shapes.SERIES[1], "triangle-down"), ""),
    SAME: (shapes.Look(shapes.SERIES[2], "square"), ""),
    UNDECIDED: (shapes.Look(shapes.SOFT, "circle"), shapes.GROUND),
    NOT_CONVERGED: (shapes.Look(shapes.SOFT, "diamond"), shapes.GROUND),
    CORPUS: (shapes.Look(shapes.SERIES[0], "square"), ""),
    MEAN: (shapes.Look(shapes.SERIES[1], "diamond"), ""),
}
# Inches: the figure, which fits a phone at full size; a row; title and scale of a panel.
WIDTH, ROW, FRAME = 3.75, 0.42, 0.68


def forest_plot(studies: Path) -> Figure:
    """Return the primary comparison of every published experiment, grouped by texts and unit."""
    found, by_group = primary_comparisons(studies), operator.itemgetter("group")
    grouped = itertools.groupby(sorted(found, key=by_group, reverse=True), by_group)
    groups = {group: [*rows] for group, rows in grouped}
    counts = Counter(row["verdict"] for row in found)
    told = "; ".join(
        f"{row['title']}, {row['models']}: {row['verdict'].replace('practically ', '')} "
        + f"{row['difference_pp']} ({row['low_pp']} to {row['high_pp']})".replace("-", "−")
        for row in found
    )
    return interval_plot("forest", groups, f"{told}.", better=counts[BETTER], count=len(found))


def interval_plot(
    kind: str, groups: Mapping[str, Sequence[Mapping[str, str]]], told: str, **values: Any
) -> Figure:
    """Return a figure of intervals, a panel for each group; `kind` and `values` are its texts'.

    A row has the two lines of its name, `title` and `models`, a `verdict` of LOOKS, the `margin`
    (0: none), and numbers as verdicts.csv has them. An average has also `from_pp` and `to_pp`,
    between which one more value is expected.
    """
    found = [*itertools.chain(*groups.values())]
    known = [verdict for verdict in LOOKS if any(row["verdict"] == verdict for row in found)]
    looks = {verdict: shapes.sample(*LOOKS[verdict]) for verdict in known}
    panels = [_panel(group, rows) for group, rows in groups.items()]
    height = ROW * (len(found) + 0.6 * len(looks)) + FRAME * len(panels)
    panels.append(shapes.legend(looks, 0.6))
    return make_figure(kind, kind, panels, (WIDTH, height), told, **values)


def _panel(group: str, found: Sequence[Mapping[str, str]]) -> Panel:
    bottom, top = len(found) - 0.7, -1.0
    margin = min(float(row["margin"]) for row in found)
    marks = [mark("square", (-margin, margin), (bottom, top)),
             mark("rule", (0, 0), (bottom, top), colour=shapes.SOFT, wide=0.8)]  # fmt: skip
    for place, row in enumerate(found):
        marks += _interval(row, place)
    domain = shapes.extent(marks, "x")
    for place, row in enumerate(found):
        for key, colour, size, up in (("title", shapes.INK, 9, 19), ("models", shapes.SOFT, 8, 9)):
            style = {"text": shapes.short_name(row[key], len(row[key])), "colour": colour}
            marks.append(mark("text", domain[0], place, size=size, dy=-up, **style))
    axes = Axis(domain=domain), shapes.bare((bottom, top))
    return Panel(marks, *axes, group, len(found) + 0.3)


def _interval(row: Mapping[str, str], place: int) -> Iterator[Mark]:
    """Yield a point with its interval, or the diamond of an average."""
    mean, low, high = (float(row[f"{key}_pp"]) for key in ("difference", "low", "high"))
    look, fill = LOOKS[row["verdict"]]
    if "from_pp" not in row:
        yield mark("rule", (low, high), place, colour=look.colour, wide=1.4)
        yield shapes.point(mean, place, look, 40, wide=1.2, fill=fill or look.colour)
        return
    start, end = (float(row[key]) for key in ("from_pp", "to_pp"))
    yield mark("rule", (start, end), place, colour=look.colour, dash=shapes.DASHED)
    for side, corner in itertools.product((low, high), (place - 0.2, place + 0.2)):
        yield mark("rule", (side, mean), (place, corner), colour=look.colour, wide=1.4)
