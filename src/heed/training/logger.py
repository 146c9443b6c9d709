"""The curves of trainings in TensorBoard, MLflow or DVCLive, written as each epoch ends.

params.yaml asks for them by `training.logger`. No result depends on them, and no digest of code has
this module. They are files in .heed/curves; nothing is sent, unless MLFLOW_TRACKING_URI says where.
"""

import contextlib
import importlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heed.digests import require_installed
from heed.files import HeedError, locked
from heed.progress import Progress
from heed.recipe import Recipe
from heed.records import as_json
from heed.terminal import print_line

CURVES = Path(".heed/curves")
NONE = "none"
MODULES = {"tensorboard": "torch.utils.tensorboard"}  # others have the logger's name
Scores = dict[str, float]
Settings = dict[str, bool | int | float | str]
Report = Callable[[Progress], None]


class Curve(NamedTuple):
    """How a run logs the scores of an epoch, and ends; epochs up to `done` are logged."""

    log: Callable[[int, Scores], None] = lambda epoch, scores: None
    close: Callable[[str], None] = lambda status: None
    done: int = 0


def _tensorboard(run: str, settings: Settings, resumes: bool) -> Curve:
    from torch.utils.tensorboard import SummaryWriter
    from torch.utils.tensorboard.summary import hparams

    folder = CURVES / "tensorboard" / run
    shutil.rmtree(folder, ignore_errors=True)
    # purge_step: a TensorBoard that runs hides what it has read of an earlier training
    writer = SummaryWriter(str(folder), purge_step=1)
    writer._get_file_writer().add_summary(hparams(settings, {})[1])

    def log(epoch: int, scores: Scores) -> None:
        for name, score in scores.items():
            writer.add_scalar(name, score, epoch)
        writer.flush()

    return Curve(log, lambda status: writer.close())


def _mlflow(run: str, settings: Settings, resumes: bool) -> Curve:
    from mlflow import MlflowClient, MlflowException
    from mlflow.entities import Metric, Param

    logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells of each table that it creates
    store = f"sqlite:///{CURVES.resolve()}/mlflow.db"
    # two trainings that create its tables at the same time both fail
    with locked(CURVES / "mlflow.lock", f"{run}: mlflow prepares its database: waiting"):
        client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or store)
        with contextlib.suppress(MlflowException):  # it is there already
            client.create_experiment("heed")
    experiment, done = client.get_experiment_by_name("heed").experiment_id, 0
    # a server has runs of other clones too: this clone notes the id of its own
    note, found = CURVES / "mlflow" / run, None
    with contextlib.suppress(FileNotFoundError, MlflowException):  # none, or of another server
        found = client.get_run(note.read_text()).info
    # one that has ended is an earlier training, also where this one began without a logger
    if resumes and found and found.status != "FINISHED":
        key = found.run_id
        done = max([0, *(each.step for each in client.get_metric_history(key, "train_loss"))])
        client.update_run(key, status="RUNNING")
    else:
        clone = {"heed.clone": str(Path.cwd())}
        key = client.create_run(experiment, run_name=run, tags=clone).info.run_id
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(key)
        client.log_batch(key, params=[Param(name, str(each)) for name, each in settings.items()])

    def log(epoch: int, scores: Scores) -> None:
        now = round(1000 * time.time())
        client.log_batch(key, [Metric(name, score, now, epoch) for name, score in scores.items()])

    return Curve(log, lambda status: client.set_terminated(key, status), done)


def _dvclive(run: str, settings: Settings, resumes: bool) -> Curve:
    from dvclive import Live

    live = Live(str(CURVES / "dvclive" / run), save_dvc_exp=False, dvcyaml=None)
    live.log_params(settings)

    def log(epoch: int, scores: Scores) -> None:
        live.step = epoch
        for name, score in scores.items():
            live.log_metric(name, score)
        live.make_summary()

    return Curve(log)


LOGGERS = {"tensorboard": _tensorboard, "mlflow": _mlflow, "dvclive": _dvclive}


@contextlib.contextmanager
def logged(logger: str, run: str, recipe: Recipe[Any, Any], report: Report) -> Iterator[Report]:
    """Yield a `report` that logs the epochs of a training too, after a resume all before it.

    Raises HeedError: there is no such logger, or it is not installed. Where its library fails later
    (a full disk, a server) the curve ends, and not the training.
    """
    if logger == NONE:
        yield report
        return
    if logger not in LOGGERS:
        allowed = ", ".join([NONE, *LOGGERS])
        raise HeedError(f"params.yaml: training.logger: expected {allowed}, found {logger!r}")
    require_installed([logger])
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    importlib.import_module(MODULES.get(logger, logger))  # here: its time is not the training's
    settings = as_json(recipe.hyperparameters) | {
        "variant": recipe.variant,
        "corpus": recipe.corpus,
    }
    settings = {k: v if isinstance(v, str | float | int) else str(v) for k, v in settings.items()}
    curve, begin, done, status = Curve(), [LOGGERS[logger]], 0, "FAILED"

    def report_and_log(progress: Progress) -> None:
        nonlocal curve, done
        report(progress)
        try:
            if progress.history and begin:  # the first epoch of this process has ended
                curve = begin.pop()(run, settings, len(progress.history) > 1)
                done = curve.done
            for row in progress.history[done:]:
                curve.log(round(row["epoch"]), {k: v for k, v in row.items() if k != "epoch"})
                done += 1
        except Exception as error:
            print_line(f"{run}: {logger} fails, and the training goes on: {error!r}", error=True)
            curve = Curve()

    try:
        yield report_and_log
        status = "FINISHED"
    finally:
        with contextlib.suppress(Exception):
            curve.close(status)
