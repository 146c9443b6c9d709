"""The stages `explain` and `adversarial_attention`: tests of a model's runs, and models trained
against it.

Everything runs on the CPU with one thread, so that tables are the same bytes on a machine kind.
Sections of params.yaml are read without pydantic, so that these stages do not depend on the code
that checks it. A seed that is done is kept in .heed/work until all are, and is not repeated.
"""

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
import pandas as pd
import torch

from heed.digests import loaded_modules
from heed.explanation.rankings import draw_documents
from heed.explanation.unexplained import ADVERSARIAL_SUMMARY
from heed.files import HeedError, read_json, sha256, write_json, writing_folder
from heed.paths import (
    ADVERSARIAL_ATTENTION,
    EXPLANATIONS,
    PARAMS,
    TOKENS,
    WEIGHTS,
    WORK,
    run_folder,
)
from heed.records import as_json, read_record
from heed.task import import_stage_modules, task_module
from heed.tokens.arrays import Tokens, load_tokens
from heed.training.loop import DivergedError
from heed.training.machine import make_deterministic
from heed.training.run import RunInfo, check_tokens, read_runs, split_documents

DIAGNOSTIC, REASONS = "diagnostic_mlps.json", "reasons.json"
# seed, documents that are done, and their number
Progress = Callable[[int, int, int], None]
# seed, what is done, how much of it, and all of it
AdversarialProgress = Callable[[int, str, int, int], None]
Section = TypeVar("Section")


@dataclasses.dataclass(frozen=True)
class ExplainedModel:
    """An entry of `explain.models`; `heed.study.schema` has its meaning."""

    noise: str | None = None


@dataclasses.dataclass(frozen=True)
class Explain:
    """The section `explain`; `heed.study.schema` has its meaning."""

    documents: Annotated[float, {"gt": 0}] = 1.0
    models: dict[str, ExplainedModel] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class AdversarialAttention:
    """An entry of `adversarial_attention`; `heed.study.schema` has its meaning."""

    model: str
    goal: Literal["differ", "deceive"]
    strength: Annotated[float, {"gt": 0}]
    epochs: Annotated[int, {"gt": 0}]
    diagnostic_mlps: bool = True


def _read_params(kind: type[Section], *keys: str) -> Section:
    """Return the part of params.yaml at these keys; all defaults where a section is not there.

    Raises HeedError when the file cannot be read, or has a mistake there.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        entry = YAML(typ="safe").load(PARAMS.read_text(encoding="utf-8")) if PARAMS.exists() else {}
        for key in keys:
            entry = (entry or {}).get(key)
        return read_record(kind, entry or {})
    except (OSError, ValueError, TypeError, YAMLError, AttributeError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise HeedError(f"{PARAMS}: {'.'.join(keys)}: {text}. `heed check` says more") from None


def read_explain() -> Explain:
    """Return `explain` of params.yaml. Raises HeedError when the file or its section is wrong."""
    return _read_params(Explain, "explain")


def read_adversarial_model(name: str) -> AdversarialAttention:
    """Return `adversarial_attention.NAME` of params.yaml.

    Raises HeedError when the file cannot be read, has no such entry, or the entry has a mistake.
    """
    return _read_params(AdversarialAttention, "adversarial_attention", name)


def write_explanations(
    name: str,
    seeds: list[int],
    scale: float,
    report_progress: Progress,
    noise: str | None = None,
) -> pd.DataFrame:
    """Write results/explain/NAME from the runs of `seeds`; return its summary.

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
    task = runs[0].recipe.task
    reads_noise = task_module(task, "recipe").READS_NOISE
    words = load_tokens(TOKENS / noise) if reads_noise and noise is not None else None
    read = None if words is None else [words.meta.corpus, words.meta.digest]
    work = _work_folder("explain", runs, [scale, read])
    for run in runs:
        if not (work / str(run.seed)).exists():
            _explain_run(run, scale, work, report_progress, words)
    tables = _read_tables(work, seeds)
    # seeds of several folds have other test documents: what is defined in one of them has a mean
    first, *others = (read_json(work / str(seed) / REASONS, "heed explain") for seed in seeds)
    reasons = {key: why for key, why in first.items() if all(key in other for other in others)}
    agreement = _agreement(task, tables, reasons)
    part = task_module(task, "explanation")
    summary: pd.DataFrame = part.summarize_tables(tables, agreement, reasons)
    with writing_folder(EXPLANATIONS / name, checksums=True) as out:
        for table in ("documents", "rankings", "units"):
            tables[table].to_parquet(out / f"{table}.parquet", index=False)
        agreement.to_parquet(out / "seeds.parquet", index=False)
        if "recency" in tables:  # of classifiers
            tables["recency"].to_csv(out / "recency.csv", index=False, lineterminator="\n")
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    shutil.rmtree(work, ignore_errors=True)
    return summary


def _agreement(task: str, tables: dict[str, pd.DataFrame], reasons: dict[str, str]) -> pd.DataFrame:
    """Return the agreement of seeds, or an empty table and its reason."""
    documents = tables["documents"]
    known = documents.iloc[:0] if "weights" in reasons else documents
    part = task_module(task, "explanation")
    agreement: pd.DataFrame = part.seed_agreement(tables | {"documents": known})
    if agreement.empty and "weights" not in reasons:
        reasons.setdefault(
            "seeds", "no two seeds have the same test documents: this test compares their weights"
        )
    return agreement


def _explain_run(
    run: RunInfo, scale: float, work: Path, report_progress: Progress, noise: Tokens | None
) -> None:
    """Write the tables of one seed, and why tests are not defined."""
    tokens, _, rows = _draw(run, scale, "explain")
    tables, reasons = task_module(run.recipe.task, "explanation").explain_run(
        run, tokens, rows, scale, lambda done, total: report_progress(run.seed, done, total), noise
    )
    _keep(run, work, tables, REASONS, reasons)


def _draw(run: RunInfo, scale: float, aim: str) -> tuple[Tokens, dict[str, np.ndarray], np.ndarray]:
    """Return a run's tokens, its documents by split, and the test documents that are drawn.

    Raises HeedError where there is none to `aim` at, since all are empty.
    """
    recipe = run.recipe
    tokens = load_tokens(TOKENS / recipe.corpus)
    check_tokens(recipe, tokens)
    splits = split_documents(recipe, tokens, run.seed)
    offsets = task_module(recipe.task, "explanation").document_offsets(tokens, recipe.data)
    rows = draw_documents(splits["test"], run.fold, offsets, scale)
    if not len(rows):
        raise HeedError(f"{tokens.path}: all test documents are empty: there is nothing to {aim}")
    return tokens, splits, rows


def _work_folder(stage: str, runs: list[RunInfo], settings: object) -> Path:
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


def _keep(
    run: RunInfo, work: Path, tables: dict[str, pd.DataFrame], name: str, content: object
) -> None:
    """Write the tables of one seed, and one more file, into its folder of the finished seeds."""
    with writing_folder(work / str(run.seed)) as folder:
        for key, table in tables.items():
            table.insert(0, "seed", run.seed)
            table.to_parquet(folder / f"{key}.parquet", index=False)
        write_json(folder / name, content)


def _read_tables(work: Path, seeds: list[int]) -> dict[str, pd.DataFrame]:
    """Return the tables of all seeds that are done."""
    return {
        file.stem: pd.concat(
            [pd.read_parquet(work / str(seed) / file.name) for seed in seeds], ignore_index=True
        )
        for file in sorted((work / str(seeds[0])).glob("*.parquet"))
    }


def write_adversarial_model(
    name: str, seeds: list[int], report_progress: AdversarialProgress
) -> pd.DataFrame:
    """Write results/adversarial_attention/NAME from the runs of its model; return its summary.

    Within a seed, trainings continue from their last checkpoint.

    Args:
        name: a key of `adversarial_attention` in params.yaml.
        seeds: of the runs of its model.
        report_progress: called while models are trained and documents are judged.

    Raises:
        HeedError: a run is missing or was made with another recipe than the others; the tokens are
            not those of the recipe; the model has no weights that could be others; `deceive`
            without rationales; a training that diverged.

    """
    adversarial_model = read_adversarial_model(name)
    runs = read_runs(adversarial_model.model, seeds)
    make_deterministic()
    work = _work_folder("adversarial_attention", runs, as_json(adversarial_model))
    for run in runs:
        if not (work / str(run.seed)).exists():
            try:
                _judge_run(run, adversarial_model, work, report_progress)
            except DivergedError as error:
                raise DivergedError(
                    f"{PARAMS}: adversarial_attention.{name}, seed {run.seed}: {error}, of model "
                    f"{adversarial_model.model}, by whose recipe it is trained. If this is the "
                    "adversarial model, and no diagnostic MLP, make its `strength` smaller first"
                ) from None
    tables = _read_tables(work, seeds)
    summary = tables.pop("summary").reindex(columns=ADVERSARIAL_SUMMARY)
    summary = summary.astype({"documents": "Int64"})
    with writing_folder(ADVERSARIAL_ATTENTION / name, checksums=True) as out:
        for table, values in tables.items():
            values.to_parquet(out / f"{table}.parquet", index=False)
        if adversarial_model.diagnostic_mlps:
            diagnostic = read_json(work / str(seeds[0]) / DIAGNOSTIC, "heed adversarial_attention")
            write_json(out / DIAGNOSTIC, diagnostic)
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    shutil.rmtree(work, ignore_errors=True)
    return summary


def _judge_run(
    run: RunInfo,
    adversarial_model: AdversarialAttention,
    work: Path,
    report_progress: AdversarialProgress,
) -> None:
    """Write the tables of one seed."""
    tokens, parts, drawn = _draw(run, 1.0, "judge")
    task = task_module(run.recipe.task, "adversarial_attention")
    tables, diagnostic = task.judge_adversarial_model(
        run, adversarial_model, tokens, parts, drawn, work / f"{run.seed}-trainings",
        lambda what, done, total: report_progress(run.seed, what, done, total),
    )  # fmt: skip
    _keep(run, work, tables, DIAGNOSTIC, diagnostic)
