"""Progress of a search: a live bar in a terminal, a line a minute in a log."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator

from heed.progress import Bar, progress_bar
from heed.search.outcome import Trial
from heed.terminal import print_line

LOG_INTERVAL = 60.0  # seconds between two lines in a log


@dataclasses.dataclass(frozen=True)
class Counts:
    """The trials of a search: how many have ended, and how.

    `ended` includes those that the scheduler stopped (`early`) and those that failed for good.
    """

    ended: int
    early: int
    failed: int
    running: int
    trials: int


class SearchProgress:
    """Reports how many trials of a search have ended."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.started = self.logged = time.monotonic()
        self.ended_before: int | None = None  # trials that had ended when this process began

    def report_progress(
        self, counts: Counts, best: Trial | None, metric: str, trial_ended: bool
    ) -> None:
        """Draw the bar, or, in a log, print a line once a minute and when the last trial has ended.

        Args:
            counts: of the trials.
            best: the trial with the best score.
            metric: the score's name.
            trial_ended: whether a trial has just ended.

        """
        if self.ended_before is None:
            self.ended_before = counts.ended - (1 if trial_ended else 0)
        score = (
            f"best {metric} {best.score(metric):.4f} (trial {best.number})"
            if best
            else "no score yet"
        )
        stops = f"{counts.early} stopped early"
        if counts.failed:
            stops += f", {counts.failed} failed"
        ended, running = f"{counts.ended} of {counts.trials} trials", f"{counts.running} running"
        self.bar.update(counts.ended, counts.trials, f"{ended}, {running}, {score}, {stops}")
        now = time.monotonic()
        is_last = trial_ended and counts.ended == counts.trials
        if self.bar.live or not (is_last or now - self.logged >= LOG_INTERVAL):
            return
        self.logged = now
        times = f"{now - self.started:.0f} s, {self._format_remaining(counts, now)}"
        print_line(f"{self.bar.title}: {ended} ended ({stops}), {running}, {score}, {times}")

    def _format_remaining(self, counts: Counts, now: float) -> str:
        """Return the expected time until the last trial ends, from those of this process."""
        done = counts.ended - (self.ended_before or 0)
        if not done:
            return "no time known yet"
        return f"{(now - self.started) / done * (counts.trials - counts.ended):.0f} s left"


@contextlib.contextmanager
def search_progress(title: str) -> Iterator[SearchProgress]:
    """Yield the object that reports the progress of a search."""
    with progress_bar(title) as bar:
        yield SearchProgress(bar)
