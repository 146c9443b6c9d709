"""The stage `train`: the runs of a model, one for each seed, at the same time."""

import shutil
from collections.abc import Iterator

from heed.files import HeedError
from heed.paths import RUNS, TIMING, run_folder, timing_file
from heed.pipeline import recorded_files, stage_name
from heed.processes import process_pool
from heed.progress import training_progress
from heed.recipe import read_model_recipe
from heed.training.checkpoint import code_digest, work_folder
from heed.training.device import assigned_gpus, list_gpus, runs_per_gpu, uses_gpu
from heed.training.run import RunInfo, read_run, train_run
from heed.training.times import read_training_time


def train_runs(name: str, seeds: list[int], cores: int) -> Iterator[RunInfo]:
    """Train model `name` with each of `seeds`; yield the content of each run.json as it is there.

    A run is kept while its recipe and the digest of its code are today's. On CPUs `cores` seeds
    are trained at the same time, on GPUs HEED_GPUS, by default all slots of this machine's. Their
    processes are forks of this one, which has imported torch.

    Raises:
        HeedError: as `train_run`, of all seeds that fail; the others are trained first.

    """
    recipe = read_model_recipe(name)
    code = code_digest(recipe.task)
    _restore_runs(name, seeds)
    missing = []
    for seed in seeds:
        if (info := _read_present(name, seed, code)) and info.recipe == recipe:
            yield info
        else:
            missing.append(seed)
    if missing:
        gpus = _count_gpus() if uses_gpu(recipe.hyperparameters.device) else 0
        at_once = min(len(missing), gpus or cores)
        with process_pool(at_once, "fork") as pool:
            runs = [pool.submit(_train, name, seed, code, at_once == 1) for seed in missing]
            yield from (run.result() for run in runs if not run.exception())
            _raise_failures([error for run in runs if (error := run.exception())])
    for seed in seeds:  # if the stage is killed before its end, DVC deletes the runs that are done
        shutil.rmtree(work_folder(recipe, seed, code), ignore_errors=True)


def _raise_failures(errors: list[BaseException]) -> None:
    """Raise the failures of several seeds as one; an error that is no HeedError goes first."""
    for error in errors:
        if not isinstance(error, HeedError):
            raise error
    if errors:
        raise HeedError("\n".join(dict.fromkeys(map(str, errors))))


def _restore_runs(name: str, seeds: list[int]) -> None:
    """Bring back the runs of a model that DVC deleted when it began to run this stage."""
    if all(run_folder(name, seed).is_dir() for seed in seeds):
        return
    for path, cached in recorded_files(stage_name("train", name)).items():
        if cached.exists() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cached, path)


def _read_present(name: str, seed: int, code: str) -> RunInfo | None:
    """Return the run of a seed if it is there, whole, and made by the code with this digest."""
    try:
        time = read_training_time(timing_file(name, seed))
        return read_run(name, seed) if time.code == code else None
    except HeedError:  # missing or broken: it is trained again
        return None


def _count_gpus() -> int:
    """Return how many trainings may hold a GPU at the same time: HEED_GPUS, else all slots."""
    assigned = assigned_gpus()
    return len(list_gpus()) * runs_per_gpu() if assigned is None else assigned


def _train(name: str, seed: int, code: str, is_alone: bool) -> RunInfo:
    """Train with one seed in a process of its own, which draws a bar if no other is trained."""
    with training_progress(f"{name} seed {seed}", bar=is_alone) as report_progress:
        return train_run(name, seed, code, report_progress)


def delete_other_runs(name: str, seeds: list[int]) -> None:
    """Delete the runs of a model with other seeds: the stage's output is that of the study."""
    for folder in (RUNS / name, TIMING / "train" / name):
        for path in folder.iterdir():
            if path.stem not in map(str, seeds):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
