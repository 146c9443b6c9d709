"""The configurations of a search, drawn from its space: pure, and the same for the same seed."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from heed.files import HeedError
from heed.hyperparameters import Configuration

if TYPE_CHECKING:
    from heed.study import Dimension

DRAWS = 1000  # for one configuration, before the space is called impossible
DIGITS = 4  # of a number drawn from a span: what best.yaml says is what was tried, and can be read


@dataclasses.dataclass(frozen=True)
class Space:
    """What may be tried: `configurations` of a random search, all drawn beforehand; None for a
    sampler that learns.
    """

    dimensions: "Mapping[str, Dimension]"
    fits: Callable[[Configuration], bool]
    configurations: list[Configuration] | None


def draw(
    dimensions: "Mapping[str, Dimension]",
    trials: int,
    seed: int,
    fits: Callable[[Configuration], bool],
) -> list[Configuration]:
    """Return `trials` different configurations, drawn beforehand, so that no order of finishing can
    change them.

    More trials with the same seed begin with the same configurations. `heads` is drawn first and
    kept while the rest is drawn again until all fits: heads that divide few sizes then come as
    often as others.

    Args:
        dimensions: hyperparameter → how it is drawn.
        trials: how many.
        seed: the search's own.
        fits: whether a configuration is possible (heads divide the states' size).

    Raises:
        HeedError: the space has too few configurations that are possible.

    """
    found: list[Configuration] = []
    for number in range(trials):
        generator = np.random.default_rng((seed, number))
        for attempt in range(DRAWS):
            if attempt % 50 == 0:
                heads = _value(dimensions["heads"], generator) if "heads" in dimensions else None
            drawn = {
                key: _value(dimension, generator)
                for key, dimension in dimensions.items()
                if key != "heads"
            }
            if heads is not None:
                drawn["heads"] = heads
            configuration = {key: drawn[key] for key in dimensions}
            if configuration not in found and fits(configuration):
                found.append(configuration)
                break
        else:
            raise HeedError(
                f"the space has too few configurations: {number} found of {trials} trials after "
                f"{DRAWS} draws. "
                "Ask for fewer `trials`, or widen `space` (heads must divide the size of the "
                "states)"
            )
    return found


def _value(dimension: "Dimension", generator: np.random.Generator) -> Any:
    """Draw one value."""
    values = dimension.values
    if dimension.kind == "choice":
        return values[int(generator.integers(len(values)))]
    if dimension.kind == "integer":
        return int(generator.integers(values[0], values[1], endpoint=True))
    if dimension.kind == "uniform":
        return rounded(float(generator.uniform(*values)), dimension)
    return rounded(math.exp(generator.uniform(math.log(values[0]), math.log(values[1]))), dimension)


def rounded(value: Any, dimension: "Dimension") -> Any:
    """Return a value of `dimension` with few digits where it is drawn from a span of numbers with a
    fraction.
    """
    if dimension.kind not in ("uniform", "loguniform"):
        return value
    low, high = dimension.values
    return min(max(float(f"{value:.{DIGITS}g}"), low), high)
