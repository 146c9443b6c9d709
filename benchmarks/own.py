"""What `heed corpus add` makes of files that heed does not know: docs/start/own-corpus.md.

`python -m benchmarks.own FILE ... [--minutes 5] [--cores 2] [--seeds N] [--split test]`. Each file
is added in a new clone of the last commit and its study is run by snakemake; a row says what each
model has, which model the report names, how many points that is below the best one, and the minutes
that were estimated and taken. The report names a model by the test split, so it is near the best
one by rule; the model that the same rule names by the validation split is the stricter check. While
values are chosen, `--split validation` prints the scores of that split alone. A clone takes some
hundred MB in `--folder` and stays there; a file whose clone has a report is not run again.
"""

import argparse
import dataclasses
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from heed.evaluation.results import (
    NOT_CONVERGED,
    Comparison,
    ExperimentResult,
    mean_and_std,
    read_comparison,
)
from heed.report.differences import recommend
from heed.study.own_entries import VARIANTS

ROOT = Path(__file__).resolve().parents[1]
MODELS = ("linear", "pretrained", *VARIANTS)
COLUMNS = (
    "file", "documents", "classes", "tokens", "seeds", *MODELS, "named", "below the best",
    "named by validation", "it is below the best", "not converged", "minutes estimated",
    "minutes taken", "CPU minutes",
)  # fmt: skip
COST, ANSWER = "add.txt", "minutes.txt"


def run(command: list[str], clone: Path) -> str:
    """Return what a command prints in a clone. Raises SystemExit where it fails."""
    environment = os.environ | {"PYTHONPATH": str(clone / "src")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, cwd=clone, env=environment, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{clone}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_study(file: Path, clone: Path, options: list[str], cores: int) -> None:
    """Add a file in a new clone and run its study, unless it has run there."""
    if (clone / ANSWER).exists():
        return
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    heed = [sys.executable, "-m", "heed.cli", "corpus", "add", str(file.resolve())]
    (clone / COST).write_text(run([*heed, "--name", clone.name, *options], clone))
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run(["snakemake", "--cores", str(cores)], clone)
    taken, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (clone / ANSWER).write_text(f"{taken / 60:.1f} {cpu / 60:.1f}\n")


def by_validation(result: ExperimentResult, clone: Path) -> ExperimentResult:
    """Return the result with the accuracies of the validation split in place of the test's."""

    def accuracy(path: Path) -> float:
        table = pd.read_parquet(path, columns=["split", "label", "predicted"])
        table = table[table["split"] == "validation"]
        return float((table["label"] == table["predicted"]).mean())

    def validated(model: Any, predictions: Iterable[Path]) -> Any:
        scores = mean_and_std([*map(accuracy, predictions)])
        return dataclasses.replace(model, summary={"accuracy": scores})

    folder, references = clone / "results/predict", clone / "results/reference_models"
    models = {
        name: validated(model, folder.glob(f"*/{model.model}/predictions.parquet"))
        for name, model in result.models.items()
    }
    reference_models = {
        name: validated(model, references.rglob(f"{name}-[0-9]*.parquet"))  # of each fold
        for name, model in result.reference_models.items()
    }
    return dataclasses.replace(
        result, comparisons={}, models=models, reference_models=reference_models
    )


def row(clone: Path, split: str) -> list[str]:
    """Return the cells of a study that has run."""
    comparison: Comparison = read_comparison(clone / "results/compare/comparison.json")
    (result,) = comparison.experiments.values()
    verdicts = [
        comparison.verdict
        for others in result.comparisons.values()
        for comparison in others.values()
    ]
    validated = by_validation(result, clone)
    shown = validated if split == "validation" else result
    scores = {
        name: shown.score_of(name)
        for name in MODELS
        if name in {**shown.models, **shown.reference_models}
    }
    named = recommend(shown, comparison.significance)
    by_others = recommend(validated, comparison.significance)
    below, by_others_below = (100 * (max(scores.values()) - scores[n]) for n in (named, by_others))
    statistics, estimated = result.corpus.statistics, (clone / COST).read_text()
    minutes = re.search(r"about (a minute|[\d.,]+ \w+) on", estimated)
    return [
        clone.name, f"{statistics.documents:,}", str(len(result.groups["classes"])),
        f"{statistics.tokens / statistics.documents:.0f}", str(len(comparison.seeds)),
        *(f"{scores[name]:.4f}" if name in scores else "–" for name in MODELS),
        named, f"{below:.1f}", by_others, f"{by_others_below:.1f}",
        str(verdicts.count(NOT_CONVERGED)), minutes[1] if minutes else "?",
        *(clone / ANSWER).read_text().split(),
    ]  # fmt: skip


def table(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the table, in Markdown; the last one has the means."""
    yield f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"
    further = ["--minutes", str(options.minutes)]
    further += ["--seeds", str(options.seeds)] if options.seeds else []
    below = []
    for file in options.files:
        clone = options.folder / re.sub("[^a-z0-9]+", "-", file.stem.lower())
        run_study(file, clone, further, options.cores)
        cells = row(clone, options.split)
        below.append(float(cells[COLUMNS.index("below the best")]))
        yield f"| {' | '.join(cells)} |"
    near = sum(difference <= 1 for difference in below)
    mean = f"{fmean(below):.1f} points on average"
    yield f"\nNamed within a point of the best: {near} of {len(below)}; below it by {mean}."


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seeds", type=int, help="of each study; none: what the minutes allow")
    parser.add_argument("--split", choices=("test", "validation"), default="test")
    parser.add_argument("--folder", type=Path, default=Path("own-clones"), help="of the clones")
    options = parser.parse_args(arguments)
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    for line in table(options):
        print(line, flush=True)


if __name__ == "__main__":
    main()
