"""The criteria of the weights at their borders."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from heed.explanation import trained_models
from heed.explanation.agreement import NO_RATIONALE, NOT_PLANTED
from heed.explanation.registry import CRITERIA
from heed.explanation.sections import SUMMARY
from heed.explanation.test import (
    EQUAL,
    FAIL,
    NO_WEIGHTS,
    ONE_SEED,
    OTHER_TEXTS,
    PASS,
    UNDEFINED,
    Judged,
    Outcome,
)
from tests.fixtures.report.made_up_explanation import adversarial_model_table


def summary(
    changes: tuple[float, ...] = (0.2, 0.2),
    divergence: float | None = 0.3,
    areas: dict[str, float] | None = None,
) -> pd.DataFrame:
    """The summary of a model: its change by seed, its divergence, its AUC by class."""
    rows: list[dict[str, object]] = [{"test": "uniform", "reason": "answered elsewhere"}]
    for seed, change in enumerate(changes, 1):
        rows.append(row("permutation", "permutation_change", change, seed))
        for name, area in (areas or {}).items():
            rows.append(row("rationale", "auc", area, seed, ranking="attention", **{"class": name}))
    if divergence is not None:
        # two pairs for the first seed of three, one for the second
        rows.append(row("seeds", "divergence", divergence - 0.05, 1, 20))
        rows.append(row("seeds", "divergence", divergence + 0.1, 2, 10))
    return pd.DataFrame(rows).reindex(columns=SUMMARY)


def row(
    test: str, measure: str, mean: float, seed: int, documents: int = 10, **others: object
) -> dict[str, object]:
    known = {"test": test, "measure": measure, "mean": mean, "seed": seed}
    return known | {"documents": documents} | others


def judge(
    test: str, table: pd.DataFrame, adversarial_attention: Sequence[pd.DataFrame] = (),
    planted: bool = False,
) -> Outcome:  # fmt: skip
    return CRITERIA[test].judge(Judged(table, adversarial_attention, planted))


@pytest.mark.parametrize(("changes", "outcome"), [
    ((0.1, 0.4), PASS), ((0.0999, 0.4), FAIL), ((0.0, 0.0), FAIL), ((), UNDEFINED),
])  # fmt: skip
def test_shuffling_must_change_the_predictions_of_every_seed(changes, outcome):
    judged = judge("permutation", summary(changes))
    assert judged.outcome == outcome and judged.value == (min(changes) if changes else None)
    assert judged.reason == ("" if changes else NO_WEIGHTS)


def test_seeds_agree_below_half_of_the_largest_divergence():
    limit = math.log(2) / 2
    assert judge("seeds", summary(divergence=limit - 1e-6)).outcome == PASS
    assert judge("seeds", summary(divergence=limit + 1e-6)).outcome == FAIL
    assert judge("seeds", summary(divergence=0.3)).value == pytest.approx(0.3), "by documents"
    assert judge("seeds", summary((0.2,), divergence=None)).reason == ONE_SEED
    assert judge("seeds", summary(divergence=None)).reason == OTHER_TEXTS, "a fold each"
    assert judge("seeds", summary(changes=())).reason == NO_WEIGHTS
    assert judge("seeds", summary(changes=(0.0,))).reason == EQUAL


LIAR = "adversarial_attention"
LOST = adversarial_model_table([1, 2], accuracy=0.5)
STILL = adversarial_model_table([1, 2], divergence=0.001)


@pytest.mark.parametrize(("figures", "outcome"), [
    ({"accuracy": 0.89, "prediction_change": 0.05, "divergence": 0.31}, FAIL),
    ({"accuracy": 0.89, "prediction_change": 0.05, "divergence": 0.3}, PASS),
    ({"divergence": 0.01}, PASS),
    ({"divergence": 0.0099}, UNDEFINED),
    ({"accuracy": 0.889, "divergence": 0.6}, UNDEFINED),
    ({"prediction_change": 0.051, "divergence": 0.6}, UNDEFINED),
    ({"accuracy": 0.99, "divergence": 0.6}, FAIL),
])  # fmt: skip
def test_one_adversarial_model_with_other_weights_is_enough(figures, outcome):
    tables = [LOST, adversarial_model_table([1, 2], **figures)]
    judged = judge(LIAR, summary(divergence=0.3), tables)
    assert judged.outcome == outcome and (judged.value is None) == (outcome == UNDEFINED)


def test_one_seed_of_an_adversarial_model_is_enough():
    table = LOST.copy()
    table.loc[(table["seed"] == 2) & (table["measure"] == "accuracy"), "mean"] = 0.9
    assert trained_models.adversarial_model_runs(table)["kept"].to_dict() == {1: False, 2: True}
    assert judge(LIAR, summary(), [table]).outcome == FAIL


@pytest.mark.parametrize(("table", "tables", "reason"), [
    (summary(), [LOST], trained_models.NONE_KEPT),
    (summary(), [LOST, STILL], trained_models.NONE_MOVED),
    (summary(), [], trained_models.NO_ADVERSARIAL_MODEL),
    (summary(), [LOST.assign(mean=np.nan)], trained_models.NO_ADVERSARIAL_MODEL),
    (summary((0.2,), divergence=None), [STILL], ONE_SEED),
    (summary(divergence=None), [STILL], OTHER_TEXTS),
    (summary(changes=()), [STILL], NO_WEIGHTS),
])  # fmt: skip
def test_where_no_adversarial_model_says_anything_it_is_undefined(table, tables, reason):
    assert judge(LIAR, table, tables) == Outcome(UNDEFINED, reason=reason)


def test_planted_rationale_must_be_found_in_every_class():
    found = judge("rationale", summary(areas={"good": 0.9, "bad": 0.95}), planted=True)
    assert (found.outcome, found.value) == (PASS, 0.9)
    one_sided = judge("rationale", summary(areas={"good": 0.8999, "bad": 1.0}), planted=True)
    assert (one_sided.outcome, one_sided.value) == (FAIL, 0.8999)
    assert judge("rationale", summary(areas={"good": 0.9}), planted=False).reason == NOT_PLANTED
    assert judge("rationale", summary(), planted=True).reason == NO_RATIONALE
    steps = summary(areas={"": 0.95}).replace({"class": {"": None}})
    assert judge("rationale", steps, planted=True).outcome == PASS, "of a translation: no classes"
    equal = summary(changes=(0.0,), areas={"good": 0.5})
    assert judge("rationale", equal, planted=True).reason == EQUAL
