"""Adversarial attention: a model that is trained to predict as its base, with other weights.

A model's weights are no explanation if another model predicts the same from other weights
(Wiegreffe & Pinter 2019, section 4, arxiv.org/abs/1908.04626), and they deceive if they can be
kept away from the words that decide (Pruthi et al. 2020, arxiv.org/abs/1909.07913). Such a model
starts from the weights of its base; from scratch these losses are learned badly.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from heed.explanation.agreement import find_rationale
from heed.explanation.other_weights import permute_weights
from heed.explanation.rankings import (
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    group_size,
    left_out,
    read_documents,
    torch_generator,
)
from heed.explanation.seeds import seed_divergence
from heed.explanation.test import (
    DIVERGENCE_ENDS,
    EQUAL,
    NO_WEIGHTS,
    ONE_SEED,
    ROUNDING,
    SMALLEST,
    Axis,
    Explained,
    Judged,
    Series,
    Text,
    Trained,
    WeightsTest,
    divergence_of_means,
    jensen_shannon,
    kullback_leibler,
    no_weights,
    total_variation,
)
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import Classifier, WeightedSum, weighted_sum

# a trained adversarial model has kept accuracy and predictions
MAX_LOSS = 0.01
MAX_PREDICTION_CHANGE = 0.05
# ... and its weights have moved; below this it was hardly trained, and says nothing
MIN_DIVERGENCE = 0.01
NO_ADVERSARIAL_MODEL = "no adversarial model"
NONE_KEPT = "no adversarial model kept the predictions"
NONE_MOVED = "no adversarial model’s weights moved"

LEAVING_OUT = max(group.end for group in GROUPS if group.removes)  # the first documents drawn
RANKINGS = ("attention", "leave_one_out", "random")  # judged by the rationale
# measures of the adversarial model by document; those of Rationale need rationales
MEASURES = (
    "prediction_change", "divergence", "mean_divergence", "permutation_change_base",
    "permutation_change",
)  # fmt: skip
RATIONALE = ("rationale_weight_base", "rationale_weight")
NO_RATIONALE = "no document of the test has rationales"
ONLY_RATIONALE = "the units of each document are all rationale, or their rationale is not read"
Row = dict[str, object]  # of the summary of `heed adversarial_attention`


class AdversarialTest(WeightsTest):
    """A test of `heed adversarial_attention`: its figure has a row for each trained adversarial
    model.
    """

    table = "adversarial_attention"

    def drawn_trained(
        self, explained: Explained, adversarial_model: Trained, measure: str
    ) -> Series:
        """Return the series of an adversarial model of a model in the figure."""
        raise NotImplementedError


class AdversarialModels(AdversarialTest):
    """The distance of weights and predictions of trained adversarial models from those of the
    model.
    """

    name = "adversarial_attention"
    rows = "adversarial_model"
    measures = ("prediction_change", "mean_divergence")
    criterion = "Adversarial models"
    rule = Text(
        "fail if a model trained to have other weights keeps its accuracy within {loss} p.p. and "
        "its predictions within {change}, while its weights differ from the model’s by more than "
        "those of two seeds do; pass if some keep both, and none of them with such weights. One "
        "whose weights differ by less than {least} does not count.",
        (
            ("loss", f"{100 * MAX_LOSS:g}"),
            ("change", f"{MAX_PREDICTION_CHANGE:g}"),
            ("least", f"{MIN_DIVERGENCE:g}"),
        ),
    )
    reasons = (NO_WEIGHTS, EQUAL, ONE_SEED, NO_ADVERSARIAL_MODEL, NONE_KEPT, NONE_MOVED)
    title = "Trained adversarial models"
    claim = (
        "Shows whether a model can be trained to the same predictions with other weights. Where "
        "none was found, there may be one."
    )
    caption = (
        "Seeds that keep the predictions, with an accuracy within 1 p.p. and a change within 0.05 "
        "(dotted), apart from those that do not. What fails is a seed that keeps them while its "
        "weights (right) differ by more than those of two seeds of the model."
    )
    axes = (
        Axis("prediction_change", "change of the prediction", limit=MAX_PREDICTION_CHANGE),
        Axis("mean_divergence", "divergence of the weights", DIVERGENCE_ENDS),
    )
    series: ClassVar[Mapping[str, str]] = {
        "kept": "predictions kept",
        "lost": "not kept",
        "seeds": "two seeds of the model",
    }

    def score(self, judged: Judged) -> float | str:
        """Return the largest divergence of the weights of a seed that keeps the predictions.

        It keeps them if it loses at most MAX_LOSS of accuracy and changes predictions by at most
        MAX_PREDICTION_CHANGE. One that loses them, or whose weights differ by less than
        MIN_DIVERGENCE, was not trained to what was asked of it: it says nothing.
        """
        if reason := no_weights(judged.summary):
            return reason
        if not judged.adversarial_attention:
            return NO_ADVERSARIAL_MODEL
        if seed_divergence(judged.summary) is None:
            return ONE_SEED
        runs = pd.concat([adversarial_model_runs(table) for table in judged.adversarial_attention])
        if runs.empty:
            return NO_ADVERSARIAL_MODEL
        divergences = runs[runs["kept"]]["mean_divergence"]
        if divergences.empty:
            return NONE_KEPT
        largest = float(divergences.max())
        return NONE_MOVED if largest < MIN_DIVERGENCE else largest

    def passes(self, value: float, judged: Judged) -> bool:
        """Return whether weights differ by no more than those of two seeds, means over heads.

        One seed of one adversarial model is enough to fail.
        """
        limit = seed_divergence(judged.summary)
        return limit is not None and value <= limit

    def drawn_trained(
        self, explained: Explained, adversarial_model: Trained, measure: str
    ) -> Series:
        """Return a measure of an adversarial model's seeds, and its value between the model's
        seeds.
        """
        runs = adversarial_model_runs(adversarial_model.summary)
        seeds = seed_divergence(explained.summary) if measure == "mean_divergence" else None
        return {
            self.series["kept"]: runs[runs["kept"]][measure].tolist(),
            self.series["lost"]: runs[~runs["kept"]][measure].tolist(),
            self.series["seeds"]: [] if seeds is None else [seeds],
        }


def adversarial_model_runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return `accuracy_base, accuracy, prediction_change, mean_divergence, kept` of each seed.

    The seed is the index. `kept`: accuracy and predictions are those of the base, within MAX_LOSS
    and MAX_PREDICTION_CHANGE.
    """
    measures = ["accuracy_base", "accuracy", "prediction_change", "mean_divergence"]
    rows = summary[(summary["test"] == "adversarial_model") & summary["measure"].isin(measures)]
    rows = rows.dropna(subset=["mean", "seed"]).drop_duplicates(["seed", "measure"])
    runs = rows.pivot(index="seed", columns="measure", values="mean").reindex(columns=measures)
    runs = runs.astype(float).dropna()
    kept = (runs["accuracy_base"] - runs["accuracy"] <= MAX_LOSS + ROUNDING) & (
        runs["prediction_change"] <= MAX_PREDICTION_CHANGE + ROUNDING
    )
    return runs.assign(kept=kept)


def differ_loss(weighted: WeightedSum, base: WeightedSum, strength: float) -> torch.Tensor:
    """Return TVD(p, p_base) - strength KL(a || a_base) of each document, (batch,).

    The divergence of the weights a is the mean over heads; `base` has no gradients. (Wiegreffe &
    Pinter 2019, section 4, arxiv.org/abs/1908.04626; their program sums both over the batch, so
    that its strength depends on the batch's size)
    """
    predictions = (torch.softmax(each.predict(), -1) for each in (weighted, base))
    divergence = kullback_leibler(weighted.weights, base.weights, dim=1).mean(-1)
    return total_variation(*predictions) - strength * divergence


def deceive_loss(
    weighted: WeightedSum,
    targets: torch.Tensor,
    rationale: torch.Tensor,
    strength: float,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Return cross entropy - strength log(1 - the weight on rationale) of each document, (batch,).

    The logarithm is the mean over heads. A document without a rationale has the cross entropy
    alone. (Pruthi et al. 2020, section 3, arxiv.org/abs/1909.07913)

    Args:
        weighted: of the model that is trained.
        targets: class indices, (batch,)
        rationale: True for units with a rationale, (batch, time)
        strength: lambda.
        label_smoothing: of the cross entropy, as the base was trained.

    """
    elsewhere = weighted.weights.masked_fill(rationale[..., None], 0.0).sum(1)  # batch x heads
    # weights of an empty document are all 0
    elsewhere = torch.where(rationale.any(1)[:, None], elsewhere, 1.0)
    penalty = elsewhere.clamp(min=SMALLEST).log().mean(-1)
    entropy = F.cross_entropy(
        weighted.predict(), targets, reduction="none", label_smoothing=label_smoothing
    )
    return entropy - strength * penalty


@dataclasses.dataclass(frozen=True)
class Compared:
    """One document under the adversarial model and its base.

    row: of the corpus
    predicted_base, predicted: class indices
    base, adversarial model: the weights of each unit, the mean over heads, (units,)
    measures: by their names in docs/contracts.md
    """

    row: int
    predicted_base: int
    predicted: int
    base: np.ndarray
    adversarial_model: np.ndarray
    measures: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Pair:
    """A model and its base in evaluation mode, and the corpus that both read."""

    base: Classifier
    adversarial_model: Classifier
    encoded: EncodedCorpus


def compare_documents(
    pair: Pair,
    rationale: dict[int, np.ndarray],
    rows: np.ndarray,
    scale: float,
    report_progress: Callable[[int, int], None],
) -> Iterator[Compared]:
    """Yield the documents `rows` under both models; the first 250 × `scale` have leave-one-out.

    `rationale` of a row is True for units with some, (units,). `report_progress` is called with the
    documents that are done, and their number.
    """
    border, done = group_size(LEAVING_OUT, scale), 0
    for group, leaves_out in ((rows[:border], True), (rows[border:], False)):
        for batch in pair.encoded.evaluation_batches(group):
            yield from _compare_batch(pair, batch, rationale, leaves_out)
            done += len(batch.rows)
            report_progress(done, len(rows))


@torch.no_grad()
def _compare_batch(
    pair: Pair, batch: Batch, rationale: dict[int, np.ndarray], leaves_out: bool
) -> Iterator[Compared]:
    """Yield the documents of a batch; rankings and permutations are those of `heed explain`."""
    base, adversarial_model = (
        weighted_sum(pair.base, batch),
        weighted_sum(pair.adversarial_model, batch),
    )
    before, after = (torch.softmax(each.predict(), -1) for each in (base, adversarial_model))
    change = total_variation(before, after)
    divergence = jensen_shannon(adversarial_model.weights, base.weights, dim=1).mean(-1)
    apart = divergence_of_means(adversarial_model.weights, base.weights)
    for i, document in enumerate(read_documents(pair.adversarial_model, batch)):
        row = int(batch.rows[i])
        known = rationale[row]
        own, other = (each[i].weights.mean(1).numpy() for each in (base, adversarial_model))
        measures = {
            "prediction_change": float(change[i]),
            "divergence": float(divergence[i]),
            "mean_divergence": float(apart[i]),
        }
        for name, each in (
            ("permutation_change_base", base),
            ("permutation_change", adversarial_model),
        ):
            permuted = permute_weights(each[i], torch_generator(row, PERMUTATIONS))
            measures[name] = permuted["permutation_change"]
        if known.any():
            measures["rationale_weight_base"] = float(own[known].sum())
            measures["rationale_weight"] = float(other[known].sum())
            rankings = {"random": np.random.default_rng((row, ORDERS)).random(document.units)}
            if leaves_out:
                rankings["leave_one_out"] = left_out(pair.adversarial_model, document, row)
            for name, ranking in (rankings | {"attention": other}).items():
                if (score := find_rationale(ranking, known, 0.0)) is not None:
                    measures[f"auc_{name}"] = score.auc
        yield Compared(row, int(before[i].argmax()), int(after[i].argmax()), own, other, measures)


def mean_row(test: str, measure: str, weights: str, values: np.ndarray, reason: str = "") -> Row:
    """Return a row of the summary: the mean of `values` (documents,), or why there are none."""
    row: Row = {"test": test, "measure": measure, "weights": weights}
    if not len(values):
        return row | {"reason": reason}
    std = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return row | {"documents": len(values), "mean": float(np.mean(values)), "std": std}


def summarize_documents(documents: pd.DataFrame) -> list[Row]:
    """Return the rows of the test `adversarial_model` that are means over the documents drawn."""
    columns = [(measure, "", measure) for measure in (*MEASURES, *RATIONALE)]
    columns += [("auc", ranking, f"auc_{ranking}") for ranking in RANKINGS]
    reason = ONLY_RATIONALE if RATIONALE[0] in documents else NO_RATIONALE
    values = documents.reindex(columns=[column for *_, column in columns])
    return [
        mean_row("adversarial_model", measure, weights, values[column].dropna().to_numpy(), reason)
        for measure, weights, column in columns
    ]
