"""Rounding as people do it by hand: a half away from zero, and no sign on zero."""

import math
from decimal import ROUND_HALF_UP, Decimal

SIGNIFICANT = 12  # digits that are right after some additions of floats
LARGE = 1e12  # from here on a value has no digits after the point


def round_half_up(value: float, digits: int) -> float:
    """Return the value rounded in decimal to so many digits after the point; never -0.0.

    Python's round and format take the binary value, which for 0.285 is a little less, and the even
    neighbour of a half: .125 becomes .12.
    """
    if not math.isfinite(value) or abs(value) >= LARGE:
        return value
    exact = Decimal(f"{value:.{SIGNIFICANT}g}")
    return float(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)) + 0.0


def format_rounded(value: float, digits: int, sign: str = "-") -> str:
    """Return the value with so many digits after the point; `sign` "+" also marks what is above 0.

    A value that is rounded to zero has no sign.
    """
    rounded = round_half_up(value, digits)
    return f"{rounded:{sign if rounded else '-'}.{digits}f}"


def format_significant(value: float, digits: int) -> str:
    """Return the value with so many significant digits, as the format .3g, rounded half up."""
    exponent = Decimal(f"{value:.{SIGNIFICANT}g}").adjusted()
    return f"{round_half_up(value, digits - 1 - exponent):.{digits}g}"
