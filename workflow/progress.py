"""What a run of snakemake prints: a line for each stage that is done, and about what time is left.

What Snakemake and its executors say about jobs goes to their log alone, in .snakemake/log, unless
it is a warning or an error.
"""

import logging
import math
import re
import statistics
import sys
import time
from pathlib import Path

import engine_names as engine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))  # the code of this clone
from heed.terminal import print_line

# About how long a stage of a kind takes beside others, in studies of heed; others take 1.
LENGTHS = {
    "tokenize": 2, "train": 30, "embed": 30, "pretrained": 30, "score": 2,
    "explain": 10, "adversarial_attention": 20, "reference_models": 3, "compare": 2, "report": 8,
}  # fmt: skip
SHORT_S = 4.0  # of 1 there; comparison and report take no longer after longer trainings
# Data, networks and searches decide how long these take: no time is told before one of each that is
# left ran.
MEASURED = {"recipe", "train", "embed", "pretrained"}
ALONE = {"recipe", "compare", "report"}  # no other stage runs beside them; a search has all cores
ABOUT_PROGRESS = ("job_finished", "progress", "resources_info", "run_info")  # Snakemake's events
NEWS = "Will exit after finishing"  # the one line below a warning that a run shows
USELESS = re.compile(
    "Building DAG of jobs|Assuming unrestricted shared filesystem|Nothing to be done|Reasons:|"
    "(?s:.*)missing provenance|RuleException:\nCalledProcessError|Exiting because|"
    "(?s:.*)At least one job did not complete|"
    "(No|Unable to guess) .*account"  # of SLURM, which then takes the user's default account
)


class Shown(logging.Filter):
    """Chooses what Snakemake prints, and prints a line for each stage that is done."""

    def __init__(self) -> None:
        super().__init__()
        self.is_stopped = False  # by Ctrl-C
        self.is_dry = False
        self._folder: Path | None = None  # of a run that has begun
        self._jobs: dict[int, str] = {}
        self._all: list[str] = []
        self._left: set[str] = set()
        self._times: dict[str, float] = {}  # when a stage started; how long it took if it is done

    def begin(self, stages: list[str], folder: Path) -> None:
        """Begin to count the stages that run."""
        self._all, self._left, self._folder = stages, {*stages}, folder
        self._started = time.monotonic()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether Snakemake prints a record."""
        event = engine.event_of(record)
        if self.is_stopped or event.kind in ABOUT_PROGRESS:
            if event.rules:  # where not all of the study was asked for
                self._all = [name for name in self._all if name in event.rules]
                self._left &= event.rules
            stage = self._jobs.get(event.job, "") if event.kind == "job_finished" else ""
            if stage in self._left:
                self._left.remove(stage)
                self._times[stage] = time.monotonic() - self._times[stage]
                self._print_done(stage)
            return False
        if event.kind == "job_info":
            self._jobs[event.job], self._times[event.rule] = event.rule, time.monotonic()
            if self.is_dry:
                print_line(f"  {event.message}", error=True)
            return not (self.is_dry or self._folder)
        if event.kind == "job_error" and self.why_failed(event.rule):
            return False  # heed says why, at the end
        message = record.getMessage()
        if self._folder and record.levelno < logging.WARNING:
            return message.startswith(NEWS)
        return not USELESS.match(message)

    def why_failed(self, stage: str) -> str:
        """Return what a stage of this run has said, or its log; "" if it was ended from outside."""
        log = Path("logs", f"{stage}.log")
        if stage not in self._left or not self._folder or not log.exists():
            return ""
        lines = ["", "", *log.read_text(encoding="utf-8", errors="replace").splitlines()]
        is_old = log.stat().st_mtime < (self._folder / "plan.json").stat().st_mtime
        if is_old or not lines[-1].startswith("ERROR: failed to reproduce"):
            return ""
        said = lines[-2].removeprefix("heed: ")
        return f"see {log}" if said == lines[-2] else said

    def _print_done(self, stage: str) -> None:
        done = len(self._all) - len(self._left)
        print_message(f"{done} of {len(self._all)} stages are done{self._time_left()}: {stage}")

    def _time_left(self) -> str:
        """Return about how long the rest takes, from a third of the run on."""
        if not self._left:
            return ""
        now = time.monotonic()
        begun = {name: self._times[name] for name in self._all if name in self._times}
        spent = {
            name: now - start if name in self._left else start for name, start in begun.items()
        }
        left = seconds_left(spent, self._left, now - self._started)
        if left > 2 * (now - self._started):
            return ", estimating the time left"
        minutes = round(left / 60)
        return f", about {minutes} minute{'s' * (minutes > 1)} left" if minutes else ""


def seconds_left(spent: dict[str, float], left: set[str], passed: float) -> float:
    """Return about how many seconds the stages `left` take, after `passed` seconds of a run.

    `spent` are the seconds of each stage that has begun. A stage takes the mean of its kind. Where
    none of its kind is done, LENGTHS compares it with kinds that are; what is made of a model grows
    with the trainings. The stages share the cores as those did that have begun.
    """
    times: dict[str, list[float]] = {}
    for name in spent.keys() - left:
        times.setdefault(_kind(name), []).append(spent[name])
    if not times or MEASURED & {*map(_kind, left)} - {*times}:
        return math.inf
    units = {
        kind: statistics.fmean(seconds) / LENGTHS.get(kind, 1) for kind, seconds in times.items()
    }
    short = min(SHORT_S, statistics.median(units.values()))
    long = max(short, units.get("train", 0))
    work = {True: 0.0, False: 0.0}  # by whether a stage runs alone
    for name in left:
        kind = _kind(name)
        seconds = LENGTHS.get(kind, 1) * units.get(kind, short if kind in ALONE else long)
        work[kind in ALONE] += max(0, seconds - spent.get(name, 0))
    alone = sum(seconds for name, seconds in spent.items() if _kind(name) in ALONE)
    return work[True] + work[False] * (passed - alone) / (sum(spent.values()) - alone or 1)


def _kind(stage: str) -> str:
    return stage.partition("@")[0]


def print_message(message: str) -> None:
    """Print a line of heed's own among Snakemake's."""
    print_line(f"heed: {message}", error=True)
