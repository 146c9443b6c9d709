"""Tests beside other trained models: of another seed, and trained to have other weights.

How much two seeds' weights differ is chance: other weights are other only beyond that (Wiegreffe &
Pinter 2019, section 3.3, arxiv.org/abs/1908.04626). `heed adversarial_attention` trains the others.
"""

import itertools

import numpy as np
import pandas as pd

from heed.explanation.test import (
    LARGEST_DIVERGENCE,
    ONE_SEED,
    OTHER_TEXTS,
    ROUNDING,
    Judged,
    MeansColumn,
    WeightsTest,
    jensen_shannon,
    measured,
    no_weights,
)

MAX_DIVERGENCE = LARGEST_DIVERGENCE / 2
# a trained adversarial model has kept accuracy and predictions
MAX_LOSS = 0.01
MAX_PREDICTION_CHANGE = 0.05
# ... and its weights have moved; below this it was hardly trained, and says nothing
MIN_DIVERGENCE = 0.01
NO_ADVERSARIAL_MODEL = "no adversarial model"
NONE_KEPT = "no adversarial model kept the predictions"
NONE_MOVED = "no adversarial model’s weights moved"


class Seeds(WeightsTest):
    """The divergence of the weights of two seeds on the same documents."""

    name = "seeds"
    table = "seeds"
    measures = of_weights = ("divergence", "change")
    criterion = "Seeds"
    rule = (
        f"pass if the weights of two seeds differ by less than {MAX_DIVERGENCE:.3f} on average "
        "(Jensen-Shannon divergence; half of the largest possible)."
    )
    title = "Agreement between seeds"
    claim = (
        "Shows how much of the weights is chance: the same model, trained again. It does not show "
        "that weights on which seeds agree are right."
    )
    columns = (MeansColumn("Seeds", "divergence"),)

    def score(self, judged: Judged) -> float | str:
        """Return the mean over pairs of seeds and documents."""
        mean = seed_divergence(judged.summary)
        return no_weights(judged.summary) or (no_pair(judged.summary) if mean is None else mean)

    def passes(self, value: float, judged: Judged) -> bool:
        """Return whether the weights of two seeds differ by less than MAX_DIVERGENCE."""
        return value < MAX_DIVERGENCE

    def means(self, summary: pd.DataFrame, column: MeansColumn) -> list[float]:
        """Return the value that is judged, over all pairs of seeds."""
        mean = seed_divergence(summary)
        return [] if mean is None else [mean]


def seed_divergence(summary: pd.DataFrame) -> float | None:
    """Return the mean divergence of two seeds' weights over pairs and documents; None without."""
    rows = measured(summary, "seeds", "divergence")
    if rows.empty:
        return None
    return float((rows["mean"] * rows["documents"]).sum() / rows["documents"].sum())


def no_pair(summary: pd.DataFrame) -> str:
    """Return why no two seeds are compared: there is one, or each has another fold."""
    seeds = measured(summary, "permutation", "permutation_change")["seed"]
    return OTHER_TEXTS if seeds.nunique() > 1 else ONE_SEED


def seed_agreement(
    units: pd.DataFrame, documents: pd.DataFrame, probabilities: list[str]
) -> pd.DataFrame:
    """Return how much the weights of two seeds differ on the same document.

    The units have `seed, id, unit, attention`, the documents `seed, id` and classes' probabilities;
    the result, of every pair of seeds, the largest weight of the first seed, the Jensen-Shannon
    divergence of the weights in nats, and the total variation distance of the predictions.
    """
    keys = ["id", "seed"]
    weights = {key: group.to_numpy() for key, group in units.groupby(keys)["attention"]}
    values = documents[probabilities].to_numpy(np.float64)
    predictions = dict(zip(documents[keys].itertuples(index=False, name=None), values, strict=True))
    rows = []
    for name, seeds in documents.groupby("id", sort=False)["seed"]:
        for seed, other in itertools.combinations(sorted(seeds), 2):
            change = np.abs(predictions[name, seed] - predictions[name, other]).sum() / 2
            compared = _compare(weights[name, seed], weights[name, other])
            rows.append((seed, other, name, *compared, change))
    columns = ["seed", "other_seed", "id", "max_weight", "divergence", "change"]
    return pd.DataFrame(rows, columns=columns)


def step_agreement(units: pd.DataFrame, next_units: pd.DataFrame) -> pd.DataFrame:
    """Return how much two seeds differ at the same unit of the same target, as `seed_agreement`.

    `next_units` have `seed, id, target, word, p`: the probabilities at the drawn units of targets;
    a word that is missing has none. Steps that only one of two seeds has, or whose sources have not
    as many units, are left out.
    """
    keys = ["id", "target"]
    steps = next_units[["seed", *keys]].drop_duplicates()
    drawn = units.merge(steps, on=["seed", *keys]).groupby(["seed", *keys])["attention"]
    weights = {key: group.to_numpy() for key, group in drawn}
    rows = []
    for seed, other in itertools.combinations(sorted(steps["seed"].unique().tolist()), 2):
        first, second = (
            next_units[next_units["seed"] == chosen].set_index([*keys, "word"])["p"]
            for chosen in (seed, other)
        )
        changes = first.sub(second, fill_value=0.0).abs().groupby(level=keys).sum() / 2
        for name, target, change in changes.reset_index().itertuples(index=False):
            own, others = (weights.get((chosen, name, target)) for chosen in (seed, other))
            if own is not None and others is not None and len(own) == len(others):
                rows.append((seed, other, name, target, *_compare(own, others), change))
    columns = ["seed", "other_seed", *keys, "max_weight", "divergence", "change"]
    return pd.DataFrame(rows, columns=columns)


def _compare(own: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    import torch

    first, second = (torch.from_numpy(weights.astype(np.float64)) for weights in (own, others))
    return own.max(), float(jensen_shannon(first, second))


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
        "fail if a model trained to have other weights keeps its accuracy within "
        f"{100 * MAX_LOSS:g} p.p. and its predictions within {MAX_PREDICTION_CHANGE:g}, while its "
        "weights differ from the model’s by more than between two seeds; pass if some keep "
        "both, and none of them with such weights. One whose weights differ by less than "
        f"{MIN_DIVERGENCE:g} does not count."
    )
    title = "Trained adversarial models"
    claim = (
        "Shows whether a model can be trained to the same predictions with other weights. If "
        "none was found, one may still exist."
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
        """Return whether weights differ no more than between two seeds; one seed can only fail."""
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
