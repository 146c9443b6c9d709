"""Rankings: how important each unit of a document is, by weights, gradients or removal; and the
predictions of a classifier with all that the tests ask of them.

A ranking is an array (units,) whose highest value is the most important unit. Documents fall into
groups by what their tests cost: the first have most.

Adversarial weights are as different as possible, the prediction within EPSILON, by gradient descent
(Jain & Wallace 2019, section 4.2). That they exist does not say that a model could have learned
them (Wiegreffe & Pinter 2019, arxiv.org/abs/1908.04626): compare with how much the weights of two
seeds differ. The authors' program takes 500 steps of size .01; 100 of .1 found as much (.555 and
.537, .573 and .588) at a seventh of the cost. It aims at .01 and accepts .05.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from heed.explanation.registry import measure_weights
from heed.explanation.test import (
    ALL_UNITS,
    DRAWN_UNITS,
    HELD,
    Prediction,
    Weighted,
    divergence_of_means,
    jensen_shannon,
    total_variation,
)
from heed.files import HeedError
from heed.inputs.batches import MAX_PADDED_TOKENS, Batch, EncodedCorpus
from heed.inputs.vocabulary import UNKNOWN
from heed.models.attention import MultiHeadAttention
from heed.models.classifier import Classifier, Network, WeightedSum, weighted_sum
from heed.models.encoder import HierarchicalEncoder
from heed.models.recurrent import padding_mask
from heed.training.loop import AdamW

STEPS = 32  # of integrated gradients: they agree with 128 steps (Kendall's tau .999)


class Group(NamedTuple):
    """Documents, up to number `end`, with the same tests beside weights and gradients.

    removes: whether they have leave-one-out and adversarial weights
    changes_inputs: whether they have replacement, comprehensiveness and sufficiency
    integrates: whether they have integrated gradients
    """

    end: int
    removes: bool = False
    changes_inputs: bool = False
    integrates: bool = False


GROUPS = (Group(40, True, True, True), Group(60, True, True), Group(250, True), Group(500))
DRAW = 17  # seeds the draw of documents: it is the same for every model and seed of a corpus
# A document has a generator for each use, so that its outcomes do not depend on its other tests.
ORDERS, POSITIONS, ADVERSARIAL, PERMUTATIONS = range(4)


def group_size(documents: int, scale: float) -> int:
    """Return the number of documents after scaling, at least one."""
    return max(1, round(documents * scale))


def by_group(rows: np.ndarray, scale: float) -> Iterator[tuple[Group, np.ndarray]]:
    """Yield GROUPS with their documents of `rows`, in the order of their draw."""
    ends = [group_size(group.end, scale) for group in GROUPS]
    yield from zip(GROUPS, np.split(rows, ends)[:-1], strict=True)


def draw_documents(test: np.ndarray, fold: int, offsets: np.ndarray, scale: float) -> np.ndarray:
    """Return random documents of the `test` split that are not empty, in the order of their draw.

    `offsets` are the first tokens of documents, (documents + 1,).
    """
    filled = test[offsets[test + 1] > offsets[test]]
    order = np.random.default_rng((DRAW, fold)).permutation(filled)
    return order[: group_size(GROUPS[-1].end, scale)]


def torch_generator(*key: int) -> torch.Generator:
    """Return the generator of a key: the row of a document and a use, for example."""
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])
    return torch.Generator().manual_seed(seed)


@dataclasses.dataclass(frozen=True)
class Subject:
    """A trained model whose predictions are explained, in evaluation mode on the CPU."""

    model: Classifier
    encoded: EncodedCorpus


def no_sum_reason(subject: Subject, row: int) -> str:
    """Return why the model has no weights that could be tested, or an empty string."""
    try:
        weighted_sum(subject.model, subject.encoded.batch(np.asarray([row])))
    except HeedError as error:
        return str(error)
    return ""


@dataclasses.dataclass(frozen=True)
class BatchDocument:
    """One document of a batch: its index there, and its number of units.

    ids: vocabulary indices of the tokens that are read, (tokens,)
    unit: the unit of each token, from 0, (tokens,)
    """

    batch: Batch
    index: int
    ids: torch.Tensor
    unit: torch.Tensor
    units: int


def read_documents(model: Classifier, batch: Batch) -> list[BatchDocument]:
    """Return the documents of a batch; their units are sentences for a hierarchical model."""
    is_hierarchical = isinstance(model.network.encoder, HierarchicalEncoder)
    documents = []
    for i, length in enumerate(batch.lengths.tolist()):
        unit = torch.arange(length)
        if is_hierarchical and batch.sentences is not None:
            sentences = batch.sentences[i][batch.sentences[i] > 0]
            unit = torch.arange(len(sentences)).repeat_interleave(sentences)
        units = int(unit[-1]) + 1 if length else 0
        documents.append(BatchDocument(batch, i, batch.ids[i, :length], unit, units))
    return documents


@torch.no_grad()
def predict_kept(model: Classifier, document: BatchDocument, kept: torch.Tensor) -> torch.Tensor:
    """Return the probabilities (n, classes) of a document with `kept` units (n, units) alone."""
    network = model.network
    size = max(1, MAX_PADDED_TOKENS // max(1, len(document.ids)))
    logits = [network(keep_units(network, document, part)) for part in kept.split(size)]
    return torch.softmax(torch.cat(logits), -1)


def keep_units(network: Network, document: BatchDocument, kept: torch.Tensor) -> Batch:
    """Return n copies of a document as a batch, with the units that are `kept`, (n, units).

    They move together.
    """
    batch, token_kept = document.batch, kept[:, document.unit]  # n x tokens
    lengths = token_kept.sum(1)
    time = max(1, int(lengths.max()))
    order = (~token_kept).long().argsort(dim=1, stable=True)[:, :time]
    token_mask = torch.arange(time)[None] < lengths[:, None]
    ids = torch.where(token_mask, document.ids[order], 0)
    copies = Batch(ids, lengths, np.zeros(len(ids), np.int64))
    if isinstance(network.encoder, HierarchicalEncoder):
        sentences = torch.bincount(document.unit, minlength=document.units) * kept
        first = (~kept).long().argsort(dim=1, stable=True)
        copies = dataclasses.replace(copies, sentences=sentences.gather(1, first))
    if batch.character_of is not None:
        bags = torch.where(token_mask, batch.character_of[document.index][order], 0)
        copies = dataclasses.replace(copies, characters=batch.characters, character_of=bags)
    return copies


@torch.no_grad()
def predict_replaced(
    model: Classifier, document: BatchDocument, replaced: torch.Tensor
) -> torch.Tensor:
    """Return the logits (n, classes) with the unknown word at `replaced`, (n, tokens)."""
    network, i = model.network, document.index
    embeddings = network.embed(document.batch)[i, : len(document.ids)].repeat(len(replaced), 1, 1)
    embeddings[replaced] = network.embedding.word.weight[UNKNOWN]
    lengths = network.sequence_lengths(document.batch)[i : i + 1]
    lengths = lengths.repeat_interleave(len(embeddings), 0)
    return network.classify(network.encoder(embeddings, lengths))


def pad_by_row(values: dict[int, np.ndarray], rows: np.ndarray, time: int) -> torch.Tensor:
    """Return the values of the documents `rows` as (rows, time), 0 or False after the last."""
    padded = np.zeros((len(rows), time), next(iter(values.values())).dtype)
    for i, row in enumerate(rows):
        padded[i, : len(values[int(row)])] = values[int(row)]
    return torch.from_numpy(padded)


def weight_rankings(model: Classifier, weighted: WeightedSum) -> dict[str, np.ndarray]:
    """Return the rankings of one document by its weighted sum.

    Over heads it is the mean of the weights, and the sum of all else.

    weight_gradient: dp/da (Serrano & Smith 2019)
    product, signed_product: a dp/da, without and with its sign
    value_norm: the length of the vector that the unit adds to the sum, with the output projection
        of all heads (Kobayashi et al. 2020, arxiv.org/abs/2004.10102)
    """
    gradient = weight_gradient(weighted)
    product = (weighted.weights * gradient).sum(1)
    added = (weighted.weights[..., None] * weighted.values).flatten(1)  # units x heads d
    attention = model.network.document_encoder.attention
    if isinstance(attention, MultiHeadAttention):
        added = F.linear(added, attention.output.weight)
    rankings = {
        "attention": weighted.weights.mean(1), "weight_gradient": gradient.sum(1),
        "product": product.abs(), "signed_product": product, "value_norm": added.norm(dim=1),
    }  # fmt: skip
    return {name: ranking.detach().numpy() for name, ranking in rankings.items()}


def gradient_rankings(
    model: Classifier, batch: Batch, documents: list[BatchDocument], has_sum: bool, integrated: bool
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the rankings of each document by gradients: the size of gradient times input.

    With a weighted sum (`has_sum`) its weights are held too, and `integrated` gradients are added.
    """
    by_token: dict[str, torch.Tensor] = {}
    if has_sum:
        by_token["gradient"], by_token[HELD] = gradients_with_weights(model, batch)
    else:
        embeddings = model.network.embed(batch).detach().requires_grad_()
        by_token["gradient"] = times_input(logits_of(model, batch, embeddings), embeddings)
    if integrated:
        by_token["integrated_gradients"] = integrated_gradients(model, batch)
    for i, document in enumerate(documents):
        yield {
            name: _sum_by_unit(scores[i, : len(document.ids)], document).abs().numpy()
            for name, scores in by_token.items()
        }


def _sum_by_unit(scores: torch.Tensor, document: BatchDocument) -> torch.Tensor:
    return torch.zeros(document.units, dtype=scores.dtype).index_add(0, document.unit, scores)


def gradients_with_weights(model: Classifier, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return gradients times input with weights that follow the embeddings, and constant ones.

    The second is the gradient of Jain & Wallace (2019). One pass of the encoder serves both.
    """
    embeddings = model.network.embed(batch).detach().requires_grad_()
    weighted = weighted_sum(model, batch, embeddings)
    through, held = (
        times_input(weighted.predict(weights), embeddings)
        for weights in (weighted.weights, weighted.weights.detach())
    )
    return through, held


def times_input(logits: torch.Tensor, embeddings: torch.Tensor) -> torch.Tensor:
    """Return sum_d e_td dp/de_td of each token, (batch, time), p of the predicted class."""
    gradient = _gradient(logits, embeddings)
    return (gradient * embeddings).sum(-1).detach()


def _gradient(logits: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the predicted class's probability, in the shape of the inputs."""
    probability = torch.softmax(logits, -1).amax(-1).sum()
    return torch.autograd.grad(probability, [inputs], retain_graph=True)[0]


def integrated_gradients(model: Classifier, batch: Batch) -> torch.Tensor:
    """Return the integrated gradients of each token, (batch, time) (Sundararajan et al. 2017).

    The path leads from embeddings of 0 to the document's, by the midpoint rule; their sum is the
    change of the predicted class's probability. (arxiv.org/abs/1703.01365)
    """
    embeddings = model.network.embed(batch).detach()
    predicted = logits_of(model, batch, embeddings).detach().argmax(-1)[:, None]
    total = torch.zeros_like(embeddings)
    for step in range(STEPS):
        point = ((step + 0.5) / STEPS * embeddings).requires_grad_()
        probabilities = torch.softmax(logits_of(model, batch, point), -1)
        (gradient,) = torch.autograd.grad(probabilities.gather(1, predicted).sum(), [point])
        total += gradient / STEPS
    return (total * embeddings).sum(-1)


def weight_gradient(weighted: WeightedSum) -> torch.Tensor:
    """Return dp/da of the predicted class's probability, in the shape of the weights."""
    weights = weighted.weights.detach().requires_grad_()
    return _gradient(weighted.predict(weights), weights)


def logits_of(model: Classifier, batch: Batch, embeddings: torch.Tensor) -> torch.Tensor:
    """Return the logits (batch, classes) of given embeddings (batch, time, embedding_dim)."""
    network = model.network
    vectors = network.encoder(embeddings, network.sequence_lengths(batch))
    return network.classify(vectors)


def leave_one_out(model: Classifier, document: BatchDocument, units: np.ndarray) -> np.ndarray:
    """Return the total variation distance of the prediction without each of `units`, (units,)."""
    predictions = predict_kept(model, document, ~each_alone(units, document.units))
    return total_variation(predictions[:-1], predictions[-1]).numpy()


def replace_one(model: Classifier, document: BatchDocument, units: np.ndarray) -> np.ndarray:
    """Return the change of the prediction as each unit becomes the unknown word, (units,)."""
    replaced = each_alone(units, document.units)[:, document.unit]
    predictions = torch.softmax(predict_replaced(model, document, replaced), -1)
    return total_variation(predictions[:-1], predictions[-1]).numpy()


def each_alone(units: np.ndarray, count: int) -> torch.Tensor:
    """Return a row for each of `units` that is True for it alone, and one without any."""
    chosen = torch.zeros(len(units) + 1, count, dtype=torch.bool)
    chosen[torch.arange(len(units)), torch.from_numpy(units)] = True
    return chosen


def drawn_units(units: int, numbers: np.random.Generator) -> np.ndarray:
    """Return the units that are left out, one at a time: all, or some drawn at random of many."""
    if units <= ALL_UNITS:
        return np.arange(units)
    return np.sort(numbers.choice(units, DRAWN_UNITS, replace=False))


def left_out(model: Classifier, document: BatchDocument, row: int) -> np.ndarray:
    """Return the ranking by leave-one-out; NaN for units not drawn, by the seed `row`."""
    units = drawn_units(document.units, np.random.default_rng((row, POSITIONS)))
    ranking = np.full(document.units, np.nan)
    ranking[units] = leave_one_out(model, document, units)
    return ranking


def judge_documents(
    subject: Subject, rows: np.ndarray, scale: float, report_progress: Callable[[int, int], None]
) -> Iterator[tuple[int, BatchDocument, Prediction]]:
    """Yield the row, the document and the prediction of each of `rows`, the first with most tests.

    The documents have at least one token, and are in the order of their draw; `scale` multiplies
    the sizes of GROUPS.
    """
    has_sum = not no_sum_reason(subject, int(rows[0]))
    done, total = 0, min(len(rows), group_size(GROUPS[-1].end, scale))
    for group, chosen in by_group(rows, scale):
        for batch in subject.encoded.evaluation_batches(chosen):
            yield from _judge_batch(subject.model, batch, has_sum, group)
            done += len(batch.rows)
            report_progress(done, total)


def _judge_batch(
    model: Classifier, batch: Batch, has_sum: bool, group: Group
) -> Iterator[tuple[int, BatchDocument, Prediction]]:
    documents = read_documents(model, batch)
    weighted = adversarial = None
    with torch.no_grad():
        probabilities = torch.softmax(model(batch), -1)
        if has_sum:
            weighted = weighted_sum(model, batch)
    if weighted is not None and group.removes:
        generators = [torch_generator(int(row), ADVERSARIAL) for row in batch.rows]
        adversarial = find_adversarial_weights(weighted, generators)
    gradients = gradient_rankings(model, batch, documents, has_sum, group.integrates)
    for i, (document, rankings) in enumerate(zip(documents, gradients, strict=True)):
        row, units = int(batch.rows[i]), document.units
        numbers = np.random.default_rng((row, ORDERS))
        rankings["random"] = numbers.random(units)
        if group.removes:
            rankings["leave_one_out"] = left_out(model, document, row)
        if group.changes_inputs:
            known = np.flatnonzero(np.isfinite(rankings["leave_one_out"]))
            rankings["replacement"] = np.full(units, np.nan)
            rankings["replacement"][known] = replace_one(model, document, known)
        measures: dict[str, float] = {}
        if weighted is not None:
            rankings |= weight_rankings(model, weighted[i])
            measures = measure_weights(weighted[i], torch_generator(row, PERMUTATIONS))
        found = None
        if adversarial is not None:
            measures |= adversarial.measures(i)
            found = adversarial.weights[i, :units].mean(1).numpy()
        prediction = Prediction(
            units, probabilities[i].numpy(), rankings, measures,
            None if weighted is None else weighted[i], found, numbers,
            functools.partial(predict_kept, model, document) if group.changes_inputs else None,
        )  # fmt: skip
        yield row, document, prediction


# --- adversarial weights --------------------------------------------------------------------------


STARTS, DESCENT_STEPS, RATE = 5, 100, 0.1
EPSILON = 0.01  # total variation distance of the predictions
PENALTY = 500.0  # on the distance above EPSILON
START_STD = 3.0  # of the logarithms of the first weights


class Adversarial(NamedTuple):
    """The most different weights (batch, time, heads) that were found for documents.

    divergence: Jensen-Shannon from the model's weights in nats, mean over heads, (batch,); 0: none
    mean_divergence: of weights averaged over heads, which can be compared with seeds, (batch,)
    change: total variation distance of the predictions, (batch,)
    """

    divergence: torch.Tensor
    mean_divergence: torch.Tensor
    weights: torch.Tensor
    change: torch.Tensor

    def measures(self, index: int) -> dict[str, float]:
        """Return the measures of one document, by their names in docs/internals/contracts.md."""
        return {
            "adversarial_divergence": float(self.divergence[index]),
            "mean_divergence": float(self.mean_divergence[index]),
            "adversarial_change": float(self.change[index]),
        }


def find_adversarial_weights(weighted: Weighted, generators: list[torch.Generator]) -> Adversarial:
    """Return the most different weights with the same prediction, for each document of a batch.

    `weighted` has no gradients. Each document has a generator: its result depends on no other.
    """
    time, heads = weighted.weights.shape[1:]
    padding = padding_mask(weighted.lengths, time)[..., None]
    starts = weighted.weights.new_zeros(STARTS, len(generators), time, heads)
    for i, generator in enumerate(generators):
        length = int(weighted.lengths[i])
        starts[:, i, :length] = torch.randn(STARTS, length, heads, generator=generator)
    logarithms = (START_STD * starts).requires_grad_()
    # without decay it is Adam: torch's own Adam imports its compiler, for 1.6 seconds
    optimizer = AdamW([logarithms], lr=RATE, amsgrad=True, weight_decay=0.0)
    prediction = weighted.predict().softmax(-1).detach()

    def judge() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return weights, their divergence from the model's and the change of the prediction."""
        weights = logarithms.masked_fill(padding, -1e9).softmax(2).masked_fill(padding, 0.0)
        change = total_variation(weighted.predict(weights).softmax(-1), prediction)
        divergence = jensen_shannon(weights, weighted.weights, dim=-2).mean(-1)
        return weights, divergence, change

    for _ in range(DESCENT_STEPS):
        _, divergence, change = judge()
        loss = (PENALTY * F.relu(change - EPSILON) - divergence).sum()
        optimizer.zero_grad()
        (logarithms.grad,) = torch.autograd.grad(loss, [logarithms])
        optimizer.step()
    with torch.no_grad():
        return _best(weighted, *judge())


def _best(
    weighted: Weighted, weights: torch.Tensor, divergence: torch.Tensor, change: torch.Tensor
) -> Adversarial:
    """Return the most divergent candidates within EPSILON; the model's own weights are one."""
    weights = torch.cat([weights, weighted.weights[None]])
    own = torch.zeros_like(divergence[:1])
    divergence = torch.cat([divergence.masked_fill(change > EPSILON, 0.0), own])
    change = torch.cat([change.masked_fill(change > EPSILON, 2.0), own])
    # where no other weights were found, divergences are 0 and the model's own have change 0
    best = (divergence - change * 1e-6).argmax(0)
    rows = torch.arange(len(best))
    found = weights[best, rows]
    apart = divergence_of_means(found, weighted.weights)
    return Adversarial(divergence[best, rows], apart, found, change[best, rows])
