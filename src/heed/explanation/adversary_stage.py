"""The stage `adversaries`: models that are trained to have other weights, and guided networks.

Everything runs on the CPU with one thread, so that tables are the same bytes on a machine kind.
"""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd

from heed.explanation.documents import draw_documents
from heed.explanation.stage import read_tables, work_folder
from heed.explanation.unexplained import ADVERSARY_SUMMARY
from heed.files import HeedError, read_json, write_json, writing_folder
from heed.params_file import read_section
from heed.paths import ADVERSARIES, PARAMS, TOKENS
from heed.records import as_json, read_record
from heed.task import task_module
from heed.tokens.arrays import load_tokens
from heed.training.loop import DivergedError
from heed.training.machine import make_deterministic
from heed.training.run import RunInfo, check_tokens, read_runs, split_documents

TABLES = ("documents", "units", "summary")
GUIDED = "guided.json"
# seed, what is done, how much of it, and all of it
Progress = Callable[[int, str, int, int], None]


@dataclasses.dataclass(frozen=True)
class Adversary:
    """A section of `adversaries` in params.yaml; `heed.study.adversaries` has its meaning."""

    model: str
    goal: Literal["differ", "deceive"]
    strength: Annotated[float, {"gt": 0}]
    epochs: Annotated[int, {"gt": 0}]
    guided_networks: bool = True


def read_adversary(name: str) -> Adversary:
    """Return `adversaries.NAME` of params.yaml.

    Read without pydantic, so that adversaries do not depend on the code that checks params.yaml.

    Raises HeedError when the file cannot be read, has no such entry, or the entry has a mistake.
    """
    sections = read_section("adversaries")
    if name not in sections:
        known = ", ".join(map(str, sections)) or "none"
        raise HeedError(f"{PARAMS}: adversaries: there is no adversary {name}. Known: {known}")
    try:
        return read_record(Adversary, sections[name])
    except ValueError as error:
        raise HeedError(f"{PARAMS}: adversaries.{name}: {error}. `heed check` says more") from None


def write_adversary(name: str, seeds: list[int], report_progress: Progress) -> pd.DataFrame:
    """Write results/adversaries/NAME from the runs of its model; return its summary.

    A seed that is done is kept in .heed/work until all are, and is not repeated; within a seed,
    trainings continue from their last checkpoint.

    Args:
        name: a key of `adversaries` in params.yaml.
        seeds: of the runs of its model.
        report_progress: called while models are trained and documents are judged.

    Raises:
        HeedError: a run is missing or was made with another recipe than the others; the tokens are
            not those of the recipe; the model has no weights that could be others; `deceive`
            without known evidence; a training that diverged.

    """
    adversary = read_adversary(name)
    runs = read_runs(adversary.model, seeds)
    make_deterministic()
    work = work_folder("adversaries", runs, as_json(adversary))
    for run in runs:
        if not (work / str(run.seed)).exists():
            with _naming(name, run):
                _judge_run(run, adversary, work, report_progress)
    tables = read_tables(work, seeds)
    summary = tables.pop("summary")
    with writing_folder(ADVERSARIES / name, checksums=True) as out:
        for table, values in tables.items():
            values.to_parquet(out / f"{table}.parquet", index=False)
        if adversary.guided_networks:
            guided = read_json(work / str(seeds[0]) / GUIDED, "heed adversaries")
            write_json(out / GUIDED, guided)
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    shutil.rmtree(work, ignore_errors=True)
    return summary


@contextlib.contextmanager
def _naming(name: str, run: RunInfo) -> Iterator[None]:
    """Name the adversary and the seed of a training that diverges, and what to change."""
    try:
        yield
    except DivergedError as error:
        raise DivergedError(
            f"{PARAMS}: adversaries.{name}, seed {run.seed}: {error}, of model {run.recipe.model}, "
            "by whose recipe it is trained. If this is the adversary, and no guided network, make "
            "its `strength` smaller first"
        ) from None


def _judge_run(run: RunInfo, adversary: Adversary, work: Path, report_progress: Progress) -> None:
    """Write the tables of one seed into the folder `work`."""
    recipe = run.recipe
    tokens = load_tokens(TOKENS / recipe.corpus)
    check_tokens(recipe, tokens)
    parts = split_documents(recipe, tokens, run.seed)
    drawn = draw_documents(parts["test"], run.fold, tokens.offsets, 1.0)
    if not len(drawn):
        raise HeedError(f"{tokens.path}: all test documents are empty: there is nothing to judge")
    judged: tuple[dict[str, pd.DataFrame], dict[str, object] | None] = task_module(
        recipe.task, "adversaries"
    ).judge_adversary(
        run, adversary, tokens, parts, drawn, work / f"{run.seed}-trainings",
        lambda what, done, total: report_progress(run.seed, what, done, total),
    )  # fmt: skip
    tables, guided = judged
    summary = tables["summary"]
    summary["seed"] = run.seed
    tables["summary"] = summary.reindex(columns=ADVERSARY_SUMMARY).astype({"documents": "Int64"})
    with writing_folder(work / str(run.seed)) as folder:
        for table in TABLES:
            if table != "summary":
                tables[table].insert(0, "seed", run.seed)
            tables[table].to_parquet(folder / f"{table}.parquet", index=False)
        if guided is not None:
            write_json(folder / GUIDED, guided)
