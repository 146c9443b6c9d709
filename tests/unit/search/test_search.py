"""Searches: spaces are checked before Ray starts, draws depend on the seed, winners are real."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
import yaml
from ray._private import node, parameter

from heed.cli import stages
from heed.files import CHECKSUMS, HeedError, write_json, write_yaml
from heed.recipe import read_model_recipe
from heed.search import read_address, trials
from heed.search.candidates import draw
from heed.search.results import (
    FAILED,
    FINISHED,
    Best,
    Search,
    Trial,
    read_search,
    winner,
    write_search,
)
from heed.search.stage import _digest, _without_idle_processes, epochs_and_select
from heed.search.trials import read_reports
from heed.study import load
from heed.study.recipes import write_recipes
from heed.study.rules import is_valid_configuration
from heed.training.machine import machine_kind
from tests.conftest import run_heed
from tests.unit.search.makers import SPACE, STUDY, planned, trial, wait_until_gone


def test_the_winner_is_the_best_then_the_shortest_then_the_first():
    assert winner([trial(0, 0.5, 0.6), trial(1, 0.7, 0.2)], "accuracy").trial == 1
    assert winner([trial(0, 0.5, 0.7), trial(1, 0.7, 0.2), trial(2, 0.7)], "accuracy").trial == 1
    of_loss = [trial(0, 0.5, 0.7, metric="loss"), trial(1, 0.7, metric="loss")]
    assert winner(of_loss, "loss").trial == 1
    assert trial(0, 0.5, 0.7, 0.7).best_epoch == 2, "the earliest of equals, as training keeps it"
    assert winner([trial(0, float("nan")), trial(1, 0.1), trial(2)], "accuracy").trial == 1


def test_the_reports_of_a_trial_are_read_up_to_a_truncated_line(tmp_path):
    assert read_reports(tmp_path) == {}
    lines = [json.dumps({"report": number, "score": 0.5}) for number in (4, 1, 4)]
    (tmp_path / "reported.jsonl").write_text("\n".join([*lines, '{"report": 5']))
    assert [*read_reports(tmp_path)] == [1, 4]


def test_a_killed_trial_repeats_its_whole_epochs_and_an_ended_one_everything(study, monkeypatch):
    setup, told = planned(), []

    def killed(report: dict, at: int) -> None:
        told.append(report)
        if len(told) == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(trials, "_record_start", lambda *_: None)
    monkeypatch.setattr(trials.tune, "report", lambda report: killed(report, 2))
    configuration = {"learning_rate": 0.01, "hidden_size": 4, "heads": 2}
    with pytest.raises(KeyboardInterrupt):  # in the second epoch
        trials.run_trial(setup, 0, configuration)
    first = told.copy()
    monkeypatch.setattr(trials.tune, "report", told.append)
    told.clear()
    trials.run_trial(setup, 0, configuration)
    assert [report["report"] for report in told] == [1, 2, 3]
    assert told[:2] == first, "the same scores, also of the epoch that was trained again"
    whole = told.copy()
    (setup.trial_folder(0) / trials.ENDED).touch()
    (setup.trial_folder(0) / "checkpoint.safetensors").unlink()
    told.clear()
    trials.run_trial(setup, 0, configuration)
    assert told == whole


CLOSED = """
import os, pathlib, tempfile
from heed.search import LOCAL
from heed.search.stage import ray_running
with ray_running(LOCAL, 1, 1, 0):
    (folder,) = pathlib.Path(tempfile.gettempdir()).glob("heed-ray-*")
    assert any((folder / "r").glob("session_*/sockets/*")), "Ray is there"
    print(oct(folder.stat().st_mode))
"""


@pytest.mark.slow
def test_no_other_user_can_enter_the_folder_of_a_local_ray():
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # where Ray's sockets fit
        done = subprocess.run(
            [sys.executable, "-c", CLOSED], env=os.environ | {"TMPDIR": short},
            capture_output=True, text=True,
        )  # fmt: skip
    assert done.stdout.split() == ["0o40700"], done.stderr


def test_a_local_ray_starts_without_the_processes_that_nobody_asks():
    """By private names of Ray: with a version that has others this fails, and all would start."""
    before = parameter.RayParams, node.Node.start_api_server
    with _without_idle_processes():
        params = parameter.RayParams()
        assert params.no_monitor is True and params.include_log_monitor is False
        assert node.Node.start_api_server != before[1]
    assert (parameter.RayParams, node.Node.start_api_server) == before


FILES = [CHECKSUMS, "best.yaml", "epochs.csv", "search.json", "setup.json", "trials.csv"]


def test_a_search_on_one_machine_finds_a_winner_that_is_real_and_leaves_nothing(study, tmp_path):
    home, temporary = tmp_path / "home", tmp_path / "t"
    home.mkdir()
    temporary.mkdir()
    done = run_heed(
        "recipe", "tiny", HEED_MARK="one-machine", HEED_THREADS="2", HOME=str(home),
        TMPDIR=str(temporary),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wait_until_gone("one-machine")
    assert [*home.iterdir()] == [], "no token, no statistics, no settings in the home folder"
    assert not [*temporary.glob("heed-ray-*")]
    assert [*Path(".heed/work").iterdir()] == [], "the work folder goes on success"
    assert "trial" in done.stdout
    # on a busy machine there are more lines of progress, one a minute
    lines = (done.stdout + done.stderr).splitlines()
    lines = [line for line in lines if not re.match(r"hunt: [0-3] of 4 trials ended", line)]
    assert len(lines) == 3, lines
    assert_results_are_those_of_four_trials(Path("results/search/tiny/hunt"))
    assert_the_winner_is_the_training_outside_ray(Path("results/search/tiny/hunt"))


def assert_results_are_those_of_four_trials(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == FILES
    results = json.loads((folder / "search.json").read_text())
    params, table = load(), pd.read_csv(folder / "trials.csv")
    space = params.searches["hunt"].space
    drawn = draw(space, 4, 1000, lambda c: is_valid_configuration(params, "tiny-self-attention", c))
    assert table[[*space]].to_dict("records") == drawn and (table["epochs"] == 3).all()
    assert (table["stop"] == FINISHED).all()
    best = drawn[results["best"]["trial"]]
    best |= {"epochs": results["best"]["epoch"], "monitor": "accuracy"}
    assert yaml.safe_load((folder / "best.yaml").read_text()) == best
    timing = json.loads(Path("results/timing/search/hunt.json").read_text())
    assert {len(t["starts"]) for t in timing["trials"]} == {1}
    assert {t["starts"][0]["machine_kind"] for t in timing["trials"]} == {machine_kind("cpu")}
    workers = {t["starts"][0]["pid"] for t in timing["trials"]}
    # two cores; a slow worker may come too late, and each runs several trials
    assert len(workers) <= 2


def assert_the_winner_is_the_training_outside_ray(folder: Path) -> None:
    """`heed train` with the winner's recipe and the search's seed gives the epochs of the trial."""
    winner = json.loads((folder / "search.json").read_text())["best"]
    best = yaml.safe_load((folder / "best.yaml").read_text())
    write_recipes(load(), "tiny", Path("data/tokens/tiny"))
    recipe = read_model_recipe("tiny-self-attention").as_dict()
    assert recipe["hyperparameters"].items() >= best.items()
    matched = read_model_recipe("tiny-parameter-matched").hyperparameters
    assert matched.learning_rate == best["learning_rate"]
    stages.train("tiny-self-attention", [1000])
    outside = pd.read_csv("results/train/tiny-self-attention/1000/history.csv")
    epochs = pd.read_csv(folder / "epochs.csv")
    inside = epochs[epochs["trial"] == winner["trial"]].drop(columns="trial")
    inside = inside.reset_index(drop=True)[: winner["epoch"]]
    pd.testing.assert_frame_equal(outside, inside, check_exact=True)
    assert outside["validation_accuracy"].iloc[-1] == winner["score"]
    run = json.loads(Path("results/train/tiny-self-attention/1000/run.json").read_text())
    assert run["best_epoch"] == winner["epoch"]


# by this and a learning rate of 10 each step multiplies the weights by -99
DIVERGING = ("device: cpu,", "device: cpu, weight_decay: 10,")


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["scheduler: none", "scheduler: asha"])
def test_a_trial_that_diverges_has_failed_and_the_search_goes_on(study, settings):
    space = "{learning_rate: {choice: [0.01, 10]}, hidden_size: {choice: [3, 6]}}"
    text = STUDY.replace(SPACE, space).replace("scheduler: none", settings)
    Path("params.yaml").write_text(text.replace(*DIVERGING))
    done = run_heed("recipe", "tiny", HEED_THREADS="2")
    assert done.returncode == 0, done.stderr
    trials = pd.read_csv("results/search/tiny/hunt/trials.csv")
    diverged = trials["learning_rate"] > 1
    assert diverged.sum() == 2 and (trials["stop"] == FAILED).tolist() == diverged.tolist()
    assert trials["score"].isna().tolist() == diverged.tolist()
    best = yaml.safe_load(Path("results/search/tiny/hunt/best.yaml").read_text())
    assert best["learning_rate"] < 1
    reasons = [line for line in done.stdout.splitlines() if "the training diverged" in line]
    assert len(reasons) == 2 and "learning rate 10" in reasons[0]
    timing = json.loads(Path("results/timing/search/hunt.json").read_text())
    assert {len(trial["starts"]) for trial in timing["trials"]} == {1}, "it would diverge again"


@pytest.mark.slow
def test_a_search_whose_trials_all_diverge_is_one_message(study):
    only = SPACE.replace("loguniform: [0.001, 0.05]", "uniform: [9, 10]")
    Path("params.yaml").write_text(STUDY.replace(SPACE, only).replace(*DIVERGING))
    done = run_heed("recipe", "tiny", HEED_THREADS="2")
    assert done.returncode == 1 and "every trial failed; the first: model tiny" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_epochs_of_a_scheduled_learning_rate_stay(study):
    best_in_epoch_2 = trial(0, 0.5, 0.7, 0.6)
    for extra, epochs in (("", 2), (", lr_schedule: linear", 3), (", warmup: 0.1", 3)):
        setup = planned(STUDY.replace("dropout: 0.2}", f"dropout: 0.2{extra}}}"))
        found = epochs_and_select(setup, best_in_epoch_2)["epochs"]
        assert found == epochs, "fewer epochs would be another learning rate"


def test_options_about_where_trials_run_neither_restart_nor_repeat_a_search(study):
    first, elsewhere = planned().work, STUDY.replace("trials: 4", "trials: 4\n    concurrent: 2")
    assert planned(elsewhere).work == first
    texts = (STUDY, elsewhere, STUDY.replace("trials: 4", "trials: 5"))
    same, also, other = (_digest({"": planned(text)}) for text in texts)
    assert same == also != other
    for change in (
        ("trials: 4", "trials: 5"), ("[2, 9]", "[2, 8]"), ("epochs: 3", "epochs: 4"),
        ("linear_size: 5", "linear_size: 6"),
    ):  # fmt: skip
        assert planned(STUDY.replace(*change)).work != first


def write_results(folder: Path = Path("results/search/tiny/hunt")) -> dict:
    best = {"learning_rate": 0.02, "hidden_size": 8, "heads": 4, "epochs": 2, "monitor": "accuracy"}
    folder.mkdir(parents=True)
    write_yaml(folder / "best.yaml", best)
    found = Trial(2, {"heads": 4}, 0.75, 2, 2, FINISHED, [0.5, 0.75])
    result = Search(
        "hunt", "tiny-self-attention", "tiny", "tiny", "none", 1000, {}, "accuracy",
        Best(2, 0.75, 2), {}, 8, [found] * 4,
    )  # fmt: skip
    write_search(folder, result)
    return best


def test_the_address_of_a_cluster_is_in_the_environment_alone(monkeypatch):
    monkeypatch.delenv("HEED_RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")  # Ray's variable may be of other work
    assert read_address() == "local"
    monkeypatch.setenv("HEED_RAY_ADDRESS", "10.0.0.2:6379")
    assert read_address() == "10.0.0.2:6379"


def test_a_search_is_read_back_as_it_was_written(tmp_path):
    folder = tmp_path / "hunt"
    assert read_search(folder, "tiny") is None, "it has not run"
    write_results(folder)
    search = read_search(folder, "tiny")
    assert len(search.trials) == 4
    failed = Trial(4, {"heads": 2}, None, 0, 0.5, FAILED, [])
    written = dataclasses.replace(search, trials=[*search.trials, failed])
    write_search(folder, written)
    assert read_search(folder, "tiny") == written
    values = json.loads((folder / "search.json").read_text())
    write_json(folder / "search.json", values | {"trials": [{"trial": 0}]})
    message = r"search.json: .*trials.0.configuration: missing, .*\). Run again: heed recipe tiny"
    with pytest.raises(HeedError, match=message):
        read_search(folder, "tiny")
