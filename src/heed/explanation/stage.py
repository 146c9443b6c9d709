"""The stages `explain` and `adversarial_attention`: tests of a model's runs, and models trained
against it.

On the CPU with one thread: tables are the same bytes on a machine kind. Sections of params.yaml are
read without heed.study, on whose code these stages shall not depend.
"""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import torch

from heed import paths
from heed.digests import digest_value, loaded_modules
from heed.explanation.rankings import draw_documents
from heed.explanation.sections import (
    ADVERSARIAL_SUMMARY,
    UNEXPLAINED,
    AdversarialAttention,
    Explain,
)
from heed.files import HeedError, require_readable, sha256, writing_folder
from heed.records import as_json, read_record
from heed.tables import join_seeds, write_csv
from heed.task import import_stage_modules, task_module
from heed.tokens.arrays import Tokens, load_tokens
from heed.training.loop import DivergedError
from heed.training.machine import make_deterministic
from heed.training.run import RunInfo, check_tokens, read_runs, split_documents

NO_PAIR = "no two seeds have the same test documents: this test compares their weights"
# seed, documents that are done, and their number
Progress = Callable[[int, int, int], None]
# seed, what is done, how much of it, and all of it
AdversarialProgress = Callable[[int, str, int, int], None]
Tables = dict[int, dict[str, pd.DataFrame]]  # of each seed, by name
Section = TypeVar("Section")


def _read_params(kind: type[Section], keys: tuple[str, ...], default: Section | None) -> Section:
    """Return the part of params.yaml at these keys, or the default. Raises HeedError."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    text = ""
    if paths.PARAMS.exists():
        require_readable(paths.PARAMS)
        text = paths.PARAMS.read_text(encoding="utf-8")
    try:
        entry = YAML(typ="safe").load(text)
        for key in keys:
            entry = (entry or {}).get(key)
        return default if default and not entry else read_record(kind, entry or {})
    except (OSError, ValueError, TypeError, YAMLError, AttributeError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise HeedError(
            f"{paths.PARAMS}: {'.'.join(keys)}: {text}. `heed study` says more"
        ) from None


def read_explain() -> Explain:
    """Return `explain` of params.yaml. Raises HeedError when it is wrong."""
    return _read_params(Explain, ("explain",), UNEXPLAINED)


def write_explanations(
    name: str, seeds: list[int], scale: float, report_progress: Progress, noise: str | None = None
) -> pd.DataFrame:
    """Write results/explain/NAME, of a model, from its runs of `seeds`; return its summary.

    `scale` multiplies the numbers of documents; the words of `noise` are from this corpus. Raises
    HeedError: a run is missing or was made with another recipe than the others; the tokens are not
    the recipe's; the task has no explanation; the corpus of noise is missing.
    """
    runs = read_runs(name, seeds)
    make_deterministic()
    task = runs[0].recipe.task
    part, reads_noise = task_module(task, "explanation"), task_module(task, "recipe").READS_NOISE
    words = load_tokens(paths.TOKENS / noise) if reads_noise and noise is not None else None
    by_seed: Tables = {}
    undefined: list[dict[str, str]] = []
    for run in runs:
        tokens, _, rows = _draw(run, scale)
        explained, why = part.explain_run(
            run, tokens, rows, scale, functools.partial(report_progress, run.seed), words
        )
        by_seed[run.seed] = explained
        undefined.append(why)
    tables = join_seeds(by_seed)
    # seeds of several folds have other test documents: what is defined in one of them has a mean
    first, *others = undefined
    in_all = {*first}.intersection(*others)
    reasons = {key: why for key, why in first.items() if key in in_all}
    documents, has_weights = tables["documents"], "weights" not in reasons
    known = documents.iloc[: len(documents) * has_weights]
    tables["seeds"] = part.seed_agreement(tables | {"documents": known})
    if tables["seeds"].empty and has_weights:
        reasons.setdefault("seeds", NO_PAIR)
    summary: pd.DataFrame = part.summarize_tables(tables, reasons)
    with writing_folder(paths.EXPLANATIONS / name, checksums=True) as out:
        for table in ("documents", "rankings", "units", "seeds"):
            tables[table].to_parquet(out / f"{table}.parquet", index=False)
        if "recency" in tables:  # of classifiers
            write_csv(out / "recency.csv", tables["recency"])
        write_csv(out / "summary.csv", summary)
    return summary


def write_adversarial_model(
    name: str, seeds: list[int], report_progress: AdversarialProgress
) -> pd.DataFrame:
    """Write results/adversarial_attention/NAME from the runs of its model; return its summary.

    Trainings that were stopped continue from their last checkpoint, in .heed/work. Raises
    HeedError: a run is missing or was made with another recipe than the others; the tokens are not
    the recipe's; the model has no weights that could be others; `deceive` without rationales; a
    training that diverged.
    """
    declared = _read_params(AdversarialAttention, ("adversarial_attention", name), None)
    runs = read_runs(declared.model, seeds)
    make_deterministic()
    work = _work_folder(runs, as_json(declared))
    part = task_module(runs[0].recipe.task, "adversarial_attention")
    by_seed: Tables = {}
    for run in runs:
        tokens, splits, drawn = _draw(run, 1.0)
        report = functools.partial(report_progress, run.seed)
        try:
            judged = part.judge_adversarial_model(
                run, declared, tokens, splits, drawn, work / str(run.seed), report
            )
        except DivergedError as error:
            raise DivergedError(
                f"{paths.PARAMS}: adversarial_attention.{name}, seed {run.seed}: {error}, of model "
                f"{declared.model}, by whose recipe it is trained. If this is the adversarial "
                "model, and no diagnostic MLP, make its `strength` smaller first"
            ) from None
        by_seed[run.seed] = judged
    tables = join_seeds(by_seed)
    summary = tables.pop("summary").reindex(columns=ADVERSARIAL_SUMMARY)
    summary = summary.astype({"documents": "Int64"})
    with writing_folder(paths.ADVERSARIAL_ATTENTION / name, checksums=True) as out:
        for table, values in tables.items():
            values.to_parquet(out / f"{table}.parquet", index=False)
        write_csv(out / "summary.csv", summary)
    shutil.rmtree(work, ignore_errors=True)
    return summary


def _draw(run: RunInfo, scale: float) -> tuple[Tokens, dict[str, np.ndarray], np.ndarray]:
    """Return a run's tokens, its documents by split, and the test documents that are drawn."""
    recipe = run.recipe
    tokens = load_tokens(paths.TOKENS / recipe.corpus)
    check_tokens(recipe, tokens)
    splits = split_documents(tokens, run.fold)
    offsets = task_module(recipe.task, "explanation").document_offsets(tokens, recipe.data)
    return tokens, splits, draw_documents(splits["test"], run.fold, offsets, scale)


def _work_folder(runs: list[RunInfo], settings: object) -> Path:
    """Return the folder of trainings that depend on these runs, settings, code and torch."""
    recipe, stage = runs[0].recipe, "adversarial_attention"
    import_stage_modules(recipe.task, stage)
    weights = [sha256(paths.run_folder(recipe.model, run.seed) / paths.WEIGHTS) for run in runs]
    key = [recipe.as_dict(), weights, settings, loaded_modules(), torch.__version__]
    return paths.WORK / f"{stage}-{digest_value(key)[:16]}"
