"""What a person sees while a model trains: one live line in a terminal, one plain line an epoch in a log."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from heed.training.loop import Progress

EVERY = 0.2  # seconds between two drawings of the live line


@contextlib.contextmanager
def telling(title: str) -> Iterator[Callable[[Progress], None]]:
    """Yield the function to call with each `Progress`; on leaving, the live line is wiped."""
    live = sys.stderr.isatty()
    started = drawn = rate = 0.0
    done = 0  # epochs trained here: a resumed training began later

    def tell(progress: Progress) -> None:
        nonlocal started, drawn, rate, done
        now = time.perf_counter()
        started = started or now - progress.seconds
        if progress.validation is not None:
            _wipe(live)
            done += 1
            figures = " ".join(f"{name} {value:.4f}" for name, value in progress.validation.items())
            left = (now - started) / done * (progress.epochs - progress.epoch)
            print(f"{title}: epoch {progress.epoch}/{progress.epochs}, train loss {progress.loss:.4f}, validation {figures}, "
                  f"{rate:,.0f} docs/s, {now - started:.0f} s, {left:.0f} s left", flush=True)  # fmt: skip
            return
        rate = progress.documents / max(progress.seconds, 1e-9)
        if live and now - drawn > EVERY:
            drawn = now
            to_go = progress.of - progress.documents + (progress.epochs - progress.epoch) * progress.of
            line = f"{title}: epoch {progress.epoch}/{progress.epochs} {100 * progress.documents // progress.of:3d}%, loss {progress.loss:.4f}, {rate:,.0f} docs/s, {to_go / rate:,.0f} s left"
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        _wipe(live)


def _wipe(live: bool) -> None:
    if live:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
