"""The names of DVC and Snakemake that heed uses beyond their documented interfaces.

Each section names the issues upstream that would make it needless. DVC is imported late: it takes
a second.
"""

import json
import logging
import os
import sys
from collections.abc import Iterable
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

NEVER_RUN = "never run"  # the reason of a stage
RWLOCK = Path(".dvc/tmp/rwlock")

# --- DVC's stages and verdicts: treeverse/dvc 10179 (resolved stages), 6133 (status beside a run)


def open_repository(root: Path) -> Any:
    """Return DVC's `Repo` of a folder; raises one of `missing_repository_errors`."""
    from dvc.repo import Repo

    return Repo(str(root))


def missing_repository_errors() -> tuple[type[Exception], ...]:
    """Return the errors of DVC where there is no .dvc or no .git."""
    from dvc.exceptions import NotDvcRepoError
    from dvc.scm import SCMError

    return NotDvcRepoError, SCMError


def stages(repository: Any) -> list[Any]:
    """Return the stages of dvc.yaml, each after those it reads from."""
    from dvc.stage import PipelineStage

    # an edge of DVC's graph goes from a stage to one that it reads from; others are .dvc files
    nodes = TopologicalSorter(repository.index.graph.adj).static_order()
    return [stage for stage in nodes if isinstance(stage, PipelineStage)]


def upstream(repository: Any, stage: Any) -> list[str]:
    """Return DVC's addresses (train@imdb-self-attention) of the stages that a stage reads from."""
    return [up.addressing for up in repository.index.graph.successors(stage) if up.cmd]


def paths(repository: Any, entries: Iterable[Any]) -> list[str]:
    """Return the paths of dependencies or outputs, relative to the top folder."""
    return [os.path.relpath(entry.fs_path, repository.root_dir) for entry in entries]


def reasons(repository: Any, stage: Any) -> list[str]:
    """Return DVC's reasons to run a stage, those of `dvc status`, in words; none: up to date."""
    if not any(entry.hash_info for entry in [*stage.deps, *stage.outs]):
        return [NEVER_RUN]
    found = ["its command changed"] if stage.changed_stage() else []
    found += ["always runs"] if stage.always_changed else []
    for kind, entries in (("", [] if stage.frozen else stage.deps), ("output ", stage.outs)):
        for entry in entries:
            (path,) = paths(repository, [entry])
            for change in (entry.status() or {}).values():
                words = change if isinstance(change, str) else " and ".join(change)
                found.append(f"{kind}{path} {words}")
    return found


# --- DVC's locks: treeverse/dvc 6097 (a kill cuts the rwlock off)


def locked_repository() -> Any:
    """Return a context in which no DVC process of this folder writes dvc.lock."""
    from dvc.repo import Repo, lock_repo

    return lock_repo(Repo(_wait_for_lock=True))


def rwlock_processes(root: Path) -> set[int]:
    """Return the ids of processes that lock a stage, by DVC's rwlock; none if it is unreadable."""
    try:
        locks = json.loads((root / RWLOCK).read_text(encoding="utf-8"))
        readers = [entry for entries in locks.get("read", {}).values() for entry in entries]
        return {int(entry["pid"]) for entry in [*locks.get("write", {}).values(), *readers]}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()


# --- The object `workflow` of a Snakefile: snakemake 2948 (is this a dry run?), 13 (its options)


def is_main_process(workflow: Any) -> bool:
    """Whether this is the snakemake that a person has started, not a job of it."""
    return bool(workflow.is_main_process)


def is_dry_run(workflow: Any) -> bool:
    """Whether this is a dry run, known while the Snakefile is read."""
    return bool(workflow.output_settings.dryrun)


def is_running_jobs(workflow: Any) -> bool:
    """Whether jobs will run (no dry run, --touch or --lint); known once a rule's inputs are."""
    return bool(workflow.executor_plugin and not workflow.dryrun and not workflow.touch)


def is_touch(workflow: Any) -> bool:
    """Whether snakemake was started with --touch; known once a rule's inputs are."""
    return bool(workflow.executor_plugin and workflow.touch)


def is_drawing() -> bool:
    """Whether snakemake was started to draw the pipeline: --dag, --rulegraph, --filegraph …"""
    drawings = ("--dag", "--d3dag", "--rulegraph", "--filegraph")
    return any(argument.startswith(drawings) for argument in sys.argv)


def forced(workflow: Any) -> set[str] | None:
    """Return the rules and files of --forcerun and --force; None: all of them (--forceall)."""
    settings = workflow.dag_settings
    if settings.forceall:
        return None
    return {*settings.forcerun, *(settings.targets if settings.forcetargets else ())}


def runs_jobs_here(workflow: Any) -> bool:
    """Whether the executor starts jobs on this machine; known when is_running_jobs is."""
    return bool(workflow.executor_plugin.common_settings.local_exec)


def start_jobs_at_once(workflow: Any) -> None:
    """Drop the limit of 100 jobs a second on this machine, before the scheduler is made.

    By it each job that ends adds a timer that weighs all ready jobs anew, once a second to the end.
    """
    if runs_jobs_here(workflow):
        workflow.scheduling_settings.max_jobs_per_timespan = None


def shares_nothing(workflow: Any) -> bool:
    """Whether jobs share no folder with this machine: --shared-fs-usage none."""
    return not workflow.storage_settings.shared_fs_usage


def cores(workflow: Any) -> int:
    """Return the value of --cores."""
    return workflow.resource_settings.cores or 1


# --- Snakemake's records of jobs: the events of its interface for loggers, and its own handler


class Event(NamedTuple):
    """What a record of Snakemake says of jobs."""

    kind: str | None
    job: int
    rule: str
    message: str  # of the rule
    rules: set[str]  # that run, where a record counts them


def event_of(record: logging.LogRecord) -> Event:
    """Return what a record says of jobs; empty where it says nothing."""
    said = vars(record)
    job, rules = said.get("jobid", said.get("job_id", -1)), {*said.get("stats", ())}
    rule, message = (str(said.get(key) or "") for key in ("rule_name", "rule_msg"))
    return Event(said.get("event"), job, rule, message, rules)


def show_by(shown: logging.Filter) -> None:
    """Let a filter see each record first that Snakemake would print; `--logger` has its own."""
    for handler in logging.getLogger("snakemake.logging").handlers:
        if handler.name == "DefaultStreamHandler":
            handler.filters.insert(0, shown)
