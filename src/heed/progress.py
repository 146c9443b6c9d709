"""Progress of long work: one live bar in a terminal, drawn by rich; a log gets whole lines alone,
and never imports rich.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

REDRAW = 0.2  # seconds between two drawings of the bar
BAR = 8  # characters
BESIDE_TEXT = BAR + len("  100% 00:00:00 ")
WINDOW = 3600  # seconds whose speed gives the time left: a trial of a search may take many minutes


class Bar:
    """A live bar on stderr. Without a terminal it is not `live`, and its updates do nothing."""

    def __init__(self, title: str, progress: "Progress | None" = None) -> None:
        self.title, self.live, self._progress = title, progress is not None, progress
        self._task = progress.add_task(title, total=None) if progress else None
        self._drawn = 0.0

    def update(self, completed: float, total: float | None = None, text: str = "") -> None:
        """Draw the bar again, unless it was drawn just now; without a `total` it shows no share and
        no time left.
        """
        now = time.monotonic()
        if self._progress is None or self._task is None or now - self._drawn < REDRAW:
            return
        self._drawn = now
        description = f"{self.title}: {text}" if text else self.title
        if len(description) > (width := max(20, self._progress.console.width - BESIDE_TEXT)):
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
    """Yield the bar of some work, which vanishes with its end; lines printed meanwhile stand above
    it.
    """
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

    share = (
        [DownloadColumn(), TransferSpeedColumn()]
        if in_bytes
        else [TextColumn("{task.percentage:3.0f}%")]
    )
    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(BAR),
        *share,
        TimeRemainingColumn(),
    ]
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,  # no thread beside the training
        speed_estimate_period=WINDOW,
        redirect_stdout=sys.stdout.isatty(),  # `heed train … > log` keeps its lines
    ) as progress:
        yield Bar(title, progress if progress.console.is_terminal else None)
