"""What `heed explain` writes of trained translators."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.explanation import rankings
from heed.explanation.stage import write_explanations
from heed.tasks.translation.explanation import MISSING, NO_GOLD
from heed.tasks.translation.metrics import COUNTS, corpus_counts, error_rate, read_links
from heed.tokens.arrays import Side, load_tokens
from tests.unit.tasks.translation.conftest import predicted

one_worker, fixtures = pytest.mark.xdist_group("translation"), ("runs", "short_search")
pytestmark = [one_worker, pytest.mark.usefixtures(*fixtures)]


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search adversarial weights for a moment."""
    monkeypatch.setattr(rankings, "DESCENT_STEPS", 5)


def explain(variant: str, *seeds: int) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return the summary and the tables of `heed explain`, of ten sentences."""
    summary = write_explanations(f"pair-{variant}", [*seeds], 0.02, lambda *_: None)
    folder = Path(f"results/explain/pair-{variant}")
    return summary, {file.stem: pd.read_parquet(file) for file in folder.glob("*.parquet")}


def test_the_tables_of_an_explained_translator_fit_each_other():
    summary, tables = explain("attention", 1, 2)
    assert set(tables) == {"documents", "units", "rankings", "seeds"}
    documents, units, seeds = (tables[name] for name in ("documents", "units", "seeds"))
    assert set(documents.groupby("id").size()) == {2}, "both seeds explain the same sentences"
    sizes = documents.set_index(["seed", "id"]).sort_index()[["units", "target_units"]]
    assert (units.groupby(["seed", "id"]).size() == sizes.prod(axis=1)).all()
    assert np.allclose(units.groupby(["seed", "id", "target"])["attention"].sum(), 1, atol=1e-5)
    steps = units.dropna(subset="gradient").groupby(["seed", "id", "target"])
    assert len(steps) == documents["steps"].sum() == 2 * len(seeds)
    assert np.allclose(steps["adversarial"].sum(min_count=1).dropna(), 1, atol=1e-5)
    assert seeds["divergence"].between(1e-9, np.log(2)).all()
    assert seeds["change"].between(MISSING, 1).all()
    measured = summary.dropna(subset="mean")
    assert set(measured["test"]) == {
        "correlation", "permutation", "adversarial_weights", "rationale", "conicity", "seeds",
    }  # fmt: skip
    row = measured[measured["measure"] == "permutation_change"].iloc[0]
    of_seed = documents[documents["seed"] == 1]["permutation_change"]
    assert row["mean"] == pytest.approx(of_seed.mean())
    reasons = summary[summary["mean"].isna()]
    assert reasons["reason"].notna().all()
    assert set(reasons["test"]) == {
        "uniform", "single_erasure", "erasure", "input_removal", "correlation", "recency",
    }  # fmt: skip


def test_the_alignment_error_of_attention_is_that_of_its_predicted_links():
    summary, tables = explain("attention", 1)
    of_seed = predicted("attention").query("seed == 1").set_index("id")
    rankings = tables["rankings"].set_index(["ranking", "id"])
    known = rankings.loc["attention"].dropna(subset=COUNTS)
    assert len(known) == 5, "those with leave-one-out"
    links = [sure for sure, _ in read_links(of_seed.loc[known.index, "links"])]
    gold = read_links(of_seed.loc[known.index, "gold"])
    counts = corpus_counts(links, gold)
    assert (known[[*COUNTS]].to_numpy() == counts).all()
    errors = summary[summary["measure"] == "aer"].set_index("ranking")["mean"]
    assert errors["attention"] == pytest.approx(error_rate(counts.sum(0)))
    units = tables["units"]
    for name, (sure, _) in zip(known.index, gold, strict=True):
        own = units[units["id"] == name]
        linked = own[own["rationale"]]
        assert {*zip(linked["unit"], linked["target"], strict=True)} == sure
        best = own.loc[own.groupby("target")["leave_one_out"].idxmax()]
        found = {*zip(best["unit"], best["target"], strict=True)}
        row = rankings.loc[("leave_one_out", name), [*COUNTS]]
        assert row.tolist() == corpus_counts([found], [(sure, sure)])[0].tolist()


def test_without_attention_leave_one_out_is_explained_and_all_else_has_its_reason():
    summary, tables = explain("last-state", 1)
    by_test = summary.set_index("test")
    for test in ("permutation", "adversarial_weights", "seeds", "conicity"):
        assert "have no attention over the source" in by_test.loc[test, "reason"]
    auc = summary[summary["measure"] == "auc"].set_index("ranking")
    assert set(auc["mean"].dropna().index) == {"gradient", "leave_one_out", "random"}
    assert "no attention" in auc.loc["attention", "reason"]
    assert summary[summary["measure"] == "aer"]["ranking"].tolist() == ["leave_one_out"]
    assert tables["units"]["attention"].isna().all()
    assert tables["units"]["leave_one_out"].notna().any() and tables["seeds"].empty
    noisy = write_explanations("pair-last-state", [1], 0.02, lambda *_: None, "not-tokenised")
    assert noisy.equals(summary), "a translator reads no noise"


def test_explained_pieces_stand_where_their_words_do_and_are_linked_as_they_are():
    _, tables = explain("pieces", 1)
    units, tokens = tables["units"], load_tokens("data/tokens/pair")
    ids = tokens.documents(["id"])["id"]
    for name, own in units.groupby("id"):
        (text,) = tokens.sides["norvic"].texts(np.flatnonzero(ids == name))
        spans = own[["start", "end"]].drop_duplicates().itertuples(index=False)
        assert [text[start:end] for start, end in spans] == text.split()
        assert (own.groupby(["target", "start"])["rationale"].nunique() == 1).all()
    assert units["rationale"].any() and units["unit"].max() > 0


def test_a_source_with_the_mark_of_a_blank_is_explained_too(monkeypatch):
    texts = Side.texts
    monkeypatch.setattr(
        Side,
        "texts",
        lambda self, rows: [each.replace(" ", "\u2581") for each in texts(self, rows)],
    )
    _, tables = explain("pieces", 1)
    assert (tables["units"]["start"] == 0).all(), "one word"


def test_without_gold_links_their_test_has_a_reason(monkeypatch):
    monkeypatch.setattr("heed.tasks.translation.metrics.gold_links", lambda *_: None)
    summary, tables = explain("last-state", 1)
    assert summary.set_index("test").loc["rationale", "reason"] == NO_GOLD
    assert not tables["units"]["rationale"].any()
    assert tables["documents"]["tau_ceiling"].notna().any()
