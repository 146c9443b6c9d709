"""What `heed explain` says of translators, where the true class is known."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from heed.explanation import rankings, translations
from heed.explanation.agreement import find_rationale
from heed.explanation.rankings import EPSILON, find_adversarial_weights
from heed.explanation.test import ALL_UNITS, DRAWN_UNITS, total_variation
from heed.explanation.trained_models import step_agreement
from heed.explanation.translations import (
    DRAWN_TARGETS,
    judge_pairs,
    leave_out_sources,
    next_units,
    step_gradients,
)
from heed.files import HeedError
from heed.inputs.pairs import EncodedPairs, PairBatch
from heed.inputs.vocabulary import BOS, EOS, UNKNOWN
from heed.models.dependence import TargetSteps, read_target, target_steps
from heed.models.translator import Translator
from heed.models.translators import make_translator
from tests.makers import translators
from tests.makers.translators import ARCHITECTURE, SOURCES, TARGETS, make_pairs

MODELS = {
    "output": {"decoder": "output", "score": "general", "decoder_layers": 2},
    "input": {"decoder": "input", "score": "additive", "encoder_layers": 2, "decoder_layers": 2,
              "residual": True},
    "input-literal": {"decoder": "input-literal", "tied_readout": True},
    "transformer": {"encoder": "transformer", "decoder": "transformer", "embedding_dim": 6,
                    "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "feed_forward_size": 7},
}  # fmt: skip
ALL = pytest.mark.parametrize("name", MODELS)
# the first and the last step of each pair
PAIRS, POSITIONS = torch.tensor([0, 0, 1, 2, 2]), torch.tensor([0, 1, 0, 0, 3])


def make_model(name: str, dtype: torch.dtype = torch.float64) -> Translator:
    changes = MODELS.get(name, {"decoder": name})
    return translators.make_model(dtype=dtype, **changes).requires_grad_(False)


def make_batch() -> PairBatch:
    return make_pairs(SOURCES, TARGETS, padding=2)


def steps_of(name: str) -> tuple[Translator, PairBatch, TargetSteps]:
    model, batch = make_model(name), make_batch()
    return model, batch, target_steps(model, batch, PAIRS, POSITIONS)


def read(model: Translator, batch: PairBatch, weights: torch.Tensor | None = None):
    """Return the logits of every step, and the weights of each head."""
    memory, state = model.encode(batch.source, batch.source_lengths)
    features, used = read_target(model, batch.target[:, :-1], memory, state, weights)
    return model.logits(features), used


@ALL
def test_steps_with_the_models_own_weights_are_its_predictions(name):
    model, batch, steps = steps_of(name)
    logits, weights = read(model, batch)
    expected = logits[PAIRS, POSITIONS]
    assert torch.allclose(steps.predict(), expected, atol=1e-10)
    # equal but for the order of sums, which differs with the processor
    assert torch.allclose(steps.weights, weights[PAIRS, POSITIONS], rtol=0, atol=1e-14)
    assert torch.allclose(steps.weights.mean(-1), model.weights(batch)[PAIRS, POSITIONS])
    for i in range(len(PAIRS)):
        assert len(steps[i].weights) == len(SOURCES[PAIRS[i]])
        assert torch.allclose(steps[i].predict(), expected[i], atol=1e-10)


@ALL
def test_other_weights_at_one_step_give_the_decoders_own_prediction_with_them(name):
    model, batch, steps = steps_of(name)
    _, own = read(model, batch)
    other = torch.rand(3, *steps.weights.shape, dtype=torch.float64) * (steps.weights > 0)
    other /= other.sum(2, keepdim=True)
    predicted = steps.predict(other)
    for n in range(3):
        for i, (pair, position) in enumerate(zip(PAIRS, POSITIONS, strict=True)):
            given = own.clone()
            given[pair, position] = other[n, i]
            expected = read(model, batch, given)[0][pair, position]
            assert torch.allclose(predicted[n, i], expected, atol=1e-10)
            alone = steps[i].predict(other[:, i, : len(SOURCES[pair])])
            assert torch.allclose(alone, predicted[:, i], atol=1e-10)
    assert not torch.allclose(predicted[0], steps.predict(), atol=1e-3)


def test_a_decoder_without_attention_and_one_in_training_have_no_steps():
    with pytest.raises(HeedError, match="last-state and concatenate have no attention"):
        target_steps(make_model("last-state"), make_batch(), PAIRS, POSITIONS)
    with pytest.raises(ValueError, match="evaluation mode"):
        target_steps(make_model("output").train(), make_batch(), PAIRS, POSITIONS)


@ALL
def test_adversarial_weights_differ_and_hardly_change_the_next_word(name):
    model, batch = make_model(name, torch.float32), make_batch()
    steps = target_steps(model, batch, PAIRS, POSITIONS)
    generators = [torch.Generator().manual_seed(i) for i in range(len(PAIRS))]
    found = find_adversarial_weights(steps, generators)
    logits, own = read(model, batch)
    for i, (pair, position) in enumerate(zip(PAIRS, POSITIONS, strict=True)):
        given = own.clone()
        given[pair, position] = found.weights[i]
        changed = torch.softmax(read(model, batch, given)[0], -1)[pair, position]
        change = total_variation(changed, torch.softmax(logits[pair, position], -1))
        assert float(change) <= EPSILON + 1e-5
    assert (found.divergence >= 0).all() and found.divergence.max() > 0.01


@pytest.mark.parametrize("name", [*MODELS, "last-state", "concatenate"])
def test_leave_one_out_is_the_distance_to_the_sentence_without_the_word(name, monkeypatch):
    model = make_model(name)
    pair = make_pairs(SOURCES[:1], TARGETS[:1])
    words = pair.target[:, :-1]
    changes = leave_out_sources(model, pair, np.array([0, 3]))
    assert changes.shape == (2, 2)
    whole = next_units(model, pair.source, words)[0]
    for column, unit in enumerate((0, 3)):
        rest = [word for i, word in enumerate(SOURCES[0]) if i != unit]
        without = next_units(model, torch.tensor([rest]), words)[0]
        assert np.allclose(changes[:, column], total_variation(without, whole)[:-1], atol=1e-12)
    monkeypatch.setattr(translations, "MAX_PADDED_TOKENS", 1)
    assert np.allclose(leave_out_sources(model, pair, np.array([0, 3])), changes, atol=1e-12)


def test_a_source_of_one_word_without_it_is_an_unknown_word():
    model, pair = make_model("output"), make_pairs([[5]], [[4, 6]])
    words = pair.target[:, :-1]
    whole, empty = (next_units(model, torch.tensor([[word]]), words) for word in (5, UNKNOWN))
    changes = leave_out_sources(model, pair, np.array([0]))
    assert np.allclose(changes[:, 0], total_variation(empty, whole)[0, :-1], atol=1e-12)
    assert changes.min() > 1e-3


@pytest.mark.parametrize("name", [*MODELS, "last-state"])
def test_gradients_are_those_of_finite_differences(name):
    # sum_d e_d dp/de_d is how p changes when the embedding e is scaled
    model, batch = make_model(name), make_batch()
    embedded = model.embed(batch.source)
    _, weights = read(model, batch)
    rankings = {"gradient": None}
    if weights is not None:
        rankings["gradient_held_weights"] = weights
    found = step_gradients(model, batch, PAIRS, POSITIONS)
    assert found.keys() == rankings.keys()

    def probabilities(unit: int, change: float, given) -> torch.Tensor:
        scaled = embedded.clone()
        scaled[:, unit] *= 1 + change
        memory, state = model.read(scaled, batch.source_lengths)
        features, _ = read_target(model, batch.target[:, :-1], memory, state, given)
        return torch.softmax(model.logits(features), -1)[PAIRS, POSITIONS]

    step = 1e-5
    predicted = probabilities(0, 0.0, None).argmax(-1, keepdim=True)
    for name_, given in rankings.items():
        for unit in (0, 2):
            up, down = (probabilities(unit, change, given) for change in (step, -step))
            expected = ((up - down) / (2 * step)).gather(1, predicted)[:, 0].abs()
            assert torch.allclose(found[name_][:, unit], expected, atol=1e-6)


CLASSES, MEMBERS = 4, 3  # of words: a sentence has one word of each class


@pytest.fixture(scope="module")
def solved(fit) -> Translator:
    """Return a model that has learned to translate `reordered` sentences."""
    torch.manual_seed(1)
    h = dataclasses.replace(
        ARCHITECTURE, decoder="output", score="dot", embedding_dim=16,
        hidden_size=32, dropout=0.0,
    )  # fmt: skip
    model = make_translator(16, 16, h)

    def loss() -> torch.Tensor:
        batch = reordered(32)[0]
        return model.loss(batch) / batch.predicted_tokens

    return fit(model, loss, 80)


def reordered(count: int) -> tuple[PairBatch, torch.Tensor]:
    """Return sentences in any order whose translations stand in the order of the classes.

    Each word has one translation. The second value is the class of each source word."""
    words = 4 + MEMBERS * torch.arange(CLASSES) + torch.randint(MEMBERS, (count, CLASSES))
    order = torch.rand(count, CLASSES).argsort(1)
    ends = [torch.full((count, 1), index) for index in (BOS, EOS)]
    target = torch.cat([ends[0], 19 - words, ends[1]], 1)
    lengths = [torch.full((count,), size) for size in (CLASSES, CLASSES + 2)]
    source = words.gather(1, order)
    return PairBatch(source, lengths[0], target, lengths[1], np.arange(count)), order


def test_leave_one_out_finds_the_alignment_of_a_solved_model(solved, monkeypatch):
    monkeypatch.setattr(rankings, "DESCENT_STEPS", 2)
    torch.manual_seed(2)
    batch, classes = reordered(100)
    targets = [target[1:-1] for target in batch.target.numpy()]
    encoded = EncodedPairs(batch.rows, [*batch.source.numpy()], targets)
    done = []
    pairs = [*judge_pairs(solved, encoded, batch.rows, 1.0, lambda *at: done.append(at))]
    assert done[-1] == (100, 100) and sorted(pair.row for pair in pairs) == [*range(100)]
    right, aucs = [], {"leave_one_out": [], "random": []}
    for pair in pairs:
        assert len(pair.steps) == DRAWN_TARGETS
        for position, step in pair.steps.items():
            right.append(step.probabilities.argmax() == pair.target[position])
            rationale = (classes[pair.row] == position).numpy()
            for ranking, found in aucs.items():
                found.append(find_rationale(step.rankings[ranking], rationale, 0.25).auc)
    assert np.mean(right) >= 0.99 and np.mean(aucs["leave_one_out"]) >= 0.95
    assert np.mean(aucs["random"]) == pytest.approx(0.5, abs=0.05)


def test_a_long_source_leaves_out_words_drawn_at_random(monkeypatch):
    monkeypatch.setattr(rankings, "DESCENT_STEPS", 2)
    model, length = make_model("output", torch.float32), ALL_UNITS + 1
    source, target = np.resize(np.arange(4, 30), length), np.array([4, 5, 6])
    encoded = EncodedPairs(np.array([7]), [source], [target])
    (pair,) = judge_pairs(model, encoded, np.array([7]), 1.0, lambda *_: None)
    known = np.isfinite(pair.matrices["leave_one_out"])
    assert known.sum(1).tolist() == [DRAWN_UNITS] * 3 and (known == known[0]).all()


def test_seeds_are_compared_at_the_steps_that_both_have():
    units = pd.DataFrame({
        "seed": [1, 1, 2, 2, 1, 1, 2], "id": "a", "target": [0, 0, 0, 0, 1, 1, 1],
        "unit": [0, 1, 0, 1, 0, 1, 0], "attention": [1.0, 0.0, 0.0, 1.0, 0.5, 0.5, 1.0],
    })  # fmt: skip
    next_words = pd.DataFrame({
        "seed": [1, 1, 2, 1, 2], "id": "a", "target": [0, 0, 0, 1, 1],
        "word": ["x", "y", "x", "x", "x"], "p": [0.75, 0.25, 1.0, 1.0, 1.0],
    })  # fmt: skip
    agreement = step_agreement(units, next_words)
    assert agreement[["seed", "other_seed", "id", "target"]].to_numpy().tolist() == [[1, 2, "a", 0]]
    row = agreement.iloc[0]
    assert row["change"] == pytest.approx(0.25) and row["max_weight"] == 1
    assert row["divergence"] == pytest.approx(np.log(2), abs=1e-6)
    assert step_agreement(units, next_words[next_words["seed"] == 1]).empty
