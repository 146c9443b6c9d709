"""The chart of gains as plain geometry: where each mark stands, in percent of the width; the templates draw it.

Written here and not left to a plotting library, since the page's chart has to follow its window and its colours: it is
five straight marks a row. Its scale is linear and holds nothing and every interval, but for those much wider than all
gains, which end in an arrow.
"""

import dataclasses
import math

from heed.report.answer import Tested, points
from heed.report.language import say
from heed.report.tables import Experiment

PAD, TICKS, WIDEST = 5.0, 6, 4.0  # percent free at each side; at most so many steps; times the largest gain


@dataclasses.dataclass(frozen=True)
class Bar:
    """An experiment's gain. Positions in percent of the width; None where there is no such figure."""

    key: str
    title: str
    mark: str
    mean: float
    low: float | None
    high: float | None
    cut_low: bool  # the interval goes on beyond the scale
    cut_high: bool
    talk: float | None
    comparable: bool  # whether the talk's figure may be held against ours
    shown: bool
    value: str
    interval: str
    says: str


@dataclasses.dataclass(frozen=True)
class Chart:
    """Gains of all experiments on one scale; `ticks` are (position, text)."""

    bars: list[Bar]
    ticks: list[tuple[float, str]]
    zero: float
    has_talk: bool


def gain_chart(experiments: list[Experiment]) -> Chart | None:
    """Return the chart of attention's gains over the baseline; None where no experiment has both."""
    found = [(each, each.gain) for each in experiments if each.gain is not None]
    if not found:
        return None
    sizes = [abs(gain.mean) for _, gain in found] + [abs(each.line.talk_gain or 0) for each, _ in found]
    limit = WIDEST * max(*sizes, 0.25)
    ends = [0.0, *(gain.mean for _, gain in found), *(each.line.talk_gain or 0.0 for each, _ in found)]
    ends += [min(max(end, -limit), limit) for _, gain in found for end in (gain.low, gain.high) if end is not None]
    step = tick_step(max(ends) - min(ends))
    first, last = math.floor(min(ends) / step + 1e-9), math.ceil(max(ends) / step - 1e-9)
    low, high = first * step, max(last, first + 1) * step

    def position(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(PAD + (100 - 2 * PAD) * share, 2)

    bars = [
        Bar(
            key=each.key,
            title=each.title,
            mark=each.mark,
            mean=position(gain.mean),
            low=None if gain.low is None else position(gain.low),
            high=None if gain.high is None else position(gain.high),
            cut_low=gain.low is not None and gain.low < low,
            cut_high=gain.high is not None and gain.high > high,
            talk=None if each.line.talk_gain is None else position(each.line.talk_gain),
            comparable=each.line.comparable or not each.line.beside,
            shown=bool(gain.shown),
            value=points(gain.mean),
            interval=gain.interval,
            says=_says(each, gain),
        )
        for each, gain in found
    ]
    ticks = [(position(at * step), tick(at * step, step)) for at in range(first, max(last, first + 1) + 1)]
    return Chart(bars, ticks, position(0.0), any(bar.talk is not None for bar in bars))


def tick_step(width: float) -> float:
    """Return the smallest of 1, 2, 5, 10, … (and their tenths) that divides `width` into at most six steps."""
    power = 10.0 ** math.floor(math.log10(max(width, 1e-6) / TICKS))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * TICKS >= width * (1 - 1e-9))


def tick(value: float, step: float) -> str:
    """Return a tick's text: signed, and with no more digits than the steps have."""
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return "0" if abs(value) < step / 2 else f"{value:+.{digits}f}".replace("-", "−")


def _says(experiment: Experiment, gain: Tested) -> str:
    talk = experiment.line.talk_gain
    found = {"better": say("better"), "worse": say("worse")}.get(gain.shown, say("no difference shown"))
    text = say(
        "{title}: gain {gain} percentage points, interval {interval}, {found}",
        title=experiment.title, gain=points(gain.mean), interval=gain.interval, found=found,
    )  # fmt: skip
    return text + ("" if talk is None else say("; the talk: {gain}", gain=points(talk)))
