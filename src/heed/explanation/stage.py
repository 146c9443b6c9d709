"""The stages `explain` and `adversarial_attention`: tests of a model's runs, and models trained
against it.

Everything runs on the CPU with one thread, so that tables are the same bytes on a machine kind.
Sections of params.yaml are read without heed.study, so that these stages do not depend on the code
that checks it. A seed that is done is kept in .heed/work until all are, and is not repeated.
"""

import contextlib
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

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
    is_name,
    run_folder,
)
from heed.records import as_json, read_record
from heed.task import import_stage_modules, task_module
from heed.tokens.arrays import Tokens, load_tokens
from heed.training.loop import DivergedError
from heed.training.machine import make_deterministic
from heed.training.run import RunInfo, check_tokens, read_runs, split_documents

NO_FURTHER = "`heed check` says more"
DIAGNOSTIC = "diagnostic_mlps.json"
# seed, documents that are done, and their number
Progress = Callable[[int, int, int], None]
# seed, what is done, how much of it, and all of it
AdversarialProgress = Callable[[int, str, int, int], None]


def read_section(name: str) -> dict[str, Any]:
    """Return a section of params.yaml, empty where it is not there.

    Raises HeedError when the file cannot be read.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        text = PARAMS.read_text(encoding="utf-8") if PARAMS.exists() else ""
        return dict((YAML(typ="safe").load(text) or {}).get(name) or {})
    except (OSError, ValueError, TypeError, YAMLError, AttributeError, RecursionError):
        raise HeedError(f"{PARAMS}: cannot be read. `heed check` says where it is wrong") from None


def read_scale() -> float:
    """Return `explain.documents` of params.yaml, 1 where there is none.

    Raises HeedError when the file cannot be read, or the value is not a number above 0.
    """
    scale = read_section("explain").get("documents", 1.0)
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not scale > 0:
        raise HeedError(
            f"{PARAMS}: explain.documents: expected a number above 0, found {scale!r}. {NO_FURTHER}"
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
            f"{noise!r}. {NO_FURTHER}"
        )
    return noise


@dataclasses.dataclass(frozen=True)
class AdversarialAttention:
    """A section of `adversarial_attention` in params.yaml; `heed.study.schema` has its meaning."""

    model: str
    goal: Literal["differ", "deceive"]
    strength: Annotated[float, {"gt": 0}]
    epochs: Annotated[int, {"gt": 0}]
    diagnostic_mlps: bool = True


def read_adversarial_model(name: str) -> AdversarialAttention:
    """Return `adversarial_attention.NAME` of params.yaml.

    Raises HeedError when the file cannot be read, has no such entry, or the entry has a mistake.
    """
    sections = read_section("adversarial_attention")
    if name not in sections:
        known = ", ".join(map(str, sections)) or "none"
        raise HeedError(
            f"{PARAMS}: adversarial_attention: there is no adversarial model {name}. Known: {known}"
        )
    try:
        return read_record(AdversarialAttention, sections[name])
    except ValueError as error:
        raise HeedError(f"{PARAMS}: adversarial_attention.{name}: {error}. {NO_FURTHER}") from None


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
    reads_noise = task_module(runs[0].recipe.task, "recipe").READS_NOISE
    noise_tokens = load_tokens(TOKENS / noise) if reads_noise and noise is not None else None
    words = None if noise_tokens is None else [noise_tokens.meta.corpus, noise_tokens.meta.digest]
    work = _work_folder("explain", runs, [scale, words])
    for run in runs:
        if not (work / str(run.seed)).exists():
            _explain_run(run, scale, work / str(run.seed), report_progress, noise_tokens)
    tables, reasons = _read_tables(work, seeds), _shared_reasons(work, seeds)
    task = task_module(runs[0].recipe.task, "explanation")
    agreement = _agreement(task, tables, reasons)
    summary: pd.DataFrame = task.summarize_tables(tables, agreement, reasons)
    with writing_folder(EXPLANATIONS / name, checksums=True) as out:
        for table in ("documents", "rankings", "units"):
            tables[table].to_parquet(out / f"{table}.parquet", index=False)
        agreement.to_parquet(out / "seeds.parquet", index=False)
        if "recency" in tables:  # of classifiers
            tables["recency"].to_csv(out / "recency.csv", index=False, lineterminator="\n")
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    shutil.rmtree(work, ignore_errors=True)
    return summary


def _work_folder(stage: str, runs: list[RunInfo], settings: Any) -> Path:
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


def _read_tables(work: Path, seeds: list[int]) -> dict[str, pd.DataFrame]:
    """Return the tables of all seeds that are done."""
    return {
        file.stem: pd.concat(
            [pd.read_parquet(work / str(seed) / file.name) for seed in seeds], ignore_index=True
        )
        for file in sorted((work / str(seeds[0])).glob("*.parquet"))
    }


def _draw(run: RunInfo, scale: float, aim: str) -> tuple[Any, dict[str, np.ndarray], np.ndarray]:
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


def _explain_run(
    run: RunInfo, scale: float, out: Path, report_progress: Progress, noise: Tokens | None
) -> None:
    """Write the tables of one seed into the folder `out`, and why tests are not defined."""
    tokens, _, rows = _draw(run, scale, "explain")
    task = task_module(run.recipe.task, "explanation")
    explained: tuple[dict[str, pd.DataFrame], dict[str, str]] = task.explain_run(
        run, tokens, rows, scale, lambda done, total: report_progress(run.seed, done, total), noise
    )
    tables, reasons = explained
    with writing_folder(out) as folder:
        for name, table in tables.items():
            table.insert(0, "seed", run.seed)
            table.to_parquet(folder / f"{name}.parquet", index=False)
        write_json(folder / "reasons.json", reasons)


def _shared_reasons(work: Path, seeds: list[int]) -> dict[str, str]:
    """Return the reasons that all seeds have, by what is not defined; the text is the first seed's.

    Seeds of several folds have other test documents: what is defined in one of them has a mean.
    """
    first, *others = (
        json.loads((work / str(seed) / "reasons.json").read_text(encoding="utf-8"))
        for seed in seeds
    )
    return {key: reason for key, reason in first.items() if all(key in other for other in others)}


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
            with _naming(name, run):
                _judge_run(run, adversarial_model, work, report_progress)
    tables = _read_tables(work, seeds)
    summary = tables.pop("summary")
    with writing_folder(ADVERSARIAL_ATTENTION / name, checksums=True) as out:
        for table, values in tables.items():
            values.to_parquet(out / f"{table}.parquet", index=False)
        if adversarial_model.diagnostic_mlps:
            diagnostic = read_json(work / str(seeds[0]) / DIAGNOSTIC, "heed adversarial_attention")
            write_json(out / DIAGNOSTIC, diagnostic)
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    shutil.rmtree(work, ignore_errors=True)
    return summary


@contextlib.contextmanager
def _naming(name: str, run: RunInfo) -> Iterator[None]:
    """Name the adversarial model and the seed of a training that diverges, and what to change."""
    try:
        yield
    except DivergedError as error:
        raise DivergedError(
            f"{PARAMS}: adversarial_attention.{name}, seed {run.seed}: {error}, of model "
            f"{run.recipe.model}, "
            "by whose recipe it is trained. If this is the adversarial model, and no diagnostic "
            "MLP, make "
            "its `strength` smaller first"
        ) from None


def _judge_run(
    run: RunInfo,
    adversarial_model: AdversarialAttention,
    work: Path,
    report_progress: AdversarialProgress,
) -> None:
    """Write the tables of one seed into the folder `work`."""
    tokens, parts, drawn = _draw(run, 1.0, "judge")
    judged: tuple[dict[str, pd.DataFrame], dict[str, object] | None] = task_module(
        run.recipe.task, "adversarial_attention"
    ).judge_adversarial_model(
        run, adversarial_model, tokens, parts, drawn, work / f"{run.seed}-trainings",
        lambda what, done, total: report_progress(run.seed, what, done, total),
    )  # fmt: skip
    tables, diagnostic = judged
    summary = tables["summary"]
    summary["seed"] = run.seed
    tables["summary"] = summary.reindex(columns=ADVERSARIAL_SUMMARY).astype({"documents": "Int64"})
    with writing_folder(work / str(run.seed)) as folder:
        for name in ("documents", "units", "summary"):
            if name != "summary":
                tables[name].insert(0, "seed", run.seed)
            tables[name].to_parquet(folder / f"{name}.parquet", index=False)
        if diagnostic is not None:
            write_json(folder / DIAGNOSTIC, diagnostic)
