"""Which models of an experiment are compared with which, and the family of each comparison.

Holm's correction is made within a family, over all experiments of the study.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

BASELINE = "baseline"
CONTROLS = ("mean", "wide", "uniform")
# Name: description.
FAMILIES = {
    "question": "every variant that answers the study's question, and every control, "
    "over the baseline",
    "rivals": "every variant that answers the question over the controls, the other variants "
    "and the opponents",
    "variants": "every other variant over the baseline",
    "pairs": "a variant over its own baseline and its own mean: searched over searched-baseline "
    "and searched-mean",
}


@dataclasses.dataclass(frozen=True)
class Roles:
    """What each model of an experiment is there for; without a baseline its list is empty.

    `attention` answers the study's question, and `controls` could gain without attention.
    """

    baseline: list[str]
    attention: list[str]
    controls: list[str]
    others: list[str]
    opponents: list[str]

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Yield (first, second, family) of every pair that is compared."""
        models = [*self.baseline, *self.attention, *self.controls, *self.others]
        for first, second in itertools.permutations([*models, *self.opponents], 2):
            if family := self._family(first, second):
                yield first, second, family

    def _family(self, first: str, second: str) -> str | None:
        if first in (*self.opponents, *self.baseline):
            return None
        if second == BASELINE:
            return "question" if first in (*self.attention, *self.controls) else "variants"
        if second in (f"{first}-{BASELINE}", f"{first}-mean"):
            return "pairs"
        if first not in self.attention:
            return None
        if second in self.attention:  # once: the study's first over its second
            return "rivals" if self.attention.index(first) < self.attention.index(second) else None
        return "rivals"


def assign_roles(
    hyperparameters: Mapping[str, Any], opponents: Collection[str], attention: Collection[str]
) -> Roles:
    """Return the roles of an experiment's models.

    A control is a variant by the name of one (mean, wide, uniform), or one without a score
    function. `X-baseline` and `X-mean` belong to a variant X, and are no controls.

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
        and (name in CONTROLS or not hyperparameters[name].score_functions)
    ]
    others = [name for name in variants if name not in (*chosen, *controls)]
    baseline = [BASELINE] if BASELINE in hyperparameters else []
    return Roles(baseline, chosen, controls, others, list(opponents))
