"""The time of a training, and its core-minutes: results/timing/train/MODEL/SEED.json."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from heed.files import read_json, reading
from heed.paths import train_command
from heed.records import read_record
from heed.report.language import say


@dataclasses.dataclass(frozen=True)
class TrainingTime:
    """How long a training took, where, and by which code (heed.training.checkpoint).

    `cpu_seconds` are of all threads of its process.
    """

    seconds: Annotated[float, {"ge": 0}]
    cpu_seconds: Annotated[float, {"ge": 0}]
    code: str
    device: str
    host: str
    torch: str
    ended: str

    @property
    def on_gpu(self) -> bool:
        """Whether the training ran on a GPU."""
        return self.device != "cpu"

    @property
    def core_minutes(self) -> float:
        """CPU time in minutes; of a training on a GPU, the time that passed."""
        return (self.seconds if self.on_gpu else self.cpu_seconds) / 60


def describe_core_minutes(times: Iterable[TrainingTime]) -> str:
    """Return which time the core-minutes of these trainings are: on CPUs, on GPUs, or on both."""
    meanings = {
        False: say(
            "the CPU time of a training, a mean over seeds. It is another one in every run and on "
            "every machine"
        ),
        True: say(
            "the time that a training on a GPU took, a mean over seeds. It is another one in every "
            "run and on every machine"
        ),
    }
    return "; ".join(meanings[on_gpu] for on_gpu in sorted({each.on_gpu for each in times}))


def training_folder(results: Path) -> Path:
    """Return the folder with the times of all trainings, in results/."""
    return results / "timing" / "train"


def time_file(results: Path, model: str, seed: int) -> Path:
    """Return the file of a training's time."""
    return training_folder(results) / model / f"{seed}.json"


def read_training_time(results: Path, model: str, seed: int) -> TrainingTime:
    """Return the time of a training, of results/.

    Raises HeedError: the file is missing or broken.
    """
    path, command = time_file(results, model, seed), train_command(model, seed)
    with reading(path, command):
        return read_record(TrainingTime, read_json(path, command))
