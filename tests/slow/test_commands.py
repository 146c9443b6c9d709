"""Plain commands with killed children, two at once, in a strange path, with a wrong clock."""

import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.pipeline.makers import SMALL, wait_for
from tests.slow.conftest import make_undisturbed
from tests.slow.study import STAGES, Heed, Outcome, Study
from tests.slow.toys import STRANGE

# seven chunks: tokenising starts processes
LARGE = SMALL.replace("documents: 200", "documents: 13000")


def meanwhile(function: Callable[[], Outcome]) -> tuple[threading.Thread, list[Outcome]]:
    """Start `function` in a thread; its outcome will be in the list."""
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(function()))
    thread.start()
    return thread, outcomes


def workers(heed: Heed) -> list[psutil.Process]:
    """Wait until the running command has started worker processes, and return them."""
    found: list[psutil.Process] = []

    def are_started() -> bool:
        child = getattr(heed, "child", 0)
        children = psutil.Process(child).children() if child and psutil.pid_exists(child) else []
        found[:] = [each for each in children if "spawn_main" in " ".join(each.cmdline())]
        return len(found) > 1

    wait_for(are_started)
    return found


@pytest.fixture
def large(tmp_path: Path, heed: Heed) -> Study:
    study = Study(tmp_path / "clone", heed)
    study.make(LARGE)
    study.run("download sample")
    study.run("tokenize letters")
    study.expected = study.files()
    return study


def test_a_killed_child_is_reported_and_the_next_command_recovers(large: Study) -> None:
    shutil.rmtree(large.path / "data/tokens/letters")
    thread, outcomes = meanwhile(lambda: large.try_("tokenize letters", HEED_THREADS="2", limit=99))
    workers(large.heed)[-1].kill()
    thread.join()
    assert "was killed" in outcomes[0].message and not (large.path / "data/tokens/letters").exists()
    large.run("tokenize letters", HEED_THREADS="2")
    assert large.files() == large.expected


def test_children_of_a_killed_command_end(large: Study) -> None:
    shutil.rmtree(large.path / "data/tokens/letters")
    command = [*large.heed.command, "tokenize", "letters"]
    environment = large.heed.environment | {"HEED_THREADS": "2"}
    process = subprocess.Popen(command, cwd=large.path, env=environment)
    large.heed.child = process.pid
    children = workers(large.heed)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    large.run("tokenize letters")
    assert large.files() == large.expected


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "search"])
def test_two_of_the_same_command_at_once(stage: str, study_of: Callable[..., Study]) -> None:
    study = study_of(stage)
    command, outs = STAGES[stage]
    study.remove(outs)
    both = [meanwhile(lambda: study.try_(command, cold=True)) for _ in range(2)]
    for thread, outcomes in both:
        thread.join()
        assert outcomes[0].code == 0, outcomes[0].output
    study.assert_recovered()


def test_a_second_command_waits_for_the_first(study_of: Callable[..., Study]) -> None:
    """After kill -9 of a driver its stage still runs, with the old recipe, when the next starts."""
    study = study_of("train")
    command, outs = STAGES["train"]
    recipe = study.path / "results/recipe/author/author-self-attention.yaml"
    text = recipe.read_text()
    recipe.write_text(text.replace("epochs: 2\n", "epochs: 20\n"))
    first = subprocess.Popen(
        [*study.heed.command, *command.split()], cwd=study.path, env=study.heed.environment,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: [*study.path.glob(".heed/work/train-*/checkpoint.safetensors")], first)
    recipe.write_text(text)
    study.remove(outs)
    output = study.run(command)
    assert "another `heed train author-self-attention` is running here: waiting for it" in output
    assert first.wait() == 0
    study.assert_recovered()


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_path(name: str, tmp_path: Path, heed: Heed, plain: Study) -> None:
    assert make_undisturbed(tmp_path / name / "clone", heed, SMALL).expected == plain.expected


def test_a_model_larger_than_memory_is_one_message(study_of: Callable[..., Study]) -> None:
    study = study_of("train")
    text = (study.path / "params.yaml").read_text()
    (study.path / "params.yaml").write_text(text.replace("hidden_size: 4", "hidden_size: 65536"))
    study.run("recipe author")
    assert "out of memory" in study.try_(STAGES["train"][0]).message
    (study.path / "params.yaml").write_text(text)
    study.run("recipe author")
    study.assert_recovered()
