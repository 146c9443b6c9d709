"""The order, cores and GPUs that stages get, and the message of one that fails."""

import dataclasses
import json
import logging
import math
import os
import re

import pandas as pd
import progress
import pytest
import stages

from heed.hyperparameters.pretrained import Pretrained
from heed.study import load
from tests.conftest import ROOT
from tests.pipeline.makers import Toy

CPU = {"overrides": {"device": "cpu"}}

RUNS = ROOT / "tests/fixtures/runs.csv"


@pytest.mark.slow
def test_lint_says_nothing_but_what_docs_drivers_answers(toy):
    _, output = toy.try_("snakemake", "--lint")
    findings = {line.strip() for line in output.splitlines() if line.startswith("    * ")}
    assert findings == {"* Specify a conda environment or container for each rule.:"}


def trainings(toy: Toy, *options: str, **environment: str) -> list[list]:
    """Run trainings that ask for a GPU; return the name, start, end and GPU of each."""
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.change("dropout: 0.2", "dropout: 0.3")
    toy.change("{experiment: ", "{gpus: 1, experiment: ")
    toy.log.write_text("")
    variables = {"TOY_GPU": "1", "CUDA_VISIBLE_DEVICES": "0,1"} | environment
    toy.run("snakemake", "--cores", "4", *options, **variables)
    runs = map(json.loads, toy.log.read_text().splitlines())
    return sorted((run for run in runs if run[0].startswith("train")), key=lambda run: run[1])


@pytest.mark.slow
def test_trainings_with_a_gpu_run_at_most_as_many_at_once_as_there_are_each_on_its_own(toy):
    runs = trainings(toy, "--resources", "gpu=2", TOY_SLEEP="5")
    assert len(runs) == 3  # a stage trains all seeds of a model
    assert {gpu for *_, gpu in runs} == {"0", "1"}
    for name, started, _, gpu in runs:
        others = [other for other in runs if other[1] <= started < other[2] and other[0] != name]
        assert len(others) <= 1 and gpu not in [other[3] for other in others]


@pytest.mark.parametrize("run", pd.read_csv(RUNS)["run"].unique())
def test_the_time_left_is_within_30_percent_after_a_third_of_it(run, monkeypatch, tmp_path, capsys):
    """The runs are of studies of heed's on two cores, from Snakemake's log.

    Times of the short one are ten times as long, so that minutes are exact enough.
    """
    factor = 10 if run == "sample" else 1
    monkeypatch.setattr(progress, "SHORT_S", factor * progress.SHORT_S)
    stages = pd.read_csv(RUNS).query("run == @run")
    events = sorted(
        (factor * getattr(row, kind), kind == "start", row.stage)  # an end goes before a start
        for row in stages.itertuples()
        for kind in ("start", "end")
    )
    whole, numbers = events[-1][0], {name: i for i, name in enumerate(stages["stage"])}
    now = 0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    shown = progress.Shown()
    shown.begin([*stages["stage"]], tmp_path)
    told = []
    for now, is_start, stage in events:
        record = {"event": "job_info", "jobid": numbers[stage], "rule_name": stage}
        end = {"event": "job_finished", "job_id": numbers[stage]}
        shown.filter(logging.makeLogRecord(record if is_start else end))
        if not is_start and now < whole:
            told.append((now, capsys.readouterr().err))
    assert all("estimating the time left" in text for now, text in told if now < 0.32 * whole)
    late = [(whole - now, text) for now, text in told if now > 0.34 * whole]
    assert len(late) > len(stages) / 3
    for left, text in late:
        minutes = re.search(r"about (\d+) minutes? left", text)
        assert minutes, text
        assert abs(60 * int(minutes[1]) - left) < max(0.3 * left, 3 * 60), (left, text)


def test_no_time_is_told_before_a_kind_of_stage_that_data_decide_has_run():
    spent = {"tokenize@a": 30.0, "train@a": 400.0}
    assert progress.seconds_left(spent, {"train@a", "score@a"}, 430) == math.inf
    left = progress.seconds_left(spent, {"score@a", "report"}, 430)
    assert left == pytest.approx(2 * 400 / 30 + 8 * 4)
    assert progress.seconds_left(spent, {"embed@b"}, 430) == math.inf


def test_a_stage_that_long_chains_wait_for_has_priority():
    upstream = {
        "tokenize@a": [], "recipe@a": ["tokenize@a"], "train@a": ["tokenize@a"],
        "train@b": ["recipe@a"], "explain@a": ["train@a"], "score@b": ["train@b"],
        "report": ["explain@a", "score@b"],
    }  # fmt: skip
    rest = ([], [], 1, 0, False, False, [])
    found = [stages.Stage(name, ups, *rest) for name, ups in upstream.items()]
    chains = stages.longest_chains(found)
    assert sorted(chains, key=chains.__getitem__, reverse=True) == [
        "tokenize@a", "train@a", "recipe@a", "train@b", "explain@a", "score@b", "report",
    ]  # fmt: skip
    # a long stage starts early, if little follows
    assert chains["explain@a"] > chains["score@b"] + 3


def test_a_generated_corpus_is_tokenised_on_one_core_which_is_free_sooner():
    threads = {stage.name: stage.threads for stage in stages.read_stages(ROOT)}
    assert {n for name, n in threads.items() if name.startswith("tokenize@")} == {1}
    reviews = load(ROOT / "workflow/studies/imdb.yaml")
    assert stages._resources("tokenize@imdb", reviews) == (4, 0)


@pytest.mark.parametrize(("here", "keys", "gpus"), [
    ("", {}, 0), ("0,1", {}, 1), ("0,1", {"gpus": 2}, 2), ("", {"gpus": 2}, 2), ("0,1", CPU, 0),
])  # fmt: skip
def test_a_training_is_counted_as_one_on_a_gpu_where_one_is_here(here, keys, gpus, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", here)
    stages._has_gpu.cache_clear()
    params = load(ROOT / "params.yaml")
    model = dataclasses.replace(params.models["place-average"], **keys)
    params = dataclasses.replace(params, models=params.models | {"place-average": model})
    assert stages._resources("train@place-average", params)[1] == gpus
    assert stages._resources("score@place", params)[0] == 1
    stages._has_gpu.cache_clear()


@pytest.mark.parametrize(("keys", "resources"), [
    ({}, (1, 0)), ({"explain": 9}, (4, 0)), ({"tune": True}, (1, 0)),
    ({"tune": True, "device": "cuda"}, (1, 1)),
])  # fmt: skip
def test_an_encoder_that_is_tuned_on_a_gpu_has_one(keys, resources):
    reviews = load(ROOT / "workflow/studies/imdb.yaml")
    declared = Pretrained(encoder="minilm", **keys)
    params = dataclasses.replace(reviews, pretrained={"imdb": declared})
    assert stages._resources("pretrained@imdb", params) == resources


def test_a_failed_stage_is_reported_with_heeds_message_or_its_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, waits = "ERROR: failed to reproduce 'x'\n", "heed: waiting for a free GPU\n"
    logs = {
        "old": f"heed: no\n{failed}", "done": f"heed: no\n{failed}",
        "wrong": f"{waits}heed: a: wrong. Mend it\n{failed}", "killed": failed,
        "traceback": f"{waits}ValueError: x\n{failed}", "waits": waits,
    }  # fmt: skip
    run = object.__new__(stages.Run)
    run.folder, run._plan = tmp_path / "run", dict.fromkeys(logs, "never run")
    run.folder.mkdir()
    (run.folder / "plan.json").write_text("{}")
    monkeypatch.setattr(stages, "shown", stages.shown.__class__())
    stages.shown.begin([each for each in logs if each != "done"], run.folder)
    (tmp_path / "logs").mkdir()
    for name, text in logs.items():
        (tmp_path / f"logs/{name}.log").write_text(text)
    os.utime(tmp_path / "logs/old.log", (0, 0))
    assert [*run.describe_failures()] == [
        "wrong failed: a: wrong. Mend it",
        "killed failed: see logs/killed.log",
        "traceback failed: see logs/traceback.log",
    ]
