"""A study's trainings on another machine, such as a borrowed GPU, that needs torch but no engine.

    python -m benchmarks.remote pack PACK.tar.xz MODEL ...   # in a clone with tokens and recipes
    python -m benchmarks.remote run FOLDER MODEL/SEED ...    # there, where the pack is unpacked
    python -m benchmarks.remote adopt RUNS.tar               # in the clone

The pack holds heed's code, token arrays, lexicons, labels and recipes. These are not the texts, but
the texts can be rebuilt from them: send the pack only where the corpora may be.

`run` makes the trainings in the order given, `--at-once` of them at a time, each as `heed train`
makes it, and prints a line after each epoch; called again it goes on with what is not done. The
finished runs are FOLDER/results: `tar -C FOLDER -cf RUNS.tar code.json results`.

`adopt` puts these runs into the clone as its own, if their recipes and the code that trained them
are the clone's; the times keep device, host and version of torch, and run.json the machine kind.
It prints the command `dvc commit` by which DVC keeps them: DVC deletes outputs that it does not
know before it makes them. Then `snakemake` goes on from the runs.

The other machine needs torch, numpy, scipy, pandas, pyarrow, scikit-learn, safetensors and PyYAML.
"""

import argparse
import dataclasses
import functools
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd

from heed.files import HeedError, read_json, write_json
from heed.paths import RUN, RUNS, TOKENS, recipe_file, run_folder, timing_file
from heed.progress import Progress
from heed.recipe import read_model_recipe
from heed.records import as_json
from heed.tokens.arrays import load_tokens
from heed.training.checkpoint import code_digest
from heed.training.machine import read_training_time
from heed.training.run import read_run_folder, train_run

ARRAYS = (
    "ids.npy", "offsets.npy", "sentences.npy", "sentence_offsets.npy", "lexicon.txt", "meta.json",
)  # fmt: skip
CODE = Path("code.json")  # of a pack: the digest of the code that trains models of each task
ROOT = Path(__file__).resolve().parents[1]


def pack(archive: Path, models: list[str]) -> None:
    """Write the code, the recipes of the models, and their corpora's tokens, without the texts."""
    recipes = {model: read_model_recipe(model) for model in models}
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive, "w:xz") as files:
        for path in sorted([*ROOT.glob("src/heed/**/*.py"), Path(__file__)]):
            files.add(path, path.relative_to(ROOT))
        code = {recipe.task: clone_code(recipe.task, name) for name, recipe in recipes.items()}
        write_json(Path(folder) / CODE, code)
        files.add(Path(folder) / CODE, CODE)
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


def run(folder: Path, jobs: list[str], at_once: int) -> int:
    """Make the trainings MODEL/SEED that are not done; return how many failed."""
    os.chdir(folder)
    code = [str(folder / "src"), str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ |= {"PYTHONPATH": os.pathsep.join(code), "HEED_RUNS_PER_GPU": str(at_once)}

    def run_job(job: str) -> int:
        model, _, seed = job.partition("/")
        if timing_file(model, seed).exists():  # the last file of a run
            return 0
        command = [sys.executable, "-m", "benchmarks.remote", "one", model, seed]
        return subprocess.run(command, check=False).returncode

    with ThreadPoolExecutor(at_once) as pool:
        return sum(status != 0 for status in pool.map(run_job, jobs))


def train_one(model: str, seed: int) -> None:
    """Make one training, in this process."""

    def print_epoch(progress: Progress) -> None:
        if progress.validation is None:
            rates[progress.epoch] = progress.documents / progress.seconds
            return
        scores = ", ".join(f"{name} {value:.4f}" for name, value in progress.validation.items())
        rate = f"{rates.get(progress.epoch, 0):.0f} documents/s"
        print(f"{model}/{seed} epoch {progress.epoch}: {rate}, {scores}", flush=True)

    rates = dict[int, float]()
    train_run(model, seed, code_digest(read_model_recipe(model).task), print_epoch)


def adopt(archive: Path) -> None:
    """Put the runs of an archive into this clone, each if it is one of the clone's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpack(archive, folder)
        runs = []
        trained_by = read_json(folder / CODE, "tar -C FOLDER -cf RUNS.tar code.json results")
        for path in sorted(folder.glob(f"{RUNS}/*/*/{RUN}")):
            model, seed = path.parent.parent.name, path.parent.name
            info = read_run_folder(path.parent, "python -m benchmarks.remote run")
            recipe = read_model_recipe(model)
            code = clone_code(recipe.task, model)
            if info.recipe != recipe.of_first_repeat() or trained_by[recipe.task] != code:
                sys.exit(
                    f"{archive}: {model}/{seed} was trained by another recipe, or by other code, "
                    "than this clone's. Pack, run and adopt at one commit, with one params.yaml"
                )
            time = read_training_time(folder / timing_file(model, seed))
            runs.append((path.parent, model, seed, dataclasses.replace(time, code=code)))
        for source, model, seed, time in runs:  # all of them are the clone's
            shutil.rmtree(run_folder(model, seed), ignore_errors=True)
            shutil.copytree(source, run_folder(model, seed))
            write_json(timing_file(model, seed), as_json(time))
            print(f"{model}/{seed}: {time.seconds:.0f} s on {time.device}, torch {time.torch}")
        stages = dict.fromkeys(f"train@{model}" for _, model, *_ in runs)
        print("Now keep them, when all seeds are here: dvc commit --force", *stages)


@functools.cache
def clone_code(task: str, model: str) -> str:
    """Return the digest of the code by which `heed train` would train a model of this task here."""
    program = (
        "import heed.training.run as run; from heed.training.checkpoint import code_digest; "
        f"run.train_runs = lambda *_: print(code_digest({task!r})) or (); "
        "run.delete_other_runs = lambda *_: None; from heed.cli.program import main; main()"
    )
    command = [sys.executable, "-c", program, "train", model, "--seeds", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)  # it prints what goes wrong
    if done.returncode:
        sys.exit(f"heed train {model} failed: its message is above")
    return done.stdout.strip()


def unpack(archive: Path, folder: Path) -> None:
    """Write the plain files of an archive below `folder` (Python 3.11.2 has no filter for that)."""
    with tarfile.open(archive) as files:
        for member in files:
            path = (folder / member.name).resolve()
            if member.isdir():
                continue
            if not member.isfile() or not path.is_relative_to(folder.resolve()):
                sys.exit(f"{archive}: {member.name} is not a plain file below the top folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.extractfile(member) as content:
                path.write_bytes(content.read())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    packing, running, one, adopting = map(commands.add_parser, ("pack", "run", "one", "adopt"))
    packing.add_argument("pack", type=Path)
    packing.add_argument("models", nargs="+")
    packing.set_defaults(do=lambda options: pack(options.pack, options.models))
    running.add_argument("folder", type=Path)
    running.add_argument("jobs", nargs="+", metavar="MODEL/SEED")
    running.add_argument("--at-once", default=4, type=int)
    running.set_defaults(
        do=lambda options: run(options.folder.resolve(), options.jobs, options.at_once)
    )
    one.add_argument("model")  # `run` starts this command for each training
    one.add_argument("seed", type=int)
    one.set_defaults(do=lambda options: train_one(options.model, options.seed))
    adopting.add_argument("archive", type=Path)
    adopting.set_defaults(do=lambda options: adopt(options.archive))
    options = parser.parse_args()
    try:
        sys.exit(1 if options.do(options) else 0)
    except (HeedError, OSError, tarfile.TarError) as error:
        sys.exit(f"heed: {error}")


if __name__ == "__main__":
    main()
