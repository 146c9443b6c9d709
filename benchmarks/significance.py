"""False alarms and power of the tests of `heed compare`: the tables of docs/statistics.md.

`python -m benchmarks.significance [--studies N]`. Nothing is trained: the scores of runs and the
mean squares of 500 test texts are drawn from their distributions, a comparison a study. Beside
heed's test stand that of seeds paired by number, which heed had until 0.3, and one with moderated
variances (half a model's own, half the mean of three other models', after Smyth 2004).
"""

import argparse
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from heed.evaluation.significance import ALPHA, crossed_components

DOCUMENTS = 500
ON_A_DOCUMENT = 0.1  # variance over documents of the difference, without that over seeds
SEEDS, SIZES = (3, 5, 10), (1, 2, 3, 5, 10)
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]  # scores by run, in points


def normal(std: float) -> Draw:
    """Return a model whose score varies with the seed by this standard deviation."""
    return lambda generator, shape: generator.normal(0, std, shape)


def skewed(generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Return scores of which most are good and few are much worse."""
    return 1 - generator.exponential(1, shape)


def collapsing(generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Return scores of a model of whose runs each tenth is 20 points worse."""
    return generator.normal(0, 1, shape) - 20 * ((generator.random(shape) < 0.1) - 0.1)


# Scores of the first and the second model; None: a reference model, which has no seeds.
CASES: dict[str, tuple[Draw, Draw | None]] = {
    "1 and 1": (normal(1), normal(1)),
    "3 and 1": (normal(3), normal(1)),
    "1 and 3": (normal(1), normal(3)),
    "skewed, 1 and 1": (skewed, skewed),
    "a tenth of the runs collapses": (collapsing, collapsing),
    "1 and a reference model": (normal(1), None),
    "3 and a reference model": (normal(3), None),
    "skewed, 1 and a reference model": (skewed, None),
    "a tenth collapses, and a reference model": (collapsing, None),
}


@dataclasses.dataclass(frozen=True)
class Studies:
    """Studies of two models without a difference: what was measured, and variances of scores."""

    seeds: int
    measured: np.ndarray
    first: np.ndarray
    second: np.ndarray
    paired: np.ndarray  # of the differences of seeds with the same number
    others: np.ndarray  # the mean variance of three other models
    documents: np.ndarray  # of the mean difference

    def critical(self, level: float, test: str) -> np.ndarray:
        """Return the critical differences of a test, in points."""
        first, second = self.first, self.second
        if test == "paired":
            first, second = self.paired, 0 * second
        elif test == "moderated":
            first, second = ((own + self.others) / 2 * (own > 0) for own in (first, second))
        square = self.documents * self.seeds * DOCUMENTS
        found = crossed_components(first, second, square, 0 * first, self.seeds, DOCUMENTS)
        if test != "moderated":
            return found.critical_difference(self.seeds, level)
        freedom = 2 * found.models * (self.seeds - 1)
        of_seeds = -special.stdtrit(freedom, level / 2) * np.sqrt(found.seeds / self.seeds)
        return np.hypot(of_seeds, special.ndtri(level / 2) * np.sqrt(found.documents))


def draw(models: tuple[Draw, Draw | None], seeds: int, studies: int) -> Studies:
    """Return so many studies of two models, in which neither is better."""
    generator, shape = np.random.default_rng(seeds), (studies, seeds)
    first, second = (each(generator, shape) if each else np.zeros(shape) for each in models)
    variance = 1e4 * ON_A_DOCUMENT / DOCUMENTS  # in squares of percentage points
    documents = generator.normal(0, variance**0.5, studies)
    return Studies(
        seeds,
        first.mean(axis=1) - second.mean(axis=1) + documents,
        first.var(axis=1, ddof=1),
        second.var(axis=1, ddof=1),
        (first - second).var(axis=1, ddof=1),
        generator.chisquare(3 * (seeds - 1), studies) / (3 * (seeds - 1)),
        variance * generator.chisquare(DOCUMENTS - 1, studies) / (DOCUMENTS - 1),
    )


def false_alarms(studies: int) -> Iterator[str]:
    """Yield the table of false alarms, in multiples of the level."""
    yield "| seeds | deviation | .05: heed | paired | moderated | .05/8: heed | paired |"
    for seeds in SEEDS:
        for name, models in CASES.items():
            drawn = draw(models, seeds, studies)
            cells = [
                f"{(np.abs(drawn.measured) > drawn.critical(level, test)).mean() / level:.2f}"
                for level, tests in ((ALPHA, TESTS), (ALPHA / 8, TESTS[:2]))
                for test in tests
            ]
            yield f"| {seeds} | {name} | {' | '.join(cells)} |"


def power(studies: int) -> Iterator[str]:
    """Yield the table of the studies that find a difference of so many points, in percent."""
    points = " | ".join(f"{size}" for size in SIZES)
    yield f"| deviation | seeds | comparison | level | {points} | 10, paired .05/15 |"
    kinds = {
        "primary": (ALPHA, True), "secondary": (ALPHA / 8, True),
        "over a reference model": (ALPHA / 2, False),
    }  # fmt: skip
    for std in (1, 2):
        for seeds in SEEDS:
            for kind, (level, has_seeds) in kinds.items():
                models = normal(std), normal(std) if has_seeds else None
                drawn = draw(models, seeds, studies)
                tests = [(size, drawn.critical(level, "heed")) for size in SIZES]
                tests.append((10, drawn.critical(ALPHA / 15, "paired")))
                cells = [f"{100 * (drawn.measured + d > c).mean():.0f}" for d, c in tests]
                row = f"| {std} | {seeds} | {kind} | {level:.3f} | {' | '.join(cells)} |"
                yield row


TESTS = ("heed", "paired", "moderated")


def main(argv: list[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100_000, metavar="N")
    studies = parser.parse_args(argv).studies
    print("\n".join([*false_alarms(studies), "", *power(studies)]))


if __name__ == "__main__":
    main()
