"""The gradient of the softmax of random scores: why dot products are divided by sqrt(d_k).

Vaswani et al. 2017, section 3.2.1: the products of queries and keys with mean 0 and variance 1 have
the variance d_k, and push the softmax into regions where its gradient is very small. Lecture 002.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

DIMENSIONS = (4, 8, 16, 32, 64, 128, 256, 512)
KEYS = 16  # that a query chooses among
DRAWS = 400  # of a query and its keys, for each dimension
SEED = 2
QUARTILES = (0.25, 0.5, 0.75)


class Scores(NamedTuple):
    """The softmax of random scores with keys of one dimension, over draws.

    gradient: the quartiles of the norm of the softmax's Jacobian, (3,)
    largest: the quartiles of the largest weight, (3,)
    """

    dimension: int
    scaled: bool
    gradient: np.ndarray
    largest: np.ndarray


def softmax_gradients(draws: int = DRAWS) -> list[Scores]:
    """Return the gradient of the softmax for each of DIMENSIONS, without and with scaling.

    Queries and keys are standard normal, and the same for both.
    """
    generator = np.random.default_rng(SEED)
    scores = []
    for dimension in DIMENSIONS:
        query = generator.standard_normal((draws, 1, dimension))
        keys = generator.standard_normal((draws, KEYS, dimension))
        products = (query * keys).sum(-1)
        for scaled in (False, True):
            divided = products / math.sqrt(dimension) if scaled else products
            weights = softmax(divided, axis=-1)
            gradient = np.quantile(jacobian_norm(weights), QUARTILES)
            largest = np.quantile(weights.max(-1), QUARTILES)
            scores.append(Scores(dimension, scaled, gradient, largest))
    return scores


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """Return the Frobenius norm of the softmax's Jacobian diag(p) - p p^T at weights p (..., keys).

    All its entries at once: sum p^2 - 2 sum p^3 + (sum p^2)^2.
    """
    squares = (weights**2).sum(-1)
    return np.sqrt(np.maximum(squares - 2 * (weights**3).sum(-1) + squares**2, 0))
