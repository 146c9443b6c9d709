"""The trials of a search: each is an ordinary training that reports to Ray Tune.

A trial reports after each epoch. Its checkpoint and reports are in the search's
work folder, which every node sees under the same path. A trial that was killed, or whose search
was, repeats its reports and resumes; one that had ended repeats all.
"""

import contextlib
import dataclasses
import errno
import json
import logging
import math
import os
import shutil
import time
from pathlib import Path
from typing import Any, TypedDict

import ray
from ray import tune
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from heed.files import HeedError
from heed.hyperparameters import Configuration
from heed.progress import Bar, Counts, Progress, SearchProgress
from heed.search import results
from heed.search.candidates import STARTS, Candidates, TrialSetup
from heed.study import Search
from heed.terminal import print_line
from heed.tokens.arrays import load_tokens
from heed.training import checkpoint
from heed.training.loop import DivergedError, is_over
from heed.training.machine import choose_device, machine_kind
from heed.training.run import train_model

REPORTED, ENDED = "reported.jsonl", "ended"
RAY = "ray"
MAX_WAITING = 200  # trials that wait for a place on a cluster, as Ray itself has it
RESTARTS = 3  # of a trial whose machine was lost
Key = tuple[str, int]  # of a trial: its model and its number


class Report(TypedDict, total=False):
    """The report of a trial to Tune, by its epoch; `diverged` in place of a `row` is its last."""

    report: int
    score: float
    best: float
    row: dict[str, float]
    diverged: str


@dataclasses.dataclass
class Job:
    """The search of one model: what its trials share, may try, and have used."""

    setup: TrialSetup
    candidates: Candidates

    def __post_init__(self) -> None:
        self.budget = Budget(self)
        self.started = 0

    @property
    def search(self) -> Search:
        """The search, with this model's own values."""
        return self.setup.search

    def is_kept(self, number: int) -> bool:
        """Return whether a trial runs to its end: the model's own configuration, always."""
        return number == 0 and self.candidates.own is not None


class Budget:
    """What the trials of a model may use together, in reports.

    `spent` is by trial. `promised` is what each that runs may use up to its next report; a trial
    that is kept is promised all of its reports. So no search ever uses more than its budget. What
    had `ended` before the search was killed is only read again, which costs nothing.
    """

    def __init__(self, job: Job) -> None:
        setup, search = job.setup, job.search
        self.job, self.reports = job, setup.recipe.hyperparameters.epochs
        self.total = search.trainings * self.reports or math.inf
        # of a search that was killed, too
        past = {number: read_reports(setup.trial_folder(number)) for number in range(search.trials)}
        self.spent = {number: max(reports) for number, reports in past.items() if reports}
        self.ended = {number for number in past if (setup.trial_folder(number) / ENDED).exists()}
        self.promised: dict[int, int] = {}
        self.cut: set[int] = set()

    def promise(self, number: int) -> bool:
        """Return whether a trial may start, or go on; then it is promised what it needs."""
        self.promised.pop(number, None)
        used = self.spent.get(number, 0)
        need = max(1, self.reports - used) if self.job.is_kept(number) else 1
        need = 0 if number in self.ended else need
        left = self.total - sum(self.spent.values()) - sum(self.promised.values())
        if need <= max(0, left) or used >= self.reports:
            self.promised[number] = need
            return True
        return False

    def report(self, number: int, report: int) -> bool:
        """Count a report of a trial; return whether it may go on."""
        self.spent[number] = max(self.spent.get(number, 0), report)
        if not (goes_on := self.promise(number)):
            self.cut.add(number)
        return goes_on


def run_trials(jobs: dict[str, Job], bar: Bar) -> dict[str, list[results.Trial]]:
    """Run each model's trials on Ray; return them by model. HeedError: all of a model failed."""
    for name in ("ray.tune", "ray.train", "ray.air"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    setups = {model: job.setup for model, job in jobs.items()}
    setup, search = next((job.setup, job.search) for job in jobs.values())
    shutil.rmtree(setup.work / RAY, ignore_errors=True)
    monitor = _Monitor(jobs, SearchProgress(bar))
    # Trials may wait for a place, which lets a cluster grow; within a budget each that waits has a
    # part of it promised.
    waiting = str(_count_places(search) if search.trainings else min(search.trials, MAX_WAITING))
    os.environ.setdefault("TUNE_MAX_PENDING_TRIALS_PG", waiting)

    def trainable(config: dict[str, Any]) -> None:  # as Tune calls it
        trial = config["trial"]
        run_trial(setups[trial["model"]], trial["number"], trial["configuration"])

    tuner = tune.Tuner(
        tune.with_resources(trainable, {"cpu": search.cpu, "gpu": search.gpu}),
        tune_config=tune.TuneConfig(
            search_alg=_Suggester(jobs), num_samples=len(jobs) * search.trials,
            scheduler=_Scheduler(jobs),
            reuse_actors=True,  # a worker has already imported torch for its next trial
            max_concurrent_trials=search.concurrent or None,
            trial_dirname_creator=lambda trial: "{}-{:04}".format(*_key(trial)),
        ),
        run_config=tune.RunConfig(
            name=RAY, storage_path=str(setup.work), verbose=0, callbacks=[monitor],
            failure_config=tune.FailureConfig(max_failures=RESTARTS),
        ),
    )  # fmt: skip
    try:
        tuner.fit()
    except EOFError as error:  # a trial failed, and Ray had no space for the error
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(setup.work)) from error
    return {model: monitor.trials(model) for model in jobs}


def _count_places(search: Search) -> int:
    """Return how many trials can run at once on the connected Ray."""
    has = ray.cluster_resources()
    gpus = has.get("GPU", 0.0) / search.gpu if search.gpu else math.inf
    return max(1, int(min(has.get("CPU", 1.0) / search.cpu, gpus)))


def run_trial(setup: TrialSetup, number: int, configuration: Configuration) -> None:
    """Train one configuration in a Ray worker; Tune may stop it at each of its reports."""
    if setup.search.gpu:  # the training claims one of the slots of a GPU
        os.environ["HEED_RUNS_PER_GPU"] = str(int(1 / setup.search.gpu))
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    folder = setup.trial_folder(number)
    folder.mkdir(parents=True, exist_ok=True)
    reporter = _Reporter(setup, folder)
    if (folder / ENDED).exists():
        for report in reporter.reported.values():
            tune.report(report)
        return
    saved = checkpoint.load(folder / checkpoint.CHECKPOINT)
    history = saved[1]["history"] if saved else []
    h = setup.recipe.hyperparameters
    _record_start(folder, len(history), machine_kind(choose_device(h.device), h.precision))
    reporter.repeat(history)
    try:
        train_model(
            setup.recipe.changed(configuration), load_tokens(setup.tokens), setup.search.seed,
            reporter.report_progress, folder,
        )  # fmt: skip
    except DivergedError as error:  # were it raised, Ray would start the trial again
        reporter.best = -math.inf
        number = max(read_reports(folder), default=0) + 1
        reporter.report(number, math.nan, diverged=str(error))


class _Reporter:
    """Reports the scores of a trial to Ray Tune, and writes them into the trial's folder."""

    def __init__(self, setup: TrialSetup, folder: Path) -> None:
        self.setup, self.path, self.reported = setup, folder / REPORTED, read_reports(folder)
        self.best = -math.inf

    def repeat(self, history: list[dict[str, float]]) -> None:
        """Report again what a killed trial had reported in the epochs of `history`."""
        for epoch, row in enumerate(history, 1):
            self.report(epoch, row[f"validation_{self.setup.search.metric}"], row=row)

    def report_progress(self, progress: Progress) -> None:
        if progress.validation is not None:
            metrics = {f"validation_{name}": value for name, value in progress.validation.items()}
            row = {"epoch": progress.epoch, "train_loss": progress.loss, **metrics}
            self.report(progress.epoch, progress.validation[self.setup.search.metric], row=row)

    def report(self, number: int, score: float, **more: Any) -> None:
        value = results.higher_is_better(score, self.setup.search.metric)
        self.best = max(self.best, value)
        best = self.best if math.isfinite(self.best) else value
        entries = {"report": number, "score": value, "best": best, **more}
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


class _Scheduler(FIFOScheduler):
    """The scheduler of each model's search, within its budget."""

    supports_buffered_results = False  # each report is decided on

    def __init__(self, jobs: dict[str, Job]) -> None:
        super().__init__()
        self.jobs = jobs
        self.schedulers = {model: _make_scheduler(job) for model, job in jobs.items()}

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        self.schedulers[_key(trial)[0]].on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        model, number = _key(trial)
        decision = self.schedulers[model].on_trial_result(tune_controller, trial, result)
        job = self.jobs[model]
        if job.is_kept(number):
            decision = TrialScheduler.CONTINUE
        return decision if job.budget.report(number, result["report"]) else TrialScheduler.STOP

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        self.schedulers[_key(trial)[0]].on_trial_complete(tune_controller, trial, result)

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        self.schedulers[_key(trial)[0]].on_trial_remove(tune_controller, trial)


def _make_scheduler(job: Job) -> TrialScheduler:
    if job.search.scheduler == "none":
        return FIFOScheduler()
    return AsyncHyperBandScheduler(
        time_attr="report", metric="score", mode="max",
        max_t=job.setup.recipe.hyperparameters.epochs, grace_period=1,
        reduction_factor=3,  # at each rung one of three trials continues
    )  # fmt: skip


class _Suggester(Searcher):
    """Gives Tune the next trial: of the model that has started fewest, while its budget lasts."""

    def __init__(self, jobs: dict[str, Job]) -> None:
        super().__init__(metric="best", mode="max")
        self.jobs = jobs
        self.running: dict[str, tuple[str, int]] = {}

    def suggest(self, trial_id: str) -> Any:
        """Return model, number and configuration; None to wait, `FINISHED` after the last."""
        for model, job in sorted(self.jobs.items(), key=lambda item: item[1].started):
            number = job.started
            if number == job.search.trials or not job.budget.promise(number):
                continue
            job.started += 1
            self.running[trial_id] = model, number
            configuration = job.candidates.drawn[number]
            return {"trial": {"model": model, "number": number, "configuration": configuration}}
        # what a running trial leaves of its promise another may use
        waits = any(0 < job.started < job.search.trials for job in self.jobs.values())
        return None if waits and self.running else Searcher.FINISHED

    def on_trial_complete(
        self, trial_id: str, result: dict[str, float] | None = None, error: bool = False
    ) -> None:
        """Free what a trial that has ended was promised."""
        if ended := self.running.pop(trial_id, None):
            self.jobs[ended[0]].budget.promised.pop(ended[1], None)

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Ray: the trials' folders hold the whole state of the search."""


class _Monitor(tune.Callback):
    """Tune's callback: marks the trials that have ended, and reports the progress."""

    def __init__(self, jobs: dict[str, Job], progress: SearchProgress) -> None:
        self.jobs, self.progress = jobs, progress
        self.configurations: dict[Key, Configuration] = {
            (model, number): configuration
            for model, job in jobs.items()
            if not job.search.trainings  # all are to be tried
            for number, configuration in enumerate(job.candidates.drawn)
        }
        self.ended: set[Key] = set()
        self.running: set[Key] = set()
        self.errors: dict[Key, str] = {}
        self.best: dict[Key, float] = {}
        self.early = 0
        self.shown = 0.0

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.configurations[_key(trial)] = trial.config["trial"]["configuration"]
        self.running.add(_key(trial))

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, float], **info: Any
    ) -> None:
        self.best[_key(trial)] = result["best"]

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Mark the trial, and delete its checkpoint, which is three times the model."""
        model, number = key = _key(trial)
        job = self.jobs[model]
        folder = job.setup.trial_folder(number)
        ended = folder / ENDED
        if not ended.exists():
            ended.write_text(results.BUDGET if number in job.budget.cut else "", encoding="utf-8")
        (folder / checkpoint.CHECKPOINT).unlink(missing_ok=True)
        self.running.discard(key)
        self.ended.add(key)
        for report in read_reports(folder).values():
            if "diverged" in report:
                self.errors[key] = report["diverged"]
        self.early += self._trial(*key).stop in (results.ASHA, results.BUDGET)
        self._report_progress(trial_ended=True)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        key = _key(trial)
        self.running.discard(key)
        text = Path(trial.error_file).read_text(encoding="utf-8") if trial.error_file else ""
        self.errors[key] = (text.strip() or "no reason given").splitlines()[-1].strip()
        self._report_progress(trial_ended=True)

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        if time.monotonic() - self.shown > 1:
            self.shown = time.monotonic()
            self._report_progress(trial_ended=False)

    def trials(self, model: str) -> list[results.Trial]:
        tried, errors = (
            {number: value for (name, number), value in sorted(found.items()) if name == model}
            for found in (self.configurations, self.errors)
        )
        of_model = "" if self.jobs[model].candidates.own is None else f"{model}: "
        if errors and len(errors) == len(tried):
            raise HeedError(f"{of_model}every trial failed; the first: {errors[min(errors)]}")
        for number, reason in errors.items():
            print_line(f"heed: {of_model}trial {number} failed for good: {reason}")
        return [self._trial(model, number) for number in tried]

    def _trial(self, model: str, number: int) -> results.Trial:
        setup, key = self.jobs[model].setup, (model, number)
        reports, has_failed = read_reports(setup.trial_folder(number)), key in self.errors
        rows = [] if has_failed else [*reports.values()]  # no score: earlier epochs cannot win
        history = [report["row"] for report in rows if "row" in report]
        length, h = max(reports, default=0), setup.recipe.hyperparameters
        trial = results.Trial.from_history(
            number, self.configurations[key], history, length, results.WAITING,
            setup.search.metric,
        )  # fmt: skip
        if has_failed:
            stop = results.FAILED
        elif len(history) >= h.epochs:
            stop = results.FINISHED
        elif is_over(len(history), trial.best_epoch, h.patience):
            stop = results.PATIENCE
        elif reports and key in self.ended:
            ended = setup.trial_folder(number) / ENDED
            stop = ended.read_text(encoding="utf-8") or results.ASHA
        else:
            return trial
        return dataclasses.replace(trial, stop=stop)

    def _report_progress(self, trial_ended: bool) -> None:
        text = "no score yet"
        best = max(self.best, key=self.best.__getitem__, default=None)
        if best is not None and self.best[best] > results.WORST:
            metric = self.jobs[best[0]].search.metric
            score = results.higher_is_better(self.best[best], metric)
            of_model = f"{best[0]}, " if len(self.jobs) > 1 else ""
            text = f"best {metric} {score:.4f} ({of_model}trial {best[1]})"
        counts = Counts(
            ended=len({*self.ended, *self.errors}), early=self.early, failed=len(self.errors),
            running=len(self.running), trials=sum(job.search.trials for job in self.jobs.values()),
        )  # fmt: skip
        self.progress.report_progress(counts, text, trial_ended)


def _key(trial: Any) -> Key:
    return str(trial.config["trial"]["model"]), int(trial.config["trial"]["number"])
