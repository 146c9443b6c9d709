"""Progress of a training: a live bar in a terminal, and one line an epoch."""

import contextlib
import time
from collections.abc import Callable, Iterator

from heed.progress import Bar, progress_bar
from heed.terminal import print_line
from heed.training.loop import Progress


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
