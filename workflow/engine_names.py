"""What heed uses of DVC and Snakemake beyond their documented interfaces, one function each.

tests/test_engine_names.py tests each function, and says which one a new version of an engine
breaks. DVC is imported late: it takes a second, and jobs on other machines do not need it.
"""

import contextlib
import functools
import json
import logging
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

# the arguments of a job's dvc, which heeds --wait-for-lock only before `repro`
REPRO = ("--wait-for-lock", "repro", "--single-item")
RWLOCK = Path(".dvc/tmp/rwlock")
SNAKEMAKE_LOGGER = "snakemake.logging"
SNAKEMAKE_LOCKS = Path(".snakemake/locks")
# what running a stage imports; with one less it takes longer, with one too many `dvc` is not forked
DVC_MODULES = (
    "dvc.cli.parser", "dvc.dirs", "dvc.repo.artifacts", "dvc.repo.datasets", "dvc.repo.metrics",
    "dvc.repo.open_repo", "dvc.repo.params", "dvc.repo.plots", "dvc.repo.reproduce",
    "dvc.repo.stage", "dvc.rwlock", "dvc.scm", "dvc.stage.cache", "dvc.utils.strictyaml",
    "dvc_data.hashfile.db.local", "dvc_data.hashfile.status", "dulwich.ignore", "dulwich.index",
    "pyparsing",
)  # fmt: skip
USELESS_MESSAGES = (
    "Select jobs to execute", "Execute ", "Assuming unrestricted shared filesystem",
    "Building DAG of jobs", "RuleException:\nCalledProcessError",
)  # fmt: skip

_interrupted = threading.Event()


# --- DVC: the repository --------------------------------------------------------------------------


def open_repository(root: Path) -> Any:
    """Return DVC's `Repo` of a folder; raises one of `missing_repository_errors`."""
    from dvc.repo import Repo

    share_params()
    return Repo(str(root))


def share_params() -> None:
    """Make DVC, in this process, read params.yaml once, and copy it for no stage.

    DVC reads the file for each stage that depends on a part of it, and copies all its values to
    resolve a stage with `vars`: together half of the time that a plan of 300 stages takes. Copies
    share what is below the first level: keys of a stage's `vars` there would reach other stages.
    heed's have no keys (tests/test_names.py).
    """
    from dvc.dependency import param
    from dvc.parsing.context import Context

    def clone(context: Any) -> Any:
        copy = Context()
        copy.data.update(context.data)
        copy.meta = context.meta
        copy.imports, copy._reserved_keys = dict(context.imports), dict(context._reserved_keys)
        return copy

    Context.clone = staticmethod(clone)
    param.load_path = _load_once


def _load_once(path: str, fs: Any, **options: Any) -> Any:
    """Return the content of a file as DVC's load_path does, read once in each of its states."""
    from dvc.fs import LocalFileSystem
    from dvc.utils.serialize import load_path

    if options or not isinstance(fs, LocalFileSystem):
        return load_path(path, fs, **options)
    state = Path(path).stat()
    return _load(path, fs, state.st_ino, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=1)
def _load(path: str, fs: Any, *state: int) -> Any:
    """Return the content of a file in its present state."""
    from dvc.utils.serialize import load_path

    return load_path(path, fs)


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
    """Return the stages of dvc.yaml, each after those it reads from."""
    import networkx as nx

    # an edge of DVC's graph goes from a stage to one that it reads from
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
    """Return the `meta` of a stage in dvc.yaml."""
    return stage.meta or {}


def dependencies(stage: Any) -> list[Any]:
    """Return DVC's entries of the files and folders that a stage reads."""
    return list(stage.deps)


def outputs(stage: Any) -> list[Any]:
    """Return DVC's entries of the files and folders that a stage writes."""
    return list(stage.outs)


def command(stage: Any) -> str:
    """Return the command of a stage in dvc.yaml."""
    return str(stage.cmd)


def command_changed(stage: Any) -> bool:
    """Whether the command differs from dvc.lock; takes no lock, unlike Stage.changed()."""
    return bool(stage.changed_stage())


def always_runs(stage: Any) -> bool:
    """Whether a stage runs even if nothing has changed."""
    return bool(stage.always_changed or stage.is_callback)


def is_frozen(stage: Any) -> bool:
    """Whether a stage ignores changes of what it reads."""
    return bool(stage.frozen)


# --- DVC: an entry of a stage ---------------------------------------------------------------------


def entry_path(repository: Any, entry: Any) -> str:
    """Return the path of a dependency or output, relative to the top folder."""
    return os.path.relpath(entry.fs_path, repository.root_dir)


def is_recorded(entry: Any) -> bool:
    """Whether dvc.lock has a hash of a dependency or output."""
    return bool(entry.hash_info)


def entry_changes(entry: Any) -> dict[str, Any]:
    """Return an entry's changes since dvc.lock: {path: change}, of params {path: {key: change}}."""
    return entry.status() or {}


def recorded_output(repository: Any, recorded: Mapping[str, Any]) -> Any:
    """Return DVC's entry of an output in dvc.lock, whichever stage has written it."""
    from dvc.output import loadd_from
    from dvc.stage import PipelineStage

    # an entry belongs to a stage: an empty one, since reading those of dvc.yaml takes seconds
    stage = PipelineStage(repository, "dvc.yaml", wdir=repository.root_dir)
    # loadd_from changes the dict that it gets, hence a copy
    return loadd_from(stage, [dict(recorded)])[0]


def is_in_cache(output: Any) -> bool:
    """Whether DVC's cache holds an output completely."""
    return not output.changed_cache()


def present_files(entry: Any) -> dict[str, str]:
    """Return {path within a folder: digest} as it is now, from DVC's record of unchanged files."""
    _, _, tree = entry._build(
        entry.local_cache, entry.fs_path, entry.fs, entry.hash_name, dry_run=True,
        ignore=entry.dvcignore, no_progress_bar=True,
    )  # fmt: skip
    return {each["relpath"]: each["md5"] for each in tree.as_list()}


def cached_file(repository: Any, digest: str) -> Path:
    """Return where DVC's cache has, or would have, the content of a digest."""
    return Path(repository.cache.local.oid_to_path(digest))


# --- DVC: its files -------------------------------------------------------------------------------


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file as DVC reads it.

    DVC uses ruamel.yaml's C parser where that is installed, which is stricter than YAML 1.2.

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


def change_lock_by_stage() -> None:
    """Make DVC, in this process, change only the entries of the stages that ran in dvc.lock."""
    from dvc import dvcfile
    from dvc.utils.serialize import _yaml as serializer
    from lock_file import changed_stages

    whole = dvcfile.modify_yaml

    @contextlib.contextmanager
    def modify(path: str, fs: Any = None) -> Iterator[dict[str, Any]]:
        # other files of DVC's have another form than dvc.lock, and are left to it
        with changed_stages(
            Path(path), lambda text: serializer.parse_yaml(text, path), serializer._dump
        ) as content:
            if content is not None:
                yield content
        if content is None:
            with whole(path, fs=fs) as content:
                yield content

    dvcfile.modify_yaml = modify


def write_lock_entries(texts: Mapping[str, str]) -> None:
    """Write entries of stages into dvc.lock, as DVC does.

    Args:
        texts: for each stage its entry as YAML.

    """
    from dvc import dvcfile
    from dvc.repo import Repo, lock_repo
    from dvc.utils.serialize import _yaml as serializer

    change_lock_by_stage()
    with (
        lock_repo(Repo(_wait_for_lock=True)),
        dvcfile.modify_yaml("dvc.lock") as content,
    ):
        content.setdefault("schema", "2.0")
        entries = content.setdefault("stages", {})
        for name, text in texts.items():
            entries[name] = serializer.parse_yaml(text, "dvc.lock")[name]


def changed_inputs(name: str, text: str) -> list[str]:
    """Return what a stage reads here that differs from an entry of dvc.lock; [] if nothing does.

    Args:
        name: of the stage.
        text: the entry as YAML.

    """
    from dvc.stage.loader import StageLoader
    from dvc.utils.serialize import _yaml as serializer

    stage = open_repository(Path()).stage.load_one(name=name)
    entry = serializer.parse_yaml(text, "dvc.lock")[name]
    StageLoader.fill_from_lock(stage, entry)
    # a file may be read as a whole and by its values, as params.yaml is
    changes = dict.fromkeys(path for dep in dependencies(stage) for path in entry_changes(dep))
    return (["its command in dvc.yaml"] if entry["cmd"] != stage.cmd else []) + [*changes]


def run_dvc(command: str, *arguments: str) -> str:
    """Run a command of DVC in this process; return its last error, or an empty string."""
    from dvc.cli import main

    errors: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            words = [record.getMessage()]
            error: BaseException | None = record.exc_info[1] if record.exc_info else None
            while error:
                words.append(str(error))
                error = error.__cause__
            text = re.sub(r"\x1b\[\d*m|Is your cache up to date\?|<.*>", "", ": ".join(words))
            errors.append(" ".join(text.split()))

    handler = Keep(logging.ERROR)
    logging.getLogger("dvc").addHandler(handler)
    try:
        status = int(main(["--wait-for-lock", command, *arguments]))
    finally:
        logging.getLogger("dvc").removeHandler(handler)
    return (errors or [f"dvc {command}: exit status {status}"])[-1] if status else ""


def run_stage() -> int:
    """Run the stage that is the argument of this process by DVC; return the exit status."""
    from dvc.cli import main

    sys.argv = ["dvc", *REPRO, *sys.argv[1:]]  # so DVC names this process to others
    share_params()
    change_lock_by_stage()
    return int(main())


def rwlock_processes(root: Path) -> set[int]:
    """Return the ids of processes that lock a stage, by DVC's rwlock; none if it is unreadable."""
    try:
        locks = json.loads((root / RWLOCK).read_text(encoding="utf-8"))
        entries = [
            *locks.get("write", {}).values(),
            *(entry for readers in locks.get("read", {}).values() for entry in readers),
        ]
        return {int(entry["pid"]) for entry in entries}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()


def running_stage(environment: Mapping[str, str]) -> str:
    """Return the stage whose command has this environment, or an empty string."""
    from heed.code import stage  # stages.py has put this clone's heed first

    return stage.running_stage(environment)


# --- Snakemake: the object `workflow` of a Snakefile ----------------------------------------------


def is_main_process(workflow: Any) -> bool:
    """Whether this is the snakemake that a person has started, not a job of it."""
    return bool(workflow.is_main_process)


def is_dry_run(workflow: Any) -> bool:
    """Whether this is a dry run, known while the Snakefile is read."""
    return bool(workflow.output_settings.dryrun)


def is_running_jobs(workflow: Any) -> bool:
    """Whether jobs will run (no dry run, --touch or --lint); known once a rule's inputs are."""
    return bool(workflow.executor_plugin and not workflow.dryrun and not workflow.touch)


def runs_jobs_here(workflow: Any) -> bool:
    """Whether the executor starts jobs on this machine; known when is_running_jobs is."""
    plugin = workflow.executor_plugin
    return bool(plugin and plugin.common_settings.local_exec)


def cores(workflow: Any) -> int:
    """Return the value of --cores."""
    return workflow.resource_settings.cores or 1


def gpus(workflow: Any) -> int | None:
    """Return how many GPUs jobs may use at once, by --resources gpu=N; None: no limit."""
    limit = workflow.resource_settings.resources.get("gpu")
    # in a job of a cluster Snakemake knows the resource's name and gives it no value
    return None if limit is None or limit.value is None else int(limit.value)


def silence_snakemake() -> None:
    """Hide messages about every job, those that do not help a user, and all after Ctrl-C."""
    logging.getLogger(SNAKEMAKE_LOGGER).addFilter(
        lambda record: not was_interrupted() and not _is_useless(record.getMessage())
    )


def catch_interrupt(report: Callable[[], None]) -> None:
    """Call `report` at the first Ctrl-C, before Snakemake stops; it ignores any further one.

    Snakemake would print each job that Ctrl-C has ended as failed, with its command and its log.
    """

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.excepthook = lambda *_: None  # while it plans Snakemake does not catch the interrupt
        _interrupted.set()
        report()
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, stop)


def was_interrupted() -> bool:
    """Whether Ctrl-C has stopped this snakemake."""
    return _interrupted.is_set()


def _is_useless(message: str) -> bool:
    return message.startswith(USELESS_MESSAGES) or "missing provenance" in message


def drop_snakemake_locks() -> None:
    """Delete the locks of a run that was killed."""
    shutil.rmtree(SNAKEMAKE_LOCKS, ignore_errors=True)
