"""Adversarial attention: a model that is trained to predict as its base, with other weights.

A model's weights are no explanation if another model predicts the same from other weights
(Wiegreffe & Pinter 2019, section 4, arxiv.org/abs/1908.04626), and they deceive if they can be
kept away from the words that decide (Pruthi et al. 2020, arxiv.org/abs/1909.07913). Such a model
starts from the weights of its base; from scratch these losses are learned badly.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Protocol

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from heed.explanation.distances import (
    SMALLEST,
    divergence_of_means,
    jensen_shannon,
    kullback_leibler,
    total_variation,
)
from heed.explanation.documents import (
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    POSITIONS,
    Document,
    group_size,
    read_documents,
    torch_generator,
)
from heed.explanation.permutation import permute_weights
from heed.explanation.plausibility import find_evidence
from heed.explanation.rankings import left_out
from heed.explanation.seeds import seed_divergence
from heed.explanation.test import (
    DIVERGENCE_ENDS,
    EQUAL,
    FAIL,
    NO_WEIGHTS,
    ONE_SEED,
    PASS,
    ROUNDING,
    UNDEFINED,
    Axis,
    Explained,
    Judged,
    Outcome,
    Series,
    Text,
    WeightsTest,
    no_weights,
)
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import Classifier, WeightedSum, weighted_sum

# a trained adversary has kept accuracy and predictions
MAX_LOSS = 0.01
MAX_PREDICTION_CHANGE = 0.05
# ... and its weights have moved; below this it was hardly trained, and says nothing
MIN_DIVERGENCE = 0.01
NO_ADVERSARY = "no adversary"
NONE_KEPT = "no adversary kept the predictions"
NONE_MOVED = "no adversary’s weights moved"

LEAVING_OUT = max(group.end for group in GROUPS if group.removes)  # the first documents drawn
RANKINGS = ("attention", "leave_one_out", "random")  # judged by the evidence
# measures of the adversary by document; those of EVIDENCE need known evidence
MEASURES = (
    "prediction_change", "divergence", "mean_divergence", "permutation_change_base",
    "permutation_change",
)  # fmt: skip
EVIDENCE = ("evidence_weight_base", "evidence_weight")
NO_EVIDENCE = "no document of the test has known evidence"
ONLY_EVIDENCE = "the units of each document are all evidence, or their evidence is not read"
Row = dict[str, object]  # of the summary of `heed adversaries`


class Trained(Protocol):
    """A model that was trained against an explained one, as the report reads its tables."""

    @property
    def summary(self) -> pd.DataFrame:
        """The table summary.csv of `heed adversaries`."""


class AdversarialTest(WeightsTest):
    """A test of `heed adversaries`: its figure has a row for each trained adversary."""

    table = "adversaries"

    def drawn_trained(self, explained: Explained, adversary: Trained, measure: str) -> Series:
        """Return the series of an adversary of a model in the figure."""
        raise NotImplementedError


class Adversaries(AdversarialTest):
    """How far the weights and predictions of trained adversaries are from the model's."""

    name = "adversaries"
    rows = "adversary"
    measures = ("prediction_change", "mean_divergence")
    criterion = "Adversaries"
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
    reasons = (NO_WEIGHTS, EQUAL, ONE_SEED, NO_ADVERSARY, NONE_KEPT, NONE_MOVED)
    title = "Trained adversaries"
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

    def judge(self, judged: Judged) -> Outcome:
        """Return FAIL if a trained adversary keeps the predictions with other weights.

        PASS if some keep them, and none with other weights. It keeps them if it loses at most
        MAX_LOSS of accuracy and changes predictions by at most MAX_PREDICTION_CHANGE; its weights
        are other ones if they differ from the model's by more than those of two seeds among each
        other, both averaged over heads. One seed of one adversary is enough to fail. One that loses
        the predictions, or whose weights differ by less than MIN_DIVERGENCE, was not trained to
        what was asked of it: it says nothing. The value is the largest divergence of the others.
        """
        if reason := no_weights(judged.summary):
            return Outcome(UNDEFINED, reason=reason)
        if not judged.adversaries:
            return Outcome(UNDEFINED, reason=NO_ADVERSARY)
        limit = seed_divergence(judged.summary)
        if limit is None:
            return Outcome(UNDEFINED, reason=ONE_SEED)
        runs = pd.concat([adversary_runs(table) for table in judged.adversaries])
        if runs.empty:
            return Outcome(UNDEFINED, reason=NO_ADVERSARY)
        kept = runs[runs["kept"]]
        if kept.empty:
            return Outcome(UNDEFINED, reason=NONE_KEPT)
        largest = float(kept["mean_divergence"].max())
        if largest < MIN_DIVERGENCE:
            return Outcome(UNDEFINED, reason=NONE_MOVED)
        return Outcome(FAIL if largest > limit else PASS, largest)

    def drawn_trained(self, explained: Explained, adversary: Trained, measure: str) -> Series:
        """Return a measure of an adversary's seeds, and its value between the model's seeds."""
        runs = adversary_runs(adversary.summary)
        seeds = seed_divergence(explained.summary) if measure == "mean_divergence" else None
        return {
            self.series["kept"]: runs[runs["kept"]][measure].tolist(),
            self.series["lost"]: runs[~runs["kept"]][measure].tolist(),
            self.series["seeds"]: [] if seeds is None else [seeds],
        }


def adversary_runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return `accuracy_base, accuracy, prediction_change, mean_divergence, kept` of each seed.

    The seed is the index. `kept`: accuracy and predictions are those of the base, within MAX_LOSS
    and MAX_PREDICTION_CHANGE.
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


def differ_loss(weighted: WeightedSum, base: WeightedSum, strength: float) -> torch.Tensor:
    """Return TVD(p, p_base) - strength KL(a || a_base) of each document, (batch,).

    The divergence of the weights a is the mean over heads. (Wiegreffe & Pinter 2019, section 4,
    arxiv.org/abs/1908.04626; their program sums both over the batch, so that its strength depends
    on the batch's size)

    Args:
        weighted: of the model that is trained.
        base: of its base, without gradients, for the same documents.
        strength: lambda; with a larger one the weights differ more, and so may the predictions.

    """
    predictions = (torch.softmax(each.predict(), -1) for each in (weighted, base))
    divergence = kullback_leibler(weighted.weights, base.weights, dim=1).mean(-1)
    return total_variation(*predictions) - strength * divergence


def deceive_loss(
    weighted: WeightedSum,
    targets: torch.Tensor,
    evidence: torch.Tensor,
    strength: float,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Return cross entropy - strength log(1 - the weight on evidence) of each document, (batch,).

    The logarithm is the mean over heads. A document without evidence has the cross entropy alone.
    (Pruthi et al. 2020, section 3, arxiv.org/abs/1909.07913)

    Args:
        weighted: of the model that is trained.
        targets: class indices, (batch,)
        evidence: True for units with evidence, (batch, time)
        strength: lambda.
        label_smoothing: of the cross entropy, as the base was trained.

    """
    elsewhere = weighted.weights.masked_fill(evidence[..., None], 0.0).sum(1)  # batch x heads
    # weights of an empty document are all 0
    elsewhere = torch.where(evidence.any(1)[:, None], elsewhere, 1.0)
    penalty = elsewhere.clamp(min=SMALLEST).log().mean(-1)
    entropy = F.cross_entropy(
        weighted.predict(), targets, reduction="none", label_smoothing=label_smoothing
    )
    return entropy - strength * penalty


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
    """Return the change of one document's prediction; both models have the same permutations."""
    generator = torch_generator(row, PERMUTATIONS)
    return permute_weights(weighted, generator)["permutation_change"]


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


def mean_row(test: str, measure: str, weights: str, values: np.ndarray) -> Row:
    """Return a row of the summary with the mean of `values` (documents,)."""
    row: Row = {"test": test, "measure": measure, "weights": weights, "documents": len(values)}
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return row | {"mean": float(np.mean(values)), "std": deviation}


def reason_row(test: str, measure: str, weights: str, reason: str) -> Row:
    """Return a row of the summary for what is not defined."""
    return {"test": test, "measure": measure, "weights": weights, "reason": reason}


def summarize_documents(documents: pd.DataFrame) -> list[Row]:
    """Return the rows of the test `adversary` that are means over the documents drawn."""
    columns = [(measure, "", measure) for measure in (*MEASURES, *EVIDENCE)]
    columns += [("auc", ranking, f"auc_{ranking}") for ranking in RANKINGS]
    rows: list[Row] = []
    for measure, weights, column in columns:
        values = documents[column].dropna().to_numpy() if column in documents else np.empty(0)
        if len(values):
            rows.append(mean_row("adversary", measure, weights, values))
        else:
            has_evidence = EVIDENCE[0] in documents
            reason = ONLY_EVIDENCE if has_evidence else NO_EVIDENCE
            rows.append(reason_row("adversary", measure, weights, reason))
    return rows
