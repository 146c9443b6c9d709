"""`heed try`: a change of a model in a copy of the study, and the verdict on it."""

import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from heed.files import HeedError
from heed.verdict.change import try_change
from tests.pipeline.makers import SMALL, Toy, copy_of, wait_for_output

TRY = ("heed", "try", "author-self-attention")
STUDY = ("params.yaml", "dvc.lock", "metrics.json", "data", "results", "reports", ".git/index")


def state(study: Toy) -> dict[str, tuple[int, bytes]]:
    """Return content and time of each file of a study, and of git's index."""
    roots = [study.path / name for name in STUDY]
    files = [path for root in roots for path in (root, *root.rglob("*")) if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.mark.slow
def test_a_change_is_tried_beside_the_study(real_study: Toy, tmp_path: Path) -> None:
    study = copy_of(real_study, tmp_path / "clone")
    study.change("title: Author", "title: Letters")  # what is not committed is of the study
    study.run("dvc", "repro", "--quiet")
    before = state(study)
    output = study.run(*TRY, "epochs=4", "heads=1")
    assert "train@author-self-attention" in output and "train@author-last-state" not in output
    said = " ".join(output.split())
    assert "author-self-attention: epochs 4 (before: 2) and heads 1 (before: 2)." in said
    assert "Difference: " in said and "95% interval" in said and "The change is " in said
    assert state(study) == before and not (study.path / ".heed/try").exists()
    assert study.is_up_to_date()
    again = study.run(*TRY, "epochs=4", "heads=1")  # by DVC's cache
    assert again.splitlines()[-1] == output.splitlines()[-1]
    _, said = study.try_(*TRY, "epochs=2")
    assert "author-self-attention has this already" in said
    study.change("heads: 2", "heads: 1")
    _, said = study.try_(*TRY, "epochs=4")
    assert "not up to date" in said and "Run the study first" in said


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_stopped_leaves_nothing(real_study, tmp_path, sent) -> None:
    study = copy_of(real_study, tmp_path / "clone")
    before = state(study)
    process = study.start(*TRY, "epochs=5000")
    wait_for_output(process, "running train@author-self-attention")
    process.send_signal(sent)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 1 and output == "heed: stopped: the study is as it was\n"
    assert state(study) == before and not (study.path / ".heed/try").exists()
    processes = [process.info for process in psutil.process_iter(["cmdline", "cwd"])]
    assert not [process for process in processes if str(study.path) in str(process["cwd"])]


MISTAKES = {
    ("author-atention", "epochs=4"): "author-atention",
    ("author-self-attention", "epochs"): "epochs: expected KEY=VALUE",
    ("author-self-attention", "epoch=4"): "models.author-self-attention.epoch: unknown key",
    ("author-self-attention", "epochs=many"): "models.author-self-attention.epochs: expected",
    ("author-self-attention", "epochs=[4"): "epochs=[4:1: not valid YAML",
    ("author-self-attention", "heads=3"): "models.author-self-attention.heads",
    ("author-self-attention", "variant=mean"): "variant=mean: expected",
    ("author-last-state", "heads=2"): "heads: has no effect, by attention: none. Leave it out",
}


def message_of(model: str, change: str) -> str:
    with pytest.raises(HeedError) as raised:
        [*try_change(model, [change])]
    return str(raised.value)


def test_each_mistake_is_one_message(folder: Path) -> None:
    Path("params.yaml").write_text(SMALL)
    assert "not a git repository" in message_of("author-self-attention", "epochs=4")
    subprocess.run(["git", "init", "--quiet"], check=True)
    for (model, change), expected in MISTAKES.items():
        message = message_of(model, change)
        assert expected in message and "\n" not in message, message
    assert not Path(".heed").exists()
