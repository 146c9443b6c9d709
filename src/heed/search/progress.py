"""Progress of a search: a live bar in a terminal, a line a minute in a log."""

import contextlib
import time
from collections.abc import Iterator

from heed.progress import Bar, progress_bar
from heed.search.outcome import Trial

LOGGED = 60.0  # seconds between two lines in a log


class SearchProgress:
    """Reports how many trials of a search have ended."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.started = self.logged = time.monotonic()
        self.at_start: int | None = None  # trials that had ended when this process began

    def report_progress(
        self,
        ended: int,
        early: int,
        failed: int,
        running: int,
        trials: int,
        best: Trial | None,
        metric: str,
        now: bool,
    ) -> None:
        """Draw the bar, or, in a log, print a line once a minute and when the last trial has ended.

        Args:
            ended: trials that have ended, those that stopped early or failed among them.
            early: trials that the scheduler stopped.
            failed: trials that failed for good.
            running: trials that run.
            trials: all trials of the search.
            best: the trial with the best score.
            metric: the score's name.
            now: whether a trial has ended just now.

        """
        if self.at_start is None:
            self.at_start = ended - (1 if now else 0)
        score = (
            f"best {metric} {best.score(metric):.4f} (trial {best.number})"
            if best
            else "no score yet"
        )
        stops = f"{early} stopped early" + (f", {failed} failed" if failed else "")
        self.bar.update(
            ended, trials, f"{ended} of {trials} trials, {running} running, {score}, {stops}"
        )
        clock = time.monotonic()
        last = now and ended == trials
        if self.bar.live or not (last or clock - self.logged >= LOGGED):
            return
        self.logged = clock
        done = ended - self.at_start
        left = (
            f"{(clock - self.started) / done * (trials - ended):.0f} s left"
            if done
            else "no time known yet"
        )
        text = f"{ended} of {trials} trials ended ({stops}), {running} running, {score}"
        print(f"{self.bar.title}: {text}, {clock - self.started:.0f} s, {left}", flush=True)


@contextlib.contextmanager
def search_progress(title: str) -> Iterator[SearchProgress]:
    """Yield what reports the progress of a search."""
    with progress_bar(title) as bar:
        yield SearchProgress(bar)
