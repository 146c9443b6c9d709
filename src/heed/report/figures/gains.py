"""The chart of gains: attention over the baseline, with its interval, and the talk's gain.

Its scale is linear and holds zero and every interval, but for those much wider than all gains,
which end in an arrow.
"""

import dataclasses

import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.report.answer import Tested
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import GROUND, INK, SERIES, SOFT, WIDTH, Style, legend, visible
from heed.report.formats import interval, points
from heed.report.language import say
from heed.report.results import Results

WIDEST, TICKS, LONGEST = 4.0, 6, 58  # times the largest gain; steps at most; characters of a title
OURS, TALK = SERIES[0], SERIES[1]
BOX = {"facecolor": GROUND, "edgecolor": "none", "pad": 1.0}


@dataclasses.dataclass(frozen=True)
class Bar:
    """An experiment's gain, in percentage points."""

    title: str
    mark: str
    gain: Tested
    talk: float | None
    comparable: bool  # whether the talk's figure may be held against ours

    @property
    def name(self) -> str:
        """The title, cut where it is long, and the mark."""
        mark = f" ({self.mark})" if self.mark else ""
        title, room = " ".join(visible(self.title).split()), LONGEST - len(mark)
        return (title if len(title) <= room else f"{title[: room - 1]}…") + mark

    @property
    def label(self) -> str:
        """The legend's words for the talk's gain."""
        apart = say("the talk’s gain, not comparable with ours")
        return say("the talk’s gain") if self.comparable else apart

    @property
    def says(self) -> str:
        """The gain in words."""
        words = {"better": say("better"), "worse": say("worse")}
        text = say(
            "{title}: gain {gain} percentage points, interval {interval}, {found}",
            title=f"{self.title} ({self.mark})" if self.mark else self.title,
            gain=points(self.gain.mean),
            interval=interval(self.gain.ends),
            found=words.get(self.gain.significant, say("not significant")),
        )
        return (
            text if self.talk is None else text + say("; the talk: {gain}", gain=points(self.talk))
        )


def gain_bars(experiments: list[Experiment]) -> list[Bar]:
    """Return the gains of all experiments that have one."""
    return [
        Bar(
            each.title,
            each.mark,
            each.gain,
            each.line.talk_gain,
            each.line.comparable or not each.line.reproduction,
        )
        for each in experiments
        if each.gain is not None
    ]


def gain_chart(results: Results, generated: str) -> list[Figure]:
    """Return the chart, which says what text is generated; none without any gain."""
    bars = gain_bars(results.experiments)
    if not bars:
        return []
    alpha = results.comparison.significance.alpha
    title = say(
        "Gain of attention over the baseline in percentage points, with its {covers} interval",
        covers=results.covers,
    )
    caption = say(
        "Filled: significant, corrected p below {alpha}; hollow: not significant", alpha=alpha
    )
    if any(bar.talk is not None for bar in bars):
        caption += "; " + say("diamond: the talk’s gain (hollow: not comparable with ours)")
    if any(bar.gain.low is None for bar in bars):
        caption += "; " + say("one seed has no interval")
    return [
        Figure(
            "gain",
            title,
            f"{caption}.",
            results.compared,
            lambda figure: draw_gains(figure, bars, " ".join(filter(None, [generated, title]))),
            (WIDTH, 1.2 + 0.62 * len(bars)),
            says=". ".join(bar.says for bar in bars),
        )
    ]


def draw_gains(figure: matplotlib.figure.Figure, bars: list[Bar], title: str) -> None:
    """Draw a row a gain: its title and values, its interval, its mean and the talk's gain."""
    axes = figure.subplots()
    ticks = scale(bars)
    low, high = ticks[0], ticks[-1]
    axes.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    axes.set_ylim(len(bars) - 0.65, -0.8)
    axes.axvline(0, color=INK, lw=1)
    for place, bar in enumerate(bars):
        _draw_bar(axes, place, bar, (low, high))
    axes.set_xticks(ticks, [f"{tick:+.4g}".replace("-", "−") if tick else "0" for tick in ticks])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(say("percentage points"))
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold", wrap=True)
    legend(figure, axes, 1, "outside lower left")


def scale(bars: list[Bar]) -> list[float]:
    """Return the ticks of a scale with zero, every gain, and every interval that is not cut."""
    talks = [bar.talk for bar in bars if bar.talk is not None]
    gains = [bar.gain.mean for bar in bars] + talks
    limit = WIDEST * max(*map(abs, gains), 0.25)
    ends = [end for bar in bars for end in bar.gain.ends or ()]
    held = [0.0, *gains, *(min(max(end, -limit), limit) for end in ends)]
    ticks = MaxNLocator(TICKS, steps=[1, 2, 5, 10]).tick_values(min(held), max(held))
    return [round(float(tick), 6) + 0.0 for tick in ticks]


def _draw_bar(axes: Axes, place: int, bar: Bar, ends: tuple[float, float]) -> None:
    gain = bar.gain
    for end, limit, arrow in zip(gain.ends or (), ends, "<>", strict=False):
        cut = end < limit if arrow == "<" else end > limit
        at = limit if cut else end
        axes.plot([gain.mean, at], [place, place], color=OURS, lw=1.8, gid="interval")
        axes.plot([at], [place], arrow if cut else "|", color=OURS, gid="cut" if cut else "end")
    if bar.talk is not None:
        filled = TALK if bar.comparable else "none"
        axes.plot(
            [bar.talk], [place], "D", color=TALK, markerfacecolor=filled, markersize=6, gid="talk",
            label=_once(axes, bar.label),
        )  # fmt: skip
    filled, label = (
        (OURS, say("significant")) if gain.significant else (GROUND, say("not significant"))
    )
    axes.plot(
        [gain.mean], [place], "o", color=OURS, markerfacecolor=filled, markersize=6, gid="mean",
        label=_once(axes, label),
    )  # fmt: skip
    style: Style = {"transform": axes.get_yaxis_transform(), "va": "center", "bbox": BOX}
    axes.text(0, place - 0.52, bar.name, color=INK, **style)
    values = points(gain.mean) + (f"  ({interval(gain.ends)})" if gain.ends else "")
    axes.text(0, place - 0.27, values, color=SOFT, fontsize=8, **style)


def _once(axes: Axes, label: str) -> str | None:
    """Return a label that the legend does not have yet."""
    return None if label in axes.get_legend_handles_labels()[1] else label
