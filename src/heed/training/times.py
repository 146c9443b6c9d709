"""The time of a training, in results/timing: of all stages, `report` alone reads it.

So other code that makes the same run repeats no other stage. Imports no torch.
"""

import contextlib
import dataclasses
import platform
import time
from pathlib import Path
from typing import Annotated

from heed.files import HeedError, read_json, reading, write_json
from heed.paths import train_command
from heed.records import as_json, read_record


@dataclasses.dataclass(frozen=True)
class Times:
    """Wall and CPU seconds of a training; those of all threads of its process."""

    seconds: Annotated[float, {"ge": 0}]
    cpu_seconds: Annotated[float, {"ge": 0}]


@dataclasses.dataclass(frozen=True)
class TrainingTime(Times):
    """The time of a training, where it ran and by which code (heed.training.checkpoint).

    `code` is empty in a file of an older heed.
    """

    code: str = ""
    device: str = ""
    host: str = ""
    torch: str = ""
    ended: str = ""

    @property
    def on_gpu(self) -> bool:
        """Whether the training ran on a GPU."""
        return self.device != "cpu"

    @property
    def core_minutes(self) -> float:
        """CPU time in minutes; of a training on a GPU, the time that passed."""
        return (self.seconds if self.on_gpu else self.cpu_seconds) / 60


class Stopwatch:
    """Counts the times of a training, also in processes that were killed before it ended.

    A killed training counts up to the last time that `save` was called, after a whole epoch.
    """

    def __init__(self, path: Path) -> None:
        """Start at the times that an earlier process has saved in `path`, or at 0."""
        self._path, self._wall, self._cpu = path, time.perf_counter(), time.process_time()
        with contextlib.suppress(HeedError, ValueError):
            saved = read_record(Times, read_json(path, ""))
            self._wall, self._cpu = self._wall - saved.seconds, self._cpu - saved.cpu_seconds

    def read(self) -> Times:
        """Return the times so far."""
        return Times(
            round(time.perf_counter() - self._wall, 2), round(time.process_time() - self._cpu, 2)
        )

    def save(self) -> None:
        """Save the times so far for the process that resumes this training."""
        write_json(self._path, as_json(self.read()))


def write_training_time(path: Path, times: Times, code: str, device: str, torch: str) -> None:
    """Write the time of a training that ends now on this host."""
    host, ended = platform.node(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    record = TrainingTime(times.seconds, times.cpu_seconds, code, device, host, torch, ended)
    write_json(path, as_json(record))


def read_training_time(path: Path) -> TrainingTime:
    """Return the time in a file `…/MODEL/SEED.json`.

    Raises HeedError: the file is missing or broken.
    """
    command = train_command(path.parent.name, int(path.stem))
    with reading(path, command):
        return read_record(TrainingTime, read_json(path, command))
