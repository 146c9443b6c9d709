"""The runs of a model, one for each seed."""

from heed.files import HeedError
from heed.paths import run_folder, train_command
from heed.training.run import RunInfo, read_run


def read_runs(name: str, seeds: list[int]) -> list[RunInfo]:
    """Return the runs of all seeds. Raises HeedError unless all were made with one recipe."""
    runs = [read_run(name, seed) for seed in seeds]
    for run in runs:
        if run.recipe != runs[0].recipe:
            raise HeedError(
                f"{run_folder(name, run.seed)}: made with another recipe than seed {seeds[0]}. "
                f"Run again: {train_command(name, run.seed)}"
            )
    return runs
