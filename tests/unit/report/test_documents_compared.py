"""Attention in texts: the part that is shown, its colours, head by head."""

import base64
import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import torch

from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch
from heed.models.classifier import Classifier
from heed.report.browser import excerpt, full_colour, shade_sentences, typical_documents
from heed.report.figures.heatmaps import heads
from heed.report.figures.shapes import Heads
from heed.report.figures.variants import Drawn
from heed.report.measures import equal_weights_control, lacks_layer
from heed.tasks.classification import prediction
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_study


@pytest.mark.parametrize(("weights", "rationale", "shown"), [
    ({10: 0.4, 200: 0.3, 210: 0.3}, [], {200, 210}),
    ({10: 0.4, 200: 0.3, 210: 0.3}, [100, 102], {200, 210}),  # no weight on the rationale
    ({10: 0.8, 100: 0.05, 200: 0.1}, [100, 101, 102, 200], {200}),  # less on more words
    ({}, [299], {298, 299}),
    ({}, [150], {*range(130, 210)}),  # with a quarter of the words before it
])  # fmt: skip
def test_an_excerpt_has_the_most_weight_on_the_rationale_or_at_all(weights, rationale, shown):
    words = pd.DataFrame({"weight": pd.Series(weights, dtype=float).reindex(range(300)).fillna(0)})
    words["rationale"] = words.index.isin(rationale)
    part = excerpt(words, 80)
    assert len(part) == 80 and shown <= {*part.index} and len(excerpt(words.head(7), 80)) == 7


def test_a_class_has_the_document_nearest_to_its_median_and_of_two_the_shorter_one():
    shares = {"b": [0.1, 0.9, 0.5, 0.5], "a": [0.2, 0.3], "c": [np.nan] * 3}
    rows = [(label, share) for label, of_class in shares.items() for share in of_class]
    table = pd.DataFrame(rows, columns=["label", "share"])
    table = table.assign(largest=table.index / 100, words=table.index, shown=True)
    assert typical_documents(table, 3) == {"a": 4, "b": 2, "c": 7}  # of c by the largest weight
    assert typical_documents(table, 2) == {"b": 2, "c": 7}, "the largest classes"
    table.loc[[2, 3], "shown"] = False
    assert typical_documents(table, 1) == {"b": 0}, "the median is of all of them"


def tokens_of(weights: list[float], sentences: list[int], of_sentence: list[float]) -> pd.DataFrame:
    """The tokens of a text whose words are one letter each."""
    table = pd.DataFrame({"weight": weights, "sentence": sentences, "sentence_weight": of_sentence})
    return table.assign(start=2 * table.index, end=2 * table.index + 1, rationale=False)


def test_a_words_colour_is_yang_et_als_in_a_hierarchical_model():
    products = [0.64 * 0.5, 0.64 * 0.5, 0.36 * 1.0, 0.0]
    tokens = tokens_of(products, [0, 0, 1, 1], [0.64, 0.64, 0.36, 0.36])
    sentences = shade_sentences("a b c d", tokens)
    shades = [piece.shade for found in sentences for piece in found.pieces if piece.weight]
    # sqrt(p_s) p_w: 0.8 * 0.5, 0.8 * 0.5, 0.6 * 1
    assert np.divide(shades, shades[2]) == pytest.approx([0.4 / 0.6, 0.4 / 0.6, 1.0])
    assert [sentence.shade for sentence in sentences] == pytest.approx([1, 0.36 / 0.64])


@pytest.mark.parametrize(("weights", "shown", "shade"), [
    ([0.1] * 10, [0], 1 / 3), ([0.55] + [0.05] * 9, [0], 1.0), ([0.5] + [0.1] * 5, [3], 0.2),
])  # fmt: skip
def test_the_full_colour_is_of_the_whole_text_and_pale_for_equal_weights(weights, shown, shade):
    tokens = tokens_of(weights, [0] * len(weights), [np.nan] * len(weights))
    (sentence,) = shade_sentences("a " * len(weights), tokens, tokens.index[shown])
    assert [piece.shade for piece in sentence.pieces if piece.weight] == pytest.approx([shade])
    assert full_colour(np.array(weights)) == pytest.approx(weights[shown[0]] / shade)


@pytest.mark.parametrize("changes", [
    {"attention": "multi-head", "heads": 2}, {"attention": "single-head"},
    {"encoder": "transformer", "pooling": "mean", "heads": 2},
])  # fmt: skip
def test_the_weights_of_every_head_sum_to_1_over_the_keys_and_are_0_on_padding(changes):
    torch.manual_seed(0)
    model = Classifier(9, 2, Architecture(embedding_dim=8, hidden_size=4, **changes)).eval()
    batch = Batch(torch.tensor([[2, 3, 4, 5], [6, 7, 0, 0]]), torch.tensor([4, 2]), np.arange(2))
    weights = model.head_weights(batch)
    heads = 1 if changes.get("attention") == "single-head" else 2
    assert weights.shape == (2, heads, 4, 4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, heads, 4))
    assert (weights[1, :, :, 2:] == 0).all()
    alone = model.head_weights(Batch(batch.ids[1:, :2], batch.lengths[1:], np.arange(1)))
    torch.testing.assert_close(weights[1:, :, :2, :2], alone)


@pytest.mark.parametrize("changes", [
    {"pooling": "attention"}, {"hierarchical": True, "attention": "single-head"},
])  # fmt: skip
def test_models_without_self_attention_have_no_heads(changes):
    batch = Batch(torch.tensor([[2, 3]]), torch.tensor([2]), np.arange(1), torch.tensor([[2]]))
    model = Classifier(9, 2, Architecture(embedding_dim=8, hidden_size=4, **changes)).eval()
    assert model.head_weights(batch) is None


def test_attention_on_embeddings_without_recurrence_weighs_each_word_by_itself():
    """Lecture 001: no state has read another word, so the order of the words does not matter."""
    torch.manual_seed(0)
    h = Architecture(embedding_dim=8, encoder="embeddings", pooling="attention", score="additive")
    model, order = Classifier(9, 2, h).eval(), torch.tensor([2, 0, 3, 1])
    ids, lengths = torch.tensor([[2, 3, 4, 5]]), torch.tensor([4])
    batches = [Batch(words, lengths, np.arange(1)) for words in (ids, ids[:, order])]
    first, second = (model.token_weights(batch) for batch in batches)
    torch.testing.assert_close(first[:, order], second)
    torch.testing.assert_close(first.sum(), torch.tensor(1.0))
    torch.testing.assert_close(model(batches[0]), model(batches[1]))


def test_documents_of_the_heads_are_chosen_by_length_class_and_rationale_alone():
    choose, longer = prediction.choose_short_documents, prediction.LONGEST + 1
    labels = np.array(["a", "a", "b", "b", "a"], object)
    lengths = np.array([prediction.SHORTEST - 1, 12, longer, 20, 10])
    assert choose(labels, lengths, lambda _: False) == [4, 3]
    assert choose(labels, lengths, lambda index: index == 1) == [1, 3]
    assert choose(labels, np.full(5, longer), lambda _: True) == []
    three = choose(np.array(list("abc"), object), np.full(3, 9), bool)
    assert len(three) == prediction.SHORT_DOCUMENTS


def test_the_control_of_learned_weights_has_equal_ones_and_the_same_encoder():
    result = made_up.comparison("sample").experiments["sample-sentiment"]
    models = result.models
    attention, mean = models["self-attention"], models["average"]
    assert equal_weights_control(result, "self-attention") == "average"
    assert lacks_layer(result, "self-attention"), "the mean has no layer of attention"
    models["equal-weights"] = mean
    assert equal_weights_control(result, "self-attention") == "equal-weights"
    shorter = dataclasses.replace(attention.hyperparameters, max_tokens=7)
    models["self-attention"] = dataclasses.replace(attention, hyperparameters=shorter)
    assert equal_weights_control(result, "self-attention") == "", "it differs in its length too"
    models["self-attention-average"] = mean  # which belongs to it
    assert equal_weights_control(result, "self-attention") == "self-attention-average"


def test_the_page_has_the_weights_of_every_head_and_no_more():
    weights = np.asarray([[[1.0, 0.0], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]])
    heads = Heads(["head 1", "head 2"], ["a", "</b>"], [False, True], weights)
    packed = json.loads(heads.packed)
    found = np.frombuffer(base64.b64decode(packed.pop("weights")), np.uint8).reshape(2, 2, 2)
    assert found.tolist() == [[[255, 0], [64, 191]], [[128, 128], [128, 128]]]
    assert packed == {"names": heads.names, "words": heads.words, "marked": [False, True]}


def test_a_model_of_one_head_has_no_choice_and_one_of_two_has_all_its_weights(tmp_path):
    results = read_study("sample", tmp_path)
    (experiment,) = (e for e in results.experiments if e.key == "sample-sentiment")
    (figure, *_) = heads(Drawn(results, experiment, []))
    assert figure.heads.weights.shape == (2, 4, 4) and figure.heads.words[1] == "fine"
    assert (figure.heads.weights[0] == np.eye(4)).all() and (figure.heads.weights[1] == 0.25).all()
    path = results.prediction_folder("sample-sentiment-self-attention") / "heads.parquet"
    table = pd.read_parquet(path)
    table[table["head"] == 0].to_parquet(path)
    assert next(heads(Drawn(results, experiment, []))).heads is None
