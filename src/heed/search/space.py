"""The configurations of a random search, drawn from its space: the same for the same seed."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from heed.files import HeedError
from heed.hyperparameters import Configuration

if TYPE_CHECKING:
    from heed.study import Dimension

DRAWS = 1000  # of one configuration, before the space is said to have too few
DIGITS = 4  # significant digits of a real number: best.yaml has exactly the value of the trial


@dataclasses.dataclass(frozen=True)
class Space:
    """The space of a search.

    `configurations` are those of a random search, all drawn before it starts; None for a sampler
    that learns from earlier trials.
    """

    dimensions: "Mapping[str, Dimension]"
    is_valid: Callable[[Configuration], bool]
    configurations: list[Configuration] | None


def draw(
    dimensions: "Mapping[str, Dimension]", trials: int, seed: int,
    is_valid: Callable[[Configuration], bool],
) -> list[Configuration]:  # fmt: skip
    """Return `trials` different, valid configurations, drawn by the seed of the search.

    The order in which trials end cannot change them, and more trials with the same seed begin with
    the same ones. Raises HeedError where the space has too few.
    """
    configurations: list[Configuration] = []
    for number in range(trials):
        generator = np.random.default_rng((seed, number))
        candidates = itertools.islice(_draw_candidates(dimensions, generator), DRAWS)
        for candidate in candidates:
            if candidate not in configurations and is_valid(candidate):
                configurations.append(candidate)
                break
        else:
            raise HeedError(
                f"the space has too few configurations: {number} found of {trials} trials after "
                f"{DRAWS} draws. "
                "Ask for fewer `trials`, or widen `space` (heads must divide the size of the "
                "states)"
            )
    return configurations


def _draw_candidates(
    dimensions: "Mapping[str, Dimension]", generator: np.random.Generator
) -> Iterator[Configuration]:
    """Yield configurations without end; not all of them are possible.

    `heads` is drawn first and kept for 50 configurations: so numbers of heads that divide few sizes
    are drawn as often as others.
    """
    for attempt in itertools.count():
        if attempt % 50 == 0:
            heads = _draw_value(dimensions["heads"], generator) if "heads" in dimensions else None
        values = {
            key: _draw_value(dimension, generator)
            for key, dimension in dimensions.items()
            if key != "heads"
        }
        if heads is not None:
            values["heads"] = heads
        yield {key: values[key] for key in dimensions}


def _draw_value(dimension: "Dimension", generator: np.random.Generator) -> Any:
    """Return one random value of a dimension."""
    values = dimension.values
    if dimension.kind == "choice":
        return values[int(generator.integers(len(values)))]
    if dimension.kind == "integer":
        return int(generator.integers(values[0], values[1], endpoint=True))
    if dimension.kind == "uniform":
        return round_value(float(generator.uniform(*values)), dimension)
    return round_value(
        math.exp(generator.uniform(math.log(values[0]), math.log(values[1]))), dimension
    )


def round_value(value: Any, dimension: "Dimension") -> Any:
    """Return a value of `dimension`; real numbers are rounded to DIGITS significant digits."""
    if dimension.kind not in ("uniform", "loguniform"):
        return value
    low, high = dimension.values
    return min(max(float(f"{value:.{DIGITS}g}"), low), high)
