"""Ray Tune: starts the trials of a search, stops bad ones early, restarts those that were lost.

The state of a search is in its work folder: each trial's checkpoint and reports, and `ended.json`
of those that have ended. A search that was killed resumes from these, without Ray's own state; the
scheduler receives the earlier reports again.
"""

import dataclasses
import json
import logging
import math
import shutil
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
from ray import tune
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher
from ray.tune.search.optuna import OptunaSearch

from heed.files import HeedError, read_json, write_json, write_text
from heed.hyperparameters import Configuration
from heed.progress import Bar, Counts, SearchProgress
from heed.search.results import (
    ASHA,
    FAILED,
    FINISHED,
    PATIENCE,
    TIME,
    WAITING,
    TrialRun,
    higher_is_better,
    winner,
)
from heed.search.trials import (
    DRAWS,
    Plan,
    Space,
    read_divergence,
    read_history,
    read_reports,
    round_value,
    run_trial,
)
from heed.study import Dimension, Search
from heed.terminal import print_line
from heed.training import checkpoint
from heed.training.loop import is_over

ENDED, SPENT, RAY, CONFIGURATION = "ended.json", "seconds", "ray", "configuration.json"
METRIC = "best"  # the key of a trial's report with the best score of its epochs so far


def run_trials(plan: Plan, search: Search, space: Space, bar: Bar) -> list[TrialRun]:
    """Run the trials of a search on the connected Ray; return them by number.

    Raises HeedError: every trial failed, or some did not run.
    """
    configurations = space.configurations
    if configurations is None:
        configurations = _read_drawn(plan)
    monitor = TrialMonitor(plan, configurations, search.trials, SearchProgress(bar))
    budget = None if search.minutes is None else 60 * search.minutes - monitor.spent
    if len(monitor.ended) < search.trials and (budget is None or budget > 0):
        _run_tune(plan, search, space, monitor, budget)
    return monitor.trials_in_order(has_time_limit=search.minutes is not None)


def _run_tune(
    plan: Plan, search: Search, space: Space, monitor: "TrialMonitor", budget: float | None
) -> None:
    """Let Tune run the trials that have not ended, for at most `budget` seconds."""
    for name in ("ray.tune", "ray.train", "ray.air"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    shutil.rmtree(plan.work / RAY, ignore_errors=True)

    def trainable(config: dict[str, Any]) -> None:  # as Tune calls it
        run_trial(plan, **config["trial"])

    param_space, sampling = _sampling(plan, search, space, monitor)
    tuner = tune.Tuner(
        tune.with_resources(trainable, {"cpu": search.cpu, "gpu": search.gpu}),
        param_space=param_space,
        tune_config=tune.TuneConfig(
            **sampling, scheduler=_scheduler(search, monitor),
            reuse_actors=True,  # a worker has already imported torch for its next trial
            max_concurrent_trials=search.concurrent or None,
            time_budget_s=budget, trial_dirname_creator=lambda trial: f"{_number(trial):04}",
        ),
        run_config=tune.RunConfig(
            name=RAY, storage_path=str(plan.work), verbose=0, callbacks=[monitor],
            failure_config=tune.FailureConfig(max_failures=search.retries),
        ),
    )  # fmt: skip
    tuner.fit()


def _sampling(
    plan: Plan, search: Search, space: Space, monitor: "TrialMonitor"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return Tune's parameter space and sampling settings, for the trials that have not ended."""
    if space.configurations is not None:
        trials = [
            {"number": number, "configuration": configuration}
            for number, configuration in enumerate(space.configurations)
            if number not in monitor.ended
        ]
        return {"trial": tune.grid_search(trials)}, {"num_samples": 1}
    ended: dict[int, float | None] = {}
    for number, trial in monitor.ended.items():
        score = trial.score(plan.metric)
        if number in monitor.errors:  # it learns from a training that diverged, as without a kill
            score = math.nan
        ended[number] = None if score is None else higher_is_better(score, plan.metric)
    sampler = Tpe(plan, search, space, ended)
    return {}, {"search_alg": sampler, "num_samples": search.trials - len(ended)}


class Tpe(OptunaSearch):
    """Optuna's TPE (Bergstra et al. 2011) by Ray's integration: it learns from ended trials.

    It draws the configurations of a search one after the other, and numbers them. Each is written
    into its trial's folder before the trial starts. After a kill the trials that had not ended are
    suggested again first.
    """

    def __init__(
        self, plan: Plan, search: Search, space: Space, ended: Mapping[int, float | None]
    ) -> None:
        """Restore the configurations that were drawn before a kill.

        `ended` has the best score of each trial that has ended; None without one.
        """
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        # it warns about a step that is reported twice, as by a trial that is started again
        warnings.filterwarnings("ignore", module="optuna")
        super().__init__(
            {key: _distribution(dimension) for key, dimension in space.dimensions.items()},
            metric=METRIC, mode="max", sampler=optuna.samplers.TPESampler(seed=search.seed),
        )  # fmt: skip
        self.plan, self.trials, self.space = plan, search.trials, space
        self.drawn = _read_drawn(plan)
        self.unfinished = [number for number in range(len(self.drawn)) if number not in ended]
        for number, score in ended.items():
            if score is not None:
                self.add_evaluated_point(self.drawn[number], score)

    @property
    def study(self) -> optuna.Study:
        """Optuna's record of the search."""
        assert self._ot_study is not None
        return self._ot_study

    def suggest(self, trial_id: str) -> Any:
        """Return number and configuration of the next trial; `FINISHED` after the last."""
        if self.unfinished:
            number = self.unfinished.pop(0)
            self.study.enqueue_trial(self.drawn[number])
            super().suggest(trial_id)
            return {"trial": {"number": number, "configuration": self.drawn[number]}}
        number = len(self.drawn)
        for _ in range(DRAWS if number < self.trials else 0):
            values: Any = super().suggest(trial_id)
            configuration = {
                key: round_value(values[key], dimension)
                for key, dimension in self.space.dimensions.items()
            }
            if configuration not in self.drawn and self.space.is_valid(configuration):
                self.drawn.append(configuration)
                write_json(self.plan.trial_folder(number) / CONFIGURATION, configuration)
                return {"trial": {"number": number, "configuration": configuration}}
            self.study.tell(self._ot_trials.pop(trial_id), state=optuna.trial.TrialState.FAIL)
        return Searcher.FINISHED  # all were drawn, or every possible configuration was tried

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Ray: the trials' folders hold the whole state of the search."""


def _read_drawn(plan: Plan) -> list[Configuration]:
    """Return the configurations that were drawn before a search was killed, by number of trial."""
    configurations: list[Configuration] = []
    while (path := plan.trial_folder(len(configurations)) / CONFIGURATION).exists():
        configurations.append(read_json(path, "the search again"))
    return configurations


def _distribution(dimension: Dimension) -> optuna.distributions.BaseDistribution:
    """Return a dimension as Optuna's distribution."""
    values = dimension.values
    if dimension.kind == "choice":
        return optuna.distributions.CategoricalDistribution(values)
    if dimension.kind == "integer":
        return optuna.distributions.IntDistribution(*values)
    low, high = values
    return optuna.distributions.FloatDistribution(low, high, log=dimension.kind == "loguniform")


def _scheduler(search: Search, monitor: "TrialMonitor") -> TrialScheduler:
    """Return the scheduler; asha receives the reports of trials that ended before a kill.

    So it stops trials as if the search had not been killed.
    """
    if search.scheduler == "none":
        return FIFOScheduler()
    asha = AsyncHyperBandScheduler(
        time_attr="report", metric="score", mode="max", max_t=monitor.epochs * search.reports,
        grace_period=round(search.grace_period * search.reports),
        reduction_factor=search.reduction_factor,
    )  # fmt: skip
    controller: Any = None  # asha does not use it here
    for number in monitor.ended:
        trial: Any = SimpleNamespace(trial_id=f"ended-{number}")
        asha.on_trial_add(controller, trial)
        for report, score in sorted(read_reports(monitor.plan.trial_folder(number)).items()):
            result = {"report": report, "score": higher_is_better(score, monitor.plan.metric)}
            asha.on_trial_result(controller, trial, result)
    return asha


class TrialMonitor(tune.Callback):
    """Tune's callback: keeps the histories of trials, writes ended ones, reports the progress."""

    def __init__(
        self, plan: Plan, configurations: list[Configuration], trials: int, progress: SearchProgress
    ) -> None:
        """Read the ended trials of an earlier, killed run of the same search.

        `configurations` may be fewer than `trials`: those of a sampler that learns are drawn later.
        """
        self.plan, self.trials, self.progress = plan, trials, progress
        self.configurations = dict(enumerate(configurations))
        self.epochs: int = plan.recipe.hyperparameters.epochs
        self.patience: int = plan.recipe.hyperparameters.patience
        self.ended: dict[int, TrialRun] = {}
        self.histories: dict[int, list[dict[str, float]]] = {}
        self.errors: dict[int, str] = {}
        self.running: set[int] = set()
        try:  # seconds that earlier, killed runs of this search took
            self.spent = float((plan.work / SPENT).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            self.spent = 0.0
        self.started, self.saved = time.monotonic() - self.spent, 0.0
        for number, configuration in list(self.configurations.items()):
            path = plan.trial_folder(number) / ENDED
            if path.exists():
                ended = json.loads(path.read_text("utf-8"))
                self.ended[number] = TrialRun(number, configuration, **ended)
            if reason := read_divergence(plan.trial_folder(number)):
                self.errors[number] = reason

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Record that a trial runs."""
        self.configurations[_number(trial)] = trial.config["trial"]["configuration"]
        self.running.add(_number(trial))

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """Keep the history that a trial has reported."""
        if "history" in result:
            self.histories[_number(trial)] = result["history"]

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Write how a trial ended, and delete its checkpoint, which is three times the model."""
        number = _number(trial)
        folder = self.plan.trial_folder(number)
        self.running.discard(number)
        if reason := read_divergence(folder):
            self.errors[number] = reason
        ended = self._trial(number)
        if reason:  # no score: its earlier epochs cannot win
            ended = dataclasses.replace(ended, history=[])
        if ended.stop in (FINISHED, PATIENCE, ASHA, FAILED):
            self.ended[number] = ended
            kept = {"history": ended.history, "stop": ended.stop, "length": ended.length}
            write_json(folder / ENDED, kept)
            (folder / checkpoint.CHECKPOINT).unlink(missing_ok=True)
        self._report_progress()

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Record a trial that failed for good."""
        number = _number(trial)
        self.running.discard(number)
        self.errors[number] = _read_error(trial)
        self._report_progress()

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Write the seconds spent, at most once a second."""
        if time.monotonic() - self.saved > 1:
            self.saved = time.monotonic()
            write_text(self.plan.work / SPENT, f"{self.saved - self.started:.1f}")
            self._report_progress(trial_ended=False)

    def trials_in_order(self, has_time_limit: bool) -> list[TrialRun]:
        """Return all trials by number.

        Raises HeedError if all failed, or if some did not run although there is no time limit.
        """
        if self.errors and len(self.errors) == len(self.configurations):
            raise HeedError(f"every trial failed; the first: {self.errors[min(self.errors)]}")
        for number, reason in sorted(self.errors.items()):
            print_line(f"heed: trial {number} failed for good: {reason}")
        trials = []
        for number in sorted(self.configurations):
            trial = self.ended.get(number) or self._trial(number)
            if number not in self.ended and trial.stop == ASHA:  # the search ended before it
                trial = dataclasses.replace(trial, stop=TIME)
            trials.append(trial)
        lost = [trial.number for trial in trials if trial.stop in (WAITING, TIME)]
        if lost and not has_time_limit:
            raise HeedError(f"trials {lost} did not run. Run the same command again: it resumes")
        return trials

    def _trial(self, number: int) -> TrialRun:
        """Return the trial as far as it has run, with the reason why it stopped there."""
        folder = self.plan.trial_folder(number)
        history = self.histories.get(number) or read_history(folder)
        reported = (number / self.plan.reports for number in read_reports(folder))
        length = max([len(history), *reported])
        trial = TrialRun(number, self.configurations[number], history, "", length)
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

    def _report_progress(self, trial_ended: bool = True) -> None:
        stops = [trial.stop for trial in self.ended.values()]
        running = [
            TrialRun(n, self.configurations[n], self.histories.get(n, []), "") for n in self.running
        ]
        metric, text = self.plan.metric, "no score yet"
        if best := winner([*self.ended.values(), *running], metric):
            text = f"best {metric} {best.score(metric):.4f} (trial {best.number})"
        counts = Counts(
            ended=len({*self.ended, *self.errors}), early=stops.count(ASHA),
            failed=len(self.errors), running=len(self.running), trials=self.trials,
        )  # fmt: skip
        self.progress.report_progress(counts, text, trial_ended)


def _number(trial: Any) -> int:
    """Return heed's number of a Tune trial."""
    return int(trial.config["trial"]["number"])


def _read_error(trial: Any) -> str:
    """Return the last line of a failed trial's error."""
    try:
        lines = Path(trial.error_file or "").read_text(encoding="utf-8").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1].strip() if lines else "no reason given"
