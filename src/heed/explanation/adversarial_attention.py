"""Adversarial attention: a model that is trained to predict as its base, with other weights.

A model's weights do not explain if another model predicts the same from other weights
(Wiegreffe & Pinter 2019, section 4, arxiv.org/abs/1908.04626), and they deceive if they can be
kept away from the words that decide (Pruthi et al. 2020, arxiv.org/abs/1909.07913). Such a model
starts from the weights of its base; from scratch these losses are learned badly.

A diagnostic MLP is a network without context that weighs its words by given weights. Weights that
help it more, point better (Wiegreffe & Pinter 2019, section 3.4). But weights were computed from
the whole document, and can carry its class themselves, by the words that they choose (Bai et al.
2021, arxiv.org/abs/2006.05656): the controls measure that.
"""

import dataclasses
from collections.abc import Callable, Iterator
from operator import attrgetter

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn

from heed.explanation.agreement import find_rationale
from heed.explanation.interventions import permute_weights
from heed.explanation.rankings import (
    GROUPS,
    ORDERS,
    PERMUTATIONS,
    group_size,
    left_out,
    pad_by_row,
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
from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch, EncodedCorpus
from heed.inputs.vocabulary import UNKNOWN
from heed.models.classifier import Classifier, WeightedSum, weighted_sum
from heed.models.encoder import LearnedQuery
from heed.models.recurrent import padding_mask

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
    predictions = (output.predict().softmax(-1) for output in (weighted, base))
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
    measures: by their names in docs/internals/contracts.md
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
    base, other = (weighted_sum(model, batch) for model in (pair.base, pair.adversarial_model))
    before, after = (output.predict().softmax(-1) for output in (base, other))
    of_batch = {
        "prediction_change": total_variation(before, after),
        "divergence": jensen_shannon(other.weights, base.weights, dim=1).mean(-1),
        "mean_divergence": divergence_of_means(other.weights, base.weights),
    }
    for i, document in enumerate(read_documents(pair.adversarial_model, batch)):
        row = int(batch.rows[i])
        measures = {name: float(values[i]) for name, values in of_batch.items()}
        for name, output in (("permutation_change_base", base), ("permutation_change", other)):
            permuted = permute_weights(output[i], torch_generator(row, PERMUTATIONS))
            measures[name] = permuted["permutation_change"]
        known = rationale[row]
        weights_base, weights = (output[i].weights.mean(1).numpy() for output in (base, other))
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


PLACES = 10  # parts of a document that the control `constant_token` tells apart
MAJORITIES = ("majority", "majority_with_rationale")
SPLIT_WITHOUT = "a split of the corpus has no document with rationales"
Weights = dict[int, np.ndarray]  # row → the weight of each token, (tokens,)


class DiagnosticMLP(nn.Module):
    """Tokens → embedding → tanh(W x + b) of `size`, weighted sum → linear layer.

    `read` and `weigh` map a batch to token ids (`vocabulary` of them, padding among them) and to
    weights, (batch, time); without `weigh`, the network learns its own, by a query and an additive
    score. The embeddings are like the base's, with its `h`.
    """

    def __init__(
        self, vocabulary: int, classes: int, size: int, h: Architecture,
        read: Callable[[Batch], torch.Tensor], weigh: Callable[[Batch], torch.Tensor] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, h.embedding_dim, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=h.embedding_std)
        self.linear = nn.Linear(h.embedding_dim, size)
        self.output = nn.Linear(size, classes)
        self.query = None if weigh else LearnedQuery("additive", size, 1)
        self._read, self._weigh = read, weigh

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits (batch, classes)."""
        states = torch.tanh(self.linear(self.embedding(self._read(batch))))
        if self._weigh is not None:
            weights = self._weigh(batch)
        else:
            assert self.query is not None
            padding = padding_mask(batch.lengths, states.shape[1])
            weights = self.query.weights(states, batch.lengths, padding)
        return self.output((weights[:, None] @ states).squeeze(1))


def place_ids(batch: Batch) -> torch.Tensor:
    """Return the tenth of its document in which each token stands, (batch, time), 1 to PLACES.

    One id for all would leave nothing to learn from: the weights of a document sum to 1.
    """
    lengths = batch.lengths[:, None].clamp(min=1)
    places = torch.arange(batch.ids.shape[1])[None] * PLACES // lengths + 1
    return places.masked_fill(padding_mask(batch.lengths, batch.ids.shape[1]), 0)


def move_weights(weights: Weights, numbers: np.random.Generator) -> Weights:
    """Return the weights of another document for each, of nearly the same length.

    Documents are sorted by length, equal lengths at random, and neighbours exchange their weights;
    the last of an odd number gets the weights of the one before.
    """
    rows = numbers.permutation(np.asarray(sorted(weights), np.int64))
    rows = rows[np.argsort([len(weights[int(row)]) for row in rows], kind="stable")].tolist()
    donors = np.arange(len(rows)) ^ 1
    donors[donors == len(rows)] = max(0, len(rows) - 2)
    return {
        row: fit_weights(weights[rows[donor]], len(weights[row]))
        for row, donor in zip(rows, donors, strict=True)
    }


def fit_weights(weights: np.ndarray, length: int) -> np.ndarray:
    """Return weights stretched to `length` tokens, with the sum 1; equal where all would be 0."""
    stretched = np.zeros(length)
    if len(weights):
        stretched = weights[np.arange(length) * len(weights) // max(1, length)]
    total = stretched.sum()
    return stretched / total if total > 0 else np.full(length, 1 / max(1, length), np.float32)


@dataclasses.dataclass(frozen=True)
class Guide:
    """The input of a diagnostic MLP, its weights (None: learned), and the rows that have them."""

    read: Callable[[Batch], torch.Tensor]
    weights: Weights | None
    vocabulary: int
    rows: set[int] | None = None

    def choose(self, documents: np.ndarray) -> np.ndarray:
        """Return the documents for which the weights are defined."""
        return documents if self.rows is None else among(documents, self.rows)

    def weigh(self) -> Callable[[Batch], torch.Tensor] | None:
        """Return the function of a batch that gives its weights, (batch, time), or None."""
        if (weights := self.weights) is None:
            return None
        return lambda batch: pad_by_row(weights, batch.rows, batch.ids.shape[1])


def among(documents: np.ndarray, rows: set[int]) -> np.ndarray:
    """Return those of some documents that are in `rows`."""
    return documents[np.isin(documents, [*rows])]


def make_guides(
    base: Weights, adversarial_model: Weights, rationale: Weights, vocabulary: int
) -> dict[str, Guide]:
    """Return the guides by name, in the order of the summary.

    The weights of both models are of all documents; `rationale` is True for its tokens, (tokens,).
    """

    def equal(chosen: np.ndarray) -> np.ndarray:
        return chosen.astype(np.float32) / max(1, int(chosen.sum()))

    def without_rationale(batch: Batch) -> torch.Tensor:
        is_rationale = pad_by_row(rationale, batch.rows, batch.ids.shape[1])
        return batch.ids.masked_fill(is_rationale, UNKNOWN)

    def words(weights: Weights | None, rows: set[int] | None = None) -> Guide:
        return Guide(attrgetter("ids"), weights, vocabulary, rows)

    def hidden(weights: Weights) -> Guide:
        return Guide(without_rationale, weights, vocabulary, {*with_rationale})

    with_rationale = {row: equal(chosen) for row, chosen in rationale.items() if chosen.any()}
    uniform = {row: equal(np.ones(len(weights), bool)) for row, weights in base.items()}
    return {
        "uniform": words(uniform),
        "trained": words(None),
        "base": words(base),
        "adversarial_model": words(adversarial_model),
        "rationale": words(with_rationale, {*with_rationale}),
        "base_without_rationale": hidden(base),
        "adversarial_model_without_rationale": hidden(adversarial_model),
        "constant_token": Guide(place_ids, base, PLACES + 1),
        "moved": words(move_weights(base, np.random.default_rng(0))),
    }
