"""Makers of differences between two models whose true difference is known."""

import math

import numpy as np

from heed.evaluation.significance import differences, t_test


def crossed(
    generator: np.random.Generator, seeds: int, documents: int, true: float, noise: float
) -> list[np.ndarray]:
    """Draw the differences of two models on one test split whose accuracies differ by `true`.

    Documents differ in their difficulty and in the model that they favour; seeds differ by a normal
    deviation `noise` of accuracy.
    """
    difficulty, favour = (
        generator.choice([-0.15, 0.15], documents),
        generator.choice([-0.06, 0.06], documents),
    )
    first, second = generator.normal(0, noise / math.sqrt(2), (2, seeds, 1)).clip(-0.12, 0.12)
    drawn = generator.random((2, seeds, documents))
    return differences(
        [drawn[0] < 0.6 + difficulty + favour + first + true],
        [drawn[1] < 0.6 + difficulty - favour + second],
    )


def nested(
    generator: np.random.Generator,
    folds: int,
    seeds: int,
    documents: int,
    true: float,
    noise: float,
) -> list[np.ndarray]:
    """Draw the differences on k folds of other documents, with `seeds` seeds for each fold."""
    return [crossed(generator, seeds, documents, true, noise)[0] for _ in range(folds)]


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)


def covers(blocks: list[np.ndarray], true: float) -> bool:
    low, high = t_test(blocks).interval_pp
    return low <= 100 * true <= high
