"""What may be said of a difference between two models, in one word or three."""

from collections.abc import Sequence

from heed.evaluation.results import (
    BETTER,
    NOT_CONVERGED,
    SAME,
    UNDECIDED,
    WORSE,
    Difference,
)

LAST = 2  # validations over which a training that has converged no longer improves


def last_rise_pp(figures: Sequence[float]) -> float | None:
    """Return by how much the best figure of a training rose over its last two validations.

    Args:
        figures: of all validations, in order; higher is better.

    Returns: percentage points, at least 0; None where there are no earlier validations.

    """
    if len(figures) <= LAST:
        return None
    return 100 * max(max(figures) - max(figures[:-LAST]), 0.0)


def verdict(difference: Difference, alpha: float, first: bool, second: bool) -> str:
    """Return what may be said of a difference whose p values are corrected.

    Not converged voids a gain and an equivalence on either side. A loss stands where the first
    model had converged: the second can only become better still. A difference that is significant
    and nevertheless within the margin is practically none.

    Args:
        difference: with its corrected p values.
        alpha: the level of all tests.
        first: whether most runs of the first model had converged.
        second: the same of the second model; True for an opponent.

    """
    worse = _below(difference.p_holm, alpha) and difference.mean_pp < 0
    same = _below(difference.equivalence_p_holm, alpha)
    if not (first and second) and not (worse and first and not same):
        return NOT_CONVERGED
    if same:
        return SAME
    if worse:
        return WORSE
    return BETTER if _below(difference.p_holm, alpha) else UNDECIDED


def _below(p: float | None, alpha: float) -> bool:
    return p is not None and p < alpha
