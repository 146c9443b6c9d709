"""Attention in texts: head by head, sentence by sentence, by class."""

import base64
import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from heed.report.blocks import Heads, ShadedDocument
from heed.tasks.classification.tables import class_changes, tables_of

from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch
from heed.models.classifier import Classifier
from heed.report.browser import (
    HEAVIEST,
    Browser,
    describe_shares,
    excerpt,
    read_browser,
    shade_sentences,
    typical_documents,
)
from heed.report.figures.heatmaps import head_weights
from heed.report.measures import equal_weights_control, lacks_layer
from heed.tasks.classification.prediction import (
    LONGEST,
    SHORT_DOCUMENTS,
    SHORTEST,
    choose_short_documents,
)
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_made_up


def write_browser(folder, weights: dict[str, list[float]], sentences=None) -> Browser:
    """Write the documents and weights of a model, one word a number; return its browser."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {name: " ".join(f"w{i}" for i in range(len(each))) for name, each in weights.items()}
    rows = []
    for name, text in texts.items():
        for i, word in enumerate(re.finditer(r"\S+", text)):
            number, weight = sentences[name][i] if sentences else (0, np.nan)
            rows.append(
                {"id": name, "token": i, "start": word.start(), "end": word.end(),
                 "weight": weights[name][i], "sentence": number, "sentence_weight": weight,
                 "rationale": i == 0}
            )  # fmt: skip
    head = {"label": "good", "predicted": "good", "probability": 0.9, "rule": "right, short"}
    documents = [{"id": name, "text": text, **head} for name, text in texts.items()]
    pd.DataFrame(documents).to_parquet(folder / "documents.parquet")
    pd.DataFrame(rows).to_parquet(folder / "weights.parquet")
    return read_browser(folder, {})


@pytest.mark.parametrize(
    ("weights", "rationale", "shown"),
    [
        ({10: 0.4, 200: 0.3, 210: 0.3}, [], {200, 210}),
        ({10: 0.4, 200: 0.3, 210: 0.3}, [100, 102], {200, 210}),  # no weight on the rationale
        ({10: 0.8, 100: 0.05, 200: 0.1}, [100, 101, 102, 200], {200}),  # less on more words
        ({10: 0.4, 100: 0.1}, [20, 100], {100}),
        ({}, [1], {0, 1}),
        ({}, [299], {298, 299}),
        ({}, [150], {*range(130, 210)}),  # with a quarter of the words before it
    ],
)
def test_an_excerpt_has_the_most_weight_on_the_rationale_or_else_the_most_weight(
    weights, rationale, shown
):
    words = pd.DataFrame({"weight": pd.Series(weights, dtype=float).reindex(range(300)).fillna(0)})
    words["rationale"] = words.index.isin(rationale)
    part = excerpt(words, 80)
    assert len(part) == 80 and shown <= {*part.index}
    assert len(excerpt(words.head(7), 80)) == 7


def documents(**shares: list[float]) -> pd.DataFrame:
    """Documents of these classes with these shares; each has a word more than the one before."""
    rows = [(label, share) for label, each in shares.items() for share in each]
    table = pd.DataFrame(rows, columns=["label", "share"])
    return table.assign(largest=table.index / 100, words=table.index, shown=True)


def test_a_class_has_the_document_nearest_to_its_median_and_of_two_the_shorter_one():
    table = documents(b=[0.1, 0.9, 0.5, 0.5], a=[0.2, 0.3], c=[np.nan, np.nan, np.nan])
    assert typical_documents(table, 3) == {"a": 4, "b": 2, "c": 7}  # of c by the largest weight
    assert typical_documents(table, 2) == {"b": 2, "c": 7}, "the largest classes"
    table.loc[[2, 3], "shown"] = False
    assert typical_documents(table, 1) == {"b": 0}, "the median is of all of them"


def test_shares_are_named_by_class_or_of_many_the_ends():
    shares = {"a": 0.5, "b": 0.012, "c": 1.0}
    assert describe_shares(shares) == "a 50.0%, b 1.2%, c 100.0%"
    assert describe_shares(shares | {"d": 0.2, "e": 0.3}) == "b 1.2%, c 100.0%"


def test_a_words_colour_is_yang_et_als_in_a_hierarchical_model(tmp_path):
    sentences = {"d": [(0, 0.64), (0, 0.64), (1, 0.36), (1, 0.36)]}
    products = [0.64 * 0.5, 0.64 * 0.5, 0.36 * 1.0, 0.0]
    (document,) = write_browser(tmp_path, {"d": products}, sentences).documents
    shades = [piece.shade for each in document.sentences for piece in each.pieces if piece.weight]
    # sqrt(p_s) p_w: 0.8 * 0.5, 0.8 * 0.5, 0.6 * 1
    assert np.divide(shades, shades[2]) == pytest.approx([0.4 / 0.6, 0.4 / 0.6, 1.0])
    assert [each.shade for each in document.sentences] == pytest.approx([1, 0.36 / 0.64])
    assert not ShadedDocument("", "", document.sentences).full_colour, (
        "no weight of a word has a colour"
    )


def test_a_text_of_equal_weights_is_pale_and_one_heavy_word_has_the_full_colour(tmp_path):
    for weights, shade in (([0.1] * 10, 1 / 3), ([0.55] + [0.05] * 9, 1.0)):
        (document,) = write_browser(tmp_path, {"d": weights}).documents
        assert document.sentences[0].pieces[0].shade == pytest.approx(shade)
        assert ShadedDocument("", "", document.sentences).full_colour == pytest.approx(
            weights[0] / shade
        )


@pytest.mark.parametrize(("shown", "shades"), [([0], [1.0]), ([3, 4], [0.2, 0.2])])
def test_the_full_colour_is_that_of_the_whole_document(tmp_path, shown, shades):
    (document,) = write_browser(tmp_path, {"d": [0.5] + [0.1] * 5}).documents
    part = document.tokens.index[shown]
    (sentence,) = shade_sentences(document.text, document.tokens, part)
    assert [each.shade for each in sentence.pieces if each.weight] == pytest.approx(shades)


def test_the_heaviest_words_have_more_than_their_share_unless_weights_are_equal(tmp_path):
    equal = write_browser(tmp_path / "equal", {"d": [0.1] * 10}).heaviest
    assert equal.weight == pytest.approx(equal.words) == HEAVIEST / 10
    peaked = write_browser(tmp_path / "peaked", {"d": [0.55] + [0.05] * 9}).heaviest
    assert peaked.weight == pytest.approx(0.75) and peaked.words == HEAVIEST / 10


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


@pytest.mark.parametrize(
    "changes",
    [{"pooling": "attention"}, {"hierarchical": True, "attention": "single-head"}],
)
def test_models_without_self_attention_have_no_heads(changes):
    batch = Batch(torch.tensor([[2, 3]]), torch.tensor([2]), np.arange(1), torch.tensor([[2]]))
    model = Classifier(9, 2, Architecture(embedding_dim=8, hidden_size=4, **changes)).eval()
    assert model.head_weights(batch) is None


def test_attention_on_embeddings_without_recurrence_weighs_each_word_by_itself():
    """Lecture 001: no state has read another word, so the order of the words does not matter."""
    torch.manual_seed(0)
    h = Architecture(embedding_dim=8, encoder="embeddings", pooling="attention", score="additive")
    model = Classifier(9, 2, h).eval()
    order = torch.tensor([2, 0, 3, 1])
    ids, lengths = torch.tensor([[2, 3, 4, 5]]), torch.tensor([4])
    batches = [Batch(each, lengths, np.arange(1)) for each in (ids, ids[:, order])]
    first, second = (model.token_weights(batch) for batch in batches)
    torch.testing.assert_close(first[:, order], second)
    torch.testing.assert_close(first.sum(), torch.tensor(1.0))
    torch.testing.assert_close(model(batches[0]), model(batches[1]))
    assert h.chooses_weights


def test_documents_of_the_heads_are_chosen_by_length_class_and_rationale_alone():
    labels = np.array(["a", "a", "b", "b", "a"], object)
    lengths = np.array([SHORTEST - 1, 12, LONGEST + 1, 20, 10])
    assert choose_short_documents(labels, lengths, lambda _: False) == [4, 3]
    assert choose_short_documents(labels, lengths, lambda index: index == 1) == [1, 3]
    assert choose_short_documents(labels, np.full(5, LONGEST + 1), lambda _: True) == []
    three = choose_short_documents(np.array(list("abc"), object), np.full(3, 9), bool)
    assert len(three) == SHORT_DOCUMENTS


def test_the_control_of_learned_weights_has_equal_ones_and_the_same_encoder():
    result = made_up.comparison("sample").experiments["sample-sentiment"]
    models = result.models
    attention, mean = models["attention"], models["mean"]
    assert attention.hyperparameters.attention == "multi-head"
    assert equal_weights_control(result, "attention") == "mean"
    assert lacks_layer(result, "attention"), "the mean has no layer of attention"
    models["uniform"] = mean
    assert equal_weights_control(result, "attention") == "uniform"
    shorter = dataclasses.replace(attention.hyperparameters, max_tokens=7)
    models["attention"] = dataclasses.replace(attention, hyperparameters=shorter)
    assert equal_weights_control(result, "attention") == "", "it differs by more than its weights"
    models["attention-mean"] = mean
    assert equal_weights_control(result, "attention") == "attention-mean", "which belongs to it"
    models["attention"] = attention
    del models["uniform"], models["mean"], models["attention-mean"]
    assert equal_weights_control(result, "attention") == ""
    models["baseline"] = mean
    assert equal_weights_control(result, "attention") == "baseline"


def test_the_page_has_the_weights_of_every_head_and_no_more():
    weights = np.asarray([[[1.0, 0.0], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]])
    heads = Heads(["head 1", "head 2"], ["a", "</b>"], [False, True], weights)
    packed = json.loads(heads.packed)
    found = np.frombuffer(base64.b64decode(packed.pop("weights")), np.uint8).reshape(2, 2, 2)
    assert found.tolist() == [[[255, 0], [64, 191]], [[128, 128], [128, 128]]]
    assert packed == {"names": heads.names, "words": heads.words, "marked": [False, True]}


def test_a_model_of_one_head_has_no_choice_and_one_of_two_has_all_its_weights(tmp_path):
    data = made_up.comparison("sample")
    results = read_made_up(made_up.study("sample"), data, tmp_path)
    (experiment,) = (each for each in results.experiments if each.key == "sample-sentiment")
    (figure, *_) = head_weights(results, experiment, "attention")
    assert figure.heads.weights.shape == (2, 4, 4) and figure.heads.words[1] == "fine"
    assert (figure.heads.weights[0] == np.eye(4)).all() and (figure.heads.weights[1] == 0.25).all()
    assert figure.heads.names == ["head 1 (largest 1.00)", "head 2 (largest 0.25)"]
    path = results.prediction_folder("sample-sentiment-attention") / "heads.parquet"
    table = pd.read_parquet(path)
    table[table["head"] == 0].to_parquet(path)
    assert head_weights(results, experiment, "attention")[0].heads is None


def test_each_class_has_its_change_in_recall_the_largest_gain_first(tmp_path):
    data = made_up.comparison("talk")
    results = read_made_up(made_up.study("talk"), data, tmp_path)
    pairs = {each.key: tables_of(results, each)[0] for each in results.experiments}
    experiment = max(results.experiments, key=lambda each: len(pairs[each.key][0].rows))
    changes = class_changes(*pairs[experiment.key])
    means = [each.gain.mean_pp for each in changes]
    assert means == sorted(means, reverse=True)
    models = data.experiments[experiment.key].models
    attention, baseline = (
        models[each].details["classes"][changes[0].name]["recall"].values
        for each in ("attention", "baseline")
    )
    differences = [100 * (a - b) for a, b in zip(attention, baseline, strict=True)]
    assert changes[0].gain.values_pp == pytest.approx(differences)
    assert changes[0].gain.std_pp == pytest.approx(np.std(differences, ddof=1))
