"""One answer over several corpora: a random-effects mean of differences, one of each corpus.

REML for the variance between corpora (Viechtbauer 2005), intervals by Hartung & Knapp (2001) and
Sidik & Jonkman (2002), never narrower than with a normal distribution's standard error (Jackson et
al. 2017), and the interval of another corpus's difference by Higgins et al. (2009).
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import optimize, stats

from heed.evaluation.results import Interval
from heed.evaluation.significance import ALPHA

FEWEST = 3  # corpora: with two the interval of another one has no degrees of freedom


@dataclasses.dataclass(frozen=True)
class Value:
    """A difference with its standard error, both in the same unit, and the corpus it is of."""

    corpus: str
    difference: float
    error: float


@dataclasses.dataclass(frozen=True)
class Pooled:
    """The mean difference over corpora, and what is to be expected of another corpus."""

    values: list[Value]
    mean: float
    interval: Interval
    prediction: Interval
    deviation: float  # of the true differences, between corpora


def pool(values: Sequence[Value], alpha: float = ALPHA) -> Pooled:
    """Return the random-effects mean of at least FEWEST independent values."""
    effects = np.array([value.difference for value in values])
    variances = np.array([value.error**2 for value in values])
    between, count = _between(effects, variances), len(values)
    weights = 1 / (variances + between)
    mean = float(weights @ effects / weights.sum())
    spread = float(weights @ (effects - mean) ** 2) / (count - 1)
    error = math.sqrt(max(spread, 1.0) / weights.sum())
    half = float(stats.t.isf(alpha / 2, count - 1) * error)
    away = float(stats.t.isf(alpha / 2, count - 2) * math.sqrt(between + error**2))
    ends = (mean - half, mean + half), (mean - away, mean + away)
    return Pooled([*values], mean, *ends, math.sqrt(between))


def _between(effects: np.ndarray, variances: np.ndarray) -> float:
    """Return the variance between corpora by restricted maximum likelihood, at least 0."""

    def loss(between: float) -> float:
        weights = 1 / (variances + between)
        mean = weights @ effects / weights.sum()
        squares = weights @ (effects - mean) ** 2
        return float(squares + np.log(weights.sum()) - np.log(weights).sum()) / 2

    largest = 10 * float(np.var(effects, ddof=1)) + float(variances.max())
    found = optimize.minimize_scalar(loss, bounds=(0, largest), options={"xatol": 1e-12})
    return float(found.x) if found.fun < loss(0.0) else 0.0


def join(values: Sequence[Value], joined: Mapping[str, str]) -> list[Value]:
    """Return one value a corpus; `joined` names the corpus that another one is a part of.

    Values of the same texts depend on each other: the mean has the mean of their standard errors,
    as if they were one.
    """
    groups: dict[str, list[Value]] = {}
    for value in values:
        groups.setdefault(joined.get(value.corpus, value.corpus), []).append(value)
    return [
        Value(
            corpus,
            float(np.mean([value.difference for value in group])),
            float(np.mean([value.error for value in group])),
        )
        for corpus, group in groups.items()
    ]
