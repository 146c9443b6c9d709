"""How values are printed: with a real minus and a dash for none, and plainly for CSV."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

from heed.report.language import say

DASH = "–"


def number(value: float | None, digits: int = 4) -> str:
    """Return the number as printed; a dash for none."""
    return DASH if value is None else f"{value:.{digits}f}"


def points(value: float | None) -> str:
    """Return percentage points with their sign; a dash for none."""
    return DASH if value is None else f"{value:+.2f}".replace("-", "−")


def probability(p: float | None) -> str:
    """Return a p value as printed; a dash for none."""
    if p is None:
        return DASH
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def interval(ends: tuple[float, float] | None) -> str:
    """Return both ends in percentage points; a dash for none."""
    return (
        DASH if ends is None else say("{low} to {high}", low=points(ends[0]), high=points(ends[1]))
    )


def coverage(alpha: float) -> str:
    """Return how often the interval of a test at alpha covers the truth."""
    return f"{100 * (1 - alpha):g}%"


@dataclasses.dataclass(frozen=True)
class Format:
    """How a column's values are printed for people and for CSV, and on which side."""

    printed: Callable[[Any], str]
    plain: Callable[[Any], str]
    # numbers stand with their points in a line
    align: Literal["left", "right", "number"] = "number"


def _plain(value: Any, form: str) -> str:
    return "" if value is None else format(value, form)


def decimals(digits: int, plain_digits: int | None = None) -> Format:
    """Return the format of numbers with so many decimals; a CSV file may have more."""
    form = f".{digits if plain_digits is None else plain_digits}f"
    return Format(lambda value: number(value, digits), lambda value: _plain(value, form))


TEXT = Format(str, str, "left")
RIGHT = Format(str, str, "right")
PRINTED = Format(str, lambda value: value.replace("−", "-"))  # a number that is text already
POINTS = Format(points, lambda value: _plain(value, "+.2f"))
PROBABILITY = Format(probability, lambda value: _plain(value, ".3g"), "right")
INTERVAL = Format(interval, interval, "right")
COUNT = Format(lambda value: number(value, 0), lambda value: _plain(value, "d"))
