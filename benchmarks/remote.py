"""A study's trainings on a machine that has torch and none of the engines, such as a lent GPU: packed here, run there, read here.

    python -m benchmarks.remote pack PACK.tar.xz MODEL ...    # in a clone with tokens and recipes (`snakemake --until recipe`)
    PYTHONPATH=src python -m benchmarks.remote run PACK.tar.xz --seeds 1,2,3,4,5 --at-once 4 --seconds 560 --into FOLDER

The pack holds token arrays, labels and recipes, no text: models with a linear branch cannot go along. `run` trains what is not
trained yet beside the pack, as many runs at once as it is told, each by `heed train`; it starts none after `--seconds`, so that
a machine lent for minutes is used in several calls. Then it writes FOLDER/predictions.tar.gz and prints, for each experiment,
accuracies, the gain of attention with its interval (corrected over the experiments that are complete), and the time taken.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from heed.evaluation.significance import assess, differences, holm
from heed.recipe import read_recipe
from heed.text.tokens import load_tokens
from heed.training.run import RECIPES, TOKENS, TRAIN

ARRAYS = ("ids.npy", "offsets.npy", "sentences.npy", "sentence_offsets.npy", "lexicon.txt", "meta.json")


def pack(into: Path, models: list[str]) -> None:
    """Write recipes and, without their texts, the tokens that they are of."""
    recipes = {model: read_recipe(RECIPES / f"{model}.yaml") for model in models}
    if branched := [model for model, it in recipes.items() if it["hyperparameters"]["linear_branch"] != "none"]:
        sys.exit(f"{', '.join(branched)}: a linear branch reads the texts, and no text goes along")
    with tempfile.TemporaryDirectory() as room, tarfile.open(into, "w:xz") as archive:
        for model in models:
            archive.add(RECIPES / f"{model}.yaml")
        for corpus in sorted({it["corpus"] for it in recipes.values()}):
            tokens = load_tokens(TOKENS / corpus)
            for name in ARRAYS:
                archive.add(tokens.path / name)
            table = pd.read_parquet(tokens.path / "documents.parquet").drop(columns="text")
            table.to_parquet(Path(room) / "documents.parquet", index=False)
            archive.add(Path(room) / "documents.parquet", tokens.path / "documents.parquet")
    print(f"{into}: {into.stat().st_size / 1e6:.1f} MB, {len(models)} models")


def run(archive: Path, seeds: list[int], at_once: int, seconds: float, into: Path) -> None:
    """Train all that is packed with each seed, as far as the time goes; write and print what is done."""
    code = Path(__file__).resolve().parents[1] / "src"
    os.environ |= {"PYTHONPATH": str(code), "HEED_RUNS_PER_GPU": str(at_once)}
    place = archive.resolve().parent / archive.name.split(".")[0]
    place.mkdir(exist_ok=True)
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    os.chdir(place)
    models, started = sorted(path.stem for path in RECIPES.glob("*.yaml")), time.monotonic()

    def one(job: tuple[int, str]) -> str:
        seed, model = job
        if (TRAIN / model / str(seed) / "run.json").exists() or time.monotonic() - started > seconds:
            return ""
        command = [sys.executable, "-m", "heed.cli", "train", model, "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"{model} seed {seed}: {(done.stderr.strip() or '?').splitlines()[-1]}"

    with ThreadPoolExecutor(at_once) as pool:
        for failure in filter(None, pool.map(one, [(seed, model) for seed in seeds for model in models])):
            print(failure)
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(into / "predictions.tar.gz", "w:gz") as archive_out:
        for path in sorted(
            [
                *TRAIN.glob("*/*/predictions.parquet"),
                *TRAIN.glob("*/*/run.json"),
                *Path("results/timing").rglob("*.json"),
            ]
        ):
            archive_out.add(path)
    print(f"{time.monotonic() - started:.0f} s, {at_once} at once\n\n{table(models, seeds)}")


def table(models: list[str], seeds: list[int]) -> str:
    """Return what came out, in Markdown: one row a model with all seeds, and below it the gains."""
    rows, right = [], {}
    for model in models:
        recipe = read_recipe(RECIPES / f"{model}.yaml")
        folders = [TRAIN / model / str(seed) for seed in seeds]
        done = [folder for folder in folders if (folder / "run.json").exists()]
        took = [
            json.loads((Path("results/timing/train") / model / f"{folder.name}.json").read_text())["seconds"]
            for folder in done
        ]
        if len(done) < len(seeds):
            rows.append(f"| {model} | {len(done)} of {len(seeds)} seeds | |")
            continue
        tests = [
            pd.read_parquet(folder / "predictions.parquet").query("split == 'test'").sort_values("id")
            for folder in folders
        ]
        answers = np.stack([(test["label"] == test["predicted"]).to_numpy() for test in tests])
        right[recipe["experiment"], recipe["variant"]] = answers
        accuracy = answers.mean(1)
        spread = f" ± {100 * accuracy.std(ddof=1):.2f}" if len(seeds) > 1 else ""
        rows.append(f"| {model} | {accuracy.mean():.4f}{spread} | {np.mean(took):.0f} s a run |")
    pairs = [name for name, variant in right if variant == "attention" and (name, "baseline") in right]
    found = [assess(differences([right[name, "attention"]], [right[name, "baseline"]]), len(pairs)) for name in pairs]
    if len(seeds) > 1:
        for name, gain, p in zip(pairs, found, holm([each["p"] for each in found]), strict=True):
            low, high = gain["interval_pp"]
            rows.append(
                f"| {name}: gain | {gain['mean_pp']:+.2f} ({low:+.2f} to {high:+.2f}) p.p. | corrected p {p:.3g} |"
            )
    return "\n".join(["| model | test accuracy | |", "|---|---|---|", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    packing = verbs.add_parser("pack")
    packing.add_argument("pack", type=Path)
    packing.add_argument("models", nargs="+")
    packing.set_defaults(do=lambda given: pack(given.pack, given.models))
    running = verbs.add_parser("run")
    running.add_argument("pack", type=Path)
    running.add_argument("--seeds", default="1,2,3,4,5", type=lambda text: [int(seed) for seed in text.split(",")])
    running.add_argument("--at-once", default=4, type=int)
    running.add_argument("--seconds", default=560, type=float, help="no training is started later")
    running.add_argument("--into", default=Path("out"), type=Path)
    running.set_defaults(
        do=lambda given: run(given.pack, given.seeds, given.at_once, given.seconds, given.into.resolve())
    )
    given = parser.parse_args()
    given.do(given)


if __name__ == "__main__":
    main()
