"""DVC decides what must run; Snakemake orders and places it. The only code that knows both engines."""

import dataclasses
import logging
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import yaml
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.stage import PipelineStage

from heed.files import HeedError
from heed.params import load as load_params

# Folders with one entry for each model, experiment or search: what no stage names any more is left over.
RESULTS = ("results/train", "results/recipe", "results/search", "results/evaluate", "results/opponents")


@dataclasses.dataclass
class Record:
    """A DVC stage as Snakemake needs it."""

    stage: str  # DVC's address: train@imdb-attention-1
    rule: str  # Snakemake's name: train_imdb_attention_1
    upstream: list[str]  # rules of the stages it reads from
    gpu: int
    threads: int
    why: list[str]  # DVC's own reasons to run it; none: up to date
    quick: bool
    stale: bool = False  # why, or something upstream is stale


def reasons(stage: Any) -> list[str]:
    """Return why DVC would run the stage.

    By the unlocked methods: Stage.status() takes DVC's rwlock and would say "busy" beside a running job.
    """
    why = ["command changed, or never run"] if stage.changed_stage() else []
    why += ["always runs"] if stage.always_changed or stage.is_callback else []
    for kind, entries in (("dep", [] if stage.frozen else stage.deps), ("out", stage.outs)):
        why += [f"{kind} {key}: {value}" for entry in entries for key, value in (entry.status() or {}).items()]
    return why


def records(repo: Repo, params: dict[str, Any]) -> list[Record]:
    """Return every stage, upstream first, with DVC's verdict; below a stale stage all is stale ("may run")."""
    found: dict[Any, Record] = {}
    graph = repo.index.graph  # edges go from a stage to what it reads from
    for stage in nx.dfs_postorder_nodes(graph):
        if not isinstance(stage, PipelineStage):
            continue
        upstream = [found[other] for other in graph.successors(stage) if other in found]
        why = reasons(stage)
        meta = stage.meta or {}
        needs = _section(params, meta.get("resources", ""))
        defaults = params.get("defaults") or {}
        found[stage] = Record(
            stage=stage.addressing,
            rule=re.sub(r"\W", "_", stage.addressing),
            upstream=[other.rule for other in upstream],
            gpu=needs.get("gpu", 0),
            threads=meta.get("threads") or (needs.get("threads") or defaults.get("threads", 1) if needs else 1),
            why=why,
            quick=bool(meta.get("quick")),
            stale=bool(why) or any(other.stale for other in upstream),
        )
    names = [record.rule for record in found.values()]
    if len(names) != len(set(names)):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise HeedError(
            f"dvc.yaml: two stages would be one rule: {', '.join(twice)}; rename one of them in params.yaml"
        )
    return list(found.values())


def _section(params: dict[str, Any], address: str) -> dict[str, Any]:
    """Return the section at a dotted address, {} where there is none."""
    section: Any = params if address else {}
    for part in address.split(".") if address else []:
        section = section.get(part, {}) if isinstance(section, dict) else {}
    return section if isinstance(section, dict) else {}


def plan(root: Path, settle: bool) -> list[Record]:
    """Return the stages of the study in `root` and which must run.

    With `settle` (not for a dry run) left-over result folders are deleted, and stale recipes whose inputs are fresh are made
    at once in this process: one plan less that is larger than what will run.

    Raises:
        HeedError: params.yaml or dvc.yaml is wrong, or this is no DVC repository.

    """
    load_params(root / "params.yaml")  # one clear message, before DVC says it in its own words
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    try:
        repo = Repo(str(root))
        if settle:
            delete_left_over(root, repo.index.stages)
            found = records(repo, params)
            stale = {record.rule for record in found if record.stale}
            ready = [r.stage for r in found if r.quick and r.stale and not stale.intersection(r.upstream)]
            if ready:
                print(f"heed: settling {len(ready)} recipes", file=sys.stderr)
                logging.getLogger("dvc").setLevel(logging.ERROR)
                repo.reproduce(ready, single_item=True)
                repo = Repo(str(root))
        return records(repo, params)
    except DvcException as error:
        raise HeedError(f"dvc: {error}") from error


def delete_left_over(root: Path, stages: Iterable[Any]) -> None:
    """Delete result folders that no stage names any more; DVC's cache brings them back at no cost."""
    named = {Path(out.fs_path) for stage in stages for out in stage.outs}
    parents = {parent for path in named for parent in path.parents}
    for room in RESULTS:
        for path in (
            sorted((root / room).glob("*")) + sorted((root / room).glob("*/*")) if (root / room).is_dir() else []
        ):
            inside_out = any(parent in named for parent in path.parents)
            if path.exists() and path not in named and path not in parents and not inside_out:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    for record in plan(Path.cwd(), settle=False):
        print("stale" if record.stale else "ok   ", record.stage, "; ".join(record.why))
