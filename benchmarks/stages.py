"""The cost of a stage before any of its work: the start of a command, and DVC's part.

All figures but the last are seconds of processor time, of a process and what it starts, the least
of some runs; all of the last commit, in temporary clones. DVC's part of a stage that runs is that
of `dvc repro --single-item` without that of its command. It grows with the number of stages, so it
is measured in studies of several sizes: generated models, each of whose stages has an entry in
dvc.lock. `--sample` runs the sample study too, which takes some minutes.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from benchmarks.workload import Row, print_rows

ROOT = Path(__file__).resolve().parent.parent
SAMPLE, SMALL = "workflow/studies/sample.yaml", "tests/studies/small.yaml"
SIZES = {50: "<= 1.2 s", 150: "", 300: "<= 2 s", 600: ""}  # stages → target
SEEDS, RUNS = 5, 3
STAGES_OF_A_MODEL = 3  # recipe, train, score
OTHER_STAGES = 9
MODEL = "texts-attention"
# in the order of the pipeline; what a command does with 200 short texts takes next to no time
COMMANDS = {
    "recipe": (("recipe", MODEL), "<= 1 s"),
    "train": (("train", MODEL, "--seeds", "1"), "<= import of torch + .5 s"),
    "score": (("score", MODEL, "--seeds", "1"), ""),
    "reference_models": (("reference_models", "texts"), ""),
}
CODE = [sys.executable, "workflow/digests.py"]
TINY = {"epochs": 1, "hidden_size": 4, "embedding_dim": 4, "linear_size": 4}


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of commands in a clone, which run its own code, with one thread."""
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "src"), "HEED_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def processor_seconds(command: list[str], folder: Path) -> float:
    """Return the processor time of a command in a clone, with that of the processes it waits for.

    Raises SystemExit with the command's output if it fails.
    """
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdout=output, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{output.read()}")
    return usage.ru_utime + usage.ru_stime


def least(command: list[str], folder: Path) -> float:
    """Return the least processor time of some runs: other work on the machine only adds to it."""

    def run() -> float:
        if "train" in command:  # which keeps a run that is there
            shutil.rmtree(folder / "results/train", ignore_errors=True)
        return processor_seconds(command, folder)

    return min(run() for _ in range(RUNS))


def heed(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "heed.cli", *arguments]


@contextmanager
def clone() -> Iterator[Path]:
    """Yield a temporary clone of the last commit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "clone")
        subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
        yield folder


def generated_study(stages: int) -> dict[str, Any]:
    """Return the params of a study with about so many stages: the tests' study, more models."""
    params = yaml.safe_load((ROOT / SMALL).read_text(encoding="utf-8"))
    name = "sample-sentiment-baseline"
    model = params["models"][name]
    params["searches"], params["seeds"] = {}, list(range(1, SEEDS + 1))
    models = (stages - OTHER_STAGES) // STAGES_OF_A_MODEL
    variants = ["baseline", *(f"m{i}" for i in range(models - 1))]
    names = {variant: f"sample-sentiment-{variant}" for variant in variants}
    params["models"] = {
        name: model | {"variant": variant, "match_parameters_of": name}
        for variant, name in names.items()
    }
    params["study"]["attention"] = [variants[-1]]
    return params


def write_lock(folder: Path) -> int:
    """Write a dvc.lock with an entry for each stage of a clone; return the number of stages."""
    code = (
        "import json, sys; sys.path.insert(0, 'workflow'); import stages; "
        "print(json.dumps([[s.name, s.deps, s.outs] for s in stages.read_stages()]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True,
        env=environment(folder),
    )  # fmt: skip
    stages = yaml.safe_load(done.stdout)

    def entries(paths: list[str]) -> list[dict[str, Any]]:
        return [{"path": path, "hash": "md5", "md5": "0" * 32, "size": 1} for path in paths]

    defaults = generated_study(STAGES_OF_A_MODEL + OTHER_STAGES)["defaults"]
    params = {"params.yaml": {"defaults": defaults}}
    locked = {
        name: {"cmd": "heed", "deps": entries(deps), "params": params, "outs": entries(outs)}
        for name, deps, outs in stages
    }
    lock = yaml.safe_dump({"schema": "2.0", "stages": locked}, sort_keys=False)
    (folder / "dvc.lock").write_text(lock, encoding="utf-8")
    return len(stages)


def dvcs_parts() -> Iterator[Row]:
    """Yield a row for each size of a study: DVC's part of a stage that runs, and of a dry run."""
    with clone() as folder:
        for size, target in SIZES.items():
            params = yaml.safe_dump(generated_study(size), sort_keys=False)
            (folder / "params.yaml").write_text(params, encoding="utf-8")
            stages = write_lock(folder)
            repro = [sys.executable, "-m", "dvc", "repro", "--single-item", "--force", "code"]
            part = least(repro, folder) - least(CODE, folder)
            dry = least(["snakemake", "-n", "--quiet"], folder)
            yield Row(
                f"DVC's part of a stage that runs, at {stages} stages", f"{part:.2f} s", target,
                f"`snakemake -n` there: {dry:.1f} s",
            )  # fmt: skip


def dry_run() -> Row:
    """Return the cost of `snakemake -n` after `heed study headlines`."""
    with clone() as folder:
        processor_seconds(heed("study", "headlines", "--force"), folder)
        seconds = least(["snakemake", "-n", "--quiet"], folder)
        return Row("`snakemake -n` after `heed study headlines`", f"{seconds:.1f} s", "<= 4 s")


def starts() -> Iterator[Row]:
    """Yield the cost of each command on a study of 200 short texts."""
    with clone() as folder:
        torch = least([sys.executable, "-c", "import torch"], folder)
        yield Row("import of torch", f"{torch:.2f} s", "")
        words = ("good", "bad")
        lines = [f"{words[i % 2]} text {i} of many,{words[i % 2]}\n" for i in range(200)]
        (folder / "texts.csv").write_text("text,label\n" + "".join(lines), encoding="utf-8")
        columns = ("--text-column", "text", "--label-column", "label")
        processor_seconds(heed("corpus", "add", "texts.csv", *columns), folder)
        params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
        params["defaults"]["classification"] |= TINY
        (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        before = [heed(*words) for words in (("download", "texts"), ("tokenize", "texts"))]
        for command in (CODE, *before):
            processor_seconds(command, folder)
        for name, (arguments, target) in COMMANDS.items():
            value = f"{least(heed(*arguments), folder):.2f} s"
            yield Row(f"`heed {name}` of 200 short texts", value, target)


def sample_study(cores: int) -> Row:
    """Return the time that the sample study takes in a fresh clone."""
    with clone() as folder:
        started = time.monotonic()
        seconds = processor_seconds(["snakemake", "--cores", str(cores), "--quiet"], folder)
        wall = time.monotonic() - started
    note = f"{seconds:.0f} s of processor time"
    return Row(f"the sample study on {cores} cores", f"{wall:.0f} s", "<= 240 s on 2", note)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true", help="run the sample study too")
    parser.add_argument("--cores", type=int, default=2, help="for the sample study")
    parser.add_argument("--json", action="store_true", help="for python -m benchmarks")
    options = parser.parse_args()
    rows = [dry_run(), *dvcs_parts(), *starts()]
    print_rows(rows + ([sample_study(options.cores)] if options.sample else []))


if __name__ == "__main__":
    main()
