"""Progress of long work, of trainings and of searches: a live bar in a terminal, drawn by rich.

A log gets no bar, only whole lines, and rich is not imported.
"""

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from heed.terminal import print_line, visible

if TYPE_CHECKING:
    import rich.progress

# what Ctrl-C of a command and of snakemake prints
INTERRUPTED = "stopped, and nothing is lost: run the same command again, and it continues"
REDRAW = 0.2  # seconds between two drawings of the bar
BAR = 8  # characters
COLUMNS_WIDTH = BAR + len("  100% 00:00:00 ")  # all but the description
# seconds whose mean speed gives the time left: a trial of a search may take many minutes
WINDOW = 3600
LOG_INTERVAL = 60.0  # seconds between two lines of a search in a log


class Bar:
    """A progress bar on stderr. Without a terminal it is not `live`, and updates do nothing."""

    def __init__(self, title: str, progress: "rich.progress.Progress | None" = None) -> None:
        self.title, self.live, self._progress = title, progress is not None, progress
        self._task = progress.add_task(title, total=None) if progress else None
        self._drawn = 0.0

    def update(self, completed: float, total: float | None = None, text: str = "") -> None:
        """Draw the bar, at most once every REDRAW seconds; without a `total` no percentage."""
        now = time.monotonic()
        if self._progress is None or self._task is None or now - self._drawn < REDRAW:
            return
        self._drawn = now
        description = visible(f"{self.title}: {text}" if text else self.title)
        if len(description) > (width := max(20, self._progress.console.width - COLUMNS_WIDTH)):
            description = description[: width - 1] + "…"
        self._progress.update(
            self._task, completed=completed, total=total or None, description=description,
            refresh=True,
        )  # fmt: skip


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Bar]:
    """Yield a progress bar that is removed when the block ends; printed lines appear above it."""
    if not sys.stderr.isatty():
        yield Bar(title)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(BAR),
        TextColumn("{task.percentage:3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,  # no second thread during a training
        speed_estimate_period=WINDOW,
        redirect_stdout=sys.stdout.isatty(),  # `heed train … > log` keeps its lines
    ) as progress:
        yield Bar(title, progress if progress.console.is_terminal else None)


@dataclasses.dataclass
class Progress:
    """The state of a training, reported after every batch and every epoch.

    `seconds` are of the epoch so far. `validation` has the metrics at the end of an epoch.
    """

    epoch: int
    epochs: int
    documents: int
    total_documents: int
    loss: float
    seconds: float
    validation: dict[str, float] | None = None


@contextlib.contextmanager
def training_progress(title: str, bar: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Yield the function that reports each `Progress` of a training; without `bar` by lines."""
    started = rate = 0.0
    epochs_done = 0  # by this process: those before a resume do not count

    with progress_bar(title) if bar else contextlib.nullcontext(Bar(title)) as drawn:

        def report_progress(progress: Progress) -> None:
            nonlocal started, rate, epochs_done
            now = time.perf_counter()
            started = started or now - progress.seconds
            epoch = f"epoch {progress.epoch}/{progress.epochs}"
            if progress.validation is None:
                rate = progress.documents / max(progress.seconds, 1e-9)
                completed = (progress.epoch - 1) * progress.total_documents + progress.documents
                text = f"{epoch}, loss {progress.loss:.4f}, {rate:,.0f} docs/s"
                drawn.update(completed, progress.epochs * progress.total_documents, text)
                return
            epochs_done += 1
            metrics = " ".join(f"{name} {value:.4f}" for name, value in progress.validation.items())
            remaining = (now - started) / epochs_done * (progress.epochs - progress.epoch)
            print_line(
                f"{title}: {epoch}, train loss {progress.loss:.4f}, validation {metrics}, "
                f"{rate:,.0f} docs/s, {now - started:.0f} s, {remaining:.0f} s left"
            )

        yield report_progress


@dataclasses.dataclass(frozen=True)
class Counts:
    """The trials of a search; `ended` includes those stopped `early` and `failed` for good."""

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

    def report_progress(self, counts: Counts, best: str, trial_ended: bool) -> None:
        """Draw the bar, or in a log print a line once a minute and after the last trial."""
        stops = f"{counts.early} stopped early"
        if counts.failed:
            stops += f", {counts.failed} failed"
        ended, running = f"{counts.ended} of {counts.trials} trials", f"{counts.running} running"
        self.bar.update(counts.ended, counts.trials, f"{ended}, {running}, {best}, {stops}")
        now = time.monotonic()
        is_last = trial_ended and counts.ended == counts.trials
        if not self.bar.live and (is_last or now - self.logged >= LOG_INTERVAL):
            self.logged = now
            seconds = f"{now - self.started:.0f} s"
            print_line(f"{self.bar.title}: {ended} ended ({stops}), {running}, {best}, {seconds}")
