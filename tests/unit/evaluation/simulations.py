"""Makers of differences between two models whose true difference is known."""

import math

import numpy as np

Scores = tuple[list[np.ndarray], list[np.ndarray]]  # of two models, (runs, documents) by split


def crossed(
    generator: np.random.Generator, seeds: int, documents: int, true: float, noise: float
) -> Scores:
    """Draw the scores of two models on one test split whose accuracies differ by `true`.

    Documents differ in their difficulty and in the model that they favour; seeds differ by a normal
    deviation `noise` of accuracy."""
    difficulty = generator.choice([-0.15, 0.15], documents)
    favour = generator.choice([-0.06, 0.06], documents)
    first, second = generator.normal(0, noise / math.sqrt(2), (2, seeds, 1)).clip(-0.12, 0.12)
    drawn = generator.random((2, seeds, documents))
    better, other = favour + first + true, second - favour
    return [drawn[0] < 0.6 + difficulty + better], [drawn[1] < 0.6 + difficulty + other]


def over_nothing(blocks: list[np.ndarray]) -> Scores:
    """Return scores whose differences these are: those of a model over one without seeds."""
    return blocks, [np.zeros((1, block.shape[1]), block.dtype) for block in blocks]
