"""Declared looks: a comparison is tested with a few seeds, and with more where it is undecided.

Each look may spend a part of the level, by the function of Lan & DeMets (1983) that is like the
boundaries of O'Brien & Fleming (1979), so that all looks together raise no more false alarms than
one test at the level.
"""

import dataclasses
import functools

import numpy as np
from scipy import optimize, special

from heed.evaluation.results import Significance

NODES = 200  # of Gauss and Legendre; the boundaries are right to six digits


@dataclasses.dataclass(frozen=True)
class Looks:
    """The numbers of seeds at which a comparison is looked at, and with how many it is now."""

    planned: tuple[int, ...]  # rising
    seeds: int  # one of them

    @property
    def number(self) -> int:
        """The number of this look, from 1."""
        return self.planned.index(self.seeds) + 1

    @property
    def later(self) -> tuple[int, ...]:
        """The numbers of seeds of the looks after this one."""
        return self.planned[self.number :]

    def at_least(self, seeds: int) -> int:
        """Return the seeds of the first later look with as many; without one, as many."""
        return next((look for look in self.later if look >= seeds), seeds)

    def __str__(self) -> str:
        """Say which look this is, and what its tests allow for."""
        said = (
            f"This is look {self.number} of {len(self.planned)}, which were declared at "
            f"{', '.join(map(str, self.planned))} seeds: all of them together raise no more false "
            "alarms than one test."
        )
        if not self.later:
            return said
        return f"{said} What is undecided is looked at again with {self.later[0]} seeds."

    def level(self, alpha: float) -> float:
        """Return the level of this look's tests, two-sided, where all looks share `alpha`."""
        return levels(self.planned, alpha)[self.number - 1]

    def last_level(self, alpha: float) -> float:
        """Return the level of the last look's tests."""
        return levels(self.planned, alpha)[-1]


def said_of_looks(method: Significance, seeds: int) -> str:
    """Return what a reader must know of looks at a comparison with these seeds; mostly nothing."""
    if method.looks:
        return str(Looks((*method.looks,), seeds))
    if not (looked := _before(method, seeds)):
        return ""
    return (
        f"This was looked at before, with {', '.join(map(str, looked))} seeds, and no plan "
        "of looks was declared: false alarms are more than those of one test."
    )


def look_number(method: Significance, seeds: int) -> int:
    """Return the number of the look with these seeds; 0: it is the only one."""
    if method.looks:
        return Looks((*method.looks,), seeds).number
    looked = _before(method, seeds)
    return len(looked) + bool(looked)


def _before(method: Significance, seeds: int) -> list[int]:
    """Return the looks with fewer seeds: a study may have gone back to as many as one had."""
    return [look for look in method.looked if look < seeds]


def spent(fraction: float, alpha: float) -> float:
    """Return how much of the level, two-sided, may be spent up to a fraction of the seeds."""
    return float(4 * special.ndtr(special.ndtri(alpha / 4) / np.sqrt(fraction)))


@functools.cache
def levels(planned: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    """Return the two-sided level of each look's test, with which all spend what they may.

    The information of a look is taken to be its share of the seeds (Armitage, McPherson & Rowe
    1969). All looks have the same test items, so that they depend on each other still more, and
    false alarms over all of them are fewer.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    before, used, places, mass = 0.0, 0.0, np.zeros(1), np.ones(1)  # of paths that did not cross
    found = []
    for share in (seeds / planned[-1] for seeds in planned):
        step, root, may = (share - before) ** 0.5, share**0.5, spent(share, alpha)
        z = optimize.brentq(_excess, 0, 40, args=(places, mass, step, root, may - used))
        found.append(float(2 * special.ndtr(-z)))
        grid = z * root * nodes
        density = np.exp(-(((grid[:, None] - places) / step) ** 2) / 2) @ mass
        mass = z * root * weights * density / (step * (2 * np.pi) ** 0.5)
        places, before, used = grid, share, may
    return tuple(found)


def _excess(
    z: float, places: np.ndarray, mass: np.ndarray, step: float, root: float, more: float
) -> float:
    """Return by how much the probability to cross a boundary now is above what may be spent."""
    upper, lower = (special.ndtr((side * places - z * root) / step) for side in (1, -1))
    return float(mass @ (upper + lower)) - more
