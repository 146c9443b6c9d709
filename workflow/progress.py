"""What a run of snakemake prints: a line for each stage that is done, and about what time is left.

What Snakemake and its executors say about jobs goes to their log alone, in .snakemake/log, unless
it is a warning or an error.
"""

import json
import logging
import re
import subprocess
import sys
import time
from pathlib import Path

import engine_names as engine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))  # the code of this clone
from heed.terminal import print_line

SHARE, SECONDS = 0.05, 20  # the time left is told after this share of all, and so many seconds
OTHER = ""  # the name of any stage without an estimate of its own
NEWS = "Will exit after finishing"  # the one line below a warning that a run shows
USELESS = re.compile(
    "Building DAG of jobs|Assuming unrestricted shared filesystem|Nothing to be done|Reasons:|"
    "(?s:.*)missing provenance|RuleException:\nCalledProcessError|Exiting because|"
    "(?s:.*)At least one job did not complete|"
    "(No|Unable to guess) .*account"  # of SLURM, which then takes the user's default account
)


class Shown(logging.Filter):
    """Chooses what Snakemake prints, and prints a line for each stage that is done.

    The time left is by the estimates of workflow/seconds.py, which a process makes in a long run.
    """

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
        self._estimates, self._started = folder / "seconds.json", time.monotonic()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether Snakemake prints a record."""
        if self.is_stopped or engine.is_about_progress(record):
            if targets := engine.targets(record):  # where not all of the study was asked for
                self._all = [name for name in self._all if name in targets]
                self._left &= targets
            stage = self._jobs.get(engine.finished_job(record), "")
            if stage in self._left:
                self._left.remove(stage)
                self._times[stage] = time.monotonic() - self._times[stage]
                self._print_done(stage)
            return False
        if started := engine.started_job(record):
            self._jobs |= [started]
            self._times[started[1]] = time.monotonic()
            if self.is_dry:
                print_line(f"  {engine.message(record)}", error=True)
            return not (self.is_dry or self._folder)
        if self.why_failed(engine.failed_rule(record)):
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
        """Return about how long the rest takes, by what has taken how long until now."""
        passed = time.monotonic() - self._started
        if passed < SECONDS:
            return ""
        if not self._estimates.exists():
            command = [sys.executable, str(Path(__file__).with_name("seconds.py"))]
            with self._estimates.open("w", encoding="utf-8") as out:
                subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        try:
            seconds = json.loads(self._estimates.read_text(encoding="utf-8"))
        except ValueError:  # not yet, or the size of a corpus is not known
            return ""
        expected = {name: seconds.get(name, seconds[OTHER]) for name in self._all}
        done = [name for name in self._all if name not in self._left]
        share = sum(expected[name] for name in done) / sum(expected.values())
        if not self._left or share < SHARE:
            return ""
        left = sum(expected[name] * self._factor(name, done, expected) for name in self._left)
        at_once = max(1.0, sum(self._times[name] for name in done) / passed)
        minutes = round(left / at_once / 60)
        return f", about {minutes} minute{'s' * (minutes > 1)} left" if minutes else ""

    def _factor(self, stage: str, done: list[str], expected: dict[str, float]) -> float:
        """Return how many times as long as expected stages of a kind took, else all stages."""
        kind = stage.partition("@")[0]
        alike = [name for name in done if name.partition("@")[0] == kind] or done
        return sum(self._times[each] for each in alike) / sum(expected[each] for each in alike)


def print_message(message: str) -> None:
    """Print a line of heed's own among Snakemake's."""
    print_line(f"heed: {message}", error=True)
