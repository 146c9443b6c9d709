"""The chart of gains: attention over the baseline, with its interval, and the talk's gain.

Its scale is linear and includes zero and every interval. An interval that is much wider than all
gains is cut, and ends in an arrow.
"""

import dataclasses
import textwrap

import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.evaluation.results import BETTER, WORSE
from heed.report.answer import TestedDifference, verdict_text
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import (
    GROUND,
    INK,
    MAX_HEIGHT,
    SERIES,
    SOFT,
    WIDTH,
    Style,
    legend,
    short_name,
)
from heed.report.formats import format_interval, format_points
from heed.report.language import say
from heed.report.results import Results

MAX_WIDTH = 4.0  # of an interval's end from zero, in multiples of the largest gain
MAX_STEPS = 6  # between ticks
MAX_TITLE, CHARACTERS = 60, 14  # of a title: characters at most, without its mark; of an inch
OURS, TALK = SERIES[0], SERIES[1]
BOX = {"facecolor": GROUND, "edgecolor": "none", "pad": 1.0}


@dataclasses.dataclass(frozen=True)
class Bar:
    """An experiment's gain, in percentage points or in points of its figure."""

    title: str  # with the experiment's mark, where it is printed
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
    """Return the gains of all experiments that have one."""
    return [
        Bar(
            short_name(each.title, MAX_TITLE) + f" ({each.printed_mark})" * bool(each.printed_mark),
            each.gain,
            each.line.talk_gain,
            each.line.comparable or not each.line.reproduction,
        )
        for each in experiments
        if each.gain is not None
    ]


def gain_charts(results: Results) -> list[Figure]:
    """Return a chart for each unit of gains.

    Its key is `gain`; further units have the name of the figure that they are points of.
    """
    by_unit: dict[str, list[Bar]] = {}
    for bar in gain_bars(results.experiments):
        by_unit.setdefault(bar.gain.measure.long_unit, []).append(bar)
    return [_gain_chart(results, *each) for each in enumerate(by_unit.values())]


def _gain_chart(results: Results, number: int, bars: list[Bar]) -> Figure:
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
        lambda figure: draw_gains(figure, bars, title),
        (WIDTH, min(1.35 + 0.62 * len(bars), MAX_HEIGHT)),
        alt_text=". ".join(bar.alt_text for bar in bars),
        titled=True,
        in_rows=True,
    )


def draw_gains(figure: matplotlib.figure.Figure, bars: list[Bar], title: str) -> None:
    """Draw a row for each gain: title and values, interval, mean and the talk's gain."""
    axes = figure.subplots()
    length = int(CHARACTERS * figure.get_figwidth())
    ticks = scale(bars)
    low, high = ticks[0], ticks[-1]
    axes.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    axes.set_ylim(len(bars) - 0.65, -0.9)
    axes.axvline(0, color=INK, lw=1)
    for row, bar in enumerate(bars):
        _draw_bar(axes, row, bar, (low, high))
        style: Style = {"transform": axes.get_yaxis_transform(), "bbox": BOX, "linespacing": 1}
        lines = textwrap.fill(bar.title, length)
        axes.text(0, row - 0.41, lines, va="bottom", color=INK, **style)
        ends = f"  ({format_interval(bar.gain.ends)})" if bar.gain.ends else ""
        values = format_points(bar.gain.mean) + ends
        axes.text(0, row - 0.27, values, va="center", color=SOFT, fontsize=8, **style)
    axes.set_xticks(ticks, [f"{tick:+.4g}".replace("-", "−") if tick else "0" for tick in ticks])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(bars[0].gain.measure.long_unit)
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold", wrap=True)
    legend(figure, axes, 1, "outside lower left")


def scale(bars: list[Bar]) -> list[float]:
    """Return the ticks of a scale with zero, every gain, and every interval that is not cut."""
    gains = [bar.gain.mean for bar in bars]
    gains += [bar.talk for bar in bars if bar.talk is not None]
    limit = MAX_WIDTH * max(*map(abs, gains), 0.25)
    ends = [end for bar in bars for end in bar.gain.ends or ()]
    values = [0.0, *gains, *(min(max(end, -limit), limit) for end in ends)]
    ticks = MaxNLocator(MAX_STEPS, steps=[1, 2, 5, 10]).tick_values(min(values), max(values))
    return [round(float(tick), 6) + 0.0 for tick in ticks]


def _draw_bar(axes: Axes, row: int, bar: Bar, limits: tuple[float, float]) -> None:
    gain, (low, high) = bar.gain, limits
    for end, arrow in zip(gain.ends or (), "<>", strict=False):
        x = min(max(end, low), high)
        axes.plot([gain.mean, x], [row, row], color=OURS, lw=1.8, gid="interval")
        cut = x != end
        axes.plot([x], [row], arrow if cut else "|", color=OURS, gid="cut" if cut else "end")
    marks: list[tuple[str, float, str, str, str, str]] = []
    if bar.talk is not None:
        marks.append(("D", bar.talk, TALK, TALK if bar.comparable else "none", "talk", bar.label))
    decided = gain.verdict in (BETTER, WORSE)
    label = say("better or worse" if decided else "neither better nor worse")
    marks.append(("o", gain.mean, OURS, OURS if decided else GROUND, "mean", label))
    for shape, x, colour, filled, gid, label in marks:
        known = label in axes.get_legend_handles_labels()[1]
        axes.plot(
            [x], [row], shape, color=colour, markerfacecolor=filled, markersize=6, gid=gid,
            label=None if known else label,
        )  # fmt: skip
