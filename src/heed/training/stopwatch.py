"""The time that a training has taken, also in processes that were killed before it ended."""

import contextlib
import json
import time
from pathlib import Path

from heed.files import write_json


class Stopwatch:
    """Wall and CPU seconds of a training; those of all threads of its process.

    A killed training counts up to the last time that `save` was called, after a whole epoch.
    """

    def __init__(self, path: Path) -> None:
        """Start at the times that an earlier process has saved in `path`, or at 0."""
        self._path, self._wall, self._cpu = path, time.perf_counter(), time.process_time()
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            saved = json.loads(path.read_text(encoding="utf-8"))
            wall, cpu = float(saved["seconds"]), float(saved["cpu_seconds"])
            self._wall, self._cpu = self._wall - wall, self._cpu - cpu

    def read(self) -> dict[str, float]:
        """Return `seconds` and `cpu_seconds` so far."""
        return {
            "seconds": round(time.perf_counter() - self._wall, 2),
            "cpu_seconds": round(time.process_time() - self._cpu, 2),
        }

    def save(self) -> None:
        """Save the times so far for the process that resumes this training."""
        write_json(self._path, self.read())
