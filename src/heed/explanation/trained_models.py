"""The tests of `heed adversarial_attention`: of models that were trained to have other weights."""

from typing import ClassVar

import pandas as pd

from heed.explanation.seeds import Seeds, no_pair, seed_divergence
from heed.explanation.test import ROUNDING, Judged, WeightsTest, no_weights

# a trained adversarial model has kept accuracy and predictions
MAX_LOSS = 0.01
MAX_PREDICTION_CHANGE = 0.05
# ... and its weights have moved; below this it was hardly trained, and says nothing
MIN_DIVERGENCE = 0.01
NO_ADVERSARIAL_MODEL = "no adversarial model"
NONE_KEPT = "no adversarial model kept the predictions"
NONE_MOVED = "no adversarial model’s weights moved"


class DiagnosticNetworks(WeightsTest):
    """The test accuracy of networks that read each word alone, with given weights."""

    name = "diagnostic"
    table = "adversarial_attention"
    measures = ("accuracy_one_epoch", "accuracy")
    title = "A network with weights from given weights"
    claim = (
        "Shows whether weights help a network that reads each word alone. It does not show why: "
        "weights can carry the label itself (Bai et al. 2021)."
    )


class AdversarialModels(WeightsTest):
    """The distance of trained models' weights and predictions from their base's."""

    name = "adversarial_attention"
    table = "adversarial_attention"
    measures = ("prediction_change", "mean_divergence")
    criterion = "Adversarial models"
    rule = (
        "fail if a model trained to have other weights keeps its accuracy within {loss} p.p. and "
        "its predictions within {change}, while its weights differ from the model’s by more than "
        "those of two seeds do; pass if some keep both, and none of them with such weights. One "
        "whose weights differ by less than {least} does not count."
    )
    limits: ClassVar[dict[str, str]] = {
        "loss": f"{100 * MAX_LOSS:g}",
        "change": f"{MAX_PREDICTION_CHANGE:g}",
        "least": f"{MIN_DIVERGENCE:g}",
    }
    reasons = (*Seeds.reasons, NO_ADVERSARIAL_MODEL, NONE_KEPT, NONE_MOVED)
    title = "Trained adversarial models"
    claim = (
        "Shows whether a model can be trained to the same predictions with other weights. Where "
        "none was found, there may be one."
    )

    def score(self, judged: Judged) -> float | str:
        """Return the largest divergence of the weights of a seed that keeps the predictions.

        Others, and those under MIN_DIVERGENCE, were not trained to what was asked, and say nothing.
        """
        if reason := no_weights(judged.summary):
            return reason
        runs = [adversarial_model_runs(table) for table in judged.adversarial_attention]
        if all(run.empty for run in runs):
            return NO_ADVERSARIAL_MODEL
        if seed_divergence(judged.summary) is None:
            return no_pair(judged.summary)
        kept = [value for run in runs for value in run[run["kept"]]["mean_divergence"]]
        if not kept:
            return NONE_KEPT
        return NONE_MOVED if max(kept) < MIN_DIVERGENCE else max(kept)

    def passes(self, value: float, judged: Judged) -> bool:
        """Return whether weights differ by no more than those of two seeds; one seed can fail."""
        limit = seed_divergence(judged.summary)
        return limit is not None and value <= limit


def adversarial_model_runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies, `prediction_change, mean_divergence, kept` of each seed, the index."""
    measures = ["accuracy_base", "accuracy", "prediction_change", "mean_divergence"]
    rows = summary[(summary["test"] == "adversarial_model") & summary["measure"].isin(measures)]
    rows = rows.dropna(subset=["mean", "seed"]).drop_duplicates(["seed", "measure"])
    runs = rows.pivot(index="seed", columns="measure", values="mean").reindex(columns=measures)
    runs = runs.astype(float).dropna()
    kept = (runs["accuracy_base"] - runs["accuracy"] <= MAX_LOSS + ROUNDING) & (
        runs["prediction_change"] <= MAX_PREDICTION_CHANGE + ROUNDING
    )
    return runs.assign(kept=kept)
