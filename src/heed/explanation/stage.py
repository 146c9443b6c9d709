"""The stage `explain`: the tests of a model's runs on random test documents.

Everything runs on the CPU with one thread, so that tables are the same bytes on a machine kind.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from heed.code.digests import loaded_modules
from heed.explanation.agreement import seed_agreement
from heed.explanation.judgement import GROUPS, group_size
from heed.explanation.tables import summarize
from heed.files import HeedError, sha256, write_json, writing_folder
from heed.paths import EXPLANATIONS, PARAMS, TOKENS, WEIGHTS, WORK, run_folder
from heed.tasks import import_stage_modules, task_module
from heed.tokens.arrays import load_tokens
from heed.training.determinism import make_deterministic
from heed.training.run import RunInfo, check_tokens, split_documents
from heed.training.runs import read_runs

DRAW = 17  # seeds the draw of documents: it is the same for every model and seed of a corpus
TABLES = ("documents", "rankings", "units")
# seed, documents that are done, and their number
Progress = Callable[[int, int, int], None]


def read_scale() -> float:
    """Return `explain.documents` of params.yaml, 1 where there is none.

    Read without pydantic, so that explanations do not depend on the code that checks params.yaml.

    Raises HeedError when the file cannot be read, or the value is not a number above 0.
    """
    try:
        params = yaml.safe_load(PARAMS.read_text(encoding="utf-8")) if PARAMS.exists() else {}
        scale = ((params or {}).get("explain") or {}).get("documents", 1.0)
    except (OSError, ValueError, yaml.YAMLError, AttributeError, RecursionError):
        raise HeedError(f"{PARAMS}: cannot be read. `heed check` says where it is wrong") from None
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not scale > 0:
        raise HeedError(
            f"{PARAMS}: explain.documents: expected a number above 0, found {scale!r}. "
            "`heed check` says more"
        )
    return float(scale)


def write_explanations(
    name: str, seeds: list[int], scale: float, report_progress: Progress
) -> pd.DataFrame:
    """Write results/explain/NAME from the runs of `seeds`; return its summary.

    A seed that is done is kept in .heed/work until all are, and is not repeated.

    Args:
        name: the model.
        seeds: of its runs.
        scale: multiplies the numbers of documents.
        report_progress: called while documents are explained.

    Raises:
        HeedError: a run is missing or was made with another recipe than the others; the tokens are
            not those of the recipe; the task has no explanation.

    """
    runs = read_runs(name, seeds)
    make_deterministic(threads=1)
    work = _work_folder(runs, scale)
    for run in runs:
        if not (work / str(run.seed)).exists():
            _explain_run(run, scale, work / str(run.seed), report_progress)
    tables = {
        table: pd.concat(
            [pd.read_parquet(work / str(seed) / f"{table}.parquet") for seed in seeds],
            ignore_index=True,
        )
        for table in TABLES
    }
    reasons: dict[str, str] = json.loads(
        (work / str(seeds[0]) / "reasons.json").read_text(encoding="utf-8")
    )
    agreement = _agreement(tables, reasons)
    summary = summarize(tables["documents"], tables["rankings"], agreement, reasons)
    with writing_folder(EXPLANATIONS / name, checksums=True) as out:
        for table, values in tables.items():
            values.to_parquet(out / f"{table}.parquet", index=False)
        agreement.to_parquet(out / "seeds.parquet", index=False)
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    shutil.rmtree(work, ignore_errors=True)
    return summary


def _work_folder(runs: list[RunInfo], scale: float) -> Path:
    """Return the folder of finished seeds; it depends on runs, scale, code and version of torch."""
    recipe = runs[0].recipe
    import_stage_modules(recipe.task, "explain")
    weights = [sha256(run_folder(recipe.model, run.seed) / WEIGHTS) for run in runs]
    key = json.dumps(
        [recipe.as_dict(), weights, scale, loaded_modules(), torch.__version__], sort_keys=True
    )
    return WORK / f"explain-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _explain_run(run: RunInfo, scale: float, out: Path, report_progress: Progress) -> None:
    """Write the tables of one seed into the folder `out`, and why tests are not defined."""
    recipe = run.recipe
    tokens = load_tokens(TOKENS / recipe.corpus)
    check_tokens(recipe, tokens)
    rows = draw_documents(
        split_documents(recipe, tokens, run.seed)["test"], run.fold, tokens.offsets, scale
    )
    if not len(rows):
        raise HeedError(f"{tokens.path}: all test documents are empty: there is nothing to explain")
    explained: tuple[dict[str, pd.DataFrame], dict[str, str]] = task_module(
        recipe.task, "explanation"
    ).explain_run(
        run, tokens, rows, scale, lambda done, total: report_progress(run.seed, done, total)
    )
    tables, reasons = explained
    with writing_folder(out) as folder:
        for table in TABLES:
            tables[table].insert(0, "seed", run.seed)
            tables[table].to_parquet(folder / f"{table}.parquet", index=False)
        write_json(folder / "reasons.json", reasons)


def draw_documents(test: np.ndarray, fold: int, offsets: np.ndarray, scale: float) -> np.ndarray:
    """Return random test documents that are not empty, in the order of their draw.

    Args:
        test: rows of the test part.
        fold: its fold.
        offsets: first token of each document of the corpus, (documents + 1,)
        scale: multiplies their number.

    """
    filled = test[offsets[test + 1] > offsets[test]]
    order = np.random.default_rng((DRAW, fold)).permutation(filled)
    return order[: group_size(GROUPS[-1].end, scale)]


def _agreement(tables: dict[str, pd.DataFrame], reasons: dict[str, str]) -> pd.DataFrame:
    """Return T6, or an empty table and its reason."""
    documents = tables["documents"]
    probabilities = [column for column in map(str, documents) if column.startswith("p:")]
    known = documents.iloc[:0] if "weights" in reasons else documents
    agreement = seed_agreement(tables["units"], known, probabilities)
    if agreement.empty and "weights" not in reasons:
        reasons.setdefault(
            "seeds", "no two seeds have the same test documents: this test compares their weights"
        )
    return agreement
