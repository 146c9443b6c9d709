"""A run: one recipe trained with one seed, and its files; the stage `train` makes several.

The stage also makes a *longer training*: one seed again with twice the epochs, without patience. It
says whether the model has converged. Nothing predicts with it, and its weights are not kept.
"""

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from heed import paths
from heed.files import (
    CHECKSUMS,
    HeedError,
    read_json,
    sha256,
    verify_checksums,
    write_json,
    writing_folder,
)
from heed.hyperparameters import MAX_COUNT
from heed.pipeline import restore_files, stage_name
from heed.processes import process_pool
from heed.progress import Progress, training_progress
from heed.recipe import Recipe, parse_recipe, read_model_recipe
from heed.records import OMITTED, as_json, read_record
from heed.task import task_module
from heed.task.interface import Learner
from heed.tokens.arrays import Tokens, load_tokens
from heed.training import checkpoint, machine
from heed.training.loop import DivergedError, train


@dataclasses.dataclass(frozen=True)
class RunInfo:
    """The content of run.json: seed and fold, best epoch, sizes, and the recipe of the run.

    `parameters` are those that were trained. `machine_kind` is empty in runs of an older heed.
    """

    seed: Annotated[int, {"ge": 1}]
    fold: Annotated[int, {"ge": 0}]
    best_epoch: Annotated[int, {"ge": 1}]
    parameters: Annotated[int, {"ge": 1}]
    documents: dict[str, int]  # number by split
    machine_kind: str
    recipe: Recipe[Any, Any]


@dataclasses.dataclass(frozen=True)
class LongerInfo:
    """The content of longer/run.json, with the recipe of the longer training.

    `diverged` says at which step; then there is no best epoch (0), and the history is empty. `fold`
    is written where it is not the first.
    """

    seed: Annotated[int, {"ge": 1}]
    best_epoch: Annotated[int, {"ge": 0}]
    machine_kind: str
    diverged: str
    recipe: Recipe[Any, Any]
    fold: Annotated[int, {"ge": 0}, OMITTED] = 0


@dataclasses.dataclass(frozen=True)
class Trained:
    """A finished training, in memory, with the weights of its best epoch; `rows` are by split."""

    learner: Learner
    rows: dict[str, np.ndarray]
    device: str
    history: list[dict[str, float]]
    best_epoch: int
    machine_kind: str


def train_run(
    name: str, seed: int, code: str, report_progress: Callable[[Progress], None]
) -> RunInfo:
    """Train model `name` with `seed`; return the content of its run.json.

    Writes results/train/NAME/SEED/, and results/timing/train/NAME/SEED.json. `code` is the digest
    of the code that trains. The work folder stays. Raises HeedError as `train_model`.
    """
    recipe = read_model_recipe(name)
    tokens = load_tokens(paths.TOKENS / recipe.corpus)
    work = checkpoint.work_folder(recipe, seed, code)
    stopwatch, report = _timed(work, report_progress)
    trained = train_model(recipe, tokens, seed, report, work)
    model = trained.learner.model
    info = RunInfo(
        seed=seed, fold=recipe.fold(seed), best_epoch=trained.best_epoch,
        parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        documents={name: len(documents) for name, documents in trained.rows.items()},
        machine_kind=trained.machine_kind, recipe=recipe.of_first_repeat(),
    )  # fmt: skip
    with writing_folder(paths.run_folder(name, seed), checksums=True) as out:
        checkpoint.write_tensors(out / paths.WEIGHTS, model.state_dict())
        trained.learner.write(out)
        pd.DataFrame(trained.history).to_csv(out / paths.HISTORY, index=False, lineterminator="\n")
        write_json(out / paths.RUN, as_json(info))
    path, times = paths.timing_file(name, seed), stopwatch.read()
    machine.write_training_time(path, times, code, trained.device)
    return info


def _timed(
    work: Path, report_progress: Callable[[Progress], None]
) -> tuple[machine.Stopwatch, Callable[[Progress], None]]:
    """Return the stopwatch of a training, and what saves its times after each epoch."""
    stopwatch = machine.Stopwatch(work / "times.json")

    def report_and_save_times(progress: Progress) -> None:
        if progress.validation is not None:  # a checkpoint has the epoch
            stopwatch.save()
        report_progress(progress)

    return stopwatch, report_and_save_times


def longer_recipe(recipe: Recipe[Any, Any]) -> Recipe[Any, Any]:
    """Return the recipe of a longer training: twice the epochs, no patience.

    Warmup and the fall of the learning rate are shares of all epochs, and stretch with them.
    """
    epochs = min(2 * recipe.hyperparameters.epochs, MAX_COUNT)
    return recipe.changed({"epochs": epochs, "patience": 0})


def train_longer(
    name: str, seed: int, code: str, report_progress: Callable[[Progress], None]
) -> LongerInfo:
    """Train model `name` with `seed` longer; return the content of longer/run.json.

    Writes results/train/NAME/longer/, without weights, and its time. Raises HeedError as
    `train_model`, but not where the training diverges, which is a result.
    """
    recipe, diverged = longer_recipe(read_model_recipe(name)), ""
    tokens = load_tokens(paths.TOKENS / recipe.corpus)
    device = machine.choose_device(recipe.hyperparameters.device)
    work = checkpoint.work_folder(recipe, seed, code)
    stopwatch, report = _timed(work, report_progress)
    history: list[dict[str, float]] = []
    best_epoch, kind = 0, machine.machine_kind(device, recipe.hyperparameters.precision)
    try:
        trained = train_model(recipe, tokens, seed, report, work)
        history, best_epoch, kind = trained.history, trained.best_epoch, trained.machine_kind
    except DivergedError as error:
        diverged = str(error)
    fold, of_run = recipe.fold(seed), recipe.of_first_repeat()
    info = LongerInfo(seed, best_epoch, kind, diverged, of_run, fold)
    with writing_folder(paths.run_folder(name, paths.LONGER), checksums=True) as out:
        pd.DataFrame(history).to_csv(out / paths.HISTORY, index=False, lineterminator="\n")
        write_json(out / paths.RUN, as_json(info))
    path = paths.timing_file(name, paths.LONGER)
    machine.write_training_time(path, stopwatch.read(), code, device)
    return info


def trained_seeds(model: str) -> list[int]:
    """Return the seeds of a model's runs. Raises HeedError if there is none."""
    seeds = sorted(int(path.name) for path in (paths.RUNS / model).glob("*") if path.name.isdigit())
    if not seeds:
        trained = ", ".join(sorted(path.name for path in paths.RUNS.glob("*"))) or "none yet"
        raise HeedError(
            f"{paths.RUNS / model}: no trained run. Trained models: {trained}. Another of "
            "params.yaml: heed train MODEL"
        )
    return seeds


def read_run(name: str, seed: int) -> RunInfo:
    """Return run.json of a model and a seed. Raises HeedError if it is missing or another's."""
    folder, command = paths.run_folder(name, seed), paths.train_command(name, seed)
    info = read_run_folder(folder, command)
    if (info.recipe.model, info.seed) != (name, seed):
        raise HeedError(
            f"{folder}: this is the run of {info.recipe.model} with seed {info.seed}. Run again: "
            f"{command}"
        )
    return info


def read_runs(name: str, seeds: list[int]) -> list[RunInfo]:
    """Return the runs of all seeds. Raises HeedError unless all were made with one recipe."""
    runs = [read_run(name, seed) for seed in seeds]
    for run in runs:
        if run.recipe != runs[0].recipe:
            raise HeedError(
                f"{paths.run_folder(name, run.seed)}: made with another recipe than seed "
                f"{seeds[0]}. Run again: {paths.train_command(name, run.seed)}"
            )
    return runs


def read_run_folder(folder: Path, command: str) -> RunInfo:
    """Return run.json in a folder; HeedError where missing or changed: `command` makes it."""
    info: RunInfo = _read_info(RunInfo, folder, command)
    return info


def read_longer(run: RunInfo) -> LongerInfo | None:
    """Return the longer training of a run's recipe and seed; None where there is none.

    Raises HeedError: its files are not whole.
    """
    name = run.recipe.model
    folder = paths.run_folder(name, paths.LONGER)
    if not folder.exists():
        return None
    info: LongerInfo = _read_info(LongerInfo, folder, paths.train_command(name, paths.LONGER))
    of_run = (run.seed, run.fold, longer_recipe(run.recipe))
    is_of_run = (info.seed, info.fold, info.recipe) == of_run
    return info if is_of_run else None


def _read_info(kind: type, folder: Path, command: str) -> Any:
    verify_checksums(folder, command)
    values = read_json(folder / paths.RUN, command)
    recipe = parse_recipe(
        values.get("recipe") if isinstance(values, dict) else None, folder / paths.RUN, command
    )
    try:
        noted = {"machine_kind": ""} | values | {"recipe": as_json(recipe)}
        info: Any = read_record(kind, noted, strict=True)
    except ValueError as error:
        raise HeedError(
            f"{folder / paths.RUN}: not a run ({error}). Run again: {command}"
        ) from None
    return dataclasses.replace(info, recipe=recipe)


def train_model(
    recipe: Recipe[Any, Any], tokens: Tokens, seed: int,
    report_progress: Callable[[Progress], None], work: Path,
) -> Trained:  # fmt: skip
    """Train by `recipe` with `seed`; write nothing but checkpoints, into the folder `work`.

    Runs and trials of a search both train by this function. No document of the test split is read.
    Raises DivergedError, and HeedError: tokens that are not the recipe's; an empty split; bfloat16
    on a machine that does not have it.
    """
    h = recipe.hyperparameters
    check_tokens(recipe, tokens)
    device = machine.choose_device(h.device)
    if device == "cpu" and h.precision == "bfloat16" and not machine.bfloat16_instructions():
        raise HeedError(
            f"{paths.recipe_file(recipe.model)}: precision: bfloat16 needs a GPU, or a processor "
            f"with one of {', '.join(machine.BFLOAT16)}; this one ({machine.machine_kind('cpu')}) "
            "has none. Set precision: float32"
        )
    machine.make_deterministic()
    machine.keep_memory()
    rows = split_documents(tokens, recipe.fold(seed))
    rows_read = {name: rows[name] for name in ("train", "validation")}
    machine.seed_everything(seed)
    learning = task_module(recipe.task, "learning")
    learner = learning.make_learner(recipe, tokens, rows_read, seed, device)
    try:
        trained = train(learner, h, work, report_progress)
    except DivergedError as error:
        raise DivergedError(f"model {recipe.model}, seed {seed}: {error}") from None
    return Trained(learner, rows, device, *trained)


def check_tokens(recipe: Recipe[Any, Any], tokens: Tokens) -> None:
    """Raise HeedError unless the recipe was made for these tokens."""
    if tokens.meta.digest != recipe.tokens:
        raise HeedError(
            f"{tokens.path}: these tokens are not the recipe's (digest {tokens.meta.digest[:12]}, "
            f"{paths.recipe_file(recipe.model)} says {recipe.tokens[:12]}). Run: "
            f"{paths.command_of('recipe', recipe.model)}"
        )


def split_documents(tokens: Tokens, fold: int) -> dict[str, np.ndarray]:
    """Return the rows of each split of a fold."""
    return {name: tokens.rows(name, fold) for name in ("train", "validation", "test")}


def train_runs(
    name: str, seeds: list[int], cores: int, with_longer: bool = False
) -> Iterator[RunInfo | LongerInfo]:
    """Train model `name` with each of `seeds`; yield the content of each run.json as it is there.

    `with_longer`: also train the first seed longer. A training is kept while its recipe and the
    digest of its code are today's. On CPUs `cores` trainings run at the same time, on GPUs
    HEED_GPUS, by default all slots, by forks of this process, which has imported torch. Raises
    HeedError of all seeds that fail; the others are trained first.
    """
    recipe = read_model_recipe(name)
    code = checkpoint.code_digest(recipe.task)
    trainings = [_Training(seed, recipe) for seed in seeds]
    if with_longer:  # first, since it takes twice as long
        trainings.insert(0, _Training(seeds[0], longer_recipe(recipe), is_longer=True))
    _restore_runs(name, trainings)
    missing = []
    for training in trainings:
        if info := _read_present(training, code):
            yield info
        else:
            missing.append(training)
    if missing:
        gpus = _count_gpus() if machine.uses_gpu(recipe.hyperparameters.device) else 0
        yield from _train_together(missing, code, min(len(missing), gpus or cores))
    for training in trainings:  # a stage that is killed before its end: DVC deletes its runs
        work = checkpoint.work_folder(training.recipe, training.seed, code)
        shutil.rmtree(work, ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class _Training:
    """A training of the stage: a run, or the longer training of its seed."""

    seed: int
    recipe: Recipe[Any, Any]
    is_longer: bool = False

    @property
    def key(self) -> int | str:
        """The name of its folder."""
        return paths.LONGER if self.is_longer else self.seed


def _train_together(
    trainings: list[_Training], code: str, at_once: int
) -> Iterator[RunInfo | LongerInfo]:
    """Yield the runs; then raise all failures as one, or first an error that is not a HeedError."""
    with process_pool(at_once, "fork") as pool:
        runs = [pool.submit(_train, training, code, at_once == 1) for training in trainings]
        yield from (run.result() for run in runs if not run.exception())
        errors = [error for run in runs if (error := run.exception())]
        for error in errors:  # within the pool, which says what it means that a process was killed
            if not isinstance(error, HeedError):
                raise error
        if errors:
            raise HeedError("\n".join(dict.fromkeys(map(str, errors))))


def _restore_runs(name: str, trainings: list[_Training]) -> None:
    """Bring back the runs of a model that DVC deleted when it began to run this stage."""
    if not all(paths.run_folder(name, training.key).is_dir() for training in trainings):
        restore_files(stage_name("train", name), Path("results"))


def _read_present(training: _Training, code: str) -> RunInfo | LongerInfo | None:
    name, kind = training.recipe.model, LongerInfo if training.is_longer else RunInfo
    try:
        time = machine.read_training_time(paths.timing_file(name, training.key))
        info: RunInfo | LongerInfo = _read_info(kind, paths.run_folder(name, training.key), "")
    except HeedError:  # missing or broken: it is trained again
        return None
    asked = training.seed, training.recipe.fold(training.seed), training.recipe.of_first_repeat()
    is_todays = time.code == code and (info.seed, info.fold, info.recipe) == asked
    return info if is_todays else None


def _count_gpus() -> int:
    assigned = machine.assigned_gpus()
    return len(machine.list_gpus()) * machine.runs_per_gpu() if assigned is None else assigned


def _train(training: _Training, code: str, is_alone: bool) -> RunInfo | LongerInfo:
    name, seed, is_longer = training.recipe.model, training.seed, training.is_longer
    title = f"{name} seed {seed}" + (" longer" if is_longer else "")
    with training_progress(title, bar=is_alone) as report:
        train = train_longer if is_longer else train_run
        return train(name, seed, code, report)


def write_trained(name: str) -> None:
    """Write results/trained/EXPERIMENT/NAME.json: the digest of each run, by its folder.

    A stage that reads the runs of all models of an experiment depends on these files.
    """
    sums = sorted((paths.RUNS / name).glob(f"*/{CHECKSUMS}"))
    digests = {path.parent.name: sha256(path) for path in sums}
    write_json(paths.trained_file(name), digests)


def delete_other_runs(name: str, seeds: list[int], with_longer: bool = False) -> None:
    """Delete the runs of a model with other seeds: a stage has only the study's seeds."""
    kept = [*map(str, seeds), *([paths.LONGER] if with_longer else [])]
    for folder in (paths.RUNS / name, paths.TIMING / "train" / name):
        for path in folder.iterdir():
            if path.stem not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
