"""The gradient of the softmax of random scores: why dot products are divided by sqrt(d_k).

Vaswani et al. 2017, section 3.2.1: the products of queries and keys with mean 0 and variance 1 have
the variance d_k, and push the softmax into regions where its gradient is very small. Lecture 002.
"""

import math

import numpy as np
from scipy.special import softmax

from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.figures import shapes
from heed.report.figures.captions import described

DIMENSIONS = (4, 8, 16, 32, 64, 128, 256, 512)
KEYS = 16  # that a query chooses among
DRAWS = 400  # of a query and its keys, for each dimension
SEED = 2
QUARTILES = (0.25, 0.5, 0.75)


def softmax_gradients(draws: int = DRAWS) -> np.ndarray:
    """Return quartiles over draws of the softmax's gradient and of its largest weight.

    The shape is (dimensions, scores undivided or divided, gradient or largest weight, quartiles).
    Queries and keys are standard normal, and the same for both scores.
    """
    generator = np.random.default_rng(SEED)
    found = []
    for dimension in DIMENSIONS:
        query = generator.standard_normal((draws, 1, dimension))
        keys = generator.standard_normal((draws, KEYS, dimension))
        products = (query * keys).sum(-1)
        weights = [softmax(products / divisor, axis=-1) for divisor in (1, math.sqrt(dimension))]
        found.append([(jacobian_norm(each), each.max(-1)) for each in weights])
    return np.moveaxis(np.quantile(np.asarray(found), QUARTILES, axis=-1), 0, -1)


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """Return the Frobenius norm of the softmax's Jacobian diag(p) - p p^T at weights p (..., keys).

    All its entries at once: sum p^2 - 2 sum p^3 + (sum p^2)^2.
    """
    squares = (weights**2).sum(-1)
    return np.sqrt(np.maximum(squares - 2 * (weights**3).sum(-1) + squares**2, 0))


def scaling() -> Figure:
    """Return the gradient of the softmax and its largest weight, by the dimension of keys."""
    title = "Gradient of the softmax by the dimension of keys"
    claim = described("scaling_claim")
    caption = described("scaling", keys=KEYS)
    return Figure(
        "explanation_scaling", title, caption, (), [_panels()], (shapes.WIDTH, shapes.HEIGHT),
        alt_text=f"{claim} {caption}", claim=claim,
    )  # fmt: skip


def _panels() -> list[Panel]:
    """Return the gradient and the largest weight: medians as lines, the middle half as bands."""
    quartiles = softmax_gradients()
    rows: tuple[list[Mark], list[Mark]] = [], []
    for number, (index, name) in enumerate(((1, "divided by √dₖ"), (0, "not divided"))):
        look = shapes.numbered(number)
        for quantity, found in enumerate(rows):
            low, middle, high = quartiles[:, index, quantity].T
            found += shapes.band(DIMENSIONS, low, high, look.colour, name)
            found += shapes.line(DIMENSIONS, middle, look, name, end=name * quantity)
    ticks = {float(dimension): str(dimension) for dimension in DIMENSIONS[::2]}
    x = Axis("dimension dₖ", (3.6, 570), ticks, "log")
    low, high = shapes.extent(rows[0], margin=0)
    tens = {10.0**power: f"{10.0**power:g}" for power in range(-9, 1) if low < 10.0**power < high}
    gradient = Axis(domain=(low / 1.2, high * 1.2), places=tens, scale="log")
    weight = Axis(domain=(0, 1.02))
    return [
        Panel(rows[0], x, gradient, "gradient"),
        Panel(rows[1], x, weight, "largest weight"),
    ]
