"""T8: what a model with other weights still predicts, and what its weights point at."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import torch

from heed.explanation.agreement import find_evidence
from heed.explanation.distances import divergence_of_means, jensen_shannon, total_variation
from heed.explanation.documents import Document, read_documents
from heed.explanation.judgement import (
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    POSITIONS,
    group_size,
    left_out,
    torch_generator,
)
from heed.explanation.permutation import permute_weights
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import Classifier
from heed.models.weighted_sum import WeightedSum, weighted_sum

LEAVING_OUT = max(group.end for group in GROUPS if group.removes)  # the first documents drawn
RANKINGS = ("attention", "leave_one_out", "random")  # judged by the evidence


@dataclasses.dataclass(frozen=True)
class Compared:
    """One document under the adversary and its base.

    row: of the corpus
    predicted_base, predicted: class indices
    base, adversary: the weights of each unit, the mean over heads, (units,)
    measures: by their names in docs/contracts.md
    """

    row: int
    predicted_base: int
    predicted: int
    base: np.ndarray
    adversary: np.ndarray
    measures: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Pair:
    """A model and its base in evaluation mode, and the corpus that both read."""

    base: Classifier
    adversary: Classifier
    encoded: EncodedCorpus


def compare_documents(
    pair: Pair,
    evidence: dict[int, np.ndarray],
    rows: np.ndarray,
    scale: float,
    report_progress: Callable[[int, int], None],
) -> Iterator[Compared]:
    """Yield the documents `rows` under both models; the first 250 have leave-one-out too.

    Args:
        pair: the models.
        evidence: row → True for units with evidence, (units,)
        rows: documents with at least one token, in the order of their draw.
        scale: multiplies the number of those with leave-one-out.
        report_progress: called with the documents that are done, and their number.

    """
    border, done = group_size(LEAVING_OUT, scale), 0
    for group, leaves_out in ((rows[:border], True), (rows[border:], False)):
        for batch in pair.encoded.evaluation_batches(group):
            yield from _compare_batch(pair, batch, evidence, leaves_out)
            done += len(batch.rows)
            report_progress(done, len(rows))


@torch.no_grad()
def _compare_batch(
    pair: Pair, batch: Batch, evidence: dict[int, np.ndarray], leaves_out: bool
) -> Iterator[Compared]:
    """Yield the documents of a batch."""
    base, adversary = weighted_sum(pair.base, batch), weighted_sum(pair.adversary, batch)
    before, after = (torch.softmax(each.predict(), -1) for each in (base, adversary))
    change = total_variation(before, after)
    divergence = jensen_shannon(adversary.weights, base.weights, dim=1).mean(-1)
    apart = divergence_of_means(adversary.weights, base.weights)
    for i, document in enumerate(read_documents(pair.adversary, batch)):
        row = int(batch.rows[i])
        weights = {
            name: each[i].weights.mean(1).numpy()
            for name, each in (("base", base), ("adversary", adversary))
        }
        measures = {
            "prediction_change": float(change[i]),
            "divergence": float(divergence[i]),
            "mean_divergence": float(apart[i]),
            "permutation_change_base": _permutation_change(base[i], row),
            "permutation_change": _permutation_change(adversary[i], row),
        }
        if evidence[row].any():
            measures["evidence_weight_base"] = float(weights["base"][evidence[row]].sum())
            measures["evidence_weight"] = float(weights["adversary"][evidence[row]].sum())
            model = pair.adversary if leaves_out else None
            rankings = _rankings(model, document, row) | {"attention": weights["adversary"]}
            measures |= _areas(rankings, evidence[row])
        yield Compared(
            row, int(before[i].argmax()), int(after[i].argmax()), **weights, measures=measures
        )


def _permutation_change(weighted: WeightedSum, row: int) -> float:
    """Return T2 of one document; both models have the same permutations."""
    return permute_weights(weighted, torch_generator(row, PERMUTATIONS)).change


def _rankings(model: Classifier | None, document: Document, row: int) -> dict[str, np.ndarray]:
    """Return the ranking `random`, and with a model `leave_one_out`, as `heed explain` has them."""
    rankings = {"random": np.random.default_rng((row, ORDERS)).random(document.units)}
    if model is not None:
        drawn = np.random.default_rng((row, POSITIONS))
        rankings["leave_one_out"] = left_out(model, document, drawn)
    return rankings


def _areas(rankings: dict[str, np.ndarray], evidence: np.ndarray) -> dict[str, float]:
    """Return the area under the ROC curve of each ranking, where evidence is known."""
    scores = {name: find_evidence(each, evidence, 0.0) for name, each in rankings.items()}
    return {f"auc_{name}": score.auc for name, score in scores.items() if score is not None}
