"""What may be said of a difference between two models, in one word or three."""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE, Difference

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


BASELINE = "baseline"
CONTROLS = ("mean", "wide", "uniform")
# The hyperparameters, where a task has them, that leave items of the training part out.
TRAINING_PART = ("training_share", "max_source_tokens", "max_target_tokens", "max_length_ratio")
# Name: description.
FAMILIES = {
    "question": "every variant that answers the study's question, and every control, "
    "over the baseline",
    "rivals": "every variant that answers the question over the controls, the other variants "
    "and the opponents",
    "variants": "every other variant over the baseline",
    "pairs": "a variant over its own baseline and its own mean: searched over searched-baseline "
    "and searched-mean; of variants that leave out training items no other comparison is made",
}


@dataclasses.dataclass(frozen=True)
class Roles:
    """What each model of an experiment is there for; without a baseline its list is empty.

    `attention` answers the study's question, and `controls` could gain without attention. The
    models of `parts` are in `controls` or `others` too: with their own baseline they leave out
    training items that the baseline reads.
    """

    baseline: list[str]
    attention: list[str]
    controls: list[str]
    others: list[str]
    opponents: list[str]
    parts: list[str]

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Yield (first, second, family) of every pair that is compared."""
        models = [*self.baseline, *self.attention, *self.controls, *self.others]
        for first, second in itertools.permutations([*models, *self.opponents], 2):
            if family := self._family(first, second):
                yield first, second, family

    def _family(self, first: str, second: str) -> str | None:
        if first in (*self.opponents, *self.baseline):
            return None
        if second in (f"{first}-{BASELINE}", f"{first}-mean"):
            return "pairs"
        if {first, second} & {*self.parts}:
            return None
        if second == BASELINE:
            return "question" if first in (*self.attention, *self.controls) else "variants"
        if first not in self.attention:
            return None
        if second in self.attention:  # once: the study's first over its second
            return "rivals" if self.attention.index(first) < self.attention.index(second) else None
        return "rivals"


def assign_roles(
    hyperparameters: Mapping[str, Any], opponents: Collection[str], attention: Collection[str]
) -> Roles:
    """Return the roles of an experiment's models.

    A control is a variant by the name of one (mean, wide, uniform), or one that gives words no
    weights of their own. `X-baseline` and `X-mean` belong to a variant X, and are no controls.

    Where X and X-baseline leave out the same training items, and other ones than the baseline, X
    over the baseline would compare amounts of data.

    Args:
        hyperparameters: of each model, by variant.
        opponents: their names.
        attention: the variants that answer the study's question, in its order.

    """
    variants = [name for name in hyperparameters if name != BASELINE]
    chosen = [name for name in attention if name in variants]
    controls = [
        name
        for name in variants
        if name not in chosen
        and not name.endswith((f"-{BASELINE}", "-mean"))
        and (name in CONTROLS or not _weighs_words(hyperparameters[name]))
    ]
    others = [name for name in variants if name not in (*chosen, *controls)]
    baseline = [BASELINE] if BASELINE in hyperparameters else []
    parts = [name for name in (*controls, *others) if _has_own_part(name, hyperparameters)]
    return Roles(baseline, chosen, controls, others, list(opponents), parts)


def _has_own_part(name: str, hyperparameters: Mapping[str, Any]) -> bool:
    """Return whether a variant and its own baseline leave out other items than the baseline."""
    variant = name.removesuffix(f"-{BASELINE}").removesuffix("-mean")
    own, shared = (
        _training_part(hyperparameters.get(each)) for each in (f"{variant}-{BASELINE}", BASELINE)
    )
    if own is None or shared is None:
        return False
    return _training_part(hyperparameters[name]) == own != shared


def _training_part(hyperparameters: Any) -> tuple[Any, ...] | None:
    """Return the values of TRAINING_PART of a model; None where there is no model."""
    if hyperparameters is None:
        return None
    return tuple(getattr(hyperparameters, name, None) for name in TRAINING_PART)


def _weighs_words(hyperparameters: Any) -> bool:
    """Whether words have weights of their own: by a score, or by a matrix for each position."""
    by_position = getattr(hyperparameters, "decoder", "") == "concatenate"
    return bool(hyperparameters.score_functions) or by_position
