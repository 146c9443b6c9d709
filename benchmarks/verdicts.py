"""False alarms of `heed verdict` and of what others do: the table of docs/read/verdict.md.

`python -m benchmarks.verdicts [--studies N]`. Two models are drawn that do as well over all seeds
and items. A false alarm is a study in which a test at 5% calls one better.
"""

import argparse
from collections.abc import Callable

import numpy as np
from scipy import stats

from heed.evaluation.significance import t_test

LEVEL, FAVOUR = 0.05, 0.1  # a share by which an item favours one of the models
SETTINGS = [(seeds, items, std) for seeds in (3, 5) for items, std in (
    (1000, 0.01), (1000, 0.02), (10_000, 0.01),
)]  # fmt: skip
Test = Callable[[np.ndarray, np.ndarray], float]  # of (seeds, items) each: p


def draw(
    generator: np.random.Generator, seeds: int, items: int, std: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return which items two models have right in each run; their accuracy varies by `std`."""
    difficulty = generator.uniform(0.4, 0.9, items)
    favour = generator.normal(0, FAVOUR, items)
    first, second = generator.normal(0, std, (2, seeds, 1))
    drawn = generator.random((2, seeds, items))
    return drawn[0] < difficulty + favour + first, drawn[1] < difficulty - favour + second


def crossed(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p of heed: seeds and items are crossed."""
    found = t_test([first], [second])
    return found.p if found else 1.0


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p of McNemar's exact test on the first seed."""
    one, other = first[0], second[0]
    wins, losses = int((one & ~other).sum()), int((other & ~one).sum())
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def over_items(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p of a paired test over items, of the mean of all seeds (Miller 2024)."""
    return float(stats.ttest_rel(first.mean(0), second.mean(0)).pvalue)


def over_seeds(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p of Welch's test over seeds, as if there were no other items."""
    return float(stats.ttest_ind(first.mean(1), second.mean(1), equal_var=False).pvalue)


def over_all(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p of a paired test in which each seed of an item is an item of its own."""
    return float(stats.ttest_rel(first.ravel(), second.ravel()).pvalue)


TESTS: dict[str, Test] = {
    "heed: seeds and items crossed": crossed, "McNemar, one seed": mcnemar,
    "paired over items, mean of seeds": over_items, "paired, seeds as further items": over_all,
    "Welch over seeds": over_seeds,
}  # fmt: skip


def main() -> None:
    """Print the share of false alarms of each test in each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    alarms: dict[str, list[float]] = {name: [] for name in TESTS}
    for setting in SETTINGS:
        generator = np.random.default_rng(1)
        drawn = [draw(generator, *setting) for _ in range(studies)]
        for name, test in TESTS.items():
            found = np.mean([test(first.astype(np.int8), second.astype(np.int8)) < LEVEL
                             for first, second in drawn])  # fmt: skip
            alarms[name].append(100 * float(found))
    heads = [f"{seeds} seeds, {items:,} items, ± {100 * std:g}" for seeds, items, std in SETTINGS]
    print(f"| test | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    for name, shares in alarms.items():
        print(f"| {name} | {' | '.join(f'{share:.1f}' for share in shares)} |")


if __name__ == "__main__":
    main()
