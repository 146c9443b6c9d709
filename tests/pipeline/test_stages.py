"""The order, cores and GPUs that stages get, and the message of one that fails."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

from heed.hyperparameters.pretrained import Pretrained
from heed.study import load
from tests.conftest import ROOT
from tests.pipeline.makers import Toy

CPU = {"overrides": {"device": "cpu"}}


@pytest.mark.slow
def test_lint_says_nothing_but_what_docs_drivers_answers(toy: Toy) -> None:
    _, output = toy.try_("snakemake", "--lint")
    findings = {line.strip() for line in output.splitlines() if line.startswith("    * ")}
    assert findings == {"* Specify a conda environment or container for each rule.:"}


def trainings(toy: Toy, *options: str, **environment: str) -> list[list]:
    """Run trainings that ask for a GPU; return the name, start, end and GPU of each."""
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.change("dropout: 0.2", "dropout: 0.3")
    toy.change("{experiment: ", "{gpus: 1, experiment: ")
    toy.log.write_text("")
    toy.run("snakemake", "--cores", "4", *options, TOY_GPU="1", HEED_GPU_COUNT="2", **environment)
    runs = map(json.loads, toy.log.read_text().splitlines())
    return sorted((run for run in runs if run[0].startswith("train")), key=lambda run: run[1])


@pytest.mark.slow
def test_trainings_with_a_gpu_run_at_most_as_many_at_once_as_there_are_each_on_its_own(
    toy: Toy,
) -> None:
    runs = trainings(toy, "--resources", "gpu=2", TOY_SLEEP="5")
    assert len(runs) == 3  # a stage trains all seeds of a model
    assert {gpu for *_, gpu in runs} == {"0", "1"}
    for name, started, _, gpu in runs:
        others = [other for other in runs if other[1] <= started < other[2] and other[0] != name]
        assert len(others) <= 1
        assert gpu not in [other[3] for other in others]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        ({"tokenize@a": 30}, ", estimating the time left"),
        ({"tokenize@a": 30, "train@a": 240}, ", at least about 8 minutes left"),
        ({"tokenize@a": 30, "train@a": 240, "explain@a": 60}, ", about 8 minutes left"),
        ({"train@a": 240, "train@b": 120, "train@c": 9, "explain@a": 9}, ""),
    ],
)
def test_the_time_left_is_told_by_stages_that_this_run_has_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: dict[str, float], told: str
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import progress

    shown = progress.Shown()
    names = ["tokenize@a", "train@a", "train@b", "train@c", "explain@a", "report"]
    shown.begin(names, tmp_path)
    assert shown._time_left() == "", "the first seconds tell nothing"
    shown._started -= sum(seconds.values())
    shown._times |= seconds
    shown._left -= {*seconds}
    assert shown._time_left() == told


def test_a_stage_that_long_chains_wait_for_has_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    upstream = {
        "tokenize@a": [], "search@a": ["tokenize@a"], "train@a": ["tokenize@a"],
        "train@b": ["search@a"], "explain@a": ["train@a"], "score@b": ["train@b"],
        "report": ["explain@a", "score@b"],
    }  # fmt: skip
    found = [
        stages.Stage(name, ups, [], [], 1, 0, False, False, []) for name, ups in upstream.items()
    ]
    chains = stages.longest_chains(found)
    assert sorted(chains, key=chains.__getitem__, reverse=True) == [
        "tokenize@a", "search@a", "train@a", "train@b", "explain@a", "score@b", "report",
    ]  # fmt: skip
    # a long stage starts early, if little follows
    assert chains["explain@a"] > chains["score@b"] + 5


def test_a_generated_corpus_is_tokenised_on_one_core_which_is_free_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    threads = {stage.name: stage.threads for stage in stages.read_stages(ROOT)}
    assert {n for name, n in threads.items() if name.startswith("tokenize@")} == {1}
    reviews = load(ROOT / "workflow/studies/imdb.yaml")
    assert stages._resources("tokenize@imdb", reviews) == (4, 0)


@pytest.mark.parametrize(
    ("here", "keys", "gpus"),
    [("0", {}, 0), ("4", {}, 1), ("4", {"gpus": 2}, 2), ("0", {"gpus": 2}, 2), ("4", CPU, 0)],
)
def test_a_training_is_counted_as_one_on_a_gpu_where_one_is_here(
    here: str, keys: dict[str, object], gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("HEED_GPU_COUNT", here)
    import stages

    stages._has_gpu.cache_clear()
    params = load(ROOT / "params.yaml")
    model = dataclasses.replace(params.models["place-mean"], **keys)
    params = dataclasses.replace(params, models=params.models | {"place-mean": model})
    assert stages._resources("train@place-mean", params)[1] == gpus
    assert stages._resources("score@place-mean", params) == (1, min(1, gpus))
    stages._has_gpu.cache_clear()


@pytest.mark.parametrize(
    ("keys", "resources"),
    [
        ({}, (1, 0)),
        ({"explain": 9}, (4, 0)),
        ({"tune": True}, (1, 0)),
        ({"tune": True, "device": "cuda"}, (1, 1)),
    ],
)
def test_an_encoder_that_is_tuned_on_a_gpu_has_one(
    keys: dict[str, object], resources: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    reviews = load(ROOT / "workflow/studies/imdb.yaml")
    declared = Pretrained(encoder="minilm", **keys)
    params = dataclasses.replace(reviews, pretrained={"imdb": declared})
    assert stages._resources("pretrained@imdb", params) == resources


def test_a_failed_stage_is_reported_with_heeds_message_or_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

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
