"""Recency: where a model looks, and what noise does to it, where the true class is known."""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from heed.explanation import recency
from heed.explanation.rankings import Subject
from heed.files import HeedError
from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import UNKNOWN, build_vocabulary
from heed.models.classifier import Classifier
from heed.tokens.arrays import MarkedTokens, Tokens, load_tokens
from tests.conftest import HYPERPARAMETERS, write_tokens
from tests.makers.classifiers import batch_for, make

WORDS = [f"w{i}" for i in range(12)]
CUES = {"good": "fine", "bad": "poor"}
PLAIN = {"attention": "none", "embedding_dropout": 0.0, "dropout": 0.0, "hidden_size": 8,
         "max_tokens": 24}  # fmt: skip
ATTENTION = {"attention": "none", "pooling": "attention"}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokens, Tokens]:
    """Return documents one of whose last three words decides, and others that decide nothing.

    A good document has the word "fine", which is marked as rationale, and a bad one "poor"."""
    folder = tmp_path_factory.mktemp("recency")
    numbers = np.random.default_rng(0)
    labels = [("good", "bad")[i % 2] for i in range(400)]
    texts = [[*numbers.choice(WORDS, numbers.integers(10, 20))] for _ in labels]
    for text, label in zip(texts, labels, strict=True):
        text[-numbers.integers(1, 4)] = CUES[label]
    splits = [("train", "train", "validation", "test")[i // 2 % 4] for i in range(400)]
    write_tokens(folder / "cues", texts, labels, splits)
    others = [[*numbers.choice([*WORDS[:6], "new", "fine"], 7)] for _ in range(20)]
    write_tokens(folder / "words", others, ["a"] * 20, ["train"] * 15 + ["test"] * 5)
    return load_tokens(folder / "cues"), load_tokens(folder / "words")


def subject_for(tokens: Tokens, **changes) -> Subject:
    h = dataclasses.replace(HYPERPARAMETERS, **PLAIN | changes)
    vocabulary = build_vocabulary(tokens, tokens.rows("train", 0), h.vocabulary_size, h.lowercase)
    torch.manual_seed(0)
    model = Classifier(len(vocabulary), 2, h).eval().requires_grad_(False)
    return Subject(model, EncodedCorpus(tokens, vocabulary, h))


@pytest.fixture(scope="module")
def solved(corpora, fit) -> dict[str, Subject]:
    """Return models that have learned to tell the labels."""

    def solve(pooling: str) -> Subject:
        tokens, numbers = corpora[0], np.random.default_rng(0)
        subject = subject_for(tokens, pooling=pooling, word_dropout=0.05)

        def loss() -> torch.Tensor:
            rows = numbers.choice(tokens.rows("train", 0), 64)
            logits = subject.model(subject.encoded.batch(rows))
            return F.cross_entropy(logits, torch.from_numpy(rows % 2))

        fit(subject.model, loss)
        return subject

    return {pooling: solve(pooling) for pooling in ("last", "max")}


def test_noise_after_the_rationale_confuses_the_last_state_and_not_the_maximum(solved, corpora):
    tokens, others = corpora
    noise, rows = recency.Noise(others, others.rows("train", 0)), tokens.rows("test", 0)
    accuracies = {}
    for name, subject in solved.items():
        classes, unknown = recency.predict_with_noise(subject, tokens, noise, rows, HYPERPARAMETERS)
        table = recency.noise_table(classes == (rows % 2)[:, None], unknown).set_index("measure")
        accuracies[name] = table.loc["noise"].set_index("at")["mean"]
        lost = accuracies[name]["none"] - accuracies[name]["both 4"]
        assert table.loc["accuracy_lost", "mean"] == pytest.approx(lost)
    assert accuracies["last"]["none"] == accuracies["max"]["none"] == 1
    assert accuracies["last"]["right 4"] < 0.6 and accuracies["last"]["left 4"] > 0.95
    assert accuracies["max"].min() > 0.95


def test_noise_is_the_same_words_on_each_side_without_rationale_and_cuts_no_text(corpora):
    tokens, others = corpora
    subject = subject_for(tokens, pooling="last", max_tokens=12, truncation="ends")
    noise, rows = recency.Noise(others, others.rows("train", 0)), tokens.rows("test", 0)
    noisy, unknown = recency.add_noise(subject.encoded, tokens, noise, rows, HYPERPARAMETERS)
    words = subject.encoded.vocabulary.words
    for i, row in enumerate(rows[:20].tolist()):
        batch = noisy.batch(np.arange(7 * i, 7 * i + 7))
        texts = dict(zip(recency.NOISES, (ids[ids > 0].tolist() for ids in batch.ids), strict=True))
        text = subject.encoded.batch(np.array([row])).ids[0].tolist()
        size = len(text)
        drawn = texts["right 4"][size:]
        assert size <= 12 and len(drawn) == 4 * size
        assert texts == {
            "none": text, "left 1": drawn[:size] + text, "right 1": text + drawn[:size],
            "both 1": drawn[: size // 2] + text + drawn[size // 2 : size], "left 4": drawn + text,
            "right 4": text + drawn, "both 4": drawn[: 2 * size] + text + drawn[2 * size :],
        }  # fmt: skip
        assert {words[i] for i in drawn} <= {*WORDS[:6], "<unknown>"}, "fine is rationale"
        assert unknown[i] == pytest.approx(np.mean(np.array(drawn) == UNKNOWN))
    assert 0.05 < unknown.mean() < 0.3, "one word of seven is new"


def test_noise_has_its_own_sentences(corpora):
    tokens, others = corpora
    subject = subject_for(tokens, pooling="attention", hierarchical=True)
    h = dataclasses.replace(HYPERPARAMETERS, hierarchical=True)
    noise, rows = recency.Noise(others, others.rows("train", 0)), tokens.rows("test", 0)[:3]
    batch = recency.add_noise(subject.encoded, tokens, noise, rows, h)[0].batch(np.arange(7))
    lengths = ([*filter(None, row)] for row in batch.sentences.tolist())
    sentences = dict(zip(recency.NOISES, lengths, strict=True))
    text = subject.encoded.batch(rows[:1]).sentences[0].tolist()
    assert sentences["none"] == text == sentences["right 1"][: len(text)]
    left = sentences["left 4"]
    assert left[-len(text) :] == text and sum(left) == 5 * sum(text)
    assert max(left) <= 4, "a document of noise begins a sentence, and has a new one every 4 words"


def test_a_documents_noise_does_not_depend_on_the_others(corpora):
    others = corpora[1]
    noise = recency.Noise(others, others.rows("train", 0))
    assert noise.draw(3, 20).tolist() == noise.draw(3, 60)[:, :20].tolist()
    assert noise.draw(3, 20).tolist() != noise.draw(4, 20).tolist()
    assert noise.draw(3, 500).shape == (2, 500), "a small corpus is read more than once"
    known = {others.lexicon[i] for i in noise.draw(3, 500)[0].tolist()}
    assert known == {*WORDS[:6], "new"}
    with pytest.raises(HeedError, match="no training document has a word outside its rationale"):
        recency.Noise(others, np.array([], np.int64))


def test_a_model_that_knows_positions_reads_no_noise_beyond_its_cap(corpora):
    subject = subject_for(corpora[0], pooling="mean", max_tokens=60)
    rows = np.arange(40)
    lengths = subject.encoded.lengths(rows)
    h = dataclasses.replace(HYPERPARAMETERS, **PLAIN | {"max_tokens": 60})
    assert recency.fitting_rows(subject.encoded, h, rows).tolist() == rows.tolist()
    for knows in ({"encoder": "transformer"}, {"pooling": "attention", "score": "location"}):
        known = recency.fitting_rows(subject.encoded, dataclasses.replace(h, **knows), rows)
        assert known.tolist() == rows[lengths <= 12].tolist() and 0 < len(known) < 40


def test_the_tenth_of_the_only_rationale_has_importance_1(solved, corpora):
    rationale, done = MarkedTokens(corpora[0]), []
    rows = np.array([row for row in corpora[0].rows("test", 0) if rationale.mask(row).any()])
    measured = recency.measure_recency(solved["max"], rows, done.append)
    assert done[-1] == len(rows) and sorted(measured.rows) == sorted(rows)
    for row, importance in zip(measured.rows.tolist(), measured.importance, strict=True):
        mask = rationale.mask(row)
        (tenth,) = recency.tenths(len(mask))[mask]
        assert importance[tenth] == 1 and np.delete(importance, tenth).max() < 1


def without_gradients(importance: list[np.ndarray]) -> recency.Recency:
    count = len(importance)
    return recency.Recency(np.arange(count), np.array(importance), np.full((count, 2), np.nan))


def test_the_table_has_importance_rationale_and_their_ratio_by_tenth():
    first, second = np.zeros(20, bool), np.zeros(10, bool)
    first[[18, 19]] = second[[4, 9]] = True
    assert recency.rationale_by_tenth(first).tolist() == [0] * 9 + [1]
    assert recency.rationale_by_tenth(second).tolist() == [0] * 4 + [0.5] + [0] * 4 + [0.5]
    assert [*map(recency.mean_place, (first, second, np.ones(11, bool)))] == [9, 7, 5]
    nan, rising = np.nan, np.arange(1, 11) / 10
    importance = np.stack([rising, rising[::-1], np.full(10, nan), rising])
    gradients = np.array([[4.0, 1.0], [2.0, 0.0], [3.0, 2.0], [nan, nan]])
    measured = recency.Recency(np.arange(4), importance, gradients)
    table = recency.positions_table(measured, {0: first, 1: second, 2: first}, 6)
    rows = table.set_index(["measure", "at"])
    means = {
        ("short", ""): 2 / 6,
        ("importance", "9"): (1 + 0.1 + 1) / 3,
        ("last_minus_middle", ""): (0.45 - 0.45 + 0.45) / 3,
        ("rationale_share", "9"): 0.75,
        ("vanishing_ratio", ""): 3,  # of the means: (4 + 2 + 3) / (1 + 0 + 2)
    }
    assert {key: rows.loc[key, "mean"] for key in means} == pytest.approx(means)
    assert rows.loc[("importance", "9"), "documents"] == 3
    assert rows.loc[("vanishing_ratio", ""), "documents"] == 3
    assert "importance_by_rationale" not in set(table["measure"]), "of two documents: too few"
    places = recency.places_table({0: first, 1: second, 2: first}, {0: True, 1: True, 2: False})
    places = places[["at", "mean", "documents"]]
    assert places.to_numpy().tolist() == [["7", 1.0, 1], ["9", 0.5, 2]]


def test_importance_that_follows_the_rationale_is_even_where_enough_documents_have_some():
    numbers, rationale = np.random.default_rng(0), {}
    for row in range(120):
        length = int(numbers.integers(20, 60))
        place = int(length * row / 200)  # few in the last tenths
        rationale[row] = np.zeros(length, bool)
        rationale[row][place : place + 1 + place // 4] = True  # the later, the longer
        rationale[row][-1] |= row < recency.MIN_DOCUMENTS - 1
    shares = np.stack([recency.rationale_by_tenth(mask) for mask in rationale.values()])
    counts = (shares > 0).sum(0)
    known = (counts >= recency.MIN_DOCUMENTS) & (shares.mean(0) >= recency.MIN_SHARE)
    measured = without_gradients([share / share.max() for share in shares])
    table = recency.positions_table(measured, rationale, 120).set_index("measure")
    even = table.loc["importance_by_rationale"]
    assert even["mean"].to_numpy() == pytest.approx(1), "whatever the length of the rationale"
    assert even["at"].tolist() == [str(tenth) for tenth in np.flatnonzero(known)]
    assert even["documents"].tolist() == counts[known].tolist() and known.sum() >= 5
    assert "9" not in set(even["at"]) and counts[9] == recency.MIN_DOCUMENTS - 1


def test_a_tenth_with_next_to_no_rationale_has_no_quotient():
    """Importance that is spread evenly would look like a bias towards it."""
    rationale = {row: np.arange(50) < 40 for row in range(120)}
    for row in range(40):
        rationale[row][45] = True
    table = recency.positions_table(without_gradients([np.ones(10)] * 120), rationale, 120)
    table = table.set_index("measure")
    assert table.loc["importance_by_rationale"]["at"].tolist() == [str(i) for i in range(8)]
    assert table.loc["rationale_share"].set_index("at")["mean"]["9"] < recency.MIN_SHARE


def unrolled(lstm: torch.nn.LSTM, inputs: torch.Tensor) -> list[torch.Tensor]:
    """Return the states of an LSTM for one text (time, input_size), one step at a time."""
    state = cell = torch.zeros(lstm.hidden_size, dtype=inputs.dtype)
    states = []
    for step in inputs:
        gates = lstm.weight_ih_l0 @ step + lstm.bias_ih_l0
        gates = gates + lstm.weight_hh_l0 @ state + lstm.bias_hh_l0
        entry, forget, candidate, exit_ = gates.chunk(4)
        cell = forget.sigmoid() * cell + entry.sigmoid() * candidate.tanh()
        state = (exit_.sigmoid() * cell.tanh()).requires_grad_()
        states.append(state)
    return states


@pytest.mark.parametrize("changes", [
    {"attention": "none", "pooling": "last"},
    {"attention": "none", "pooling": "max", "skip": True},
    {"attention": "multi-head", "pooling": "attention"},
    ATTENTION,
])  # fmt: skip
def test_the_gradient_of_a_state_is_that_of_an_lstm_step_by_step(changes):
    model = make(**changes).requires_grad_(False)
    batch = batch_for(model, (7, 5))
    network = model.network
    lengths = recency.state_gradients(recency.with_disturbed_states(network), batch)
    for i, time in enumerate((7, 5)):
        inputs = network.embed(batch)[i, :time]
        forwards = unrolled(network.encoder.lstm.forward_lstm, inputs)
        backwards = unrolled(network.encoder.lstm.backward_lstm, inputs.flip(0))[::-1]
        states = torch.cat([torch.stack(forwards), torch.stack(backwards)], 1)
        if changes.get("skip"):
            states = torch.cat([states, inputs], 1)
        whole = network.encode(batch)
        alone = dataclasses.replace(
            whole, vectors=states[None], lengths=torch.tensor([time]),
            padding=torch.zeros(1, time, dtype=torch.bool),
        )  # fmt: skip
        assert torch.allclose(whole.vectors[i, :time], states, atol=1e-12)
        logits = network.classify(network.attend(alone)[0])[0]
        loss = -torch.log_softmax(logits, 0).max()
        of_logits = torch.autograd.grad(loss, logits, retain_graph=True)[0].norm()
        gradients = torch.autograd.grad(loss, [*forwards, *backwards])
        expected = torch.stack(gradients).norm(dim=1).view(2, time).T / of_logits
        assert torch.allclose(lengths[i, :time], expected, atol=1e-10)


def test_the_end_is_where_each_direction_has_read_the_whole_document():
    model = make(**ATTENTION).requires_grad_(False)
    batch = batch_for(model, (9, 4, 2))
    disturbed = recency.with_disturbed_states(model.network)
    lengths = recency.state_gradients(disturbed, batch).double().numpy()
    end, middle = recency.end_and_middle(disturbed, batch)[0]
    assert end == pytest.approx(np.hypot(lengths[0, 8, 0], lengths[0, 0, 1]))
    assert middle == pytest.approx(np.hypot(*lengths[0, 4]), rel=1e-6)
    assert np.isnan(recency.end_and_middle(disturbed, batch)[2]).all(), "two states have no middle"


def test_a_certain_prediction_has_a_gradient_too():
    model = make(**ATTENTION).requires_grad_(False)
    batch = batch_for(model, (9,))
    model.network.output.bias[0] += 60
    lengths = recency.state_gradients(recency.with_disturbed_states(model.network), batch)
    assert lengths.isfinite().all() and (lengths[0, :9] > 1e-8).all()
