"""The order, cores and GPUs that stages get, and the message of one that fails."""

import itertools
import json
import os
from pathlib import Path

import pytest

from heed.study import load
from tests.conftest import ROOT
from tests.pipeline.makers import Toy


def test_lint_says_nothing_but_what_docs_drivers_answers(toy: Toy) -> None:
    _, output = toy.try_("snakemake", "--lint")
    findings = {line.strip() for line in output.splitlines() if line.startswith("    * ")}
    assert findings == {"* Specify a conda environment or container for each rule.:"}


@pytest.mark.slow
def test_trainings_with_a_gpu_run_at_most_as_many_at_once_as_there_are_each_on_its_own(
    toy: Toy,
) -> None:
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.change("{experiment: feelings", "{gpus: 1, experiment: feelings")
    toy.log.write_text("")
    toy.run(
        "snakemake",
        "--cores",
        "4",
        "--resources",
        "gpu=2",
        TOY_SLEEP="5",
        TOY_GPU="1",
        HEED_GPU_COUNT="2",
    )
    runs = [
        record
        for record in map(json.loads, toy.log.read_text().splitlines())
        if record[0].startswith("train")
    ]
    assert len(runs) == 4
    assert {gpu for *_, gpu in runs} == {"0", "1"}
    for name, started, _, gpu in runs:
        others = [other for other in runs if other[1] <= started < other[2] and other[0] != name]
        assert len(others) <= 1
        assert gpu not in [other[3] for other in others]


@pytest.mark.slow
def test_the_profile_lets_one_gpu_training_run_at_a_time(toy: Toy) -> None:
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.change("{experiment: feelings", "{gpus: 1, experiment: feelings")
    toy.log.write_text("")
    toy.run("snakemake", "--cores", "4", TOY_SLEEP="1", TOY_GPU="1", HEED_GPU_COUNT="2")
    runs = sorted(
        r[1:3]
        for r in map(json.loads, toy.log.read_text().splitlines())
        if r[0].startswith("train")
    )
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(runs))


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
    assert (
        chains["explain@a"] > chains["score@b"] + 5
    )  # a long stage starts early, if little follows


def test_a_generated_corpus_is_tokenised_on_one_core_which_is_free_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    threads = {stage.name: stage.threads for stage in stages.read_stages(ROOT)}
    assert {n for name, n in threads.items() if name.startswith("tokenize@")} == {1}
    reviews = load(ROOT / "workflow/studies/imdb.yaml")
    assert stages._resources("tokenize@imdb", reviews) == (4, 0)


def test_a_failed_stage_is_reported_with_heeds_message_or_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    monkeypatch.chdir(tmp_path)
    run = object.__new__(stages.Run)
    run.folder, run._plan = (
        tmp_path / "run",
        dict.fromkeys(("old", "done", "wrong", "killed", "traceback", "waits"), "never run"),
    )
    (run.folder / "done").mkdir(parents=True)
    (tmp_path / "logs").mkdir()
    failed = "ERROR: failed to reproduce 'x'\n"
    (tmp_path / "logs/old.log").write_text("heed: no\n" + failed)
    os.utime(tmp_path / "logs/old.log", (0, 0))
    run.plan_file = str(run.folder / "plan.json")
    Path(run.plan_file).write_text("{}")
    (tmp_path / "logs/done.log").write_text("heed: no\n" + failed)
    (run.folder / "done/done").touch()
    (tmp_path / "logs/wrong.log").write_text(
        "heed: waiting for a free GPU\nheed: a: wrong. Mend it\n" + failed
    )
    (tmp_path / "logs/traceback.log").write_text(
        "heed: waiting for a free GPU\nValueError: x\n" + failed
    )
    (tmp_path / "logs/killed.log").write_text(failed)
    (tmp_path / "logs/waits.log").write_text("heed: waiting for a free GPU\n")
    assert [*run.describe_failures()] == [
        "wrong failed: a: wrong. Mend it",
        "killed failed: see logs/killed.log",
        "traceback failed: see logs/traceback.log",
    ]
