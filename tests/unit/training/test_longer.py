"""A model is also trained with twice the epochs, to see whether it has converged."""

import json
from pathlib import Path

import pandas as pd
import pytest

from heed.cli import stages
from heed.evaluation.comparison import compare_longer
from heed.evaluation.item_statistics import read_model
from heed.files import CHECKSUMS, HeedError
from heed.paths import LONGER, timing_file
from heed.prediction import write_predictions
from heed.recipe import read_model_recipe
from heed.training import run as runs
from heed.training.loop import DivergedError, learning_rate
from heed.training.run import longer_recipe, read_longer, read_run, train_longer, train_runs
from tests.conftest import RUN, contents, killed
from tests.conftest import change_recipe as change

MODEL = "tiny-self-attention"
FOLDER = RUN.with_name(LONGER)


def train(seeds: tuple[int, ...] = (1,), cores: int = 1) -> list:
    return list(train_runs(MODEL, list(seeds), cores, with_longer=True))


def of_validation(folder: Path) -> list[float]:
    return pd.read_csv(folder / "history.csv")["validation_accuracy"].tolist()


def test_the_schedule_is_stretched_and_there_is_no_patience(workplace):
    change(warmup=0.25, lr_schedule="cosine", patience=2)
    recipe = read_model_recipe(MODEL)
    short, longer = (trained.hyperparameters for trained in (recipe, longer_recipe(recipe)))
    assert (longer.epochs, longer.patience) == (2 * short.epochs, 0)
    for step in (25, 50, 90):  # the same share of the training has the same rate
        rate = learning_rate(step, 100, short)
        assert learning_rate(200 * step // 100, 200, longer) == pytest.approx(rate)
    assert learning_rate(50, 100, longer) != pytest.approx(learning_rate(50, 200, longer))


@pytest.mark.parametrize(("epochs", "patience", "run", "longer", "did_better"), [
    (8, 0, 0.5833, 0.75, True),
    (14, 0, 0.75, 0.75, False),
    (14, 3, 0.5, 0.75, True),  # patience ended the run at a plateau, after epoch 4
])  # fmt: skip
def test_a_model_that_improves_is_found(workplace, epochs, patience, run, longer, did_better):
    change(epochs=epochs, patience=patience, monitor="accuracy")
    train()
    assert max(of_validation(RUN)) == pytest.approx(run, abs=1e-4)
    assert len(of_validation(FOLDER)) == 2 * epochs
    write_predictions(MODEL, [1])
    found = compare_longer(read_model(MODEL, [1]), "accuracy", 15.0)
    assert found.longer_score == pytest.approx(longer)
    assert (found.epochs, found.validation_items) == (2 * epochs, 12)
    assert found.did_better == did_better
    found = compare_longer(read_model(MODEL, [1]), "accuracy", None)
    assert found.margin_pp == 25.0  # three of the 12 documents


def test_its_files_have_no_weights_and_runs_have_the_same_bytes_as_without(workplace):
    list(train_runs(MODEL, [1, 2], 1))
    alone = contents(), contents(RUN.with_name("2"))
    trained = train((1, 2), cores=3)
    assert (contents(), contents(RUN.with_name("2"))) == alone
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {CHECKSUMS, "history.csv", "run.json"}
    (info,) = (info for info in trained if isinstance(info, runs.LongerInfo))
    assert info == read_longer(read_run(MODEL, 1)) and info.recipe.hyperparameters.epochs == 6
    assert read_longer(read_run(MODEL, 2)) is None, "it is of the first seed"
    assert not [*Path(".heed/work").glob("train-*")]
    # without schedule and patience it begins as the run does
    assert of_validation(FOLDER)[:3] == of_validation(RUN)


def test_it_is_kept_while_recipe_seed_and_bytes_are_the_same(workplace):
    train((1, 2))
    made = FOLDER.stat().st_mtime_ns, contents(FOLDER)

    def is_kept(*seeds: int) -> bool:
        train(seeds)
        return (FOLDER.stat().st_mtime_ns, contents(FOLDER)) == made

    assert is_kept(1, 2) and is_kept(1, 3)
    assert not is_kept(2, 1), "another seed is the first"
    train((1, 2))
    (FOLDER / "history.csv").write_text("")
    with pytest.raises(HeedError, match=r"history.csv.*heed train tiny-self-attention$"):
        write_predictions(MODEL, [1])
    train((1, 2))
    assert contents(FOLDER) == made[1]
    change(epochs=2)
    train((1, 2))
    assert len(of_validation(FOLDER)) == 4


def test_a_killed_one_goes_on_and_ends_with_the_same_bytes(workplace):
    train_longer(MODEL, 1, "", lambda progress: None)
    whole, epochs = contents(FOLDER), []
    with pytest.raises(KeyboardInterrupt):
        train_longer(MODEL, 1, "other code", killed)
    train_longer(MODEL, 1, "other code", lambda progress: epochs.append(progress.epoch))
    assert {*epochs} == {3, 4, 5, 6}, "epochs 1 and 2 came from the checkpoint"
    assert contents(FOLDER) == whole


def test_one_that_diverges_is_a_result_and_no_error(workplace, monkeypatch, capfd):
    trains = runs.train_model

    def train_model(recipe, *others):
        if recipe.hyperparameters.epochs == 6:
            raise DivergedError("the training diverged: the loss (nan) is not finite at step 7")
        return trains(recipe, *others)

    monkeypatch.setattr(runs, "train_model", train_model)
    Path("params.yaml").write_text("seeds: [1]\n")
    stages.train(MODEL)
    assert "trained longer: the training diverged: the loss" in capfd.readouterr().out
    write_predictions(MODEL, [1])
    found = compare_longer(read_model(MODEL, [1]), "accuracy", None)
    assert found.diverged and found.longer_score is None and not found.did_better


@pytest.mark.parametrize("is_made", [True, False])
def test_a_study_says_whether_it_is_made(workplace, is_made):
    longer = Path("results/predict/tiny/tiny-self-attention/longer_training.json")
    train((1,))
    study = "" if is_made else "study: {longer_training: false}\n"
    Path("params.yaml").write_text(f"{study}seeds: [1]\n")
    stages.train(MODEL)
    names = {"1", LONGER} if is_made else {"1"}
    assert {path.name for path in RUN.parent.glob("[!.]*")} == names
    assert {path.stem for path in timing_file(MODEL, 1).parent.glob("[!.]*")} == names
    write_predictions(MODEL, [1])
    assert longer.exists() == is_made and (read_model(MODEL, [1]).longer is not None) == is_made
    if is_made:
        assert json.loads(longer.read_text())["epochs"] == 6
