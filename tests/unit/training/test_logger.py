"""The curves of a training in the tools that show them: read back by the real library of each."""

import contextlib
import shutil
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import pytest
import yaml

from heed import digests
from heed.cli import stages
from heed.files import HeedError
from heed.recipe import read_model_recipe
from heed.study.experiments import TrainingSection
from heed.training.logger import CURVES, LOGGERS, logged
from heed.training.run import train_runs
from tests.conftest import ROOT, RUN, change_recipe, hashes, train

MODEL, NAME = "tiny-attention", "tiny-attention/seed-1"
Read = tuple[dict[str, dict[int, float]], dict[str, object]]  # metric → epoch → score; settings


def read_tensorboard() -> Read:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata

    events = EventAccumulator(str(CURVES / "tensorboard" / NAME)).Reload()
    scores = {
        tag: {each.step: each.value for each in events.Scalars(tag)}
        for tag in events.Tags()["scalars"]
    }
    assert all(len(events.Scalars(tag)) == len(curve) for tag, curve in scores.items())
    content = events.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
    hparams = metadata.parse_session_start_info_plugin_data(content).hparams
    return scores, {
        "epochs": hparams["epochs"].number_value,
        "corpus": hparams["corpus"].string_value,
    }


def read_mlflow() -> Read:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{CURVES.resolve()}/mlflow.db")
    (experiment,) = client.search_experiments(filter_string="name = 'heed'")
    named = [experiment.experiment_id], f"attributes.run_name = '{NAME}'"
    run, *_ = client.search_runs(*named, order_by=["start_time DESC"])
    histories = {
        name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics
    }
    assert all(len({each.step for each in found}) == len(found) for found in histories.values())
    scores = {name: {each.step: each.value for each in found} for name, found in histories.items()}
    settings = run.data.params
    return scores, {"epochs": int(settings["epochs"]), "corpus": settings["corpus"]}


def read_dvclive() -> Read:
    from dvclive import Live
    from dvclive.utils import parse_metrics

    live = Live(str(CURVES / "dvclive" / NAME), resume=True, save_dvc_exp=False, dvcyaml=None)
    plots, latest = parse_metrics(live)
    scores = {
        Path(path).stem: {int(row["step"]): float(row[Path(path).stem]) for row in rows}
        for path, rows in plots.items()
    }
    assert live.read_step() == latest["step"] == max(scores["train_loss"])
    return scores, live._params


READERS: dict[str, Callable[[], Read]] = {
    "tensorboard": read_tensorboard, "mlflow": read_mlflow, "dvclive": read_dvclive,
}  # fmt: skip
slow = {"mlflow": pytest.mark.slow}  # it creates a database: 4 s
each_logger = pytest.mark.parametrize(
    "logger", [pytest.param(name, marks=slow.get(name, ())) for name in READERS]
)


@pytest.fixture
def read(logger: str) -> Callable[[], Read]:
    pytest.importorskip(logger, reason=f"an extra of heed: pip install -e '.[{logger}]'")
    return READERS[logger]


def check(read: Callable[[], Read], epochs: int) -> None:
    scores, settings = read()
    history = pd.read_csv(RUN / "history.csv").set_index("epoch")
    assert {*scores} == {*history.columns} and len(history) == epochs
    for name, column in history.items():
        assert scores[name] == pytest.approx(column.to_dict(), rel=1e-6), name
    assert settings["epochs"] == epochs and settings["corpus"] == "tiny"


@each_logger
def test_a_training_writes_its_curves_and_the_same_bytes_as_without(workplace, logger, read, capfd):
    train(MODEL, 1)
    before = hashes()
    recipe = read_model_recipe(MODEL)
    list(train_runs(MODEL, [1, 2], 2, logger=logger))  # two at the same time
    assert " fails, " not in capfd.readouterr().err
    assert hashes() == before and read_model_recipe(MODEL) == recipe
    check(read, epochs=3)


@each_logger
def test_epochs_are_seen_while_a_training_runs_and_a_resumed_one_goes_on(workplace, logger, read):
    seen: list[list[int]] = []

    def killed(progress):
        if progress.epoch == 3:
            seen.append([*read()[0]["train_loss"]])
            raise KeyboardInterrupt

    for report in (killed, lambda progress: None):
        change_recipe(epochs=4)
        with logged(logger, NAME, read_model_recipe(MODEL), report) as reporting:
            try:
                train(MODEL, 1, reporting)
            except KeyboardInterrupt:
                continue
    assert seen == [[1, 2]]
    check(read, epochs=4)


@each_logger
def test_a_training_with_another_recipe_has_a_curve_of_its_own(workplace, logger, read):
    for epochs in (3, 2):
        change_recipe(epochs=epochs)
        with logged(logger, NAME, read_model_recipe(MODEL), lambda progress: None) as report:
            train(MODEL, 1, report)
    check(read, epochs=2)


@each_logger
def test_a_logger_that_is_switched_on_after_a_resume_has_no_curve_of_an_earlier_training(
    workplace, logger, read
):
    def killed(progress):
        if progress.epoch == 3:
            raise KeyboardInterrupt

    with logged(logger, NAME, read_model_recipe(MODEL), lambda progress: None) as report:
        train(MODEL, 1, report)
    change_recipe(epochs=4)
    with pytest.raises(KeyboardInterrupt):
        train(MODEL, 1, killed)
    with logged(logger, NAME, read_model_recipe(MODEL), lambda progress: None) as report:
        train(MODEL, 1, report)
    check(read, epochs=4)


@pytest.mark.slow
def test_a_training_goes_on_in_no_curve_of_another_clone(workplace, tmp_path, monkeypatch):
    """Two clones are killed, and the one of them whose curve is the older goes on."""
    client = pytest.importorskip("mlflow").MlflowClient
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/server.db")
    change_recipe(epochs=4)
    clones = [shutil.copytree(workplace, tmp_path / name) for name in ("a", "b")]

    def killed(progress):
        if progress.epoch == 3:
            raise KeyboardInterrupt

    for clone, report in zip([*clones, clones[0]], [killed, killed, lambda _: None], strict=True):
        monkeypatch.chdir(clone)
        with (
            contextlib.suppress(KeyboardInterrupt),
            logged("mlflow", NAME, read_model_recipe(MODEL), report) as reporting,
        ):
            train(MODEL, 1, reporting)
    runs = client().search_runs(["1"], order_by=["start_time"])
    epochs = [len(client().get_metric_history(run.info.run_id, "train_loss")) for run in runs]
    assert epochs == [4, 2]
    assert [run.data.tags["heed.clone"] for run in runs] == [*map(str, clones)]


def test_a_logger_that_fails_ends_its_curve_and_not_the_training(workplace, monkeypatch, capsys):
    def fail(run, values, resumes):
        raise OSError("No space left on device")

    monkeypatch.setitem(LOGGERS, "json", fail)  # a module that is there
    with logged("json", NAME, read_model_recipe(MODEL), lambda progress: None) as report:
        train(MODEL, 1, report)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{NAME}: json fails, and the training goes on: OSError('No space left")


STUDY = {"training": {"logger": "mlflow"}, "seeds": [1]}


def test_a_missing_library_is_named_before_the_training(workplace, monkeypatch):
    Path("params.yaml").write_text(yaml.safe_dump(STUDY))
    missing = {"mlflow": None}
    monkeypatch.setattr(digests, "find_spec", lambda name: missing.get(name, find_spec(name)))
    expected = r"this study needs mlflow, .* pip install -e '\.\[mlflow\]'"
    with pytest.raises(HeedError, match=expected):
        stages.train(MODEL)
    assert not RUN.exists()


def test_an_unknown_logger_is_refused_before_the_training(workplace):
    Path("params.yaml").write_text(yaml.safe_dump(STUDY | {"training": {"logger": "wandb"}}))
    with pytest.raises(HeedError, match="expected none, tensorboard, mlflow, dvclive, found 'wand"):
        stages.train(MODEL)
    assert not RUN.exists()


def test_each_logger_is_a_choice_and_an_extra_and_no_stage_reads_the_key():
    (choices,) = (get_args(each) for each in get_type_hints(TrainingSection).values())
    assert choices == ("none", *LOGGERS)
    own = {name for name, extra in digests.EXTRAS.items() if name == extra}
    assert {*LOGGERS} == own == {*READERS}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*LOGGERS} <= {*extras["optional-dependencies"]}
    declared = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    params = {name: stage.get("do", stage).get("params", []) for name, stage in declared.items()}
    assert not [name for name in params if any("training" in each for each in params[name])]
