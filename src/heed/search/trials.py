"""The trials of a search: their configurations, and the training of one, which reports to Ray Tune.

The configurations of a random search are drawn from its space: the same for the same seed.

The training is the one of `heed train`. Its time is counted in reports: there are `reports` of them
an epoch, the last at its end. A trial keeps its checkpoint in the search's own folder, which every
node sees under the same path. A trial that was killed, with its machine or with the whole search,
first repeats to Ray what it had reported up to its last whole epoch, and resumes after that.
"""

import contextlib
import dataclasses
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heed.files import HeedError, write_text
from heed.hyperparameters import Configuration
from heed.recipe import Recipe
from heed.search.results import higher_is_better
from heed.tokens.arrays import load_tokens
from heed.training import checkpoint
from heed.training.loop import DivergedError, Progress
from heed.training.machine import choose_device, machine_kind
from heed.training.run import train_model

if TYPE_CHECKING:
    from heed.study import Dimension

STARTS, REPORTED, DIVERGED = "starts.jsonl", "reported.jsonl", "diverged.txt"
DRAWS = 1000  # of one configuration, before the space is said to have too few
DIGITS = 4  # significant digits of a real number: best.yaml has exactly the value of the trial


@dataclasses.dataclass(frozen=True)
class Space:
    """The space of a search.

    `configurations` are those of a random search, all drawn before it starts; None for a sampler
    that learns from earlier trials.
    """

    dimensions: "Mapping[str, Dimension]"
    is_valid: Callable[[Configuration], bool]
    configurations: list[Configuration] | None


def draw(
    dimensions: "Mapping[str, Dimension]", trials: int, seed: int,
    is_valid: Callable[[Configuration], bool],
) -> list[Configuration]:  # fmt: skip
    """Return `trials` different, valid configurations, drawn by the seed of the search.

    The order in which trials end cannot change them, and more trials with the same seed begin with
    the same ones. Raises HeedError where the space has too few.
    """
    configurations: list[Configuration] = []
    for number in range(trials):
        generator = np.random.default_rng((seed, number))
        candidates = itertools.islice(_draw_candidates(dimensions, generator), DRAWS)
        for candidate in candidates:
            if candidate not in configurations and is_valid(candidate):
                configurations.append(candidate)
                break
        else:
            raise HeedError(
                f"the space has too few configurations: {number} found of {trials} trials after "
                f"{DRAWS} draws. "
                "Ask for fewer `trials`, or widen `space` (heads must divide the size of the "
                "states)"
            )
    return configurations


def _draw_candidates(
    dimensions: "Mapping[str, Dimension]", generator: np.random.Generator
) -> Iterator[Configuration]:
    """Yield configurations without end; not all of them are possible.

    `heads` is drawn first and kept for 50 configurations: so numbers of heads that divide few sizes
    are drawn as often as others.
    """
    for attempt in itertools.count():
        if attempt % 50 == 0:
            heads = _draw_value(dimensions["heads"], generator) if "heads" in dimensions else None
        values = {
            key: _draw_value(dimension, generator)
            for key, dimension in dimensions.items()
            if key != "heads"
        }
        if heads is not None:
            values["heads"] = heads
        yield {key: values[key] for key in dimensions}


def _draw_value(dimension: "Dimension", generator: np.random.Generator) -> Any:
    """Return one random value of a dimension."""
    values = dimension.values
    if dimension.kind == "choice":
        return values[int(generator.integers(len(values)))]
    if dimension.kind == "integer":
        return int(generator.integers(values[0], values[1], endpoint=True))
    if dimension.kind == "uniform":
        return round_value(float(generator.uniform(*values)), dimension)
    return round_value(
        math.exp(generator.uniform(math.log(values[0]), math.log(values[1]))), dimension
    )


def round_value(value: Any, dimension: "Dimension") -> Any:
    """Return a value of `dimension`; real numbers are rounded to DIGITS significant digits."""
    if dimension.kind not in ("uniform", "loguniform"):
        return value
    low, high = dimension.values
    return min(max(float(f"{value:.{DIGITS}g}"), low), high)


@dataclasses.dataclass(frozen=True)
class Plan:
    """The part of a search that its trials share, sent to every worker. Paths are absolute.

    `recipe` is the trial's recipe except for the configuration. `work` is the work folder of the
    search. `seed` is that of the search: all trials share it. `gpu` is the share of a GPU that a
    trial takes, and `reports` the number of reports an epoch.
    """

    recipe: Recipe[Any, Any]
    tokens: Path
    work: Path
    seed: int
    metric: str
    gpu: float
    reports: int = 1

    def trial_folder(self, number: int) -> Path:
        """Return the folder of trial `number`, with its checkpoint, starts and reports."""
        return self.work / "trials" / f"{number:04}"


class _Reporter:
    """Reports the scores of a trial to Ray Tune, and writes them into the trial's folder."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.reported = read_reports(folder)
        self.history: list[dict[str, float]] = []

    def repeat(self, history: list[dict[str, float]]) -> None:
        """Report again what a killed trial had reported in the whole epochs of `history`."""
        reports, key = self.plan.reports, f"validation_{self.plan.metric}"
        scores = {n: score for n, score in self.reported.items() if n < len(history) * reports}
        scores |= {reports * epoch: row[key] for epoch, row in enumerate(history, 1)}
        for number, score in sorted(scores.items()):
            self.history = history[: number // reports]
            self._report(number, score)

    def report_progress(self, progress: Progress) -> None:
        """Report the score of every validation of the training."""
        reports, metric = self.plan.reports, self.plan.metric
        if progress.validation is not None:
            metrics = {f"validation_{name}": value for name, value in progress.validation.items()}
            row = {"epoch": progress.epoch, "train_loss": progress.loss, **metrics}
            self.history.append(row)
            self._report(reports * progress.epoch, progress.validation[metric])
        elif progress.partial_validation is not None:
            number, partial = progress.partial_validation
            self._report(reports * (progress.epoch - 1) + number, partial[metric])

    def report_divergence(self, reason: str) -> None:
        """Write the reason why the training diverged, and report the worst score.

        A scheduler needs a score of every trial, and a sampler learns from it.
        """
        write_text(self.folder / DIVERGED, reason)
        self.history = []
        self._report(max(read_reports(self.folder), default=0) + 1, math.nan)

    def _report(self, number: int, score: float) -> None:
        """Report the score of report `number`, counted from 1 over the whole trial.

        `best` is that of the whole epochs so far; before the end of the first it is this score.
        """
        from ray import tune

        if number not in self.reported:
            with (self.folder / REPORTED).open("a", encoding="utf-8") as file:
                file.write(json.dumps([number, score]) + "\n")
        metric = self.plan.metric
        value = higher_is_better(score, metric)
        epochs = [higher_is_better(row[f"validation_{metric}"], metric) for row in self.history]
        best, history = max(epochs, default=value), list(self.history)
        tune.report({"report": number, "score": value, "best": best, "history": history})


def run_trial(plan: Plan, number: int, configuration: Configuration) -> None:
    """Train one configuration in a Ray worker; Tune may stop it at each of its reports.

    Of a training that diverged the reason is written into the trial's folder. Nothing is raised:
    Ray would start the trial again, and it would diverge again.
    """
    if plan.gpu:  # the training claims a slot of a GPU with so many
        os.environ["HEED_RUNS_PER_GPU"] = str(int(1 / plan.gpu))
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    folder = plan.trial_folder(number)
    folder.mkdir(parents=True, exist_ok=True)
    node = os.environ.get("HEED_NODE") or os.uname().nodename
    history = read_history(folder)
    kind = machine_kind(choose_device(plan.recipe.hyperparameters.device))
    _record_start(folder, node, len(history), kind)
    reporter = _Reporter(plan, folder)
    reporter.repeat(history)
    try:
        train_model(
            plan.recipe.changed(configuration), load_tokens(plan.tokens), plan.seed,
            reporter.report_progress, folder, plan.reports,
        )  # fmt: skip
    except DivergedError as error:
        reporter.report_divergence(str(error))


def read_history(folder: Path) -> list[dict[str, float]]:
    """Return the epochs in a trial's checkpoint."""
    saved = checkpoint.load(folder / checkpoint.CHECKPOINT)
    return saved[1]["history"] if saved else []


def read_divergence(folder: Path) -> str:
    """Return the reason why the training of a trial diverged; empty if it did not."""
    path = folder / DIVERGED
    return path.read_text(encoding="utf-8") if path.exists() else ""


def read_reports(folder: Path) -> dict[int, float]:
    """Return the reports of a trial: number of the report, from 1 → score.

    An incomplete last line, of a trial that was killed, is ignored.
    """
    scores = {}
    if (folder / REPORTED).exists():
        for line in (folder / REPORTED).read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                number, score = json.loads(line)
                scores[number] = score
    return scores


def _record_start(folder: Path, node: str, epochs: int, kind: str) -> None:
    """Write where (node, machine kind), when and after how many epochs the trial starts.

    Only the timing reads it.
    """
    import ray

    start = {
        "time": time.time(), "host": node, "node": ray.get_runtime_context().get_node_id(),
        "epochs": epochs, "machine_kind": kind, "pid": os.getpid(),
    }  # fmt: skip
    with (folder / STARTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(start) + "\n")
