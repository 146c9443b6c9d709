"""Which documents are explained is decided by a rule; weights are the model's, where its tokens
stand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.tasks.classification.prediction import choose_documents
from tests.conftest import change_recipe, train_and_predict

INTO = Path("results/predict/tiny/tiny-self-attention")


def table(count: int) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(0)
    right = generator.random(count) < 0.7
    predicted, probability = np.where(right, "a", "b"), generator.random(count)
    frame = pd.DataFrame({"label": "a", "predicted": predicted, "probability": probability})
    return frame, generator.integers(0, 50, count)


def test_two_hundred_are_chosen_from_all_eight_groups_by_the_rule_alone():
    frame, lengths = table(5000)
    chosen = choose_documents(frame, lengths)
    assert len(chosen) == 200 and chosen["rule"].nunique() == 8
    assert chosen["rule"].value_counts().eq(25).all()
    assert chosen["row"].is_monotonic_increasing and chosen["row"].is_unique
    assert (lengths[chosen["row"]] > 0).all()
    found = frame.iloc[chosen["row"]].assign(rule=chosen["rule"].to_numpy())
    for rule, group in found.groupby("rule"):
        assert (group["label"] == group["predicted"]).eq(rule.startswith("right")).all()
    is_long = lengths >= np.median(lengths[lengths > 0])
    wrong = frame[(frame["label"] != frame["predicted"]) & is_long]
    expected = wrong["probability"].nlargest(25).index
    assert set(found[found["rule"] == "wrong, long, most certain"].index) == set(expected)
    again = choose_documents(*table(5000))
    assert again.equals(chosen)


def test_a_small_corpus_is_explained_whole_and_once():
    frame, lengths = table(30)
    assert sorted(choose_documents(frame, lengths)["row"]) == np.flatnonzero(lengths > 0).tolist()


@pytest.mark.parametrize("hierarchical", [False, True])
def test_predict_exports_weights_that_are_the_models(workplace, hierarchical):
    changes = {"hierarchical": True, "attention": "none", "pooling": "attention"}
    change_recipe(**(changes if hierarchical else {}))
    train_and_predict()
    names = ("documents", "weights", "heads")
    documents, weights, heads = (pd.read_parquet(INTO / f"{name}.parquet") for name in names)
    assert list(documents.columns) == ["id", "text", "label", "predicted", "probability", "rule"]
    assert weights.groupby("id")["weight"].sum().to_numpy() == pytest.approx(1, abs=1e-5)
    texts = documents.set_index("id")["text"]
    for row in weights.itertuples():
        word = texts[row.id][row.start : row.end]
        assert word and " " not in word and row.rationale == (word == "fine")
        assert row.sentence == row.token // 4
    assert weights["rationale"].any() and weights["token"].max() == 11, "cut at max_tokens: 12"
    assert weights["sentence_weight"].isna().all() != hierarchical and heads.empty == hierarchical
    of_query = heads.groupby(["id", "head", "query"])
    assert of_query["weight"].sum().to_numpy() == pytest.approx(1, abs=1e-5)
    assert of_query["key"].agg(list).map(lambda keys: keys == [*range(len(keys))]).all()
    assert (heads["rationale"] == (heads["key_word"] == "fine")).all()
    assert heads["label"].nunique() == heads["id"].nunique()
    if hierarchical:
        wanted = {"weight": "sum", "sentence_weight": ["first", "nunique"]}
        of_sentence = weights.groupby(["id", "sentence"]).agg(wanted)
        assert of_sentence[("sentence_weight", "nunique")].eq(1).all()
        own, given = of_sentence[("weight", "sum")], of_sentence[("sentence_weight", "first")]
        assert np.allclose(own, given, atol=1e-5)


def test_of_equally_certain_documents_the_first_are_chosen():
    frame = pd.DataFrame({"label": ["a"] * 8, "predicted": ["a"] * 8, "probability": [0.9] * 8})
    chosen = choose_documents(frame, np.full(8, 5), documents=8)
    assert chosen["row"].tolist() == [0, 4], "of the certain half, and of the other"
