"""Comparisons are computed from predictions, with the same tests for models of every kind."""

import dataclasses
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed import recipe as recipes
from heed.evaluation import significance
from heed.evaluation.comparison import Question, compare
from heed.evaluation.looks import levels, said_of_looks
from heed.evaluation.results import Comparison, Difference, read_comparison, write_comparison
from heed.files import CHECKSUMS, HeedError, read_text
from heed.prediction import write_predictions
from heed.published.verify import published_statistics
from heed.reference_models import write_reference_models
from heed.study import Experiment
from heed.tasks.classification.recipe import Options, Prediction, Target
from heed.tasks.classification.texts import classify
from tests.conftest import new_workplace, train_and_predict

TINY = Experiment(
    task="classification", corpus="tiny", data=Target("kind"), title="Tiny",
    options=Options("words"),
)  # fmt: skip


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, trained with two seeds and evaluated, and the reference models."""
    with new_workplace(tmp_path_factory) as folder:
        plain = recipes.read_model_recipe("tiny-self-attention").changed({"attention": "none"})
        plain = dataclasses.replace(plain, model="tiny-last-state", variant="last-state")
        recipes.write_recipe("results/recipe/tiny/tiny-last-state.yaml", plain)
        path = "results/recipe/tiny/tiny-last-state.prediction.yaml"
        recipes.write_prediction(path, Prediction())
        for model in ("tiny-last-state", "tiny-self-attention"):
            train_and_predict(model, (1, 2))
        write_reference_models("tiny", TINY)
    return folder


@pytest.fixture
def study(evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(evaluated, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILE = Path("results/compare/comparison.json")
MODELS = {"tiny": {"last-state": "tiny-last-state", "self-attention": "tiny-self-attention"}}
QUESTION = Question("study", ["self-attention"], {"tiny": None}, 1.0, convergence_pp=0.2)
METRICS = Path("metrics.json")


def attention_over_baseline(comparison: Comparison) -> Difference:
    return comparison.experiments["tiny"].comparisons["self-attention"]["last-state"]


def compared(variants: dict[str, str] = MODELS["tiny"], seeds: tuple[int, ...] = (1, 2)):
    return compare({"tiny": variants}, list(seeds), QUESTION, FILE.parent, METRICS)


def test_a_declared_look_has_its_level_and_an_undeclared_one_is_said(study):
    plain = compared()
    declared = dataclasses.replace(QUESTION, looks=(2, 4))
    found = compare(MODELS, [1, 2], declared, FILE.parent, METRICS)
    assert json.loads(METRICS.read_text())["tiny"]["looks"] == 1
    one, other = (attention_over_baseline(comparison) for comparison in (plain, found))
    assert other.p == one.p
    assert other.p_corrected == pytest.approx(min(1.0, one.p * 0.05 / levels((2, 4), 0.05)[0]))
    assert "This is look 1 of 2" in said_of_looks(found.significance, 2)
    assert found.significance.signature.endswith("|looks:2,4(Lan-DeMets,OBrien-Fleming)")
    assert read_comparison(FILE) == found
    looked = dataclasses.replace(QUESTION, looked=(1,))
    found = compare(MODELS, [1, 2], looked, FILE.parent, METRICS)
    assert json.loads(METRICS.read_text())["tiny"]["looks"] == 2
    assert "looked at before, with 1 seeds" in said_of_looks(found.significance, 2)
    assert said_of_looks(plain.significance, 2) == said_of_looks(found.significance, 1) == ""


def test_means_deviations_and_gains_are_those_of_the_predictions(study):
    comparison = compared()
    models = comparison.experiments["tiny"].models
    accuracy: dict[str, np.ndarray] = {}
    for variant, model in MODELS["tiny"].items():
        rights = [correct(read_test_predictions(model, seed)) for seed in (1, 2)]
        accuracy[variant] = np.mean(rights, axis=1)
        metric = models[variant].summary["accuracy"]
        assert metric.values == pytest.approx(accuracy[variant])
        assert metric.mean == pytest.approx(np.mean(rights))
        assert metric.std_pp == pytest.approx(100 * np.std(accuracy[variant], ddof=1))
    gains = 100 * (accuracy["self-attention"] - accuracy["last-state"])
    assert models["self-attention"].gain.values_pp == pytest.approx(gains)
    assert models["last-state"].gain is None
    metrics = json.loads(METRICS.read_text())["tiny"]
    assert metrics["difference_pp"] == round(float(np.mean(gains)), 2)
    assert [*metrics] == ["difference_pp", "last-state", "self-attention"]
    assert all(isinstance(value, float) for value in metrics.values()), "dvc subtracts them"
    difference = attention_over_baseline(comparison)
    assert difference.mean_pp == pytest.approx(models["self-attention"].gain.mean_pp)


def test_a_comparison_is_read_back_as_it_was_written(study):
    comparison = compared()
    assert read_comparison(FILE) == comparison
    tiny = comparison.experiments["tiny"]
    recipe = recipes.read_model_recipe("tiny-self-attention")
    assert tiny.models["self-attention"].hyperparameters == recipe.hyperparameters
    written = json.loads(FILE.read_text())["experiments"]["tiny"]
    fields = "task classes metric attention control controls corpus"
    assert [*written] == [*fields.split(), "models", "reference_models", "comparisons"]
    fields = "machine_kinds summary classes gain trained_epochs longer_training"
    assert [*written["models"]["self-attention"]][4:] == fields.split()
    assert [*written["reference_models"]["linear"]] == ["summary", "classes"]
    of_linear = written["reference_models"]["linear"]["classes"]
    assert written["classes"] == ["bad", "good"] == [*of_linear]
    assert written["corpus"]["name"] == "tiny"
    assert written["corpus"]["documents"] == tiny.corpus.statistics.documents
    write_comparison(Path("again.json"), comparison)
    assert Path("again.json").read_bytes() == FILE.read_bytes()


def test_the_tidy_table_has_every_score_of_every_run_as_pandas_reads_it(study):
    comparison = compared()
    table = pd.read_csv(FILE.with_name("results.csv"), float_precision="round_trip")
    assert [*table] == ["study", "experiment", "model", "seed", "split", "metric", "value"]
    assert {*table["study"]} == {"study"} and {*table["experiment"]} == {"tiny"}
    result = comparison.experiments["tiny"]
    values = table.groupby(["model", "split", "metric"], sort=False)["value"].agg(list).to_dict()
    for name, of_model in (result.models | result.reference_models).items():
        for metric, score in of_model.summary.items():
            assert values.pop((name, "test", metric)) == score.values
    for variant, model in MODELS["tiny"].items():
        runs = json.loads(Path(f"results/predict/tiny/{model}/runs.json").read_text())
        for metric in runs[0]["validation"]:
            kept = [run["validation"][metric][run["best_epoch"] - 1] for run in runs]
            assert values.pop((variant, "validation", metric)) == kept
    assert not values
    seeds = table.groupby("model")["seed"].unique().map(list).to_dict()
    assert seeds.pop("last-state") == seeds.pop("self-attention") == [1, 2]
    assert table["seed"].isna().sum() == table["model"].isin(seeds).sum() > 0
    metrics = json.loads(METRICS.read_text())["tiny"]
    means = table[table["split"] == "test"].groupby(["metric", "model"])["value"].mean()
    for name in ("last-state", "self-attention"):
        assert metrics[name] == pytest.approx(means[result.metric, name], abs=5.1e-5)


def test_an_edition_gets_every_answer_of_every_run_and_no_id(study):
    table = published_statistics(compared())
    assert [*table] == ["experiment", "model", "seed", "fold", "item", "metric", "right"]
    assert {*table["experiment"]} == {"tiny"} and table.dtypes["right"] == "UInt8"
    assert {*table["fold"]} == {0}
    runs = {(*keys,): run for keys, run in table.groupby(["model", "seed"])}
    models = {(variant, seed) for variant in MODELS["tiny"] for seed in (1, 2)}
    assert {*runs} == models | {("linear", 0), ("majority", 0)}
    for (variant, seed), run in runs.items():
        if seed:
            predictions = read_test_predictions(f"tiny-{variant}", seed)
            assert [*run["right"]] == [*correct(predictions)], "items are in the order of ids"
        assert [*run["item"]] == [*range(1, len(run) + 1)], "pairs of models have the same items"


def read_test_predictions(model: str, seed: int) -> pd.DataFrame:
    table = pd.read_parquet(f"results/predict/tiny/{model}/predictions.parquet")
    return table.query("seed == @seed and split == 'test'")


def correct(test: pd.DataFrame) -> np.ndarray:
    """Whether each test document is classified correctly, in the order of their ids."""
    test = test.query("split == 'test'").sort_values("id")
    return (test["label"] == test["predicted"]).to_numpy()


def family_sizes(comparison: Comparison) -> dict[str, int]:
    pairs = comparison.experiments["tiny"].comparisons.values()
    return {pair.family: pair.tests for others in pairs for pair in others.values()}


def test_every_pair_is_tested_by_the_statistics_of_its_predictions(study):
    comparison = compared()
    assert "NaN" not in FILE.read_text() and "Infinity" not in FILE.read_text()
    comparisons = comparison.experiments["tiny"].comparisons
    assert [*comparisons] == ["self-attention"]
    assert {*comparisons["self-attention"]} == {"last-state", "majority", "linear"}
    attention, baseline = (
        np.stack([correct(read_test_predictions(f"tiny-{variant}", seed)) for seed in (1, 2)])
        for variant in ("self-attention", "last-state")
    )
    linear = correct(pd.read_parquet("results/reference_models/tiny/linear-0.parquet"))[None]
    for second, right in (("last-state", baseline), ("linear", linear)):
        family = "primary" if second == "last-state" else "reference_models"
        expected = significance.assess([attention], [right], 1, family)
        difference = comparisons["self-attention"][second]
        judged = {"verdict": difference.verdict, "tuned_alike": difference.tuned_alike}
        assert dataclasses.replace(expected, **judged) == difference
    assert family_sizes(comparison) == {"primary": 1, "reference_models": 1, "trivial": 1}


def test_a_variant_is_also_tested_against_its_own_baseline_and_mean(study):
    models = MODELS["tiny"] | {"searched": "tiny-self-attention"}
    models |= dict.fromkeys(("searched-last-state", "searched-average"), "tiny-last-state")
    others = ("searched-tanh", "last-state-average", "linear-mean")
    models |= dict.fromkeys(others, "tiny-self-attention")
    comparison = compared(models)
    comparisons = comparison.experiments["tiny"].comparisons
    sizes = {"primary": 1, "secondary": 14, "reference_models": 1, "trivial": 1}
    assert family_sizes(comparison) == sizes
    assert set(comparisons["searched"]) == {"last-state", "searched-last-state", "searched-average"}
    pair, gain = comparisons["searched"]["searched-last-state"], attention_over_baseline(comparison)
    assert pair.family == "secondary" and pair.p == gain.p
    assert pair.p_corrected == min(1, 14 * pair.p)


def put_into_two_folds(folder: Path, by: str) -> dict[str, list[np.ndarray]]:
    """Let the first six documents be fold 0, the others fold 1; return what is right by fold.

    Seed 1 is kept on fold 0 alone, seed 2 on fold 1. The rows are written in reverse order."""
    table = pd.read_parquet(folder / "statistics.parquet").sort_values([by, "id"])
    fold = np.arange(len(table)) % 12 // 6
    if by == "seed":
        table, fold = (column[table[by] == fold + 1] for column in (table, fold))
    else:
        table = table.assign(fold=fold)
    table.iloc[::-1].to_parquet(folder / "statistics.parquet", index=False)
    (folder / CHECKSUMS).unlink()
    names = table[by] if by != "seed" else pd.Series("", table.index)
    return {
        str(name): [
            rows["right"].to_numpy(bool)[None, fold[names == name] == number] for number in (0, 1)
        ]
        for name, rows in table.groupby(names)
    }


def test_with_folds_each_seed_is_paired_with_the_reference_model_of_its_fold(study):
    right = put_into_two_folds(Path("results/reference_models/tiny"), "reference_model")
    for variant, model in MODELS["tiny"].items():
        folder = Path("results/predict/tiny") / model
        recipe = recipes.read_recipe(folder / "recipe.yaml", "heed score")
        recipes.write_recipe(folder / "recipe.yaml", dataclasses.replace(recipe, folds=2))
        right[variant] = put_into_two_folds(folder, "seed")[""]
    comparison = compared()
    assert "folds:t" in comparison.significance.signature
    assert "crossed" not in comparison.significance.signature
    for second in ("last-state", "linear", "majority"):
        test = significance.t_test(right["self-attention"], right[second])
        difference = comparison.experiments["tiny"].comparisons["self-attention"][second]
        assert difference.p == test.p
        assert difference.equal_within_pp == min(test.equal_within_pp, 100)
        assert difference.interval_pp == tuple(np.clip(test.interval_pp, -100, 100))


def test_answers_on_other_documents_are_refused(study):
    path = Path("results/predict/tiny/tiny-last-state/statistics.parquet")
    table = pd.read_parquet(path)
    path.with_name(CHECKSUMS).unlink()
    table[table["id"] != table["id"][0]].to_parquet(path, index=False)
    with pytest.raises(HeedError, match="not tested on the same documents"):
        compared()
    path.unlink()
    with pytest.raises(HeedError, match="Run: heed score tiny"):
        compared()


def test_models_that_were_scored_with_other_repeats_are_refused(study):
    path = Path("results/predict/tiny/tiny-self-attention")
    recipe = recipes.read_recipe(path / "recipe.yaml", "")
    (path / CHECKSUMS).unlink()
    again = dataclasses.replace(recipe, folds=4, repeats=2)
    recipes.write_recipe(path / "recipe.yaml", again)
    message = "tiny-self-attention: scored with 4 folds, and tiny-last-state with 0. "
    message += "Run again: heed score"
    with pytest.raises(HeedError, match=message):
        compared()


def test_one_seed_is_compared_without_interval_and_p(study):
    for model in MODELS["tiny"].values():
        write_predictions(model, [1])
    comparison = compared(seeds=(1,))
    gain = attention_over_baseline(comparison)
    assert gain.interval_pp is gain.p is gain.p_corrected is None
    assert gain.seeds_needed is gain.detectable_pp is None
    metrics = json.loads(METRICS.read_text())["tiny"]
    assert [*metrics] == ["difference_pp", "last-state", "self-attention"]


def test_an_experiment_is_compared_with_its_own_seeds(study):
    question = dataclasses.replace(QUESTION, seeds={"tiny": [1, 2]})
    own = compare(MODELS, [7, 8, 9], question, FILE.parent, METRICS)
    assert own.seeds_of("tiny") == [1, 2] and own.seeds == [7, 8, 9]
    assert read_comparison(FILE) == own
    table = pd.read_csv(FILE.parent / "results.csv")
    assert {*table["seed"].dropna()} == {1, 2}
    assert own.experiments["tiny"].comparisons == compared().experiments["tiny"].comparisons


def test_predictions_of_other_seeds_or_missing_ones_are_refused(study):
    message = r"is of seeds \[1, 2\], the study has \[1, 2, 3\]. Run: heed score tiny"
    with pytest.raises(HeedError, match=message):
        compared(seeds=(1, 2, 3))
    with pytest.raises(HeedError, match="not there"):
        compared({"parameter-matched": "tiny-parameter-matched"})
    assert not FILE.parent.exists() and not METRICS.exists()


def test_classify_gives_mean_probabilities_and_weights_for_a_text_or_a_file(study, monkeypatch):
    output = classify("tiny-self-attention", "w1 fine w2")
    assert "mean of 2 runs (seeds 1, 2)" in output
    lines = output.splitlines()
    shares = {line.split()[0]: float(line.split()[1]) for line in lines[1:3]}
    assert set(shares) == {"good", "bad"} and sum(shares.values()) == pytest.approx(1, abs=2e-4)
    assert "weights over 3 words read of 3" in output
    assert sum(float(line.split()[-1]) for line in lines[4:]) == pytest.approx(1, abs=2e-3)
    Path("text.txt").write_text("w1 fine w2")
    assert classify("tiny-self-attention", "text.txt") == output
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"w1 fine w2")))
    assert classify("tiny-self-attention", "-") == output
    for nothing in ("nobody knows", "\u2603", "", " \n", "\u200b\u2060", "\u00ad\ufeff \u00a0"):
        told = "tiny-self-attention: the text has no word that the model"
        with pytest.raises(HeedError, match=told):
            classify("tiny-self-attention", nothing)
    assert "weights over 12 words read of 40" in classify("tiny-self-attention", "w1 " * 40)
    assert read_text("no/such.file") == "no/such.file" and read_text("a\0b.") == "a\0b."
    message = "no trained run. Trained models: tiny-last-state, tiny-self-attention"
    message += ".*: heed train MODEL$"
    with pytest.raises(HeedError, match=message):
        classify("none", "x")
