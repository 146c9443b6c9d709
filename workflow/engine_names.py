"""What heed uses of DVC and Snakemake beyond their documented interfaces: one function a name, and
nowhere else.

tests/test_engine_names.py tests each function, and says which one a new version of an engine
breaks. DVC is imported late: it takes a second, and jobs on other machines do not need it.
"""

import json
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# a job; --wait-for-lock counts only before `repro`
REPRO = ("dvc", "--wait-for-lock", "repro", "--single-item")
RWLOCK = Path(".dvc/tmp/rwlock")
STAGE_VARIABLE = "DVC_STAGE"
SNAKEMAKE_LOGGER = "snakemake.logging"
SNAKEMAKE_LOCKS = Path(".snakemake/locks")
USELESS_MESSAGES = (
    "Select jobs to execute", "Execute ", "Assuming unrestricted shared filesystem",
    "Building DAG of jobs", "RuleException:\nCalledProcessError",
)  # fmt: skip


# --- DVC: the repository --------------------------------------------------------------------------


def open_repository(root: Path) -> Any:
    """Return DVC's `Repo` of a folder; raises one of `missing_repository_errors`."""
    from dvc.repo import Repo

    return Repo(str(root))


def missing_repository_errors() -> tuple[type[Exception], ...]:
    """Return what DVC raises where there is no .dvc or no .git."""
    from dvc.exceptions import NotDvcRepoError
    from dvc.scm import SCMError

    return NotDvcRepoError, SCMError


def dvc_errors() -> type[Exception]:
    """Return the base of DVC's errors."""
    from dvc.exceptions import DvcException

    return DvcException


def pipeline_stages(repository: Any) -> list[Any]:
    """Return the stages of dvc.yaml, each after those it reads from: an edge of DVC's graph goes to
    what a stage reads from.
    """
    import networkx as nx

    return [
        stage
        for stage in nx.dfs_postorder_nodes(repository.index.graph)
        if _is_pipeline_stage(stage)
    ]


def upstream_names(repository: Any, stage: Any) -> list[str]:
    """Return the names of the stages that a stage reads from."""
    return [
        stage_name(up) for up in repository.index.graph.successors(stage) if _is_pipeline_stage(up)
    ]


def _is_pipeline_stage(stage: Any) -> bool:
    """Whether a stage is of dvc.yaml, not a .dvc file."""
    from dvc.stage import PipelineStage

    return isinstance(stage, PipelineStage)


# --- DVC: a stage ---------------------------------------------------------------------------------


def stage_name(stage: Any) -> str:
    """Return DVC's address of a stage: train@imdb-attention-1."""
    return str(stage.addressing)


def stage_meta(stage: Any) -> dict[str, Any]:
    """Return what stands under `meta` of a stage in dvc.yaml."""
    return stage.meta or {}


def dependencies(stage: Any) -> list[Any]:
    """Return DVC's entries of what a stage reads."""
    return list(stage.deps)


def outputs(stage: Any) -> list[Any]:
    """Return DVC's entries of what a stage writes."""
    return list(stage.outs)


def command_changed(stage: Any) -> bool:
    """Whether the command is another than in dvc.lock; takes no lock, unlike Stage.changed()."""
    return bool(stage.changed_stage())


def always_runs(stage: Any) -> bool:
    """Whether a stage runs whatever has changed."""
    return bool(stage.always_changed or stage.is_callback)


def is_frozen(stage: Any) -> bool:
    """Whether a stage ignores changes of what it reads."""
    return bool(stage.frozen)


# --- DVC: an entry of a stage ---------------------------------------------------------------------


def entry_path(repository: Any, entry: Any) -> str:
    """Return the path of a dependency or output from the top folder."""
    return os.path.relpath(entry.fs_path, repository.root_dir)


def is_recorded(entry: Any) -> bool:
    """Whether dvc.lock has a hash of a dependency or output."""
    return bool(entry.hash_info)


def entry_changes(entry: Any) -> dict[str, Any]:
    """Return how a dependency or output differs from dvc.lock: {path: modified}; for params.yaml
    {path: {key: modified}}.
    """
    return entry.status() or {}


def recorded_output(repository: Any, recorded: Mapping[str, Any]) -> Any:
    """Return DVC's entry of an output that dvc.lock records, whatever stage it was of."""
    from dvc.output import loadd_from

    # it takes entries apart
    return loadd_from(next(iter(repository.index.stages)), [dict(recorded)])[0]


def is_in_cache(output: Any) -> bool:
    """Whether DVC's cache holds an output, whole."""
    return not output.changed_cache()


# --- DVC: its files -------------------------------------------------------------------------------


def read_yaml(path: Path) -> Any:
    """Return a YAML file as DVC reads it: by ruamel.yaml's C parser where that is installed, which
    is stricter than YAML 1.2.

    Raises:
        ValueError: DVC cannot read the file; with its line.

    """
    from dvc.utils.serialize import YAMLFileCorruptedError, load_yaml

    try:
        return load_yaml(path)
    except YAMLFileCorruptedError as error:
        mark = getattr(error.__cause__, "problem_mark", None)
        problem = getattr(error.__cause__, "problem", None) or error.__cause__ or error
        raise ValueError(f"{path}:{mark.line + 1 if mark else 1}: {problem}") from None


def check_lock(content: Any) -> None:
    """Check the content of dvc.lock. Raises ValueError where DVC would refuse it."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    try:
        COMPILED_LOCKFILE_SCHEMA(content)
    except Invalid as error:
        raise ValueError(str(error)) from None


def rwlock_processes(root: Path) -> set[int]:
    """Return the processes that hold a stage, as DVC's rwlock says; none where it is cut off or
    missing.
    """
    try:
        held = json.loads((root / RWLOCK).read_text(encoding="utf-8"))
        entries = [
            *held.get("write", {}).values(),
            *(one for many in held.get("read", {}).values() for one in many),
        ]
        return {int(entry["pid"]) for entry in entries}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()


def running_stage(environment: Mapping[str, str]) -> str:
    """Return the stage whose command has this environment, or nothing."""
    return environment.get(STAGE_VARIABLE, "")


# --- Snakemake: `workflow`, as a Snakefile has it -------------------------------------------------


def is_main_process(workflow: Any) -> bool:
    """Whether this is the snakemake that a person has called, not a job of it."""
    return bool(workflow.is_main_process)


def is_dry_run(workflow: Any) -> bool:
    """Whether this is a dry run, known while the Snakefile is read."""
    return bool(workflow.output_settings.dryrun)


def is_running_jobs(workflow: Any) -> bool:
    """Whether jobs will run: neither a dry run, nor --touch, nor --lint and the like; known once
    inputs are asked for.
    """
    return bool(workflow.executor_plugin and not workflow.dryrun and not workflow.touch)


def cores(workflow: Any) -> int:
    """Return --cores."""
    return workflow.resource_settings.cores or 1


def silence_snakemake() -> None:
    """Keep from the terminal what Snakemake says at every job and what a person cannot use."""
    logging.getLogger(SNAKEMAKE_LOGGER).addFilter(
        lambda record: not _is_useless(record.getMessage())
    )


def _is_useless(message: str) -> bool:
    return message.startswith(USELESS_MESSAGES) or "missing provenance" in message


def drop_snakemake_locks() -> None:
    """Delete the locks of a run that was killed."""
    shutil.rmtree(SNAKEMAKE_LOCKS, ignore_errors=True)
