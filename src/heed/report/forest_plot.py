"""The forest plot of all published studies: docs/forest.svg, by `make picture`."""

import csv
import dataclasses
import itertools
import operator
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import yaml

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.files import write_text
from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.figures import shapes
from heed.report.figures.vega import as_svg
from heed.report.html import escape_markdown
from heed.report.measures import Measure
from heed.task import task_module

PAGE, STUDIES = Path("docs/index.md"), Path("docs/studies")
PLACE = re.compile(r"(<!-- forest plot: begin -->\n).*?(<!-- forest plot: end)", re.DOTALL)


def write_forest_plot(root: Path) -> None:
    """Write the picture, and its line into the front page of the docs."""
    figure = forest_plot(root / STUDIES)
    write_text(root / PAGE.with_name(f"{figure.key}.svg"), as_svg(figure))
    image = f"![{escape_markdown(figure.title)}]({figure.key}.svg)\n"
    text = (root / PAGE).read_text(encoding="utf-8")
    write_text(root / PAGE, PLACE.sub(lambda place: place[1] + image + place[2], text))


@dataclasses.dataclass(frozen=True)
class Primary:
    """The primary comparison of an experiment in a published study, with its figures there."""

    report: str
    title: str
    models: str  # the report's name, and the models
    group: str  # texts and unit, which have a scale of their own
    row: Mapping[str, str]

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval."""
        return float(self.row["low_pp"]), float(self.row["high_pp"])

    @property
    def difference(self) -> float:
        """What attention has more."""
        return float(self.row["difference_pp"])


def primary_comparisons(studies: Path) -> list[Primary]:
    """Return attention against its control in every experiment of the published studies.

    Against the baseline where an experiment has no control. The largest difference is first.
    """
    found = []
    for path in sorted(studies.glob("*/verdicts.csv")):
        params = yaml.safe_load((path.parent / "params.yaml").read_text(encoding="utf-8"))
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["family"] == "primary"]
        for row in rows:
            declared = params["experiments"][row["experiment"]]
            metric = task_module(declared["task"], "recipe").VALIDATION_METRICS[0]
            unit = Measure(declared["task"], metric).long_unit
            group = f"{(row['mark'] or 'real text').capitalize()}, {unit}"
            own = "" if row["first"] == ATTENTION else f"{row['first']} "
            models = f"{path.parent.name}: {own}against {row['second']}"
            found.append(Primary(path.parent.name, declared["title"], models, group, row))
    return sorted(found, key=lambda each: -each.difference)


LOOKS = {  # by verdict; what says nothing is hollow
    BETTER: (shapes.Look(shapes.SERIES[0], "triangle-up"), False),
    WORSE: (shapes.Look(shapes.SERIES[1], "triangle-down"), False),
    SAME: (shapes.Look(shapes.SERIES[2], "square"), False),
    UNDECIDED: (shapes.Look(shapes.SOFT, "circle"), True),
    NOT_CONVERGED: (shapes.Look(shapes.SOFT, "diamond"), True),
}
# Inches: the figure, which fits a phone at full size; a row; title and scale of a panel.
WIDTH, ROW, FRAME = 3.75, 0.42, 0.68
ATTENTION = "attention"  # the model that a row need not name


def forest_plot(studies: Path) -> Figure:
    """Return the primary comparison of every published experiment, a row each.

    Experiments are grouped by their texts and by the unit of their metric.
    """
    found, by_group = primary_comparisons(studies), operator.attrgetter("group")
    in_order = sorted(found, key=by_group, reverse=True)
    groups = {group: [*each] for group, each in itertools.groupby(in_order, by_group)}
    counts = Counter(each.row["verdict"] for each in found)
    looks = {verdict: look for verdict, look in LOOKS.items() if verdict in counts}
    title = (
        f"Attention against its control in {len(found)} experiments of "
        f"{len({each.report for each in found})} published studies: "
        + ", ".join(f"{verdict} in {counts[verdict]}" for verdict in looks)
    )
    key = shapes.legend([(verdict, *look) for verdict, look in looks.items()])
    return Figure(
        "forest",
        title,
        "",
        (),
        [
            *([_panel(group, of_group)] for group, of_group in groups.items()),
            [dataclasses.replace(key, height=0.6 * len(looks))],
        ],
        (WIDTH, ROW * (len(found) + 0.6 * len(looks)) + FRAME * len(groups)),
        alt_text="; ".join(f"{each.title}, {each.models}: {_says(each.row)}" for each in found),
    )


def _says(row: Mapping[str, str]) -> str:
    difference = f"{row['difference_pp']} ({row['low_pp']} to {row['high_pp']})"
    return f"{row['verdict'].replace('practically ', '')} {difference.replace('-', '−')}"


def _panel(group: str, found: list[Primary]) -> Panel:
    marks: list[Mark] = []
    for place, each in enumerate(found):
        low, high = each.ends
        look, hollow = LOOKS[each.row["verdict"]]
        marks.append(shapes.rule((0, place - 0.15), (0, place + 0.15), shapes.SOFT))
        marks.append(shapes.rule((low, place), (high, place), look.colour, 1.4))
        marks.append(shapes.point(each.difference, place, look, 40, hollow, 1.2))
    domain = shapes.extent(marks, "x")
    for place, each in enumerate(found):
        for text, colour, size, up in (
            (each.title, shapes.INK, 9, 19),
            (each.models, shapes.SOFT, 8, 9),
        ):
            whole = shapes.short_name(text, len(text))
            marks.append(shapes.words(domain[0], place, whole, colour, size, at=(0, -up)))
    y = Axis(domain=(len(found) - 0.7, -1), places={}, strokes=False)
    return Panel(marks, Axis(domain=domain), y, group, len(found) + 0.3)
