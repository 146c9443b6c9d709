"""The criteria by which a model's weights pass or fail: declared here, before any study.

Four tests have one, and each says pass, fail or undefined. They are functions of the tables that
`heed explain` and `heed adversaries` write (docs/contracts.md) and of nothing else: no text of a
report is written by hand. docs/decisions.md says why the limits are what they are.
"""

import dataclasses
import math
from collections.abc import Iterable

import pandas as pd

PASS, FAIL, UNDEFINED = "pass", "fail", "undefined"
# T2: the total variation distance by which shuffled weights change a prediction, on average
MIN_CHANGE = 0.1
# T6: half of log 2, the largest Jensen-Shannon divergence of the weights of two seeds
MAX_DIVERGENCE = math.log(2) / 2
# T8: a trained adversary has kept accuracy and predictions
MAX_LOSS = 0.01
MAX_PREDICTION_CHANGE = 0.05
# ... and its weights have moved; below this it was hardly trained, and says nothing
MIN_DIVERGENCE = 0.01
# Evidence: the area under the ROC curve of the weights, by class and seed
MIN_AUC = 0.9
ROUNDING = 1e-9  # of differences of figures in the tables

# Why a criterion is undefined.
NO_WEIGHTS = "no weights"
EQUAL = "equal weights"
ONE_SEED = "no second seed"
NO_ADVERSARY = "no adversary"
NONE_KEPT = "no adversary kept the predictions"
NONE_MOVED = "no adversary’s weights moved"
NO_EVIDENCE = "no evidence"
NOT_PLANTED = "evidence not planted"
REASONS = (
    NO_WEIGHTS, EQUAL, ONE_SEED, NO_ADVERSARY, NONE_KEPT, NONE_MOVED, NO_EVIDENCE, NOT_PLANTED,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a criterion says of a model.

    outcome: PASS, FAIL or UNDEFINED
    value: the figure that decided, None where it is undefined
    reason: one of REASONS where it is undefined
    """

    outcome: str
    value: float | None = None
    reason: str = ""


def measured(summary: pd.DataFrame, test: str, measure: str) -> pd.DataFrame:
    """Return the rows with a mean of this measure over documents of all classes."""
    rows = summary[(summary["test"] == test) & (summary["measure"] == measure)]
    if "class" in rows:
        rows = rows[rows["class"].isna()]
    return rows.dropna(subset="mean")


def judge_permutation(summary: pd.DataFrame) -> Outcome:
    """Return PASS if in every seed shuffled weights change predictions by MIN_CHANGE or more (T2).

    The value is that of the seed with the smallest change. Equal weights fail: by exactly nothing.
    """
    changes = measured(summary, "permutation", "permutation_change")["mean"]
    if changes.empty:
        return Outcome(UNDEFINED, reason=NO_WEIGHTS)
    smallest = float(changes.min())
    return Outcome(PASS if smallest >= MIN_CHANGE else FAIL, smallest)


def judge_seeds(summary: pd.DataFrame) -> Outcome:
    """Return PASS if the weights of two seeds differ by less than MAX_DIVERGENCE on average (T6).

    The value is the mean over pairs of seeds and documents.
    """
    if reason := _no_weights(summary):
        return Outcome(UNDEFINED, reason=reason)
    mean = seed_divergence(summary)
    if mean is None:
        return Outcome(UNDEFINED, reason=ONE_SEED)
    return Outcome(PASS if mean < MAX_DIVERGENCE else FAIL, mean)


def _no_weights(summary: pd.DataFrame) -> str:
    """Return why a model has no weights of its own: no sum, or equal ones; empty if it has."""
    changes = measured(summary, "permutation", "permutation_change")["mean"]
    if changes.empty:
        return NO_WEIGHTS
    return EQUAL if changes.max() < ROUNDING else ""


def seed_divergence(summary: pd.DataFrame) -> float | None:
    """Return the mean divergence of two seeds' weights over pairs and documents; None without."""
    rows = measured(summary, "seeds", "divergence")
    if rows.empty:
        return None
    return float((rows["mean"] * rows["documents"]).sum() / rows["documents"].sum())


def judge_adversaries(summary: pd.DataFrame, adversaries: Iterable[pd.DataFrame]) -> Outcome:
    """Return FAIL if a trained adversary keeps the predictions with other weights (T8).

    PASS if some keep them, and none with other weights. It keeps them if it loses at most MAX_LOSS
    of accuracy and changes predictions by at most MAX_PREDICTION_CHANGE; its weights are other ones
    if they differ from the model's by more than those of two seeds among each other, both averaged
    over heads. One seed of one adversary is enough to fail. One that loses the predictions, or
    whose weights differ by less than MIN_DIVERGENCE, was not trained to what was asked of it: it
    says nothing. The value is the largest divergence of the others.

    Args:
        summary: of the model.
        adversaries: the summaries of its trained adversaries.

    """
    if reason := _no_weights(summary):
        return Outcome(UNDEFINED, reason=reason)
    tables = list(adversaries)
    if not tables:
        return Outcome(UNDEFINED, reason=NO_ADVERSARY)
    limit = seed_divergence(summary)
    if limit is None:
        return Outcome(UNDEFINED, reason=ONE_SEED)
    runs = pd.concat([adversary_runs(table) for table in tables])
    if runs.empty:
        return Outcome(UNDEFINED, reason=NO_ADVERSARY)
    kept = runs[runs["kept"]]
    if kept.empty:
        return Outcome(UNDEFINED, reason=NONE_KEPT)
    largest = float(kept["mean_divergence"].max())
    if largest < MIN_DIVERGENCE:
        return Outcome(UNDEFINED, reason=NONE_MOVED)
    return Outcome(FAIL if largest > limit else PASS, largest)


def adversary_runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return `accuracy_base, accuracy, prediction_change, mean_divergence, kept` of each seed.

    The seed is the index. `kept`: accuracy and predictions are those of the base, within the limits
    of T8.
    """
    measures = ["accuracy_base", "accuracy", "prediction_change", "mean_divergence"]
    rows = summary[(summary["test"] == "adversary") & summary["measure"].isin(measures)]
    rows = rows.dropna(subset=["mean", "seed"]).drop_duplicates(["seed", "measure"])
    runs = rows.pivot(index="seed", columns="measure", values="mean").reindex(columns=measures)
    runs = runs.astype(float).dropna()
    kept = (runs["accuracy_base"] - runs["accuracy"] <= MAX_LOSS + ROUNDING) & (
        runs["prediction_change"] <= MAX_PREDICTION_CHANGE + ROUNDING
    )
    return runs.assign(kept=kept)


def judge_evidence(summary: pd.DataFrame, planted: bool) -> Outcome:
    """Return PASS if the weights find planted evidence in every class and seed, by MIN_AUC (T11).

    Evidence that people marked is reported, and not judged: a model may be right for reasons of its
    own. The value is that of the class and seed with the smallest area.

    Args:
        summary: of the model.
        planted: whether the evidence of its corpus is planted.

    """
    rows = summary[(summary["test"] == "evidence") & (summary["measure"] == "auc")]
    if rows["mean"].notna().sum() == 0:
        return Outcome(UNDEFINED, reason=NO_EVIDENCE)
    if not planted:
        return Outcome(UNDEFINED, reason=NOT_PLANTED)
    rows = rows[rows["ranking"] == "attention"].dropna(subset="mean")
    if rows["class"].notna().any():  # steps of a translation have no class
        rows = rows.dropna(subset="class")
    if (reason := _no_weights(summary)) or rows.empty:
        return Outcome(UNDEFINED, reason=reason or NO_EVIDENCE)
    smallest = float(rows["mean"].min())
    return Outcome(PASS if smallest >= MIN_AUC else FAIL, smallest)
