"""Ray Tune: starts the trials of a search, stops what does badly, starts again what was lost.

What a search knows is its own, in its folder: each trial's checkpoint, and `ended.json` of those
that have ended. A search that was killed takes both up, so it needs nothing of Ray's own state, and
the scheduler is given again what it had seen.
"""

import dataclasses
import json
import logging
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ray import tune
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler

from heed.files import HeedError, write_json, write_text
from heed.hyperparameters import Configuration
from heed.search.outcome import (
    ASHA,
    FAILED,
    FINISHED,
    PATIENCE,
    TIME,
    WAITING,
    Trial,
    goodness,
    winner,
)
from heed.search.progress import SearchProgress
from heed.search.sampler import Tpe, drawn_before
from heed.search.space import Space
from heed.search.trainable import Plan, read_reports, run_trial
from heed.study import Search
from heed.training import checkpoint
from heed.training.loop import is_over

ENDED, SPENT, RAY = "ended.json", "seconds", "ray"


def run_trials(plan: Plan, search: Search, space: Space, progress: SearchProgress) -> list[Trial]:
    """Try configurations of the space on the Ray that is connected; return what came of each, in
    their order.

    Raises:
        HeedError: every trial failed.

    """
    drawn = drawn_before(plan.folder) if space.configurations is None else space.configurations
    watch = Watch(plan, drawn, search.trials, progress)
    spent = _spent(plan.store)
    left = None if search.minutes is None else 60 * search.minutes - spent
    if len(watch.ended) < search.trials and (left is None or left > 0):
        watch.clock(spent)
        _fit(plan, search, space, watch, left)
    return watch.outcome(out_of_time=search.minutes is not None)


def _fit(plan: Plan, search: Search, space: Space, watch: "Watch", left: float | None) -> None:
    """Let Tune run the trials that have not ended."""
    for name in ("ray.tune", "ray.train", "ray.air"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    shutil.rmtree(plan.store / RAY, ignore_errors=True)

    def trainable(config: dict[str, Any]) -> None:  # as Tune calls it
        run_trial(plan, **config["trial"])

    if space.configurations is None:
        ended = {number: trial.score(plan.metric) for number, trial in watch.ended.items()}
        best = {
            number: None if score is None else goodness(score, plan.metric)
            for number, score in ended.items()
        }
        sampler = Tpe(space.dimensions, search.trials, search.seed, space.fits, plan.folder, best)
        what: dict[str, Any] = {"search_alg": sampler, "num_samples": search.trials - len(ended)}
        param_space = {}
    else:
        due = [trial for trial in enumerate(space.configurations) if trial[0] not in watch.ended]
        what = {"num_samples": 1}
        param_space = {
            "trial": tune.grid_search([{"number": n, "configuration": c} for n, c in due])
        }
    tuner = tune.Tuner(
        tune.with_resources(trainable, {"cpu": search.cpu, "gpu": search.gpu}),
        param_space=param_space,
        tune_config=tune.TuneConfig(
            **what,
            scheduler=_scheduler(search, watch),
            reuse_actors=True,  # the next trial finds torch imported
            max_concurrent_trials=search.concurrent or None,
            time_budget_s=left,
            trial_dirname_creator=lambda trial: f"{_number(trial):04}",
        ),
        run_config=tune.RunConfig(
            name=RAY,
            storage_path=str(plan.store),
            verbose=0,
            callbacks=[watch],
            failure_config=tune.FailureConfig(max_failures=search.retries),
        ),
    )
    tuner.fit()


def _scheduler(search: Search, watch: "Watch") -> TrialScheduler:
    """Return the scheduler; asha hears of the trials that ended before a kill, so that it judges as
    if never stopped.
    """
    if search.scheduler == "none":
        return FIFOScheduler()
    asha = AsyncHyperBandScheduler(
        time_attr="part", metric="score", mode="max", max_t=watch.epochs * search.reports,
        grace_period=round(search.grace_period * search.reports),
        reduction_factor=search.reduction_factor,
    )  # fmt: skip
    for number in watch.ended:
        nobody: Any = None  # asha asks its controller nothing here
        stand_in: Any = SimpleNamespace(trial_id=f"ended-{number}")
        asha.on_trial_add(nobody, stand_in)
        for part, figure in sorted(read_reports(watch.plan.folder(number)).items()):
            asha.on_trial_result(
                nobody, stand_in, {"part": part, "score": goodness(figure, watch.plan.metric)}
            )
    return asha


class Watch(tune.Callback):
    """Hears of every epoch of every trial: keeps the histories, notes what has ended, reports the
    progress.
    """

    def __init__(
        self, plan: Plan, configurations: list[Configuration], trials: int, progress: SearchProgress
    ) -> None:
        """Take up what an earlier, killed run of the same search has left; `configurations` may
        grow to `trials`.
        """
        self.plan, self.trials, self.progress = plan, trials, progress
        self.configurations = dict(enumerate(configurations))
        self.epochs: int = plan.recipe.hyperparameters.epochs
        self.patience: int = plan.recipe.hyperparameters.patience
        self.ended: dict[int, Trial] = {}
        self.histories: dict[int, list[dict[str, float]]] = {}
        self.errors: dict[int, str] = {}
        self.running: set[int] = set()
        self.before = self.started = self.noted = 0.0
        for number in self.configurations:
            note = plan.folder(number) / ENDED
            if note.exists():
                self.ended[number] = Trial(
                    number, configurations[number], **json.loads(note.read_text("utf-8"))
                )

    def clock(self, spent: float) -> None:
        """Start counting the wall time, after `spent` seconds of earlier runs."""
        self.before, self.started = spent, time.monotonic()

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Note that a trial runs."""
        self.configurations[_number(trial)] = trial.config["trial"]["configuration"]
        self.running.add(_number(trial))

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """Keep the history that a trial has reported."""
        if "history" in result:
            self.histories[_number(trial)] = result["history"]

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Write down how a trial ended, and drop its checkpoint: with Adam's state it is three
        times the model.
        """
        number = _number(trial)
        self.running.discard(number)
        ended = self._trial(number)
        if ended.stop in (FINISHED, PATIENCE, ASHA):
            self.ended[number] = ended
            write_json(
                self.plan.folder(number) / ENDED,
                {"history": ended.history, "stop": ended.stop, "length": ended.length},
            )
            (self.plan.folder(number) / checkpoint.CHECKPOINT).unlink(missing_ok=True)
        self._report_progress()

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Note a trial that failed for good."""
        number = _number(trial)
        self.running.discard(number)
        self.errors[number] = _reason(trial)
        self._report_progress()

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Count the time, now and then."""
        if time.monotonic() - self.noted > 1:
            self.noted = time.monotonic()
            write_text(self.plan.store / SPENT, f"{self.before + self.noted - self.started:.1f}")
            self._report_progress(now=False)

    def outcome(self, out_of_time: bool) -> list[Trial]:
        """Return all trials. Raises HeedError when all failed."""
        if self.errors and len(self.errors) == len(self.configurations):
            raise HeedError(f"every trial failed; the first: {self.errors[min(self.errors)]}")
        for number, reason in sorted(self.errors.items()):
            print(f"heed: trial {number} failed for good: {reason}", flush=True)
        found = [
            self.ended.get(number) or self._left(number) for number in sorted(self.configurations)
        ]
        if not out_of_time and (
            lost := [trial.number for trial in found if trial.stop in (WAITING, TIME)]
        ):
            raise HeedError(
                f"trials {lost} did not run. Run the same command again: it goes on where it is"
            )
        return found

    def _left(self, number: int) -> Trial:
        """Return a trial that had not ended when the search did."""
        trial = self._trial(number)
        return dataclasses.replace(trial, stop=TIME) if trial.stop == ASHA else trial

    def _trial(self, number: int) -> Trial:
        """Return the trial as it stands, with the reason why it is not longer."""
        folder = self.plan.folder(number)
        history = self.histories.get(number) or _history(folder)
        length = max([len(history), *(part / self.plan.reports for part in read_reports(folder))])
        trial = Trial(number, self.configurations[number], history, "", length)
        best = trial.best_epoch(self.plan.metric)
        if number in self.errors:
            stop = FAILED
        elif len(history) >= self.epochs:
            stop = FINISHED
        elif history and is_over(len(history), best, self.patience):
            stop = PATIENCE
        else:
            stop = ASHA if length else WAITING
        return dataclasses.replace(trial, stop=stop)

    def _report_progress(self, now: bool = True) -> None:
        """Report how far the search is."""
        stops = [trial.stop for trial in self.ended.values()]
        running = [
            Trial(n, self.configurations[n], self.histories.get(n, []), "") for n in self.running
        ]
        best = winner([*self.ended.values(), *running], self.plan.metric)
        self.progress.report_progress(
            ended=len(stops) + len(self.errors), early=stops.count(ASHA), failed=len(self.errors),
            running=len(self.running), trials=self.trials, best=best, metric=self.plan.metric,
            now=now,
        )  # fmt: skip


def _number(trial: Any) -> int:
    """Return heed's number of a trial of Tune's."""
    return int(trial.config["trial"]["number"])


def _history(folder: Path) -> list[dict[str, float]]:
    """Return the epochs that a trial had finished when it was last heard of."""
    saved = checkpoint.load(folder / checkpoint.CHECKPOINT)
    return saved[1]["history"] if saved else []


def _spent(store: Path) -> float:
    """Return the seconds that earlier, killed runs of this search took."""
    try:
        return float((store / SPENT).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return 0.0


def _reason(trial: Any) -> str:
    """Return the last line of what went wrong in a trial."""
    try:
        lines = Path(trial.error_file or "").read_text(encoding="utf-8").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1].strip() if lines else "no reason given"
