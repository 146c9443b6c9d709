"""A study's trainings on another machine, such as a borrowed GPU, that needs torch but no engine.

    python -m benchmarks.remote pack PACK.tar.xz MODEL ...    # in a clone with tokens and recipes
    PYTHONPATH=src python -m benchmarks.remote run PACK.tar.xz --seeds 1,2,3,4,5 --at-once 4
    --seconds 540 --into FOLDER

The pack holds token arrays, lexicon, labels and recipes. These are not the texts, but the texts can
be rebuilt from them: send the pack only where the corpus may be. Models with a linear branch, which
read texts, and corpora in folds cannot be packed.

`run` trains each model and seed that is not done, `--at-once` of them at a time, as `heed train`
does, and writes the statistics of its test predictions as `heed score` does (without the texts).
After `--seconds` it ends the trainings that still run; on the same machine the next call resumes
them after their last epoch. It writes FOLDER/done.tar.gz, and prints the time taken, for each model
the metric by which its task compares models, and for each experiment the gain of attention with its
interval (p is corrected for the number of complete experiments). On another machine, pass the
results of the last call: `--done done.tar.gz`.

The other machine needs torch, numpy, scipy, pandas, pyarrow, scikit-learn, safetensors and PyYAML.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from heed.evaluation.results import BASELINE, mean_and_std
from heed.evaluation.significance import assess
from heed.evaluation.tested import Tested
from heed.files import read_json, writing
from heed.paths import RECIPES, RUN, STATISTICS, TOKENS, recipe_file, run_folder, timing_file
from heed.prediction import load_predictor
from heed.recipe import read_model_recipe
from heed.task import task_module
from heed.tokens.arrays import load_tokens
from heed.training.checkpoint import code_digest
from heed.training.machine import choose_device
from heed.training.run import read_run, split_documents, train_run

ATTENTION = "attention"  # the variant whose gain is printed
ARRAYS = (
    "ids.npy", "offsets.npy", "sentences.npy", "sentence_offsets.npy", "lexicon.txt", "meta.json",
)  # fmt: skip


def pack(archive: Path, models: list[str]) -> None:
    """Write the recipes of the models and their corpora's tokens, without the texts."""
    recipes = {model: read_model_recipe(model) for model in models}
    if branched := [
        model for model, recipe in recipes.items() if recipe.hyperparameters.tfidf_branch != "none"
    ]:
        sys.exit(f"{', '.join(branched)}: a linear branch reads the texts, which are not packed")
    if folded := [model for model, recipe in recipes.items() if recipe.folds]:
        sys.exit(
            f"{', '.join(folded)}: the corpus is in folds, and only seeds on the same test split "
            "are compared here"
        )
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive, "w:xz") as files:
        for model in models:
            files.add(recipe_file(model))
        for corpus in sorted({recipe.corpus for recipe in recipes.values()}):
            tokens = load_tokens(TOKENS / corpus)
            for name in ARRAYS:
                files.add(tokens.path / name)
            table = pd.read_parquet(tokens.path / "documents.parquet").drop(columns="text")
            table.to_parquet(Path(folder) / "documents.parquet", index=False)
            files.add(Path(folder) / "documents.parquet", tokens.path / "documents.parquet")
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, {len(models)} models")


def run(
    archive: Path, done: Path | None, seeds: list[int], at_once: int, seconds: float, output: Path
) -> int:
    """Train all packed models with each seed until `seconds` are over; return how many runs failed.

    Writes done.tar.gz into the folder `output`, and prints the table.
    """
    set_environment(at_once)
    os.chdir(unpack_all(archive, done))
    models, started = sorted(path.stem for path in RECIPES.glob("*.yaml")), time.monotonic()

    def run_job(job: tuple[int, str]) -> str:
        seed, model = job
        return run_one(model, seed, seconds - (time.monotonic() - started))

    with ThreadPoolExecutor(at_once) as pool:
        jobs = [(seed, model) for seed in seeds for model in models]
        failures = [*filter(None, pool.map(run_job, jobs))]
    print("\n".join(failures))
    write_done(output, [(model, seed) for model in models for seed in seeds])
    print(f"{time.monotonic() - started:.0f} s, {at_once} at once\n\n{table(models, seeds)}")
    return len(failures)


def set_environment(at_once: int) -> None:
    """Let the processes of all runs import this clone's code, and share a GPU."""
    clone = Path(__file__).resolve().parents[1]
    code = [str(clone / "src"), str(clone), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ |= {"PYTHONPATH": os.pathsep.join(code), "HEED_RUNS_PER_GPU": str(at_once)}


def unpack_all(archive: Path, done: Path | None) -> Path:
    """Unpack the pack, and results of another machine, into a folder beside the pack; return it."""
    folder = archive.resolve().parent / archive.name.split(".")[0]
    shutil.rmtree(folder / RECIPES, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    for packed in filter(None, (archive, done)):
        unpack(packed, folder)
    return folder


def run_one(model: str, seed: int, seconds: float) -> str:
    """Do one run in its own process, if it is not done; return its error, or an empty string.

    A run that takes longer than `seconds` is ended, which is no error.
    """
    if is_done(model, seed) or seconds <= 0:
        return ""
    command = [sys.executable, "-m", "benchmarks.remote", "one", model, str(seed)]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return ""
    if process.returncode == 0:
        return ""
    return f"{model} seed {seed}: {(process.stderr.strip() or '?').splitlines()[-1]}"


def write_done(output: Path, runs: list[tuple[str, int]]) -> None:
    """Write output/done.tar.gz: run, statistics and timing of each run that is done."""
    output.mkdir(parents=True, exist_ok=True)
    with tarfile.open(output / "done.tar.gz", "w:gz") as archive:
        for model, seed in runs:
            if is_done(model, seed):
                archive.add(run_folder(model, seed) / RUN)
                archive.add(statistics(model, seed))
                archive.add(timing_file(model, seed))


def train_and_predict(model: str, seed: int) -> None:
    """Train a run, if it is not trained yet, and write the statistics of its test items."""
    if not is_trained(model, seed):
        code = code_digest(read_model_recipe(model).task)
        train_run(model, seed, code, lambda progress: None)
    run = read_run(model, seed)
    recipe = run.recipe
    tokens = load_tokens(TOKENS / recipe.corpus)
    predictor = load_predictor(run, choose_device(recipe.hyperparameters.device))
    predictions = predictor.predict(tokens, split_documents(tokens, recipe.fold(seed))["test"])
    table = predictor.statistics(predictions)
    table.insert(0, "id", predictions["id"].to_numpy())
    with writing(statistics(model, seed)) as path:
        table.to_parquet(path, index=False)


def unpack(archive: Path, folder: Path) -> None:
    """Write the plain files of an archive below `folder` (Python 3.11.2 has no filter for that)."""
    with tarfile.open(archive) as files:
        for member in files:
            path = (folder / member.name).resolve()
            if not member.isfile() or not path.is_relative_to(folder):
                sys.exit(f"{archive}: {member.name} is not a plain file below the pack's folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.extractfile(member) as content:
                path.write_bytes(content.read())


def statistics(model: str, seed: int) -> Path:
    return Path("statistics") / model / str(seed) / STATISTICS


def is_trained(model: str, seed: int) -> bool:
    """Return whether a run of the packed recipe exists."""
    path = run_folder(model, seed) / RUN
    return (
        path.exists()
        and read_json(path, "benchmarks.remote run")["recipe"] == read_model_recipe(model).as_dict()
    )


def is_done(model: str, seed: int) -> bool:
    """Return whether a run of the packed recipe exists, with its time and its statistics."""
    return (
        timing_file(model, seed).exists()
        and statistics(model, seed).exists()
        and is_trained(model, seed)
    )


def table(models: list[str], seeds: list[int]) -> str:
    """Return the results in Markdown: one row for each model, then the gains of attention."""
    rows = []
    finished = []
    for model in models:
        done = [seed for seed in seeds if is_done(model, seed)]
        if len(done) == len(seeds):
            finished.append(model)
            rows.append(model_row(model, seeds))
        else:
            rows.append(f"| {model} | {len(done)} of {len(seeds)} seeds | |")
    gains = gain_rows(finished, seeds) if len(seeds) > 1 else []
    return "\n".join(["| model | on test | |", "|---|---|---|", *rows, *gains])


def model_row(model: str, seeds: list[int]) -> str:
    """Return the row of a model: its deciding metric over seeds, its time and its devices."""
    recipe = read_model_recipe(model)
    timings = [json.loads(timing_file(model, seed).read_text(encoding="utf-8")) for seed in seeds]
    metrics = task_module(recipe.task, "metrics").make_metrics(recipe.data)
    name = metrics.named(None).name
    scores = mean_and_std(
        [metrics.compute(test.to_numpy())[name] for test in read_tests(model, seeds)]
    )
    std = "" if scores.std_pp is None else f" ± {scores.std_pp:.2f}"
    mean = np.mean([run["seconds"] for run in timings])
    devices = ", ".join(sorted({run["device"] for run in timings}))
    return f"| {model} | {name} {scores.mean:.4f}{std} | {mean:.0f} s a run on {devices} |"


def gain_rows(models: list[str], seeds: list[int]) -> list[str]:
    """Return a row for each experiment whose models with and without attention are finished."""
    by_item = {}
    for model in models:
        recipe = read_model_recipe(model)
        metric = task_module(recipe.task, "metrics").make_metrics(recipe.data).named(None)
        tested = Tested(model, [0] * len(seeds), read_tests(model, seeds))
        (scores,) = tested.by_item(metric)
        by_item[recipe.experiment, recipe.variant] = scores.to_numpy()
    experiments = [
        name for name, variant in by_item if variant == ATTENTION and (name, BASELINE) in by_item
    ]
    gains = [
        assess([by_item[name, ATTENTION]], [by_item[name, BASELINE]], len(experiments))
        for name in experiments
    ]
    rows = []
    for name, gain in zip(experiments, gains, strict=True):
        low, high = gain.interval_pp
        size = f"{gain.mean_pp:+.2f} ({low:+.2f} to {high:+.2f}) p.p."
        rows.append(f"| {name}: gain | {size} | corrected p {gain.p_corrected:.3g} |")
    return rows


def read_tests(model: str, seeds: list[int]) -> list[pd.DataFrame]:
    """Return the statistics of a model's test items for each seed, by id."""
    tables = [pd.read_parquet(statistics(model, seed)) for seed in seeds]
    return [table.set_index("id").sort_index() for table in tables]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("pack", type=Path)
    packing.add_argument("models", nargs="+")
    packing.set_defaults(do=lambda options: pack(options.pack, options.models))
    running = commands.add_parser("run")
    running.add_argument("pack", type=Path)
    running.add_argument("--done", type=Path, help="done.tar.gz of a call on another machine")
    running.add_argument(
        "--seeds", default="1,2,3,4,5", type=lambda text: [int(seed) for seed in text.split(",")]
    )
    running.add_argument("--at-once", default=4, type=int)
    running.add_argument(
        "--seconds", default=540, type=float, help="trainings that still run then are ended"
    )
    running.add_argument("--into", default=Path("out"), type=Path)
    running.set_defaults(
        do=lambda options: run(
            options.pack, options.done, options.seeds, options.at_once, options.seconds,
            options.into.resolve(),
        )
    )  # fmt: skip
    one = commands.add_parser("one", help="one run; `run` starts this command for each")
    one.add_argument("model")
    one.add_argument("seed", type=int)
    one.set_defaults(do=lambda options: train_and_predict(options.model, options.seed))
    options = parser.parse_args()
    sys.exit(1 if options.do(options) else 0)


if __name__ == "__main__":
    main()
