"""Peak memory and processor time of the stages on generated corpora of several sizes.

`python -m benchmarks.size [--documents N ...] [--commands NAME ...]`. Each corpus has texts of 71
tokens on average (benchmarks/generated.py), read with the tokenizer `en`. The model is the
BiLSTM of the sample study without attention, trained for one epoch with one seed. Each stage is a
process of its own with one thread. A stage that fails, or takes longer than `--limit`, is named
in its cell, and so are the stages that need it. Lines of progress go to stderr.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.generated import write_texts
from heed.files import sha256

MODEL = "texts-baseline"
DOCUMENTS = (20_000, 200_000, 1_000_000)
# Every stage in order, with the stages whose files it reads.
NEEDS: dict[str, tuple[str, ...]] = {
    "tokenize": (), "train": ("tokenize",), "score": ("train",), "reference_models": ("tokenize",),
    "compare": ("score", "reference_models"),
}  # fmt: skip
MEASURED = ("tokenize", "train", "score", "reference_models")
PREPARATION = {"tokenize": [["download", "texts"]], "train": [["recipe", MODEL]]}
ARGUMENTS = {
    "tokenize": ["texts"], "train": [MODEL, "--seeds", "1"], "score": [MODEL],
    "reference_models": ["texts"], "compare": [],
}  # fmt: skip
STUDY = """\
study: {{name: size, title: Generated texts}}
seeds: [1]
sources:
  texts: {{kind: table, path: texts.csv, sha256: {digest}}}
corpora:
  texts:
    source: texts
    kind: table
    text_column: text
    label_column: label
    split: {{kind: random, test: 0.2, validation: 0.1}}
experiments:
  texts: {{task: classification, corpus: texts, data: {{label: label}}, title: Generated texts}}
searches: {{}}
defaults:
  classification:
    embedding_dim: 32
    embedding_std: 1.0
    hidden_size: 32
    linear_size: 32
    pooling: last
    dropout: 0.2
    epochs: 1
    batch_size: 32
    learning_rate: 0.01
models:
  texts-baseline:
    experiment: texts
    corpus: texts
    variant: baseline
    search: none
    match_parameters_of: texts-baseline
"""


class FailedError(Exception):
    """A command failed or took too long; the message is for the table."""


def say(message: str) -> None:
    print(f"benchmarks.size: {message}", file=sys.stderr, flush=True)


def run(arguments: list[str], folder: Path, limit: float) -> tuple[float, float]:
    """Run a command of heed; return its peak memory (GB) and processor time (seconds).

    Raises FailedError.
    """
    environment = os.environ | {"HEED_THREADS": "1", "OMP_NUM_THREADS": "1"}
    output = folder / "output.txt"
    with output.open("w") as file:
        command = [sys.executable, "-m", "heed.cli", *arguments]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=file, start_new_session=True
        )
    status, usage = _wait(process, limit)
    if status is None:
        raise FailedError(f"not finished after {limit:,.0f} s")
    if status:
        say(output.read_text().strip()[-2000:])
        raise FailedError(f"failed with {status} at {usage.ru_maxrss / 1e6:.2f} GB")
    return usage.ru_maxrss * 1024 / 1e9, usage.ru_utime + usage.ru_stime


def _wait(process: "subprocess.Popen[bytes]", limit: float) -> tuple[int | None, Any]:
    """Return the exit status of a process, None if it was ended after `limit`, and its usage."""
    started = time.monotonic()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() - started > limit:
            os.killpg(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return None, usage
        time.sleep(0.05)


def measure(documents: int, commands: list[str], folder: Path, limit: float) -> dict[str, str]:
    """Return the cell of each of `commands` for a corpus of so many documents."""
    say(f"{documents:,} documents: texts")
    write_texts(folder / "texts.csv", documents)
    study = STUDY.format(digest=sha256(folder / "texts.csv"))
    (folder / "params.yaml").write_text(study)
    cells: dict[str, str] = {}
    failed: set[str] = set()
    for name in _with_needed(commands):
        if missing := failed.intersection(NEEDS[name]):
            failed.add(name)
            cells[name] = f"without {', '.join(sorted(missing))}"
            continue
        try:
            for arguments in PREPARATION.get(name, []):
                run(arguments, folder, limit)
            gigabytes, seconds = run([name, *ARGUMENTS[name]], folder, limit)
            cells[name] = f"{gigabytes:.2f} GB, {seconds:,.0f} s"
        except FailedError as error:
            failed.add(name)
            cells[name] = str(error)
        say(f"{documents:,} documents: {name}: {cells[name]}")
    return {name: cells[name] for name in commands}


def _with_needed(commands: list[str]) -> list[str]:
    """Return the commands and all that they need, in order."""
    needed = set(commands)
    for name in reversed(NEEDS):
        if name in needed:
            needed.update(NEEDS[name])
    return [name for name in NEEDS if name in needed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, nargs="+", default=DOCUMENTS)
    parser.add_argument("--commands", nargs="+", choices=NEEDS, default=MEASURED)
    parser.add_argument("--limit", type=float, default=3600, help="seconds for each stage")
    options = parser.parse_args()
    print(f"| documents | {' | '.join(options.commands)} |")
    print("|---" * (1 + len(options.commands)) + "|", flush=True)
    for documents in options.documents:
        with tempfile.TemporaryDirectory() as folder:
            cells = measure(documents, options.commands, Path(folder), options.limit)
        print(f"| {documents:,} | {' | '.join(cells.values())} |", flush=True)


if __name__ == "__main__":
    main()
