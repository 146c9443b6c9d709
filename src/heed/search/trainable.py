"""One trial: the training that `heed train` does, with a configuration put in, reported to Ray Tune
as it goes on.

Time is counted in reports: `reports` an epoch, the last of them at its end. A trial keeps its
checkpoint in the search's own folder, which every node sees under the same path. One that was
killed, with its machine or with the whole search, reports to Ray again what it had reported up to
its last whole epoch, and goes on after that.
"""

import contextlib
import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

from heed.hyperparameters import Configuration
from heed.recipe import Recipe
from heed.search.outcome import goodness
from heed.tokens.arrays import load_tokens
from heed.training import checkpoint
from heed.training.loop import Progress
from heed.training.run import train_model

STARTS, REPORTED = "starts.jsonl", "reported.jsonl"


@dataclasses.dataclass(frozen=True)
class Plan:
    """All that a trial needs to know of its search, sent to every worker; paths are absolute.

    `recipe` is the trial's recipe but for the configuration. `seed` is the search's own: all trials
    share it.
    """

    recipe: Recipe[Any, Any]
    tokens: Path
    store: Path
    seed: int
    metric: str
    gpu: float
    reports: int = 1

    def folder(self, number: int) -> Path:
        """Return where trial `number` keeps its checkpoint and notes its starts."""
        return self.store / "trials" / f"{number:04}"


def run_trial(plan: Plan, number: int, configuration: Configuration) -> None:
    """Train one configuration inside a Ray worker; each epoch's figures are reported to Tune, which
    may stop it there.
    """
    from ray import tune

    _choose_device(plan.gpu)
    folder = plan.folder(number)
    folder.mkdir(parents=True, exist_ok=True)
    node = os.environ.get("HEED_NODE") or os.uname().nodename
    saved = checkpoint.load(folder / checkpoint.CHECKPOINT)
    history: list[dict[str, float]] = saved[1]["history"] if saved else []
    _note_start(folder, node, len(history))

    reported = read_reports(folder)
    ends = {plan.reports * n: row[f"validation_{plan.metric}"] for n, row in enumerate(history, 1)}
    past = {
        part: figure for part, figure in reported.items() if part < len(history) * plan.reports
    } | ends
    whole, history = history, []

    def report(part: int, figure: float) -> None:
        if part not in reported:
            with (folder / REPORTED).open("a", encoding="utf-8") as file:
                file.write(json.dumps([part, figure]) + "\n")
        score = goodness(figure, plan.metric)
        best = max(
            [goodness(row[f"validation_{plan.metric}"], plan.metric) for row in history],
            default=score,
        )
        tune.report({"part": part, "score": score, "best": best, "history": list(history)})

    for part, figure in sorted(past.items()):
        history = whole[: part // plan.reports]
        report(part, figure)

    def report_progress(progress: Progress) -> None:
        if progress.validation is not None:
            figures = {f"validation_{key}": value for key, value in progress.validation.items()}
            history.append({"epoch": progress.epoch, "train_loss": progress.loss, **figures})
            report(plan.reports * progress.epoch, progress.validation[plan.metric])
        elif progress.glance is not None:
            number, seen = progress.glance
            report(plan.reports * (progress.epoch - 1) + number, seen[plan.metric])

    train_model(
        plan.recipe.changed(configuration),
        load_tokens(plan.tokens),
        plan.seed,
        report_progress,
        folder,
        plan.reports,
    )


def read_reports(folder: Path) -> dict[int, float]:
    """Return what a trial has reported: reports since its start → the figure; a torn last line does
    not count.
    """
    found = {}
    if (folder / REPORTED).exists():
        for line in (folder / REPORTED).read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                part, figure = json.loads(line)
                found[part] = figure
    return found


def _choose_device(gpu: float) -> None:
    """Let the training find a place on a card, of as many as its share leaves room for; or
    on none.
    """
    if gpu:
        os.environ["HEED_RUNS_PER_GPU"] = str(int(1 / gpu))
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def _note_start(folder: Path, node: str, epochs: int) -> None:
    """Note where and when the trial started, and after how many epochs: read for the timing
    alone.
    """
    import ray

    start = {
        "time": time.time(),
        "host": node,
        "node": ray.get_runtime_context().get_node_id(),
        "epochs": epochs,
        "pid": os.getpid(),
    }
    with (folder / STARTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(start) + "\n")
