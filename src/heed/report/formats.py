"""The formats of numbers, rounded half up, without a sign of zero; a reader of our YAML."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from heed.evaluation.results import format_rounded, format_significant

DASH = "–"


@functools.cache
def read_yaml(name: str) -> Any:
    """Return what a YAML file beside this module declares."""
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))


def format_number(value: float | None, digits: int = 4) -> str:
    """Return the number with `digits` decimals; a dash for None."""
    return DASH if value is None else format_rounded(value, digits)


def format_points(value: float | None, digits: int = 2) -> str:
    """Return percentage points with their sign; a dash for None."""
    return DASH if value is None else format_rounded(value, digits, "+").replace("-", "−")


def format_p(p: float | None) -> str:
    """Return a p value with three decimals; a dash for None."""
    return "< 0.001" if p is not None and p < 0.001 else format_number(p, 3)


def format_interval(ends: tuple[float, float] | None) -> str:
    """Return both ends in percentage points; a dash for None."""
    return DASH if ends is None else " to ".join(map(format_points, ends))


def format_coverage(alpha: float) -> str:
    """Return the coverage of an interval at level alpha, in percent."""
    return f"{100 * (1 - alpha):g}%"


def format_count(value: int) -> str:
    """Return a whole number in groups of three digits."""
    return f"{value:,}"


def pluralize(singular: str, plural: str, count: int, **values: object) -> str:
    """Return the text for this count; both texts may name {count}, and `values` in braces."""
    return (singular if count == 1 else plural).format(count=count, **values)


def join_and(names: Sequence[str], last: str = "and") -> str:
    """Return names in a sentence; nothing without any."""
    return f" {last} ".join(text for text in (", ".join(names[:-1]), *names[-1:]) if text)


@dataclasses.dataclass(frozen=True)
class Format:
    """The formats of a column's values for people and for CSV, and their alignment."""

    printed: Callable[[Any], str]
    plain: Callable[[Any], str]
    # "number": the decimal points stand in one line
    align: Literal["left", "right", "number"] = "number"


def _plain(format_value: Callable[..., str], *arguments: object) -> Callable[[Any], str]:
    """Return a format for CSV: empty for None."""
    return lambda value: "" if value is None else format_value(value, *arguments)


def decimals(digits: int, *plain: int) -> Format:
    """Return the format of numbers with `digits` decimals; a CSV file may have more."""
    return Format(lambda n: format_number(n, digits), _plain(format_rounded, *plain or (digits,)))


def _text(value: object) -> str:
    return DASH if value is None else str(value)


ANSWER, AGREEMENT = ("no", "yes").__getitem__, ("NO", "yes").__getitem__
TEXT = Format(_text, _plain(str), "left")
RIGHT = Format(_text, _plain(str), "right")
POINTS = Format(format_points, _plain(format_rounded, 2, "+"))
PROBABILITY = Format(format_p, _plain(format_significant, 3), "right")
COUNT = Format(lambda value: format_number(value, 0), _plain(format, "d"))
NAMED = {
    "text": TEXT, "right": RIGHT, "points": POINTS, "probability": PROBABILITY, "count": COUNT,
    "printed": Format(str, lambda value: value.replace("−", "-")),  # numbers that are formatted
    "interval": Format(format_interval, format_interval, "right"),
    "verdict": Format(lambda value: value or DASH, lambda value: value or "", "left"),
    "alike": Format(lambda alike: "" if alike else "not tuned alike", str),
    "answer": Format(ANSWER, ANSWER, "left"), "agreement": Format(AGREEMENT, AGREEMENT, "left"),
    "parameters": Format(lambda n: DASH if n is None else format_count(n), COUNT.plain, "right"),
    "hundreds": decimals(2), "share": decimals(4),
}  # fmt: skip


def format_named(name: str | int | list[int]) -> Format:
    """Return a format by its name in tables.yaml: decimals by a number, for CSV by a second one."""
    if isinstance(name, str):
        return NAMED[name]
    return decimals(name) if isinstance(name, int) else decimals(*name)
