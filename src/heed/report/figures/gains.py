"""The chart of gains: attention over the baseline, with its interval, and the talk's gain.

Its scale is linear and includes zero and every interval. An interval that is much wider than all
gains is cut, and ends in an arrow.
"""

import dataclasses
import textwrap

from heed.evaluation.results import BETTER, WORSE
from heed.report.answer import TestedDifference, verdict_text
from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.formats import format_interval, format_points
from heed.report.language import say
from heed.report.results import Results

MAX_WIDTH = 4.0  # of an interval's end from zero, in multiples of the largest gain
MAX_STEPS = 6  # between ticks
MAX_TITLE, CHARACTERS = 60, 14  # of a title: characters at most, without its mark; of an inch
OURS, TALK = shapes.Look(shapes.SERIES[0], "circle"), shapes.Look(shapes.SERIES[1], "diamond")
TITLE_LINE = 60  # characters


@dataclasses.dataclass(frozen=True)
class Bar:
    """An experiment's gain, in percentage points or in points of its figure."""

    title: str  # with the experiment's mark, unless all have the same
    gain: TestedDifference
    talk: float | None
    comparable: bool  # whether the talk's score can be compared with ours

    @property
    def label(self) -> str:
        """The label of the talk's gain in the legend."""
        return say(
            "the talk’s gain" if self.comparable else "the talk’s gain, not comparable with ours"
        )

    @property
    def alt_text(self) -> str:
        """The gain in words, for readers who cannot see the chart."""
        text = say(
            "{title}: gain {gain} {unit}, interval {interval}, {verdict}",
            title=self.title,
            gain=format_points(self.gain.mean),
            unit=self.gain.measure.long_unit,
            interval=format_interval(self.gain.ends),
            verdict=verdict_text(self.gain.verdict),
        )
        if self.talk is None:
            return text
        return f"{text}; {self.label}: {format_points(self.talk)}"


def gain_bars(experiments: list[Experiment]) -> list[Bar]:
    """Return the gains of all experiments that have one.

    A mark that all experiments have is left out: the warning before the chart's title says it.
    """
    has_mark = len({each.mark for each in experiments}) > 1
    return [
        Bar(
            shapes.short_name(each.title, MAX_TITLE)
            + f" ({each.mark})" * bool(has_mark and each.mark),
            each.gain,
            each.line.talk_gain,
            each.line.comparable or not each.line.reproduction,
        )
        for each in experiments
        if each.gain is not None
    ]


def gain_charts(results: Results, warning: str) -> list[Figure]:
    """Return a chart for each unit of gains, with a warning before its title.

    Its key is `gain`; further units have the name of the figure that they are points of.
    """
    by_unit: dict[str, list[Bar]] = {}
    for bar in gain_bars(results.experiments):
        by_unit.setdefault(bar.gain.measure.long_unit, []).append(bar)
    return [_gain_chart(results, *each, warning) for each in enumerate(by_unit.values())]


def _gain_chart(results: Results, number: int, bars: list[Bar], warning: str) -> Figure:
    measure = bars[0].gain.measure
    title = say(
        "Gain of attention over the baseline in percentage points, with its {covers} interval"
        if measure.in_percentage_points
        else "Gain of attention over the baseline in {name} points, with its {covers} interval",
        name=measure.name,
        covers=results.coverage,
    )
    texts = [say("Filled: better or worse; hollow: no such verdict")]
    if any(bar.talk is not None for bar in bars):
        texts.append(say("diamond: the talk’s gain (hollow: not comparable with ours)"))
    if any(bar.gain.result.tests > 1 for bar in bars):
        texts.append(say("the interval of a secondary comparison is simultaneous"))
    texts += dict.fromkeys(bar.gain.no_interval for bar in bars if bar.gain.no_interval)
    return Figure(
        f"gain_{measure.metric}" if number else "gain",
        title,
        f"{'; '.join(texts)}.",
        results.comparison_sources,
        gain_panels(bars, " ".join(filter(None, [warning, title]))),
        (shapes.WIDTH, min(1.35 + 0.62 * len(bars), shapes.MAX_HEIGHT)),
        alt_text=". ".join(bar.alt_text for bar in bars),
        titled=True,
        in_rows=True,
    )


def gain_panels(bars: list[Bar], title: str) -> list[list[Panel]]:
    """Return a row for each gain, its title and values above it, and a legend below all."""
    places = scale(bars)
    room = 0.04 * (places[-1] - places[0])
    low, high = places[0] - room, places[-1] + room
    rows: list[Mark] = []
    entries: dict[str, tuple[str, shapes.Look, bool]] = {}
    for place, bar in enumerate(bars):
        rows.append(shapes.rule((0, place - 0.15), (0, place + 0.35)))  # not through the words
        rows += _gain(place, bar, (places[0], places[-1]), entries)
        lines = textwrap.fill(bar.title, int(CHARACTERS * shapes.WIDTH))
        rows.append(shapes.words(low, place - 0.52, lines, size=9))
        interval = f"  ({format_interval(bar.gain.ends)})" if bar.gain.ends else ""
        values = format_points(bar.gain.mean) + interval
        rows.append(shapes.words(low, place - 0.27, values, shapes.SOFT))
    labels = {tick: f"{tick:+.4g}".replace("-", "−") if tick else "0" for tick in places}
    x = Axis(bars[0].gain.measure.long_unit, (low, high), labels)
    y = Axis(domain=(len(bars) - 0.65, -0.9), places={}, strokes=False)
    panel = Panel(rows, x, y, textwrap.fill(title, TITLE_LINE), height=max(len(bars), 1))
    return [
        [panel],
        [dataclasses.replace(shapes.legend([*entries.values()]), height=0.25 * len(entries))],
    ]


def scale(bars: list[Bar]) -> list[float]:
    """Return the ticks of a scale with zero, every gain, and every interval that is not cut."""
    gains = [bar.gain.mean for bar in bars]
    gains += [bar.talk for bar in bars if bar.talk is not None]
    limit = MAX_WIDTH * max(*map(abs, gains), 0.25)
    ends = [end for bar in bars for end in bar.gain.ends or ()]
    values = [0.0, *gains, *(min(max(end, -limit), limit) for end in ends)]
    return shapes.ticks(min(values), max(values), MAX_STEPS)


def _gain(
    row: int,
    bar: Bar,
    limits: tuple[float, float],
    entries: dict[str, tuple[str, shapes.Look, bool]],
) -> list[Mark]:
    """Return the marks of a gain; `entries` get those that the legend does not name yet."""
    gain, (low, high) = bar.gain, limits
    rows: list[Mark] = []
    for end, arrow in zip(gain.ends or (), ("triangle-left", "triangle-right"), strict=False):
        x = min(max(end, low), high)
        rows.append(shapes.rule((gain.mean, row), (x, row), OURS.colour, 1.8))
        cut = shapes.point(x, row, shapes.Look(OURS.colour, arrow), 40)
        rows.append(shapes.rule((x, row - 0.09), (x, row + 0.09), OURS.colour) if x == end else cut)
    decided = gain.verdict in (BETTER, WORSE)
    label = say("better or worse" if decided else "neither better nor worse")
    marks = [(gain.mean, label, OURS, not decided)]
    if bar.talk is not None:
        marks.insert(0, (bar.talk, bar.label, TALK, not bar.comparable))
    for x, label, look, hollow in marks:
        entries.setdefault(label, (label, look, hollow))
        rows.append(shapes.point(x, row, look, 38, hollow, 1.2))
    return rows
