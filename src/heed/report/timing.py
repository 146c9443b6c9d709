"""The time of a training, and its core-minutes: results/timing/train/MODEL/SEED.json."""

from collections.abc import Iterable
from pathlib import Path

from heed.report.language import say
from heed.training import machine
from heed.training.machine import TrainingTime as TrainingTime


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
    return machine.read_training_time(time_file(results, model, seed))
