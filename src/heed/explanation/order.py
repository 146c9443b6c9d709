"""The order of a document's units by a ranking."""

import numpy as np


def descending(ranking: np.ndarray) -> np.ndarray:
    """Return the units of a ranking (units,), the highest first.

    Equal ones are in an order drawn once for each number of units, the same for all rankings of a
    document: in reading order equal weights would find whatever stands first.
    """
    draw = np.random.default_rng(len(ranking)).permutation(len(ranking))
    return np.lexsort((draw, -ranking))
