"""Progress of long work: a live bar in a terminal, drawn by rich.

A log gets no bar, only whole lines, and rich is not imported.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from heed.terminal import visible

if TYPE_CHECKING:
    from rich.progress import Progress

# what Ctrl-C of a command and of snakemake prints
INTERRUPTED = "stopped, and nothing is lost: run the same command again, and it continues"
REDRAW = 0.2  # seconds between two drawings of the bar
BAR = 8  # characters
COLUMNS_WIDTH = BAR + len("  100% 00:00:00 ")  # all but the description
# seconds whose mean speed gives the time left: a trial of a search may take many minutes
WINDOW = 3600


class Bar:
    """A progress bar on stderr. Without a terminal it is not `live`, and updates do nothing."""

    def __init__(self, title: str, progress: "Progress | None" = None) -> None:
        self.title, self.live, self._progress = title, progress is not None, progress
        self._task = progress.add_task(title, total=None) if progress else None
        self._drawn = 0.0

    def update(self, completed: float, total: float | None = None, text: str = "") -> None:
        """Draw the bar, at most once every REDRAW seconds.

        Without a `total` it shows no percentage and no time left.
        """
        now = time.monotonic()
        if self._progress is None or self._task is None or now - self._drawn < REDRAW:
            return
        self._drawn = now
        description = visible(f"{self.title}: {text}" if text else self.title)
        if len(description) > (width := max(20, self._progress.console.width - COLUMNS_WIDTH)):
            description = description[: width - 1] + "…"
        self._progress.update(
            self._task,
            completed=completed,
            total=total or None,
            description=description,
            refresh=True,
        )


@contextlib.contextmanager
def progress_bar(title: str, in_bytes: bool = False) -> Iterator[Bar]:
    """Yield a progress bar that is removed when the block ends; printed lines appear above it."""
    if not sys.stderr.isatty():
        yield Bar(title)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    amount = (
        [DownloadColumn(), TransferSpeedColumn()]
        if in_bytes
        else [TextColumn("{task.percentage:3.0f}%")]
    )
    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(BAR),
        *amount,
        TimeRemainingColumn(),
    ]
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,  # no second thread during a training
        speed_estimate_period=WINDOW,
        redirect_stdout=sys.stdout.isatty(),  # `heed train … > log` keeps its lines
    ) as progress:
        yield Bar(title, progress if progress.console.is_terminal else None)
