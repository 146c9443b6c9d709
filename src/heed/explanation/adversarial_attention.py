"""Adversarial attention: a model that is trained to predict as its base, with other weights.

A model's weights are no explanation if another model predicts the same from other weights
(Wiegreffe & Pinter 2019, section 4, arxiv.org/abs/1908.04626), and they deceive if they can be
kept away from the words that decide (Pruthi et al. 2020, arxiv.org/abs/1909.07913). Such a model
starts from the weights of its base; from scratch these losses are learned badly.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from heed.explanation.agreement import find_rationale
from heed.explanation.interventions import permute_weights
from heed.explanation.rankings import (
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    group_size,
    left_out,
    read_documents,
    torch_generator,
)
from heed.explanation.test import (
    SMALLEST,
    divergence_of_means,
    jensen_shannon,
    kullback_leibler,
    total_variation,
)
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import Classifier, WeightedSum, weighted_sum

LEAVING_OUT = max(group.end for group in GROUPS if group.removes)  # the first documents drawn
RANKINGS = ("attention", "leave_one_out", "random")  # judged by the rationale
# measures of the adversarial model by document; RATIONALE: where a document has some
MEASURES = (
    "prediction_change", "divergence", "mean_divergence", "permutation_change_base",
    "permutation_change",
)  # fmt: skip
RATIONALE = ("rationale_weight_base", "rationale_weight")
NO_RATIONALE = "no document of the test has rationales"
ONLY_RATIONALE = "the units of each document are all rationale, or their rationale is not read"
Row = dict[str, object]  # of the summary of `heed adversarial_attention`


def differ_loss(weighted: WeightedSum, base: WeightedSum, strength: float) -> torch.Tensor:
    """Return TVD(p, p_base) - strength KL(a || a_base) of each document, (batch,).

    The divergence of the weights a is the mean over heads; `base` has no gradients. (Wiegreffe &
    Pinter 2019, section 4, sum both over the batch, so that strength depends on its size.)
    """
    predictions = (each.predict().softmax(-1) for each in (weighted, base))
    divergence = kullback_leibler(weighted.weights, base.weights, dim=1).mean(-1)
    return total_variation(*predictions) - strength * divergence


def deceive_loss(
    weighted: WeightedSum, targets: torch.Tensor, rationale: torch.Tensor, strength: float,
    label_smoothing: float = 0.0,
) -> torch.Tensor:  # fmt: skip
    """Return cross entropy - strength log(1 - the weight on rationale) of each document, (batch,).

    The logarithm is the mean over heads; without a rationale (batch, time) it is 0. Labels are
    smoothed as in the base's training. (Pruthi et al. 2020, section 3)
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
    """One document (a row of the corpus) under the adversarial model and its base.

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
    pair: Pair, rationale: dict[int, np.ndarray], rows: np.ndarray, scale: float,
    report_progress: Callable[[int, int], None],
) -> Iterator[Compared]:  # fmt: skip
    """Yield the documents `rows` under both models; the first 250 × `scale` have leave-one-out.

    `rationale` of a row is True for units with some, (units,).
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
    """Yield the documents of a batch; rankings and permutations are as in `heed explain`."""
    base, other = (weighted_sum(each, batch) for each in (pair.base, pair.adversarial_model))
    before, after = (each.predict().softmax(-1) for each in (base, other))
    of_batch = {
        "prediction_change": total_variation(before, after),
        "divergence": jensen_shannon(other.weights, base.weights, dim=1).mean(-1),
        "mean_divergence": divergence_of_means(other.weights, base.weights),
    }
    for i, document in enumerate(read_documents(pair.adversarial_model, batch)):
        row = int(batch.rows[i])
        measures = {name: float(values[i]) for name, values in of_batch.items()}
        for name, each in (("permutation_change_base", base), ("permutation_change", other)):
            permuted = permute_weights(each[i], torch_generator(row, PERMUTATIONS))
            measures[name] = permuted["permutation_change"]
        known = rationale[row]
        weights_base, weights = (each[i].weights.mean(1).numpy() for each in (base, other))
        if known.any():
            measures["rationale_weight_base"] = float(weights_base[known].sum())
            measures["rationale_weight"] = float(weights[known].sum())
            rankings = {"random": np.random.default_rng((row, ORDERS)).random(document.units)}
            if leaves_out:
                rankings["leave_one_out"] = left_out(pair.adversarial_model, document, row)
            for name, ranking in (rankings | {"attention": weights}).items():
                if (score := find_rationale(ranking, known, 0.0)) is not None:
                    measures[f"auc_{name}"] = score.auc
        predicted = int(before[i].argmax()), int(after[i].argmax())
        yield Compared(row, *predicted, weights_base, weights, measures)


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
