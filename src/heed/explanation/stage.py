"""The stage `explain`: the tests of a model's runs on random test documents.

Everything runs on the CPU with one thread, so that tables are the same bytes on a machine kind.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from heed.digests import loaded_modules
from heed.explanation.documents import draw_documents
from heed.files import HeedError, sha256, write_json, writing_folder
from heed.params_file import read_section
from heed.paths import EXPLANATIONS, PARAMS, TOKENS, WEIGHTS, WORK, is_name, run_folder
from heed.task import import_stage_modules, task_module
from heed.tokens.arrays import Tokens, load_tokens
from heed.training.machine import make_deterministic
from heed.training.run import RunInfo, check_tokens, read_runs, split_documents

TABLES = ("documents", "rankings", "units")
# seed, documents that are done, and their number
Progress = Callable[[int, int, int], None]


def read_scale() -> float:
    """Return `explain.documents` of params.yaml, 1 where there is none.

    Read without pydantic, so that explanations do not depend on the code that checks params.yaml.

    Raises HeedError when the file cannot be read, or the value is not a number above 0.
    """
    scale = read_section("explain").get("documents", 1.0)
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not scale > 0:
        raise HeedError(
            f"{PARAMS}: explain.documents: expected a number above 0, found {scale!r}. "
            "`heed check` says more"
        )
    return float(scale)


def read_noise(model: str) -> str | None:
    """Return `explain.models.MODEL.noise` of params.yaml, the name of a corpus, if it is there.

    Raises HeedError when the file cannot be read, or the value cannot be a name.
    """
    section = (read_section("explain").get("models") or {}).get(model) or {}
    noise = section.get("noise") if isinstance(section, dict) else None
    if noise is not None and not (isinstance(noise, str) and is_name(noise)):
        raise HeedError(
            f"{PARAMS}: explain.models.{model}.noise: expected the name of a corpus, found "
            f"{noise!r}. `heed check` says more"
        )
    return noise


def write_explanations(
    name: str,
    seeds: list[int],
    scale: float,
    report_progress: Progress,
    noise: str | None = None,
) -> pd.DataFrame:
    """Write results/explain/NAME from the runs of `seeds`; return its summary.

    A seed that is done is kept in .heed/work until all are, and is not repeated.

    Args:
        name: the model.
        seeds: of its runs.
        scale: multiplies the numbers of documents.
        report_progress: called while documents are explained.
        noise: the corpus that the words of noise are from; without it that test has a reason. A
            task without this test does not read it.

    Raises:
        HeedError: a run is missing or was made with another recipe than the others; the tokens are
            not those of the recipe; the task has no explanation; the corpus of noise is missing.

    """
    runs = read_runs(name, seeds)
    make_deterministic()
    reads_noise = task_module(runs[0].recipe.task, "recipe").READS_NOISE
    noise_tokens = load_tokens(TOKENS / noise) if reads_noise and noise is not None else None
    words = None if noise_tokens is None else [noise_tokens.meta.corpus, noise_tokens.meta.digest]
    work = work_folder("explain", runs, [scale, words])
    for run in runs:
        if not (work / str(run.seed)).exists():
            _explain_run(run, scale, work / str(run.seed), report_progress, noise_tokens)
    summary = _write_tables(work, runs, EXPLANATIONS / name)
    shutil.rmtree(work, ignore_errors=True)
    return summary


def _write_tables(work: Path, runs: list[RunInfo], folder: Path) -> pd.DataFrame:
    """Write the tables of all seeds into `folder`; return the summary."""
    seeds = [run.seed for run in runs]
    tables = read_tables(work, seeds)
    reasons = _common_reasons(work, seeds)
    task = task_module(runs[0].recipe.task, "explanation")
    agreement = _agreement(task, tables, reasons)
    summary: pd.DataFrame = task.summarize_tables(tables, agreement, reasons)
    with writing_folder(folder, checksums=True) as out:
        for table in TABLES:
            tables[table].to_parquet(out / f"{table}.parquet", index=False)
        agreement.to_parquet(out / "seeds.parquet", index=False)
        if "recency" in tables:  # of classifiers
            tables["recency"].to_csv(out / "recency.csv", index=False, lineterminator="\n")
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    return summary


def _common_reasons(work: Path, seeds: list[int]) -> dict[str, str]:
    """Return the reasons that all seeds have, by what is not defined; the text is the first seed's.

    Seeds of several folds have other test documents: what is defined in one of them has a mean.
    """
    by_seed: list[dict[str, str]] = [
        json.loads((work / str(seed) / "reasons.json").read_text(encoding="utf-8"))
        for seed in seeds
    ]
    return {
        key: reason
        for key, reason in by_seed[0].items()
        if all(key in reasons for reasons in by_seed)
    }


def read_tables(work: Path, seeds: list[int]) -> dict[str, pd.DataFrame]:
    """Return the tables of all seeds that are done."""
    return {
        file.stem: pd.concat(
            [pd.read_parquet(work / str(seed) / file.name) for seed in seeds], ignore_index=True
        )
        for file in sorted((work / str(seeds[0])).glob("*.parquet"))
    }


def work_folder(stage: str, runs: list[RunInfo], settings: Any) -> Path:
    """Return the folder of a stage's finished seeds.

    It depends on the runs, the stage's settings, its code and the version of torch.
    """
    recipe = runs[0].recipe
    import_stage_modules(recipe.task, stage)
    weights = [sha256(run_folder(recipe.model, run.seed) / WEIGHTS) for run in runs]
    key = json.dumps(
        [recipe.as_dict(), weights, settings, loaded_modules(), torch.__version__], sort_keys=True
    )
    return WORK / f"{stage}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _explain_run(
    run: RunInfo, scale: float, out: Path, report_progress: Progress, noise: Tokens | None
) -> None:
    """Write the tables of one seed into the folder `out`, and why tests are not defined."""
    recipe = run.recipe
    tokens = load_tokens(TOKENS / recipe.corpus)
    check_tokens(recipe, tokens)
    task = task_module(recipe.task, "explanation")
    test = split_documents(recipe, tokens, run.seed)["test"]
    offsets = task.document_offsets(tokens, recipe.data)
    rows = draw_documents(test, run.fold, offsets, scale)
    if not len(rows):
        raise HeedError(f"{tokens.path}: all test documents are empty: there is nothing to explain")
    explained: tuple[dict[str, pd.DataFrame], dict[str, str]] = task.explain_run(
        run, tokens, rows, scale, lambda done, total: report_progress(run.seed, done, total), noise
    )
    tables, reasons = explained
    with writing_folder(out) as folder:
        for name, table in tables.items():
            table.insert(0, "seed", run.seed)
            table.to_parquet(folder / f"{name}.parquet", index=False)
        write_json(folder / "reasons.json", reasons)


def _agreement(task: Any, tables: dict[str, pd.DataFrame], reasons: dict[str, str]) -> pd.DataFrame:
    """Return the agreement of seeds, or an empty table and its reason."""
    documents = tables["documents"]
    known = documents.iloc[:0] if "weights" in reasons else documents
    agreement: pd.DataFrame = task.seed_agreement(tables | {"documents": known})
    if agreement.empty and "weights" not in reasons:
        reasons.setdefault(
            "seeds", "no two seeds have the same test documents: this test compares their weights"
        )
    return agreement
