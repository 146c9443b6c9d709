"""The stage `explain`: its tables, their reasons, and what a stopped run leaves."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from heed.cli import stages
from heed.explanation.agreement import CORRELATIONS
from heed.explanation.interventions import NOT_ALL_UNITS
from heed.explanation.rankings import draw_documents
from heed.explanation.recency import COLUMNS, NOISE_HAS_LABELS, NOISES
from heed.explanation.registry import EXPLAINED, NOT_MEASURED, RecencyTest, summarize
from heed.explanation.stage import write_explanations
from heed.models.encoder import Last
from heed.recipe import read_model_recipe, write_recipe
from heed.tasks.classification import explanation
from tests.conftest import change_recipe, new_workplace, train, write_tokens

MODELS = {
    "tiny-self-attention": {"hidden_size": 6},
    "tiny-last": {"attention": "none", "pooling": "last"},
    "tiny-hierarchical": {"attention": "none", "pooling": "attention", "hierarchical": True},
    "tiny-pooled": {"pooling": "attention"},
    "tiny-equal-weights": {"attention": "uniform"},
    "tiny-transformer": {"encoder": "transformer", "attention": "none", "heads": 2,
                         "feed_forward_size": 8},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Train the models in a folder; `tiny-self-attention` with two seeds, the others with one."""
    with new_workplace(tmp_path_factory) as folder:
        write_tokens(folder / "data/tokens/plain", [["w1", "w2"]], ["good"], ["train"])
        recipe = read_model_recipe("tiny-self-attention")
        for model, changes in MODELS.items():
            own = dataclasses.replace(recipe, model=model)
            write_recipe(f"results/recipe/tiny/{model}.yaml", own)
            change_recipe(model, epochs=1, max_tokens=30, **changes)
            for seed in (1, 2) if model == "tiny-self-attention" else (1,):
                train(model, seed)
        yield folder


TESTS = {test.name for test in EXPLAINED}


def explain(
    model: str, seeds: tuple[int, ...] = (1,), scale: float = 1.0, noise: str | None = None
) -> pd.DataFrame:
    return write_explanations(model, list(seeds), scale, lambda *_: None, noise)


def read(model: str, table: str) -> pd.DataFrame:
    return pd.read_parquet(f"results/explain/{model}/{table}.parquet")


def test_what_the_study_does_not_explain_is_not_in_the_report(monkeypatch):
    for models in ({}, {"tiny-pooled": SimpleNamespace(noise=None)}):
        declared = SimpleNamespace(models=models, documents=1)
        monkeypatch.setattr("heed.explanation.stage.read_explain", lambda known=declared: known)
        stages.explain("tiny-pooled", [1])
        assert [path.name for path in Path("results/shown/explain").glob("*")] == [*models]


def test_every_test_has_its_means_by_seed_and_the_tables_fit_each_other():
    summary = explain("tiny-self-attention", (1, 2))
    names = ("documents", "units", "seeds")
    documents, units, seeds = (read("tiny-self-attention", name) for name in names)
    measured = summary.dropna(subset="mean")
    assert set(measured["test"]) == {*TESTS}
    assert summary[summary["test"] == "uniform"]["reason"].str.contains("heed compare").all()
    assert set(measured[measured["test"] == "rationale"]["class"].dropna()) == {"good"}
    assert set(measured[measured["test"] == "permutation"]["seed"]) == {1, 2}
    assert documents["units"].sum() == len(units) and documents["units"].min() > 0
    weights = units.groupby(["seed", "id"])["attention"].sum()
    assert np.allclose(weights, 1, atol=1e-5)
    assert np.allclose(units.groupby(["seed", "id"])["adversarial"].sum(), 1, atol=1e-5)
    assert (seeds["other_seed"] > seeds["seed"]).all() and len(seeds) == len(documents) / 2
    assert set(documents.groupby("id").size()) == {2}, "both seeds explain the same documents"
    rationale = units[units["rationale"]]
    assert (rationale["end"] - rationale["start"] == 4).all(), "the word fine"


def test_the_means_are_those_of_the_documents():
    explain("tiny-self-attention")
    summary = pd.read_csv("results/explain/tiny-self-attention/summary.csv")
    assert summary.set_index("test").loc["seeds", "reason"].startswith("no two seeds")
    rankings = read("tiny-self-attention", "rankings")
    documents = read("tiny-self-attention", "documents")
    row = summary[(summary["measure"] == "permutation_change")].iloc[0]
    assert row["mean"] == pytest.approx(documents["permutation_change"].mean())
    row = summary[(summary["measure"] == "auc") & (summary["ranking"] == "attention")].iloc[0]
    aucs = rankings[rankings["ranking"] == "attention"]["auc"].dropna()
    assert (row["mean"], row["documents"]) == (pytest.approx(aucs.mean()), len(aucs))
    flipped = rankings[rankings["flipped"] == 0]
    assert (flipped["removed_share"] == 1).all(), "a decision that never changes counts as all"


def test_as_many_units_are_chosen_as_documents_with_rationale_have(monkeypatch):
    shares, measure = set(), explanation.measure_rankings

    def note(judged, rationale, share):
        shares.add(share)
        return measure(judged, rationale, share)

    monkeypatch.setattr(explanation, "measure_rankings", note)
    explain("tiny-last", scale=0.01)
    units = read("tiny-last", "units").groupby("id")["rationale"].mean()
    assert 0 < (units > 0).sum() < len(units) == 5, "some have none, of those that are explained"
    assert [*shares] == [pytest.approx(units[units > 0].mean())]


def test_a_model_without_a_weighted_sum_says_so_and_has_the_other_tests():
    summary = explain("tiny-last").set_index("test")
    for test in ("permutation", "adversarial_weights", "erasure", "conicity"):
        assert Last.no_sum_reason in summary.loc[test, "reason"]
    assert summary.loc["input_removal", "mean"].notna().any()
    correlations = summary.loc["correlation"].set_index("measure")
    assert Last.no_sum_reason in correlations.loc["tau_gradient", "reason"]
    assert correlations.loc["tau_ceiling", "documents"] > 0
    rationale = summary.loc["rationale"]
    by_weights = rationale[rationale["ranking"] == "attention"]
    assert by_weights["reason"].str.contains(Last.no_sum_reason, regex=False).all()
    assert Last.no_sum_reason in summary.loc["seeds", "reason"]


def test_a_hierarchical_model_is_explained_by_sentences():
    explain("tiny-hierarchical")
    units, documents = read("tiny-hierarchical", "units"), read("tiny-hierarchical", "documents")
    assert (documents["units"] <= 4).all(), "of four words each"
    assert units["rationale"].any() and (units["end"] - units["start"]).max() > 8
    assert units["leave_one_out"].notna().all()


@pytest.mark.parametrize("model", [*MODELS])
def test_every_test_has_means_or_a_reason(model):
    summary = explain(model, scale=0.02, noise="tiny")
    assert set(summary["test"]) == {"uniform", *TESTS}
    assert (summary["mean"].notna() ^ summary["reason"].notna()).all()
    expected = {"tiny-last": 4}.get(model, len(TESTS) - 1)
    assert summary.dropna(subset="mean")["test"].nunique() == expected, "seeds need two of them"
    if model in ("tiny-equal-weights", "tiny-transformer"):
        permuted = summary[summary["test"] == "permutation"]["mean"]
        assert permuted.tolist() == [0, 0], "equal weights: exactly nothing changes"


def test_recency_has_a_table_by_seed_and_its_numbers_stand_in_the_summary():
    summary = explain("tiny-self-attention", (1, 2), noise="tiny").set_index(["measure", "seed"])
    table = pd.read_csv("results/explain/tiny-self-attention/recency.csv", dtype={"at": str})
    assert list(table) == ["seed", "measure", "at", "documents", "mean", "std"]
    rows = table.fillna({"at": ""}).set_index(["measure", "seed", "at"]).sort_index()
    for measure in RecencyTest.measures:
        expected = rows.loc[(measure, 2, ""), "mean"]
        assert summary.loc[(measure, 2), "mean"] == pytest.approx(expected)
    assert rows.loc[("noise", 1)].index.tolist() == sorted(NOISES)
    assert rows.loc[("importance", 1)].index.tolist() == [str(tenth) for tenth in range(10)]
    assert rows.loc[("rationale_share", 1, "9"), "mean"] == 1, "the word fine is the last"
    assert ("importance_by_rationale", 2, "9") not in rows.index, "of six documents: too few"
    documents = read("tiny-self-attention", "documents").set_index("seed").loc[1]
    known = documents[(documents["label"] == "good") & (documents["units"] >= 10)]
    place = rows.loc[("accuracy_by_place", 1, "9")]
    right = known["label"] == known["predicted"]
    assert (place["documents"], place["mean"]) == (len(known), pytest.approx(right.mean()))
    short = rows.loc[("short", 1, "")]
    assert short["mean"] * short["documents"] == pytest.approx((documents["units"] < 10).sum())


def test_a_corpus_without_rationale_is_no_noise_for_its_own_models(without_rationale):
    summary = explain("tiny-last", noise="tiny").set_index("measure")
    assert summary.loc["accuracy_lost", "reason"] == NOISE_HAS_LABELS
    table = pd.read_csv("results/explain/tiny-last/recency.csv")
    measures = {"short", "importance", "last_minus_middle", "vanishing_ratio"}
    assert set(table["measure"]) == measures, "nothing about rationale or noise"


def test_fewer_documents_are_the_first_of_more():
    offsets = np.arange(0, 4004, 2)
    offsets[5:] -= 2  # document 4 is empty
    test = np.arange(2000)
    many, few = (draw_documents(test, 0, offsets, scale) for scale in (2, 0.1))
    assert len(many) == 1000 and few.tolist() == many[:50].tolist() and 4 not in many
    assert draw_documents(test, 1, offsets, 0.1).tolist() != few.tolist()
    explain("tiny-self-attention")
    many = read("tiny-self-attention", "documents").set_index("id")
    explain("tiny-self-attention", scale=0.01)
    few = read("tiny-self-attention", "documents").set_index("id")
    assert len(few) == 2, "half of them with self-attention"
    few = few.select_dtypes("number")
    known = few.notna().to_numpy()
    assert known.sum() > 30 and "permutation_change" in few
    same = np.isclose(few, many.loc[few.index, few.columns], atol=1e-3)
    assert same[known].all(), "a document has the same outcomes among any others"


def test_what_no_document_has_is_a_row_with_its_reason():
    documents = pd.DataFrame({"seed": [1, 1], "conicity": [0.5, 0.7]})
    ranking = {"seed": 1, "ranking": "attention", "removed_share": np.nan, "flipped": 1.0}
    rankings = pd.DataFrame([ranking])
    recency = pd.DataFrame(columns=["seed", *COLUMNS])
    tables = {"documents": documents, "rankings": rankings, "recency": recency}
    summary = summarize(tables | {"seeds": pd.DataFrame()}, {"rationale": "none"})
    rows = summary.set_index(["test", "measure"]).sort_index()
    assert rows.loc[("conicity", "conicity"), "mean"] == pytest.approx(0.6)
    assert rows.loc[("erasure", "removed_share"), "reason"] == NOT_MEASURED
    flips = rows.loc[("erasure", "flipped")].set_index("ranking")["reason"].dropna()
    assert flips["leave_one_out"] == NOT_ALL_UNITS and flips["value_norm"] == NOT_MEASURED
    assert summary[summary["test"] == "rationale"]["reason"].tolist() == ["none"]
    assert len(summary[summary["test"] == "correlation"]) == len(CORRELATIONS)
