"""Plain commands with killed children, two at once, in a strange path, with a wrong clock."""

import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.drills.conftest import make_undisturbed
from tests.drills.study import PLAIN, STAGES, UNTUNED, Heed, Outcome, Study
from tests.drills.toys import STRANGE

pytestmark = pytest.mark.slow

# seven chunks: tokenising starts processes
LARGE = PLAIN.replace("documents: 200", "documents: 13000")


def meanwhile(function: Callable[[], Outcome]) -> tuple[threading.Thread, list[Outcome]]:
    """Start `function` in a thread; its outcome will be in the list."""
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(function()))
    thread.start()
    return thread, outcomes


def workers(heed: Heed) -> list[psutil.Process]:
    """Wait until the running command has started worker processes, and return them."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        child = getattr(heed, "child", 0)
        if child and psutil.pid_exists(child):
            children = psutil.Process(child).children()
            found = [each for each in children if "spawn_main" in " ".join(each.cmdline())]
            if len(found) > 1:
                return found
        time.sleep(0.05)
    raise AssertionError("no process was started")


@pytest.fixture
def large(tmp_path: Path, heed: Heed) -> Study:
    study = Study(tmp_path / "clone", heed)
    study.make(LARGE)
    study.run("download sample")
    study.run("tokenize letters")
    study.expected = study.files()
    return study


@pytest.mark.drill("kill -9 of a stage's child: tokenize (a search's: Ray)")
def test_a_killed_child_is_reported_and_the_next_command_recovers(large: Study) -> None:
    shutil.rmtree(large.path / "data/tokens/letters")
    thread, outcomes = meanwhile(
        lambda: large.try_("tokenize letters", HEED_THREADS="2", limit=300)
    )
    workers(large.heed)[-1].kill()
    thread.join()
    assert "was killed" in outcomes[0].message
    assert not (large.path / "data/tokens/letters").exists()
    large.run("tokenize letters", HEED_THREADS="2")
    assert large.files() == large.expected


@pytest.mark.drill("kill -9 of a stage with children: they end too")
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


@pytest.mark.drill("two of the same command at once")
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


@pytest.mark.drill("a second command while the first, of another params.yaml, still runs")
def test_a_second_command_waits_for_the_first(study_of: Callable[..., Study]) -> None:
    """After kill -9 of a driver its stage still runs, with the old recipe, when the next starts."""
    study = study_of("train")
    command, outs = STAGES["train"]
    recipe = study.path / "results/recipe/author-attention.yaml"
    text = recipe.read_text()
    recipe.write_text(text.replace("epochs: 2\n", "epochs: 20\n"))
    first = subprocess.Popen(
        [*study.heed.command, *command.split()], cwd=study.path, env=study.heed.environment,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not [*study.path.glob(".heed/work/train-*/checkpoint.safetensors")]:
        time.sleep(0.05)
        assert first.poll() is None
    recipe.write_text(text)
    study.remove(outs)
    output = study.run(command)
    assert "another `heed train author-attention` is running here: waiting for it" in output
    assert first.wait() == 0
    study.assert_recovered()


@pytest.mark.drill("a run in the place of another")
def test_the_run_of_another_seed_is_refused(study_of: Callable[..., Study]) -> None:
    """DVC trusts dvc.lock: a hash written into it by hand brings another run from the cache."""
    study = study_of("train")
    command, (runs, _) = STAGES["train"]
    study.remove([f"{runs}/1"])
    shutil.copytree(study.path / runs / "2", study.path / runs / "1")
    message = study.try_("score author-attention").message
    assert (
        "is the run of author-attention with seed 2. Run again: heed train author-attention "
        "--seeds 1"
    ) in message
    study.run(command)
    study.assert_recovered()


@pytest.mark.drill("path with spaces, non-ASCII, and what shells read")
@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_path(name: str, tmp_path: Path, heed: Heed, plain: Study) -> None:
    assert make_undisturbed(tmp_path / name / "clone", heed, PLAIN).expected == plain.expected


@pytest.mark.drill("path with spaces, non-ASCII, and what shells read")
def test_a_search_in_a_strange_path(study_of: Callable[..., Study], tmp_path: Path) -> None:
    study = study_of("search", tmp_path / STRANGE[1] / STRANGE[0])
    study.remove(STAGES["search"][1])
    study.run("search hunt")
    study.assert_recovered()


@pytest.mark.drill("clock set back, in plain commands")
def test_a_clock_set_back(clock_set_back: dict[str, str], study_of: Callable[..., Study]) -> None:
    study = study_of("train")
    late = Heed("env", *(f"{name}={value}" for name, value in clock_set_back.items()))
    try:
        for command in UNTUNED:
            study.run(command, late)
    finally:
        late.end()
    study.assert_recovered()


@pytest.mark.drill("a model larger than memory")
def test_a_model_larger_than_memory_is_one_message(study_of: Callable[..., Study]) -> None:
    study = study_of("train")
    text = (study.path / "params.yaml").read_text()
    (study.path / "params.yaml").write_text(text.replace("hidden_size: 4", "hidden_size: 65536"))
    study.run("recipe author-attention")
    assert "out of memory" in study.try_(STAGES["train"][0]).message
    (study.path / "params.yaml").write_text(text)
    study.run("recipe author-attention")
    study.assert_recovered()
