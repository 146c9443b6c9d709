"""A run: one recipe trained with one seed, and its files; the stage `train` makes several."""

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from heed import paths
from heed.files import HeedError, read_json, verify_checksums, write_json, writing_folder
from heed.pipeline import recorded_files, stage_name
from heed.processes import process_pool
from heed.progress import Progress, training_progress
from heed.recipe import Recipe, parse_recipe, read_model_recipe
from heed.records import as_json, read_record
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
    stopwatch = machine.Stopwatch(work / "times.json")

    def report_and_save_times(progress: Progress) -> None:
        if progress.validation is not None:  # a checkpoint has the epoch
            stopwatch.save()
        report_progress(progress)

    trained = train_model(recipe, tokens, seed, report_and_save_times, work)
    model = trained.learner.model
    info = RunInfo(
        seed=seed, fold=recipe.fold(seed), best_epoch=trained.best_epoch,
        parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        documents={name: len(documents) for name, documents in trained.rows.items()},
        machine_kind=trained.machine_kind, recipe=recipe,
    )  # fmt: skip
    with writing_folder(paths.run_folder(name, seed), checksums=True) as out:
        checkpoint.write_tensors(out / paths.WEIGHTS, model.state_dict())
        trained.learner.write(out)
        pd.DataFrame(trained.history).to_csv(out / paths.HISTORY, index=False, lineterminator="\n")
        write_json(out / paths.RUN, dataclasses.asdict(info))
    path, times = paths.timing_file(name, seed), stopwatch.read()
    machine.write_training_time(path, times, code, trained.device)
    return info


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
    verify_checksums(folder, command)
    values = read_json(folder / paths.RUN, command)
    recipe = parse_recipe(
        values.get("recipe") if isinstance(values, dict) else None, folder / paths.RUN, command
    )
    try:
        noted = {"machine_kind": ""} | values | {"recipe": as_json(recipe)}
        info = read_record(RunInfo, noted, strict=True)
        info = dataclasses.replace(info, recipe=recipe)
    except ValueError as error:
        raise HeedError(
            f"{folder / paths.RUN}: not a run ({error}). Run again: {command}"
        ) from None
    return info


def train_model(
    recipe: Recipe[Any, Any], tokens: Tokens, seed: int,
    report_progress: Callable[[Progress], None], work: Path, validations_per_epoch: int = 1,
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
    rows = split_documents(recipe, tokens, seed)
    rows_read = {name: rows[name] for name in ("train", "validation")}
    machine.seed_everything(seed)
    learning = task_module(recipe.task, "learning")
    learner = learning.make_learner(recipe, tokens, rows_read, seed, device)
    try:
        trained = train(learner, h, seed, device, work, report_progress, validations_per_epoch)
    except DivergedError as error:
        raise DivergedError(f"model {recipe.model}, seed {seed}: {error}") from None
    return Trained(learner, rows, device, *trained)


def check_tokens(recipe: Recipe[Any, Any], tokens: Tokens) -> None:
    """Raise HeedError unless the recipe was made for these tokens."""
    if tokens.meta.digest != recipe.tokens:
        raise HeedError(
            f"{tokens.path}: these tokens are not the recipe's (digest {tokens.meta.digest[:12]}, "
            f"{paths.recipe_file(recipe.model)} says {recipe.tokens[:12]}). Run: heed recipe "
            f"{recipe.model}"
        )


def split_documents(recipe: Recipe[Any, Any], tokens: Tokens, seed: int) -> dict[str, np.ndarray]:
    """Return the rows of each split, by the fold of a seed. Raises HeedError if one is empty."""
    fold = recipe.fold(seed)
    rows = {name: tokens.rows(name, fold) for name in ("train", "validation", "test")}
    for name, documents in rows.items():
        if not len(documents):
            raise HeedError(
                f"{tokens.path}: no document is in the {name} split (fold {fold}). Mend `split` in "
                "params.yaml"
            )
    return rows


def train_runs(name: str, seeds: list[int], cores: int) -> Iterator[RunInfo]:
    """Train model `name` with each of `seeds`; yield the content of each run.json as it is there.

    A run is kept while its recipe and the digest of its code are today's. On CPUs `cores` seeds are
    trained at the same time, on GPUs HEED_GPUS, by default all slots, by forks of this process,
    which has imported torch. Raises HeedError of all seeds that fail; the others are trained first.
    """
    recipe = read_model_recipe(name)
    code = checkpoint.code_digest(recipe.task)
    _restore_runs(name, seeds)
    missing = []
    for seed in seeds:
        if (info := _read_present(name, seed, code)) and info.recipe == recipe:
            yield info
        else:
            missing.append(seed)
    if missing:
        gpus = _count_gpus() if machine.uses_gpu(recipe.hyperparameters.device) else 0
        at_once = min(len(missing), gpus or cores)
        with process_pool(at_once, "fork") as pool:
            runs = [pool.submit(_train, name, seed, code, at_once == 1) for seed in missing]
            yield from (run.result() for run in runs if not run.exception())
            _raise_failures([error for run in runs if (error := run.exception())])
    for seed in seeds:  # if the stage is killed before its end, DVC deletes the runs that are done
        shutil.rmtree(checkpoint.work_folder(recipe, seed, code), ignore_errors=True)


def _raise_failures(errors: list[BaseException]) -> None:
    """Raise the failures of several seeds as one; an error that is no HeedError goes first."""
    for error in errors:
        if not isinstance(error, HeedError):
            raise error
    if errors:
        raise HeedError("\n".join(dict.fromkeys(map(str, errors))))


def _restore_runs(name: str, seeds: list[int]) -> None:
    """Bring back the runs of a model that DVC deleted when it began to run this stage."""
    if all(paths.run_folder(name, seed).is_dir() for seed in seeds):
        return
    for path, cached in recorded_files(stage_name("train", name)).items():
        if cached.exists() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cached, path)


def _read_present(name: str, seed: int, code: str) -> RunInfo | None:
    try:
        time = machine.read_training_time(paths.timing_file(name, seed))
        return read_run(name, seed) if time.code == code else None
    except HeedError:  # missing or broken: it is trained again
        return None


def _count_gpus() -> int:
    assigned = machine.assigned_gpus()
    return len(machine.list_gpus()) * machine.runs_per_gpu() if assigned is None else assigned


def _train(name: str, seed: int, code: str, is_alone: bool) -> RunInfo:
    with training_progress(f"{name} seed {seed}", bar=is_alone) as report_progress:
        return train_run(name, seed, code, report_progress)


def delete_other_runs(name: str, seeds: list[int]) -> None:
    """Delete the runs of a model with other seeds: the stage's output is that of the study."""
    for folder in (paths.RUNS / name, paths.TIMING / "train" / name):
        for path in folder.iterdir():
            if path.stem not in map(str, seeds):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
