"""What the first pages say of all published reports: tables of scores, and a forest plot."""

import csv
import dataclasses
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import yaml

from heed.evaluation.comparison import RESULTS_TABLE
from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.files import HeedError
from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.figures.shapes import (
    INK,
    SERIES,
    SOFT,
    Look,
    extent,
    legend,
    point,
    rule,
    short_name,
    words,
)
from heed.report.measures import Measure
from heed.task import task_module

RESULTS, WAYS_TO_READ = (
    re.compile(
        rf"(<!-- heed publish {name} of ([^:]+): begin -->\n).*?(<!-- heed publish {name}: end)",
        re.DOTALL,
    )
    for name in ("results", "ways to read")
)
VERDICTS = "tables/verdicts.csv"
HEAD = ("Texts", "Attention", "Last state", "Control", "Linear model, or another from outside")
# The ways to read a text, by the variants of the published studies of real corpora.
WAYS = {
    "baseline": "last state", "max": "maximum", "mean": "mean", "pooling": "pooling",
    "uniform": "equal weights", "attention": "self-attention", "transformer": "transformer",
    "bag": "embeddings, mean", "embeddings": "embeddings, pooling", "han-mean": "sentences, mean",
    "han": "sentences, pooling", "linear": "linear model", "pretrained": "pretrained",
}  # fmt: skip
WEIGHTS = {("pooling", "mean"): "Pooling − mean", ("attention", "uniform"): "Self-att. − equal"}


def with_results(readme: str, reports: Path) -> str:
    """Return README.md with the table of the experiments, REPORT/EXPERIMENT each, that it names.

    `reports` is the folder of the published reports, whose tables have the figures.
    """

    def table(names: Sequence[tuple[str, str]]) -> list[Sequence[str]]:
        return [HEAD, *(_row(reports, *name) for name in names)]

    return _with_tables(readme, RESULTS, table)


def with_scores(index: str, reports: Path) -> str:
    """Return the index with the table of every way to read, of the experiments that it names."""

    def table(names: Sequence[tuple[str, str]]) -> list[list[str]]:
        of_rows = [_scores(reports / report, name) for report, name in names]
        ways = [way for way in WAYS if any(way in row for row in of_rows)]
        rows = [["Texts", *(WAYS[way] for way in ways), *WEIGHTS.values()]]
        for (report, name), row in zip(names, of_rows, strict=True):
            title = _declared(reports / report)[name]["title"]
            cells = [f"{100 * row[way]:.1f}" if way in row else "–" for way in ways]
            gains = [_gain(reports / report, name, pair) for pair in WEIGHTS]
            rows.append([f"[{title}]({report}/README.md)", *cells, *gains])
        return rows

    return _with_tables(index, WAYS_TO_READ, table)


def _with_tables(
    page: str,
    place: re.Pattern[str],
    table: Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[str]]],
) -> str:
    """Return a page with `table` of the experiments that each place names; its head is first."""

    def write(match: re.Match[str]) -> str:
        names = [name.partition("/")[::2] for name in match[2].split()]
        head, *rows = table(names)
        lines = [head, ["---"] * len(head), *rows]
        return match[1] + "".join(f"| {' | '.join(line)} |\n" for line in lines) + match[3]

    return place.sub(write, page)


def _scores(folder: Path, experiment: str) -> dict[str, float]:
    """Return each model's score on the test in a published report, the mean of its seeds."""
    costs = _read(folder / "tables/cost.csv")
    metric = next(row["metric"] for row in costs if row["experiment"] == experiment)
    values: dict[str, list[float]] = {}
    for row in _read(folder / RESULTS_TABLE):
        if (row["experiment"], row["split"], row["metric"]) == (experiment, "test", metric):
            values.setdefault(row["model"], []).append(float(row["value"]))
    return {model: statistics.fmean(each) for model, each in values.items()}


def _gain(folder: Path, experiment: str, pair: tuple[str, str]) -> str:
    """Return what learned weights gain, as the published comparison says it."""
    rows = _read(folder / f"tables/{experiment}_comparisons.csv")
    found = [_says(row) for row in rows if (row["first"], row["second"]) == pair]
    return found[0] if found else "–"


def check_names(readme: str, reports: Path, published: Mapping[str, Collection[str]]) -> None:
    """Raise HeedError where README.md names an experiment that no published report compares.

    `published` has the compared experiments of reports that are not in `reports` yet.
    """
    for name in (name for match in RESULTS.finditer(readme) for name in match[2].split()):
        report, _, experiment = name.partition("/")
        path = reports / report / VERDICTS
        rows = _compared(path) if path.is_file() and report not in published else []
        if experiment not in published.get(report, [row["experiment"] for row in rows]):
            raise HeedError(
                f"README.md: {name} in the table of results: {reports.name}/{report} has no such "
                "comparison of attention. Correct the name, or run `heed publish` on that study "
                "first"
            )


def _row(reports: Path, report: str, experiment: str) -> tuple[str, ...]:
    """Return the title, attention's score, and each other model's, in hundredths, with the gain."""
    folder = reports / report
    scores = _scores(folder, experiment)
    verdict = next(row for row in _compared(folder / VERDICTS) if row["experiment"] == experiment)
    comparisons = _comparisons(folder, verdict)
    reference_model = "reference_model" if "reference_model" in verdict else "opponent"

    kind = "" if verdict["variant"] == ATTENTION else f"`{verdict['variant']}` "
    control = verdict["control"] if verdict["control"] != verdict["baseline"] else ""

    def cell(other: str, name: str) -> str:
        if not other:
            return "–"
        return f"{name}{100 * scores[other]:.1f}: {_says(comparisons[other])}"

    title = _declared(folder)[experiment]["title"]
    return (
        f"[{title}](docs/studies/{report}/README.md)",
        f"{kind}{100 * scores[verdict['variant']]:.1f}",
        cell(verdict["baseline"], ""),
        *(cell(other, f"`{other}` ") for other in (control, verdict[reference_model])),
    )


def _says(row: Mapping[str, str]) -> str:
    difference = f"{row['difference_pp']} ({row['low_pp']} to {row['high_pp']})"
    return f"{row['verdict'].replace('practically ', '')} {difference.replace('-', '−')}"


def _declared(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """Return the experiments of a published report, as its params.yaml declares them."""
    experiments: Mapping[str, Mapping[str, str]] = yaml.safe_load(
        (folder / "params.yaml").read_text(encoding="utf-8")
    )["experiments"]
    return experiments


def _comparisons(folder: Path, verdict: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return what attention was compared with in an experiment, by model."""
    rows = _read(folder / f"tables/{verdict['experiment']}_comparisons.csv")
    return {each["second"]: each for each in rows if each["first"] == verdict["variant"]}


def _compared(path: Path) -> list[dict[str, str]]:
    """Return the verdicts of the experiments with a control or a baseline for attention."""
    return [row for row in _read(path) if row["variant"]]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclasses.dataclass(frozen=True)
class Primary:
    """The primary comparison of an experiment in a published report, with its figures there."""

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


def primary_comparisons(reports: Path) -> list[Primary]:
    """Return attention against its control in every experiment of the published reports.

    Against the baseline where an experiment has no control. The largest difference is first.
    """
    found = []
    for path in sorted(reports.glob(f"*/{VERDICTS}")):
        folder = path.parents[1]
        for verdict in _compared(path):
            other = verdict.get("control") or verdict["baseline"]
            declared = _declared(folder)[verdict["experiment"]]
            metric = task_module(declared["task"], "recipe").VALIDATION_METRICS[0]
            unit = Measure(declared["task"], metric).long_unit
            group = f"{(verdict['mark'] or 'real text').capitalize()}, {unit}"
            row = _comparisons(folder, verdict)[other]
            own = "" if verdict["variant"] == ATTENTION else f"{verdict['variant']} "
            models = f"{folder.name}: {own}against {other}"
            found.append(Primary(folder.name, declared["title"], models, group, row))
    return sorted(found, key=lambda each: -each.difference)


LOOKS = {  # by verdict; what says nothing is hollow
    BETTER: (Look(SERIES[0], "triangle-up"), False),
    WORSE: (Look(SERIES[1], "triangle-down"), False),
    SAME: (Look(SERIES[2], "square"), False),
    UNDECIDED: (Look(SOFT, "circle"), True),
    NOT_CONVERGED: (Look(SOFT, "diamond"), True),
}
# Inches: the figure, which fits a phone at full size; a row; title and scale of a panel.
WIDTH, ROW, FRAME = 3.75, 0.42, 0.68
ATTENTION = "attention"  # the model that a row need not name


def forest_plot(reports: Path) -> Figure:
    """Return the primary comparison of every published experiment, a row each.

    Experiments are grouped by their texts and by the unit of their metric.
    """
    found = primary_comparisons(reports)
    groups = {
        group: [each for each in found if each.group == group]
        for group in sorted({each.group for each in found}, reverse=True)
    }
    counts = Counter(each.row["verdict"] for each in found)
    looks = {verdict: look for verdict, look in LOOKS.items() if verdict in counts}
    title = (
        f"Attention against its control in {len(found)} experiments of "
        f"{len({each.report for each in found})} published studies: "
        + ", ".join(f"{verdict} in {counts[verdict]}" for verdict in looks)
    )
    key = legend([(verdict, *look) for verdict, look in looks.items()])
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


def _panel(group: str, found: list[Primary]) -> Panel:
    marks: list[Mark] = []
    for place, each in enumerate(found):
        low, high = each.ends
        look, hollow = LOOKS[each.row["verdict"]]
        marks.append(rule((0, place - 0.15), (0, place + 0.15), SOFT))
        marks.append(rule((low, place), (high, place), look.colour, 1.4))
        marks.append(point(each.difference, place, look, 40, hollow, 1.2))
    domain = extent(marks, "x")
    for place, each in enumerate(found):
        for text, colour, size, up in ((each.title, INK, 9, 19), (each.models, SOFT, 8, 9)):
            whole = short_name(text, len(text))
            marks.append(words(domain[0], place, whole, colour, size, at=(0, -up)))
    y = Axis(domain=(len(found) - 0.7, -1), places={}, strokes=False)
    return Panel(marks, Axis(domain=domain), y, group, len(found) + 0.3)
