"""Verdicts on pairs: models that nothing separates, designs with one seed or none, false alarms."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heed.evaluation.results import BETTER, UNDECIDED
from heed.files import HeedError
from heed.verdict import words
from heed.verdict.pairs import Asked, compare, judge
from tests.unit.evaluation.simulations import crossed


def table(runs: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return scores, (seeds, items) by model, as a table."""
    tables = [
        pd.DataFrame({"model": model, "seed": seed, "item": range(len(run)), "score": run})
        for model, seeds in runs.items() for seed, run in enumerate(seeds, 1)
    ]  # fmt: skip
    return pd.concat(tables, ignore_index=True).assign(fold=0).astype({"score": float})


def drawn(**ability: float) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    easy = generator.normal(0, 1, 800)
    return {name: generator.normal(easy + a, 0.8, (4, 800)) > 0 for name, a in ability.items()}


def test_models_that_nothing_separates_are_named():
    said = words.sentence(judge(table(drawn(a=0.9, b=0.85, c=0.0)), Asked()))
    assert said in {
        f"{best} is the best by its score, but nothing separates it from {other}: only c is shown "
        f"to be worse than {best}." for best, other in ("ab", "ba")
    }  # fmt: skip


def test_one_seed_is_a_paired_test_over_items_and_says_so():
    runs = {name: run[:1] for name, run in drawn(a=0.5, b=0.2).items()}
    (pair,) = (found := judge(table(runs), Asked())).pairs
    expected = stats.ttest_rel(runs["a"][0].astype(float), runs["b"][0].astype(float))
    assert pair.result.p == pytest.approx(expected.pvalue, rel=0.2)  # the normal distribution
    assert pair.result.seeds_needed is None
    assert "trained once" in " ".join(words.design(found))


def test_seeds_without_items_are_welchs_test_and_say_so():
    generator = np.random.default_rng(2)
    runs = {"a": generator.normal(0.8, 0.01, (6, 1)), "b": generator.normal(0.79, 0.02, (6, 1))}
    (pair,) = (found := judge(table(runs), Asked())).pairs
    expected = stats.ttest_ind(runs["a"].ravel(), runs["b"].ravel(), equal_var=False)
    assert pair.result.p == pytest.approx(expected.pvalue, rel=1e-6)
    assert "seeds alone" in " ".join(words.design(found))


def test_a_model_with_one_seed_among_others_is_named():
    runs = drawn(a=0.5, b=0.2)
    found = judge(table(runs | {"a": runs["a"][:1]}), Asked())
    assert found.once == ("a",) and "a has one seed: " in " ".join(words.design(found))


def test_scores_of_any_size_are_judged_alike_in_their_own_unit():
    runs = drawn(a=0.5, b=0.2, c=0.1)
    runs["same"] = runs["a"]  # whose interval is of an exact test
    shares = judge(table(runs), Asked(margin=2))
    others = judge(table({name: 40 * run + 7.0 for name, run in runs.items()}), Asked(margin=0.8))
    for one, other in zip(shares.pairs, others.pairs, strict=True):
        assert one.result.verdict == other.result.verdict
        assert other.result.mean_pp == pytest.approx(0.4 * one.result.mean_pp)
        assert other.result.interval_pp == pytest.approx([0.4 * x for x in one.result.interval_pp])


def test_less_is_better_of_losses():
    runs = {name: 1.0 - run for name, run in drawn(good=0.9, bad=0.0).items()}
    found = judge(table(runs), Asked(lower_is_better=True))
    assert found.pairs == judge(table(runs), Asked(), metric="log_loss").pairs
    assert [*found.scores] == ["good", "bad"] and found.scores["good"] < found.scores["bad"]
    assert found.pairs[0].first == "good" and found.pairs[0].result.verdict == BETTER


def test_items_that_would_decide_do_decide_in_four_of_five_studies():
    generator = np.random.default_rng(3)
    runs = {name: run[:1, :150] for name, run in drawn(a=0.35, b=0.2).items()}
    (pair,) = judge(table(runs), Asked()).pairs
    assert pair.result.verdict == UNDECIDED and pair.items_needed > 150
    difference = (runs["a"][0].astype(int) - runs["b"][0]).astype(float)
    decided = [
        stats.ttest_1samp(generator.choice(difference, pair.items_needed), 0).pvalue < 0.05
        for _ in range(400)
    ]
    assert 0.74 < np.mean(decided) < 0.86


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_false_alarms_of_models_without_a_difference_are_at_most_five_percent(noise):
    generator = np.random.default_rng(round(1000 * noise) + 5)
    alarms = 0
    for _ in range(300):
        (first,), (second,) = crossed(generator, 3, 500, 0.0, noise)
        # their true difference on new items is 0: `crossed` favours models by item at random
        found = compare("a", "b", {"a": [first], "b": [second]}, tests=1)
        alarms += found.result.is_decided
    (pair,) = judge(table({"a": first, "b": second}), Asked(control="b")).pairs
    assert pair.result == found.result, "a table of the same scores comes out the same"
    assert alarms <= 300 * 0.05 + 3 * (300 * 0.05) ** 0.5


def test_declared_looks_widen_intervals_and_say_what_comes_next():
    runs = drawn(one=0.62, other=0.58)
    now, planned = judge(table(runs), Asked()), judge(table(runs), Asked(looks=(2, 4, 8)))
    seeds = planned.seeds
    (pair,), (wider,) = now.pairs, planned.pairs
    assert wider.result.interval_pp[0] < pair.result.interval_pp[0]
    said = " ".join(words.design(planned))
    assert "declared at 2, 4, 8 seeds" in said and "This is look" in said
    with pytest.raises(HeedError, match=f"there are {seeds} seeds"):
        judge(table(runs), Asked(looks=(7, 9)))


def test_what_no_number_of_seeds_or_items_decides_is_an_estimate():
    (first,) = drawn(a=0.5).values()
    runs = {"a": first, "b": first[:, ::-1]}  # on average the same
    found = judge(table(runs), Asked(control="a", margin=0.1))
    (pair,) = found.pairs
    assert pair.result.verdict == UNDECIDED and pair.items_needed is None
    end = max(map(abs, pair.result.interval_pp))
    said = words.verdict_of(pair, found)
    bound = float(said.removeprefix("within ").removesuffix(" points"))
    assert end <= bound < end + 0.11 and words.to_decide(pair, found) == "–"
    assert words.sentence(found) == f"Against a, b is {said}."
    losses = judge(table({name: 400 * run for name, run in runs.items()}), Asked(control="a"))
    (pair,) = losses.pairs
    end, said = max(map(abs, pair.result.interval_pp)), words.verdict_of(pair, losses)
    assert end <= float(said.removeprefix("within ")) < 1.02 * end
