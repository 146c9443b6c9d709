"""The cost of a stage before any of its work: seconds of processor time, of a process and what it
starts, the least of some runs; of the last commit, in a temporary clone.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from benchmarks.workload import Row, print_rows

ROOT = Path(__file__).resolve().parent.parent
RUNS = 3
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


def main() -> None:
    print_rows([*starts()])


if __name__ == "__main__":
    main()
