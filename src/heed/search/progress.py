"""What a person sees of a search: one live line in a terminal, a plain line now and then in a log."""

import contextlib
import sys
import time
from collections.abc import Iterator

from heed.search.outcome import Trial

LIVE, LOGGED = 0.5, 60.0  # seconds between two lines


class Line:
    """Tells how far a search is."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.live = sys.stderr.isatty()
        self.started = time.monotonic()
        self.told = self.started
        self.at_start: int | None = None  # trials that had ended when this process began

    def tell(
        self, ended: int, early: int, failed: int, running: int, trials: int, best: Trial | None, metric: str, now: bool
    ) -> None:
        """Draw the line, or, in a log, write one once in a while and when the last trial has ended."""
        clock = time.monotonic()
        if self.at_start is None:
            self.at_start = ended - (1 if now else 0)
        last = now and ended == trials
        if not last and clock - self.told < (LIVE if self.live else LOGGED):
            return
        self.told = clock
        done = ended - self.at_start
        left = f"{(clock - self.started) / done * (trials - ended):.0f} s left" if done else "no time known yet"
        score = f"best {metric} {best.score(metric):.4f} (trial {best.number})" if best else "no score yet"
        failures = f", {failed} failed" if failed else ""
        text = (
            f"{self.title}: {ended} of {trials} trials ended ({early} stopped early{failures}), {running} running, "
            f"{score}, {clock - self.started:.0f} s, {left}"
        )
        if self.live:
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, flush=True)


@contextlib.contextmanager
def line(title: str) -> Iterator[Line]:
    """Yield the line of a search; on leaving, a live one is wiped."""
    it = Line(title)
    try:
        yield it
    finally:
        if it.live:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
