"""What the tests of `heed explain` say where the true class is known."""

import dataclasses
import functools
import itertools

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import entropy
from sklearn.metrics import average_precision_score, roc_auc_score

from heed.explanation import interventions
from heed.explanation.agreement import areas, find_rationale, match_spans, rank_correlation
from heed.explanation.rankings import (
    EPSILON,
    BatchDocument,
    find_adversarial_weights,
    gradient_rankings,
    gradients_with_weights,
    integrated_gradients,
    keep_units,
    leave_one_out,
    logits_of,
    predict_kept,
    read_documents,
    replace_one,
    weight_gradient,
    weight_rankings,
)
from heed.explanation.test import (
    Prediction,
    descending,
    divergence_of_means,
    jensen_shannon,
    total_variation,
)
from heed.explanation.trained_models import seed_agreement
from heed.inputs.batches import Bags, Batch
from heed.models.classifier import Classifier, WeightedSum, weighted_sum
from tests.makers.classifiers import batch_for, make

ATTENTION = {"attention": "none", "pooling": "attention"}
UNIFORM = [{"attention": "none", "pooling": "mean"}, {"attention": "uniform", "pooling": "mean"}]
HEADS = {"attention": "multi-head", "pooling": "mean"}
SENTENCES = {"attention": "none", "pooling": "attention", "hierarchical": True}
LENGTHS = (9, 7, 4, 2)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def frozen(**changes) -> Classifier:
    return make(**changes).requires_grad_(False)


def sum_of(values: list[float], weights: list[float]) -> WeightedSum:
    """Return a document of one head with these values; the logits are GELU(z) and 0.1."""
    output = torch.nn.Linear(1, 2).double().requires_grad_(False)
    output.weight.copy_(torch.tensor([[1.0], [0.0]]))
    output.bias.copy_(torch.tensor([0.0, 0.1]))
    numbers, zero = torch.tensor(values).double()[:, None, None], torch.zeros(1).double()
    return WeightedSum(
        numbers, torch.tensor(weights).double()[:, None], torch.tensor(len(values)), numbers, zero,
        output,
    )  # fmt: skip


def test_distances_are_scipys_and_have_gradients_at_zero():
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.0, 0.25, 0.75])
    middle = (p + q) / 2
    expected = (entropy(p, middle) + entropy(q, middle)) / 2
    assert float(jensen_shannon(p, q)) == pytest.approx(expected, abs=1e-6)
    assert float(total_variation(p, q)) == pytest.approx(0.75)
    apart = jensen_shannon(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    assert float(apart) == pytest.approx(np.log(2), abs=1e-6)
    q = q.requires_grad_()
    (gradient,) = torch.autograd.grad(jensen_shannon(p, q), [q])
    assert gradient.isfinite().all()


@pytest.mark.parametrize("changes", UNIFORM)
def test_uniform_weights_can_be_permuted_without_any_effect(changes):
    model = frozen(**changes).float()
    whole = weighted_sum(model, batch_for(model))
    for i in range(3):
        permuted = interventions.permute_weights(whole[i], generator())
        assert set(permuted.values()) == {0}


def test_permuted_weights_change_the_prediction_as_much_as_all_orders_do():
    weighted = sum_of([3.0, -1.0, 0.5], [0.8, 0.1, 0.1])
    orders = [list(order) for order in itertools.permutations(range(3))]
    predictions = torch.softmax(weighted.predict(weighted.weights[torch.tensor(orders)]), -1)
    prediction = torch.softmax(weighted.predict(), -1)
    changes = total_variation(predictions, prediction)
    flips = (predictions.argmax(-1) != prediction.argmax(-1)).double().mean()
    permuted = interventions.permute_weights(weighted, generator(), 6000)
    median = float(changes.sort().values[3])
    assert permuted["permutation_change"] == pytest.approx(median, abs=1e-6)
    assert permuted["permutation_flips"] == pytest.approx(float(flips), abs=0.03)
    assert {*interventions.permute_weights(sum_of([3.0], [1.0]), generator()).values()} == {0}


def test_adversarial_weights_differ_and_keep_the_prediction_in_any_batch():
    model = frozen(**HEADS)
    whole = weighted_sum(model, batch_for(model, LENGTHS))
    found = find_adversarial_weights(whole, [generator(i) for i in range(4)])
    assert (found.change <= EPSILON).all() and (found.divergence[:2] > 0.2).all()
    assert torch.allclose(found.weights.sum(1), torch.ones(4, 3, dtype=torch.float64))
    assert (found.weights[1, 7:] == 0).all()
    again, before = (torch.softmax(whole.predict(each), -1) for each in (found.weights, None))
    assert torch.allclose(total_variation(again, before), found.change)
    divergence = jensen_shannon(found.weights, whole.weights, dim=1).mean(-1)
    assert torch.allclose(divergence, found.divergence)
    for i, length in enumerate(LENGTHS):
        apart = divergence_of_seeds(whole.weights[i, :length], found.weights[i, :length])
        assert float(found.mean_divergence[i]) == pytest.approx(apart, abs=1e-6)
    alone = weighted_sum(model, batch_for(model, LENGTHS[:1]))
    again = find_adversarial_weights(alone, [generator(0)])
    assert torch.allclose(again.divergence, found.divergence[:1], atol=1e-3)


def test_a_single_word_has_no_other_weights():
    model = frozen(**ATTENTION)
    found = find_adversarial_weights(weighted_sum(model, batch_for(model, (1,))), [generator()])
    assert float(found.divergence) == pytest.approx(0, abs=1e-9) and float(found.weights[0, 0]) == 1


def divergence_of_seeds(first: torch.Tensor, second: torch.Tensor) -> float:
    """Return the divergence of two seeds with these weights (units, heads) of one document."""
    tables = [
        pd.DataFrame({"seed": seed, "id": "a", "attention": weights.mean(1).numpy()})
        for seed, weights in enumerate((first, second))
    ]
    documents = pd.DataFrame({"seed": [0, 1], "id": "a", "p": 1.0})
    return float(seed_agreement(pd.concat(tables), documents, ["p"])["divergence"].iloc[0])


def test_two_heads_that_exchange_their_weights_agree_as_two_seeds_would():
    weights = torch.tensor([[0.9, 0.2], [0.1, 0.8]])
    assert float(jensen_shannon(weights, weights.flip(1), dim=0).mean()) > 0.2
    assert float(divergence_of_means(weights, weights.flip(1))) == pytest.approx(0, abs=1e-6)
    assert divergence_of_seeds(weights, weights.flip(1)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("changes", [ATTENTION, HEADS])
def test_all_removals_at_once_are_those_one_by_one(changes):
    model = frozen(**changes)
    for i in range(3):
        weighted = weighted_sum(model, batch_for(model, LENGTHS))[i]
        units = len(weighted.weights)
        for seed in range(5):
            ranking = np.random.default_rng(seed).random(units)
            weights, expected = weighted.weights.clone(), (1.0, False)
            for k, unit in enumerate(np.argsort(-ranking)[:-1].tolist(), 1):
                weights[unit] = 0
                logits = weighted.predict(weights / weights.sum(0))
                if logits.argmax() != weighted.predict().argmax():
                    expected = (k / units, True)
                    break
            assert interventions.remove_until_flip(weighted, ranking) == expected


def test_the_other_weight_that_is_removed_is_any_but_the_highest():
    def removed(weighted: WeightedSum, count: int) -> list[dict[str, float]]:
        test = interventions.SingleErasure()
        return [test.measure_weights(weighted, generator(seed)) for seed in range(count)]

    singles = removed(sum_of([-3.0, 5.0, -3.0], [0.2, 0.6, 0.2]), 20)
    assert all(single["top_flips"] and not single["other_flips"] for single in singles)
    assert all(single["removal_difference"] > 0 for single in singles)
    assert not any(single["other_flips"] for single in removed(sum_of([5.0, -3.0], [0.6, 0.4]), 5))


def test_conicity_is_one_for_equal_vectors_and_lower_for_others():
    model = frozen(**ATTENTION)
    weighted = weighted_sum(model, batch_for(model))[0]
    equal = dataclasses.replace(weighted, values=weighted.values[:1].expand(9, -1, -1))
    measure = interventions.Conicity().measure_weights
    conicities = [measure(each, generator())["conicity"] for each in (weighted, equal)]
    mean = F.cosine_similarity(weighted.values[:, 0], weighted.values[:, 0].mean(0)[None])
    assert conicities == pytest.approx([float(mean.mean()), 1]) and conicities[0] < 1


@pytest.mark.parametrize("changes", [ATTENTION, HEADS, SENTENCES])
def test_gradients_are_finite_differences(changes):
    model = frozen(**changes)
    batch = batch_for(model, (6,))
    embeddings = model.network.embed(batch)
    predicted = int(logits_of(model, batch, embeddings).argmax())
    assert torch.allclose(logits_of(model, batch, embeddings), model(batch))

    def probability(scale: torch.Tensor) -> float:
        logits = logits_of(model, batch, embeddings * scale[:, None])
        return float(torch.softmax(logits, -1)[0, predicted])

    # d p / d e_t . e_t is the change of p as e_t is scaled
    steps = 1e-5 * torch.eye(embeddings.shape[1], dtype=torch.float64)
    expected = [(probability(1 + step) - probability(1 - step)) / 2e-5 for step in steps]
    through, held = gradients_with_weights(model, batch)
    assert torch.allclose(through[0], torch.tensor(expected).double(), atol=1e-8)
    assert not torch.allclose(held, through)


def test_weights_that_do_not_depend_on_the_input_have_one_gradient_also_without_a_sum():
    model = frozen(**UNIFORM[1])
    batch = batch_for(model)
    through, held = gradients_with_weights(model, batch)
    assert torch.allclose(through, held, atol=1e-12)
    documents = read_documents(model, batch)
    for document, rankings in zip(
        documents, gradient_rankings(model, batch, documents, False, False), strict=True
    ):
        of_tokens = through[document.index, : document.units].abs()
        assert np.allclose(rankings["gradient"], of_tokens)


def test_integrated_gradients_add_up_to_the_change_of_the_probability():
    model = frozen(**ATTENTION)
    batch = batch_for(model, LENGTHS)
    embeddings = model.network.embed(batch)
    whole, empty = (logits_of(model, batch, x).softmax(-1) for x in (embeddings, 0 * embeddings))
    change = (whole - empty).gather(1, whole.argmax(-1, keepdim=True)).squeeze(1)
    assert torch.allclose(integrated_gradients(model, batch).sum(1), change, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [ATTENTION, HEADS, SENTENCES])
def test_integrated_gradients_are_captums(changes):
    captum = pytest.importorskip("captum.attr", reason="captum is a development dependency")
    model = frozen(**changes)
    batch = batch_for(model, (9,))
    embeddings = model.network.embed(batch)

    def predict(points: torch.Tensor) -> torch.Tensor:
        read = [k for k in ("ids", "lengths", "sentences") if getattr(batch, k) is not None]
        copies = {each: getattr(batch, each).repeat_interleave(len(points), 0) for each in read}
        return logits_of(model, dataclasses.replace(batch, **copies), points).softmax(-1)

    target, steps = int(predict(embeddings).argmax()), {"n_steps": 32, "method": "riemann_middle"}
    expected = captum.IntegratedGradients(predict).attribute(embeddings, target=target, **steps)
    assert torch.allclose(integrated_gradients(model, batch), expected.sum(-1), atol=1e-12)


def test_the_gradient_of_a_weight_is_a_finite_difference():
    model = frozen(**HEADS)
    weighted = weighted_sum(model, batch_for(model))[0]
    gradient = weight_gradient(weighted)
    predicted = int(weighted.predict().argmax())
    for unit, head in ((0, 0), (4, 2)):
        step = torch.zeros_like(weighted.weights)
        step[unit, head] = 1e-6
        changed = (weighted.predict(weighted.weights + each) for each in (step, -step))
        high, low = (torch.softmax(logits, -1)[predicted] for logits in changed)
        assert float(gradient[unit, head]) == pytest.approx(float(high - low) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("changes", [ATTENTION, HEADS])
def test_the_norm_of_what_a_unit_adds_is_that_of_its_part_of_the_sum(changes):
    model = frozen(**changes)
    weighted = weighted_sum(model, batch_for(model))[0]
    rankings = weight_rankings(model, weighted)
    assert np.allclose(rankings["attention"], weighted.weights.mean(1))
    attention = model.network.document_encoder.attention
    for unit in range(3):
        split = (weighted.weights[unit][:, None] * weighted.values[unit]).flatten()
        if attention is not None:
            split = attention.output.weight @ split
        assert rankings["value_norm"][unit] == pytest.approx(float(split.norm()))


KINDS = [ATTENTION, HEADS, SENTENCES, {**ATTENTION, "character_buckets": 5}]


@pytest.mark.parametrize("changes", KINDS)
def test_a_shortened_document_is_read_as_the_document_without_its_units(changes):
    model = frozen(**changes)
    batch = batch_for(model, LENGTHS)
    batch = with_ngrams(model, batch)
    documents = read_documents(model, batch)
    document = documents[1]
    assert document.units == (3 if changes.get("hierarchical") else 7)
    whole = torch.ones(1, document.units, dtype=torch.bool)
    expected = torch.softmax(model(batch), -1)[1]
    assert torch.allclose(predict_kept(model, document, whole)[0], expected, atol=1e-10)
    kept = torch.cat([whole, whole])
    kept[0, 1] = kept[1, 0] = kept[1, 2] = False
    copies = keep_units(model.network, document, kept)
    for i, mask in enumerate(kept):
        ids = document.ids[mask[document.unit]]
        assert copies.ids[i, : len(ids)].tolist() == ids.tolist()
        assert (copies.ids[i, len(ids) :] == 0).all() and int(copies.lengths[i]) == len(ids)
        alone = Batch(ids[None], torch.tensor([len(ids)]), np.zeros(1, np.int64))
        if copies.sentences is not None:
            lengths = torch.bincount(document.unit)[mask]
            alone = dataclasses.replace(alone, sentences=lengths[None])
        logits = model.network(with_ngrams(model, alone))
        prediction = predict_kept(model, document, kept)[i]
        assert torch.allclose(prediction, torch.softmax(logits, -1)[0], atol=1e-10)


def with_ngrams(model: Classifier, batch: Batch) -> Batch:
    """Return the batch with the n-grams that the model reads; a word's characters depend on it."""
    if model.network.embedding.character is not None:
        bags = Bags(torch.tensor([0, 3, 4, 1, 2]), torch.tensor([0, 2, 3]))
        batch = dataclasses.replace(batch, characters=bags, character_of=batch.ids % 3)
    return batch


def test_leave_one_out_and_replacement_are_predictions_without_a_unit():
    model = frozen(**ATTENTION)
    batch = batch_for(model, LENGTHS)
    document = read_documents(model, batch)[1]
    prediction = torch.softmax(model(batch), -1)[1]
    for unit in (0, 6):
        kept = torch.ones(1, 7, dtype=torch.bool)
        kept[0, unit] = False
        change = total_variation(predict_kept(model, document, kept)[0], prediction)
        assert leave_one_out(model, document, np.array([unit]))[0] == pytest.approx(float(change))
        ids = batch.ids.clone()
        ids[1, unit] = 1
        replaced = torch.softmax(model(dataclasses.replace(batch, ids=ids)), -1)[1]
        change = total_variation(replaced, prediction)
        values = replace_one(model, document, np.array([unit]))
        assert values[0] == pytest.approx(float(change))


def faithfulness(
    model: Classifier, document: BatchDocument, **rankings: np.ndarray
) -> dict[str, dict[str, float]]:
    """Return comprehensiveness and sufficiency of each ranking."""
    prediction = Prediction(
        document.units, np.empty(0), rankings, {}, None, None, np.random.default_rng(0),
        functools.partial(predict_kept, model, document),
    )  # fmt: skip
    return interventions.InputRemoval().measure_rankings(prediction, np.empty(0), 0)


def test_comprehensiveness_and_sufficiency_are_the_falls_without_and_with_the_top_alone():
    model = frozen(**ATTENTION)
    document = read_documents(model, batch_for(model, LENGTHS))[0]  # of nine tokens
    ranking = np.random.default_rng(1).random(9)
    order = np.argsort(-ranking)
    kept = torch.ones(11, 9, dtype=torch.bool)
    for i, count in enumerate((1, 1, 1, 2, 5)):
        kept[1 + i, order[:count].copy()] = False
        kept[6 + i] = ~kept[1 + i]
    predictions = predict_kept(model, document, kept)
    falls = predictions[0].max() - predictions[1:, predictions[0].argmax()]
    outcome = faithfulness(model, document, attention=-ranking, gradient=ranking)["gradient"]
    assert [*outcome.values()] == pytest.approx([float(falls[:5].mean()), float(falls[5:].mean())])


def test_a_correlation_reads_the_units_that_both_rankings_have():
    nan = float("nan")
    assert rank_correlation(np.array([1.0, 2, 3, nan]), np.array([1.0, 3, nan, 9])) == 1
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == -1
    assert np.isnan(rank_correlation(np.ones(3), np.arange(3.0)))
    assert np.isnan(rank_correlation(np.array([1.0, nan]), np.array([1.0, 2])))


def test_areas_are_scikit_learns_with_ties():
    numbers = np.random.default_rng(0)
    for _ in range(50):
        scores = numbers.integers(0, 6, 20).astype(float)
        right = numbers.random(20) < 0.3
        right[:2] = True, False
        expected = roc_auc_score(right, scores), average_precision_score(right, scores)
        assert areas(scores, right) == pytest.approx(expected)


def test_rationale_is_found_by_tokens_and_by_spans():
    rationale = np.array([0, 1, 1, 0, 0, 1, 1, 0], bool)
    ranking = np.array([0.1, 0.9, 0.8, 0.0, 0.0, 0.7, 0.0, 0.6])
    score = find_rationale(ranking, rationale, 0.5)
    assert score.token_f1 == 0.75
    # {1, 2} matches; {5} and {7} are of one word, and all spans of rationale are longer
    assert score.span_f1 == pytest.approx(2 / 3)
    assert score.concentration == pytest.approx(2.4 / 3.1 * 2)
    assert match_spans(np.array([(0, 2), (4, 5)]), np.array([(0, 1), (4, 8)])) == pytest.approx(0.5)
    assert find_rationale(ranking, np.zeros(8, bool), 0.5) is None
    drawn = find_rationale(np.where(np.arange(8) < 4, ranking, np.nan), rationale, 0.5)
    assert drawn.auc == 1 and np.isnan(drawn.token_f1)
    assert np.isnan(find_rationale(ranking - 0.5, rationale, 0.5).concentration)


def test_equal_weights_do_not_find_what_stands_first():
    """A control ranks no word before another: in reading order it would find the first sentence."""
    rationale = np.arange(60) < 27  # as in sst-wiki, where the sentence of the label comes first
    found = find_rationale(np.full(60, 1 / 60), rationale, 0.45)
    assert found.auc == 0.5 and found.token_f1 < 0.65 and found.span_f1 < 0.5
    order = descending(np.array([1.0, 3.0, 2.0, 3.0]))
    assert {*order[:2].tolist()} == {1, 3} and order[2:].tolist() == [2, 0]
    assert descending(np.ones(9)).tolist() != sorted(range(9))
    assert descending(np.ones(9)).tolist() == descending(np.zeros(9)).tolist()
