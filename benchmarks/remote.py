"""A study's trainings on a machine that has torch and none of the engines, such as a lent GPU:
packed here, run and read there.

    python -m benchmarks.remote pack PACK.tar.xz MODEL ...    # in a clone with tokens and recipes
    PYTHONPATH=src python -m benchmarks.remote run PACK.tar.xz --seeds 1,2,3,4,5 --at-once 4
    --seconds 540 --into FOLDER

The pack holds token arrays, lexicon, labels and recipes. That is no running text, but whoever has
it can put the words together: it may go where the corpus may go. Models with a linear branch, which
read texts, and corpora in folds cannot go along. `run` trains what is not trained yet, as many runs
at once as it is told, each as `heed train` does, and takes down what it predicts on the test part
as `heed predict` does (that stage also shows texts, and none are there); after `--seconds` it ends
those that run (on the same machine the next call goes on after their last epoch), writes
FOLDER/done.tar.gz, and prints for each model the figure by which its task compares, for each
experiment the gain of attention with its interval (corrected over the experiments that are
complete), and the time taken. On another machine give the last call's file: `--done done.tar.gz`.

What must be there: torch, numpy, scipy, pandas, pyarrow, scikit-learn, safetensors, PyYAML.
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

from heed.evaluation.comparison import ATTENTION, BASELINE
from heed.evaluation.results import spread
from heed.evaluation.significance import assess, differences, holm
from heed.evaluation.tested import Tested
from heed.files import read_json, writing
from heed.paths import RECIPES, RUN, STATISTICS, TIMING, TOKENS, recipe_file, run_folder
from heed.prediction import load_predictor
from heed.recipe import read_model_recipe
from heed.tasks import task_module
from heed.tokens.arrays import load_tokens
from heed.training.device import choose_device
from heed.training.run import read_run, split_documents, train_run

ARRAYS = (
    "ids.npy",
    "offsets.npy",
    "sentences.npy",
    "sentence_offsets.npy",
    "lexicon.txt",
    "meta.json",
)


def pack(into: Path, models: list[str]) -> None:
    """Write recipes and, without their texts, the tokens that they are of."""
    recipes = {model: read_model_recipe(model) for model in models}
    if branched := [
        model for model, it in recipes.items() if it.hyperparameters.linear_branch != "none"
    ]:
        sys.exit(f"{', '.join(branched)}: a linear branch reads the texts, and no text goes along")
    if folded := [model for model, it in recipes.items() if it.folds]:
        sys.exit(
            f"{', '.join(folded)}: the corpus is in folds, and only seeds on the same test part "
            "are compared here"
        )
    with tempfile.TemporaryDirectory() as folder, tarfile.open(into, "w:xz") as archive:
        for model in models:
            archive.add(recipe_file(model))
        for corpus in sorted({it.corpus for it in recipes.values()}):
            tokens = load_tokens(TOKENS / corpus)
            for name in ARRAYS:
                archive.add(tokens.path / name)
            table = pd.read_parquet(tokens.path / "documents.parquet").drop(columns="text")
            table.to_parquet(Path(folder) / "documents.parquet", index=False)
            archive.add(Path(folder) / "documents.parquet", tokens.path / "documents.parquet")
    print(f"{into}: {into.stat().st_size / 1e6:.1f} MB, {len(models)} models")


def run(
    archive: Path, done: Path | None, seeds: list[int], at_once: int, seconds: float, into: Path
) -> int:
    """Train all that is packed with each seed, as far as the time goes; write and print what is
    done. Return failures.
    """
    clone = Path(__file__).resolve().parents[1]
    code = [str(clone / "src"), str(clone), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ |= {"PYTHONPATH": os.pathsep.join(code), "HEED_RUNS_PER_GPU": str(at_once)}
    place = archive.resolve().parent / archive.name.split(".")[0]
    shutil.rmtree(place / RECIPES, ignore_errors=True)
    place.mkdir(exist_ok=True)
    for packed in filter(None, (archive, done)):
        unpack(packed, place)
    os.chdir(place)
    models, started = sorted(path.stem for path in RECIPES.glob("*.yaml")), time.monotonic()

    def one(job: tuple[int, str]) -> str:
        seed, model = job
        left = seconds - (time.monotonic() - started)
        if is_done(model, seed) or left <= 0:
            return ""
        command = [sys.executable, "-m", "benchmarks.remote", "one", model, str(seed)]
        try:
            found = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=left
            )
        except subprocess.TimeoutExpired:
            return ""
        return (
            ""
            if found.returncode == 0
            else f"{model} seed {seed}: {(found.stderr.strip() or '?').splitlines()[-1]}"
        )

    with ThreadPoolExecutor(at_once) as pool:
        failures = [
            *filter(None, pool.map(one, [(seed, model) for seed in seeds for model in models]))
        ]
    print("\n".join(failures))
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(into / "done.tar.gz", "w:gz") as files:
        for model, seed in (
            (model, seed) for model in models for seed in seeds if is_done(model, seed)
        ):
            for path in (
                run_folder(model, seed) / RUN,
                statistics(model, seed),
                timing(model, seed),
            ):
                files.add(path)
    print(f"{time.monotonic() - started:.0f} s, {at_once} at once\n\n{table(models, seeds)}")
    return len(failures)


def train_and_predict(model: str, seed: int) -> None:
    """Train a run, unless that is done, and write the statistics of its test items."""
    if not is_trained(model, seed):
        train_run(model, seed, lambda progress: None)
    run = read_run(model, seed)
    recipe = run.recipe
    tokens = load_tokens(TOKENS / recipe.corpus)
    predictor = load_predictor(run, choose_device(recipe.hyperparameters.device))
    predictions = predictor.predict(tokens, split_documents(recipe, tokens, seed)["test"])
    table = predictor.statistics(predictions)
    table.insert(0, "id", predictions["id"].to_numpy())
    with writing(statistics(model, seed)) as path:
        table.to_parquet(path, index=False)


def unpack(archive: Path, place: Path) -> None:
    """Write the files of an archive below `place`, and nothing else (Python 3.11.2 has no filter
    for that).
    """
    with tarfile.open(archive) as files:
        for member in files:
            path = (place / member.name).resolve()
            if not member.isfile() or not path.is_relative_to(place):
                sys.exit(f"{archive}: {member.name} is no plain file below the pack's folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.extractfile(member) as content:
                path.write_bytes(content.read())


def timing(model: str, seed: int) -> Path:
    return TIMING / "train" / model / f"{seed}.json"


def statistics(model: str, seed: int) -> Path:
    return Path("statistics") / model / str(seed) / STATISTICS


def is_trained(model: str, seed: int) -> bool:
    """Return whether a run of the packed recipe is there."""
    path = run_folder(model, seed) / RUN
    return (
        path.exists()
        and read_json(path, "benchmarks.remote run")["recipe"] == read_model_recipe(model).as_dict()
    )


def is_done(model: str, seed: int) -> bool:
    """Return whether a run of the packed recipe is there, with its time and what it predicts."""
    return (
        timing(model, seed).exists()
        and statistics(model, seed).exists()
        and is_trained(model, seed)
    )


def table(models: list[str], seeds: list[int]) -> str:
    """Return what came out, in Markdown: one row a model with all seeds, and below it the gains."""
    rows, by_item = [], {}
    for model in models:
        recipe = read_model_recipe(model)
        done = [seed for seed in seeds if is_done(model, seed)]
        if len(done) < len(seeds):
            rows.append(f"| {model} | {len(done)} of {len(seeds)} seeds | |")
            continue
        took = [json.loads(timing(model, seed).read_text(encoding="utf-8")) for seed in seeds]
        tests = [
            pd.read_parquet(statistics(model, seed)).set_index("id").sort_index() for seed in seeds
        ]
        metrics = task_module(recipe.task, "metrics").make_metrics(recipe.data)
        metric = metrics.primary
        (by_item[recipe.experiment, recipe.variant],) = Tested(
            model, [0] * len(seeds), tests
        ).by_item(metric)
        figures = spread([metrics.compute(test.to_numpy())[metric.name] for test in tests])
        deviation = "" if figures.std_pp is None else f" ± {figures.std_pp:.2f}"
        mean = np.mean([each["seconds"] for each in took])
        on = ", ".join(sorted({each["device"] for each in took}))
        rows.append(
            f"| {model} | {metric.name} {figures.mean:.4f}{deviation} | {mean:.0f} s a run on "
            f"{on} |"
        )
    pairs = [
        name for name, variant in by_item if variant == ATTENTION and (name, BASELINE) in by_item
    ]
    blocks = [
        [by_item[name, variant].to_numpy() for variant in (ATTENTION, BASELINE)] for name in pairs
    ]
    gains = [
        assess(differences([attention], [baseline]), len(pairs)) for attention, baseline in blocks
    ]
    if len(seeds) > 1:
        for name, gained, p in zip(pairs, gains, holm([each.p for each in gains]), strict=True):
            low, high = gained.interval_pp
            size = f"{gained.mean_pp:+.2f} ({low:+.2f} to {high:+.2f}) p.p."
            rows.append(f"| {name}: gain | {size} | corrected p {p:.3g} |")
    return "\n".join(["| model | on test | |", "|---|---|---|", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    packing = verbs.add_parser("pack")
    packing.add_argument("pack", type=Path)
    packing.add_argument("models", nargs="+")
    packing.set_defaults(do=lambda given: pack(given.pack, given.models))
    running = verbs.add_parser("run")
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
        do=lambda it: run(it.pack, it.done, it.seeds, it.at_once, it.seconds, it.into.resolve())
    )
    one = verbs.add_parser("one", help="what `run` starts for each run")
    one.add_argument("model")
    one.add_argument("seed", type=int)
    one.set_defaults(do=lambda it: train_and_predict(it.model, it.seed))
    given = parser.parse_args()
    sys.exit(1 if given.do(given) else 0)


if __name__ == "__main__":
    main()
