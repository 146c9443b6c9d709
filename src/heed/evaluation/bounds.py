"""The bounds of a difference of two shares: its interval is printed within them."""

from heed.evaluation.results import Interval


def clip_interval(interval: Interval | None, mean_pp: float, second: float) -> Interval | None:
    """Return the part of an interval that is possible over the second model's figure.

    A t interval knows nothing of bounds: over a baseline of 0.98 it may end at +14, where no more
    than +2 is possible. The tests use the whole interval.

    Args:
        interval: of the difference, in percentage points; None with one seed.
        mean_pp: the difference; it stays inside, whatever rounding does.
        second: the figure of the second model, from 0 to 1.

    """
    if interval is None:
        return None
    low, high = interval
    return max(low, min(-100 * second, mean_pp)), min(high, max(100 * (1 - second), mean_pp))
