"""The trials of a search: each is a training, as of `heed train`, that reports to Ray Tune.

Time is counted in reports, `reports` an epoch. A trial's checkpoint and reports are in the search's
work folder, which every node sees under the same path. A trial that was killed, or whose search
was, repeats its reports up to the last whole epoch and resumes; one that had ended repeats all.
"""

import contextlib
import dataclasses
import json
import logging
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import optuna
import ray
from ray import tune
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from heed.files import HeedError, read_json, write_json
from heed.hyperparameters import Configuration
from heed.progress import Bar, Counts, Progress, SearchProgress
from heed.search import results
from heed.search.plan import DRAWS, STARTS, Plan, Space, round_value
from heed.study import Dimension, Search
from heed.terminal import print_line
from heed.tokens.arrays import load_tokens
from heed.training import checkpoint
from heed.training.loop import DivergedError, is_over
from heed.training.machine import choose_device, machine_kind
from heed.training.run import train_model

REPORTED, ENDED, CONFIGURATION = "reported.jsonl", "ended", "configuration.json"
RAY = "ray"


class Report(TypedDict, total=False):
    """The report of a trial to Tune: `row` at the end of an epoch, `diverged` as its last."""

    report: int
    score: float
    best: float
    row: dict[str, float]
    diverged: str


def run_trials(
    plan: Plan, search: Search, source: "Sampler | Sequence[Configuration]", bar: Bar
) -> list[results.Trial]:
    """Run the trials on the connected Ray; return them by number. HeedError if every one failed."""
    for name in ("ray.tune", "ray.train", "ray.air"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    shutil.rmtree(plan.work / RAY, ignore_errors=True)
    monitor = _Monitor(plan, search, SearchProgress(bar))

    def trainable(config: dict[str, Any]) -> None:  # as Tune calls it
        run_trial(plan, **config["trial"])

    sampler = source if isinstance(source, Sampler) else None
    param_space = {}
    if not isinstance(source, Sampler):
        monitor.configurations = dict(enumerate(source))
        trials = [{"number": n, "configuration": each} for n, each in enumerate(source)]
        param_space = {"trial": tune.grid_search(trials)}
    tuner = tune.Tuner(
        tune.with_resources(trainable, {"cpu": search.cpu, "gpu": search.gpu}),
        param_space=param_space,
        tune_config=tune.TuneConfig(
            search_alg=sampler, num_samples=search.trials if sampler else 1,
            scheduler=_scheduler(plan, search),
            reuse_actors=True,  # a worker has already imported torch for its next trial
            max_concurrent_trials=search.concurrent or None,
            time_budget_s=search.minutes and 60 * search.minutes,
            trial_dirname_creator=lambda trial: f"{_number(trial):04}",
        ),
        run_config=tune.RunConfig(
            name=RAY, storage_path=str(plan.work), verbose=0, callbacks=[monitor],
            failure_config=tune.FailureConfig(max_failures=search.retries),
        ),
    )  # fmt: skip
    tuner.fit()
    return monitor.trials()


def run_trial(plan: Plan, number: int, configuration: Configuration) -> None:
    """Train one configuration in a Ray worker; Tune may stop it at each of its reports.

    One that diverged reports the worst score and the reason: were it raised, Ray would start it
    again.
    """
    if plan.gpu:  # the training claims a slot of a GPU with so many
        os.environ["HEED_RUNS_PER_GPU"] = str(int(1 / plan.gpu))
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    folder = plan.trial_folder(number)
    folder.mkdir(parents=True, exist_ok=True)
    reporter = _Reporter(plan, folder)
    if (folder / ENDED).exists():
        for each in reporter.reported.values():
            tune.report(each)
        return
    saved = checkpoint.load(folder / checkpoint.CHECKPOINT)
    history = saved[1]["history"] if saved else []
    h = plan.recipe.hyperparameters
    _record_start(folder, len(history), machine_kind(choose_device(h.device), h.precision))
    reporter.repeat(history)
    try:
        train_model(
            plan.recipe.changed(configuration), load_tokens(plan.tokens), plan.seed,
            reporter.report_progress, folder, plan.reports,
        )  # fmt: skip
    except DivergedError as error:
        reporter.best = -math.inf
        number = max(read_reports(folder), default=0) + 1
        reporter.report(number, math.nan, diverged=str(error))


class _Reporter:
    """Reports the scores of a trial to Ray Tune, and writes them into the trial's folder."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.path, self.reported = plan, folder / REPORTED, read_reports(folder)
        self.best = -math.inf  # of the whole epochs so far; before the first, of the report

    def repeat(self, history: list[dict[str, float]]) -> None:
        """Report again what a killed trial had reported in the whole epochs of `history`."""
        reports = self.plan.reports
        for epoch, row in enumerate(history, 1):
            for number in range(reports * (epoch - 1) + 1, reports * epoch):
                if number in self.reported:
                    tune.report(self.reported[number])
            self.report(reports * epoch, row[f"validation_{self.plan.metric}"], row=row)

    def report_progress(self, progress: Progress) -> None:
        reports, metric = self.plan.reports, self.plan.metric
        if progress.validation is not None:
            metrics = {f"validation_{name}": value for name, value in progress.validation.items()}
            row = {"epoch": progress.epoch, "train_loss": progress.loss, **metrics}
            self.report(reports * progress.epoch, progress.validation[metric], row=row)
        elif progress.partial_validation is not None:
            number, partial = progress.partial_validation
            self.report(reports * (progress.epoch - 1) + number, partial[metric])

    def report(
        self, number: int, score: float, row: dict[str, float] | None = None, diverged: str = ""
    ) -> None:
        value = results.higher_is_better(score, self.plan.metric)
        if number % self.plan.reports == 0:
            self.best = max(self.best, value)
        best = self.best if math.isfinite(self.best) else value
        entries: Report = {"report": number, "score": value, "best": best}
        if row:
            entries["row"] = row
        if diverged:
            entries["diverged"] = diverged
        if number not in self.reported:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entries) + "\n")
        tune.report(entries)


def read_reports(folder: Path) -> dict[int, Report]:
    """Return the reports of a trial by number, from 1, but an incomplete last line."""
    reports = {}
    if (folder / REPORTED).exists():
        for line in (folder / REPORTED).read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                report = json.loads(line)
                reports[report["report"]] = report
    return dict(sorted(reports.items()))


def _record_start(folder: Path, epochs: int, kind: str) -> None:
    start = {
        "time": time.time(), "host": os.environ.get("HEED_NODE") or os.uname().nodename,
        "node": ray.get_runtime_context().get_node_id(), "epochs": epochs, "machine_kind": kind,
        "pid": os.getpid(),
    }  # fmt: skip
    with (folder / STARTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(start) + "\n")


def _scheduler(plan: Plan, search: Search) -> TrialScheduler:
    if search.scheduler == "none":
        return FIFOScheduler()
    return AsyncHyperBandScheduler(
        time_attr="report", metric="score", mode="max",
        max_t=plan.recipe.hyperparameters.epochs * search.reports,
        grace_period=round(search.grace_period * search.reports),
        reduction_factor=search.reduction_factor,
    )  # fmt: skip


class Sampler(Searcher):
    """Optuna's TPE (Bergstra et al. 2011): it learns from trials that have ended.

    Each configuration is written into its trial's folder before that starts; a search that was
    killed begins with these.
    """

    def __init__(
        self, plan: Plan, search: Search, space: Space, is_valid: Callable[[Configuration], bool]
    ) -> None:
        super().__init__(metric="best", mode="max")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=search.seed)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        for path in sorted(plan.work.glob(f"trials/*/{CONFIGURATION}")):
            self.study.enqueue_trial(read_json(path, "the search again"))
        self.plan, self.count, self.space, self.is_valid = plan, search.trials, space, is_valid
        self.distributions = {key: _distribution(each) for key, each in space.items()}
        self.drawn: list[Configuration] = []
        self.running: dict[str, optuna.Trial] = {}

    def suggest(self, trial_id: str) -> Any:
        """Return number and configuration of the next trial; `FINISHED` after the last."""
        number = len(self.drawn)
        for _ in range(DRAWS if number < self.count else 0):
            drawn = self.study.ask(self.distributions)
            configuration = {
                key: round_value(drawn.params[key], dimension)
                for key, dimension in self.space.items()
            }
            if configuration not in self.drawn and self.is_valid(configuration):
                self.drawn.append(configuration)
                self.running[trial_id] = drawn
                write_json(self.plan.trial_folder(number) / CONFIGURATION, configuration)
                return {"trial": {"number": number, "configuration": configuration}}
            self.study.tell(drawn, state=optuna.trial.TrialState.FAIL)
        return Searcher.FINISHED  # all were drawn, or every possible configuration was tried

    def on_trial_complete(
        self, trial_id: str, result: dict[str, float] | None = None, error: bool = False
    ) -> None:
        """Learn from a trial that has ended."""
        if drawn := self.running.pop(trial_id, None):
            if result:
                self.study.tell(drawn, result["best"])
            else:
                self.study.tell(drawn, state=optuna.trial.TrialState.FAIL)

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Ray: the trials' folders hold the whole state of the search."""


def _distribution(dimension: Dimension) -> optuna.distributions.BaseDistribution:
    values = dimension.values
    if dimension.kind == "choice":
        return optuna.distributions.CategoricalDistribution(values)
    if dimension.kind == "integer":
        return optuna.distributions.IntDistribution(*values)
    low, high = values
    return optuna.distributions.FloatDistribution(low, high, log=dimension.kind == "loguniform")


class _Monitor(tune.Callback):
    """Tune's callback: marks the trials that have ended, and reports the progress."""

    def __init__(self, plan: Plan, search: Search, progress: SearchProgress) -> None:
        self.plan, self.search, self.progress = plan, search, progress
        self.configurations: dict[int, Configuration] = {}
        self.ended: set[int] = set()
        self.running: set[int] = set()
        self.errors: dict[int, str] = {}
        self.best: dict[int, float] = {}
        self.early = 0
        self.shown = 0.0

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.configurations[_number(trial)] = trial.config["trial"]["configuration"]
        self.running.add(_number(trial))

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, float], **info: Any
    ) -> None:
        self.best[_number(trial)] = result["best"]

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Mark the trial, and delete its checkpoint, which is three times the model."""
        number, folder = _number(trial), self.plan.trial_folder(_number(trial))
        (folder / ENDED).touch()
        (folder / checkpoint.CHECKPOINT).unlink(missing_ok=True)
        self.running.discard(number)
        self.ended.add(number)
        for report in read_reports(folder).values():
            if "diverged" in report:
                self.errors[number] = report["diverged"]
        self.early += self._trial(number).stop == results.ASHA
        self._report_progress(trial_ended=True)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        number = _number(trial)
        self.running.discard(number)
        text = Path(trial.error_file).read_text(encoding="utf-8") if trial.error_file else ""
        self.errors[number] = (text.strip() or "no reason given").splitlines()[-1].strip()
        self._report_progress(trial_ended=True)

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        if time.monotonic() - self.shown > 1:
            self.shown = time.monotonic()
            self._report_progress(trial_ended=False)

    def trials(self) -> list[results.Trial]:
        if self.errors and len(self.errors) == len(self.configurations):
            raise HeedError(f"every trial failed; the first: {self.errors[min(self.errors)]}")
        for number, reason in sorted(self.errors.items()):
            print_line(f"heed: trial {number} failed for good: {reason}")
        return [self._trial(number) for number in sorted(self.configurations)]

    def _trial(self, number: int) -> results.Trial:
        reports = read_reports(self.plan.trial_folder(number))
        history = [each["row"] for each in reports.values() if "row" in each]
        length = max([len(history), *(number / self.plan.reports for number in reports)])
        if number in self.errors:  # no score: its earlier epochs cannot win
            history = []
        configuration, h = self.configurations[number], self.plan.recipe.hyperparameters
        trial = results.Trial.from_history(
            number, configuration, history, length, results.WAITING, self.plan.metric
        )
        if number in self.errors:
            stop = results.FAILED
        elif len(history) >= h.epochs:
            stop = results.FINISHED
        elif history and is_over(len(history), trial.best_epoch, h.patience):
            stop = results.PATIENCE
        elif reports:
            stop = results.ASHA if number in self.ended else results.TIME
        else:
            stop = results.WAITING
        return dataclasses.replace(trial, stop=stop)

    def _report_progress(self, trial_ended: bool) -> None:
        metric, text = self.plan.metric, "no score yet"
        best = max(self.best, key=self.best.__getitem__, default=None)
        if best is not None and self.best[best] > results.WORST:
            score = results.higher_is_better(self.best[best], metric)
            text = f"best {metric} {score:.4f} (trial {best})"
        counts = Counts(
            ended=len({*self.ended, *self.errors}), early=self.early, failed=len(self.errors),
            running=len(self.running), trials=self.search.trials,
        )  # fmt: skip
        self.progress.report_progress(counts, text, trial_ended)


def _number(trial: Any) -> int:
    return int(trial.config["trial"]["number"])
