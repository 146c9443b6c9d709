"""DVC's resolved stages, and which of them are stale, for the Snakefile.

DVC decides what must run, runs it, caches it and locks it. Snakemake orders the stages and assigns
them to cores and GPUs. The output of a Snakemake rule is a *done file* of this run, and never a
file that DVC tracks: Snakemake then has no file of DVC's to compare, touch or delete. A done file
holds the stage's entry of dvc.lock. engine_names.py holds what is used of the two engines beyond
their documented interfaces.
"""

import contextlib
import dataclasses
import fcntl
import functools
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import engine_names as engine
import remote_stage
from progress import LENGTHS, Shown, print_message

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.corpora.kinds import KINDS
from heed.files import HeedError, write_text
from heed.pipeline import read_lock, remove_damaged_objects
from heed.progress import INTERRUPTED
from heed.search import LOCAL, read_address
from heed.study import Params, load
from heed.study.own_files import changed_file_warnings
from heed.study.reader import check_as_dvc_reads, read_text
from heed.terminal import print_line, wrap
from heed.training.machine import list_gpus

RUNS = Path(".heed/snakemake")
REMOVED = Path(".heed/removed")  # results that are no longer in the study
LOCK_BACKUP = Path(".heed/dvc.lock")  # dvc.lock as it was when snakemake last started
ANSWER = Path("reports/tables/answer.txt")  # the report's first sentences
KEPT = ("results/code", "results/compare")  # never moved to REMOVED
# Reference models take seconds, and say what networks must beat: they start before these.
FIRST = dict.fromkeys(("embed", "pretrained", "reference_models"), 2 * LENGTHS["train"])
FORCED = "forced"  # the reason of a stage that runs though DVC finds it up to date
THREADS = 4  # of the report, of the vectors of documents, and of a corpus that is not small
SMALL = 5e6  # bytes of the files: generated text, and what a clone has; of a user's own it is 0
shown = Shown()


@dataclasses.dataclass(frozen=True)
class Stage:
    """One DVC stage."""

    name: str  # DVC's address of it, such as train@imdb-self-attention; also of its Snakemake rule
    upstream: list[str]
    deps: list[str]
    outs: list[str]
    threads: int  # 0: as many as the run can spare, at most one for each training of a model
    gpus: int
    quick: bool
    local: bool  # on the machine of `snakemake`, also where jobs go to a cluster
    reasons: list[str]  # DVC's own reasons to run it; none: up to date


def read_stages(root: str | Path = ".", params: Params | None = None) -> list[Stage]:
    """Return the stages of the study in params.yaml, each after those it reads from.

    `params` is the content of params.yaml, where it was read already.

    Raises:
        HeedError: params.yaml is wrong, or DVC reads other values in it; no DVC repository; a
            dvc.yaml that DVC refuses; a file of a stage that cannot be read.
    """
    root = Path(root)
    params = params or load(root / "params.yaml")
    check_as_dvc_reads(read_text(root / "params.yaml"), root / "params.yaml")
    read_lock(root)  # DVC's own error of a broken one may be a traceback
    from dvc.exceptions import DvcException  # here: it takes a second

    try:
        _check_digests(root)
        repository = engine.open_repository(root)
        stages = [_read_stage(repository, stage, params) for stage in engine.stages(repository)]
    except engine.missing_repository_errors() as error:
        raise HeedError(
            f"{error}: heed runs in the top folder of a git clone: it needs .git and .dvc"
        ) from None
    except DvcException as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise HeedError(f"DVC: {reason}. `dvc status` says more") from None
    except OSError as error:  # DVC itself stops at a link that leads nowhere
        raise HeedError(
            f"{error.filename}: {error.strerror}. It is a link that leads nowhere, or may not be "
            "read: mend it, or delete it, and its stage makes it again"
        ) from None
    return _with_tokens(stages)


def _check_digests(root: Path) -> None:
    """Check the files that DVC reads as parameters. HeedError: one is damaged."""
    for pattern in ("data/*/*/.digest", "results/*/*.digest", "results/*/*/*.digest"):
        for path in root.glob(pattern):
            if not re.fullmatch(rb"\w+: \{\}\s+", path.read_bytes()):
                where = path.relative_to(root)
                raise HeedError(f"{where}: damaged. Delete {where}, and run the same command again")


def _with_tokens(stages: list[Stage]) -> list[Stage]:
    """Return the stages; those that may run elsewhere name the stages whose tokens they read.

    In dvc.yaml they depend on these only through the recipe, which has the digest of the tokens.
    """
    tokens: dict[str, set[str]] = {}
    for stage in stages:
        tokens[stage.name] = {up for up in stage.upstream if up.startswith("tokenize@")}
        tokens[stage.name].update(*(tokens[up] for up in stage.upstream if up in tokens))
    return [
        stage
        if stage.local
        else dataclasses.replace(
            stage, upstream=[*stage.upstream, *sorted(tokens[stage.name] - {*stage.upstream})]
        )
        for stage in stages
    ]


def _read_stage(repository: Any, stage: Any, params: Params) -> Stage:
    name, meta = stage.addressing, stage.meta or {}
    has_search = name.startswith("recipe@") and bool(params.searches_of(name.partition("@")[2]))
    quick = bool(meta.get("quick")) and not has_search
    on_ray = has_search and read_address() != LOCAL  # it is started from here
    return Stage(
        name, engine.upstream(repository, stage), engine.paths(repository, stage.deps),
        engine.paths(repository, stage.outs), *_resources(name, params), quick,
        quick or bool(meta.get("local")) or on_ray, engine.reasons(repository, stage),
    )  # fmt: skip


def _resources(name: str, params: Params) -> tuple[int, int]:
    """Return (threads, GPUs) of a stage: those of its corpus, search or model."""
    kind, _, key = name.partition("@")
    match kind:
        case "tokenize":
            size = KINDS[params.corpora[key].kind].source.size
            return 1 if 0 < size < SMALL else THREADS, 0
        case "recipe" if read_address() == LOCAL:  # on a cluster its process waits, on one core
            needed = [(1, 0)]
            for name in params.searches_of(key):
                models = len(params.searched_models(name))
                needed.append(params.searches[name].resources(models))
            return max(cores for cores, _ in needed), max(gpus for _, gpus in needed)
        case "train":
            return params.models[key].threads, _gpus(key, params)
        case "score":
            own = [name for name, model in params.models.items() if model.experiment == key]
            return 1, min(1, max(_gpus(name, params) for name in own))
        case "pretrained":
            declared = params.pretrained[key]
            threads = THREADS if declared.explain else 1
            return threads, int(declared.tune and declared.device == "cuda")
        case "report" | "embed":
            return THREADS, 0
    return 1, 0


def _gpus(model: str, params: Params) -> int:
    """Return the declared GPUs of a model, else one where it will use one on this machine."""
    declared = params.models[model]
    return declared.gpus or int(params.apply_defaults(declared).device != "cpu" and _has_gpu())


@functools.cache
def _has_gpu() -> bool:
    return bool(list_gpus())


# --- dvc.lock and DVC's locks ---------------------------------------------------------------------


def repair_lock(root: Path) -> None:
    """Replace an unreadable dvc.lock by its backup, or back up a readable one.

    Stages that ran since the backup come back from DVC's run-cache.
    """
    lock, backup = root / "dvc.lock", root / LOCK_BACKUP
    try:
        if read_lock(root):
            write_text(backup, lock.read_text(encoding="utf-8"))
        return
    except HeedError:
        lock.replace(lock.with_name("dvc.lock.broken"))
    if backup.exists():
        write_text(lock, backup.read_text(encoding="utf-8"))
    print_message(
        "dvc.lock could not be read (a kill, or a merge) and is repaired; it is kept as "
        "dvc.lock.broken. What was done since comes from DVC's cache"
    )


def wait_for_dvc(root: Path) -> None:
    """Wait until no DVC process of a killed run locks a stage, then delete DVC's rwlock.

    DVC believes in any process with the id in that file, and writes it in place, so that a kill can
    cut it off: it would then refuse every stage.
    """
    while process := next(filter(_is_dvc, engine.rwlock_processes(root)), None):
        print_message(
            f"waiting for process {process}, a dvc that runs a stage: a killed run has left it "
            "running, or you have started it"
        )
        while _is_dvc(process):  # not only until it unlocks this stage: it goes on with the next
            time.sleep(0.5)
    (root / engine.RWLOCK).unlink(missing_ok=True)


def _is_dvc(process: int) -> bool:
    import psutil

    with contextlib.suppress(psutil.Error):
        return "dvc" in " ".join(psutil.Process(process).cmdline())
    return False


# --- what is stale --------------------------------------------------------------------------------


def find_removed(stages: Iterable[Stage], root: Path = Path()) -> list[str]:
    """Return the results that dvc.lock records and the study no longer has."""
    outs = {out for stage in stages for out in stage.outs}
    recorded = {out["path"] for entry in read_lock(root).values() for out in entry.get("outs", [])}
    return sorted(
        path
        for path in recorded - outs
        if path.startswith("results/")
        and not path.startswith(KEPT)
        and ".." not in Path(path).parts  # by a dvc.lock of somebody else
        and (root / path).exists()
        # what an older heed recorded may lie within a result of today
        and not {parent.as_posix() for parent in Path(path).parents} & outs
    )


def move_removed(paths: list[str]) -> None:
    """Move results that the study no longer has out of the folders that stages read."""
    if not paths:
        return
    shutil.rmtree(REMOVED, ignore_errors=True)
    for path in paths:
        (REMOVED / path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).rename(REMOVED / path)
    count = f" (the first of {len(paths)} such results)" if paths[1:] else ""
    print_message(f"{paths[0]}{count}: no longer in the study, moved to {REMOVED}")


def remove_damaged(stages: list[Stage]) -> None:
    """Delete damaged files of DVC's cache that stages would be restored from, and say so."""
    for stage in stages:
        if any(reason.startswith("output ") for reason in stage.reasons):
            for path in remove_damaged_objects(stage.name):
                print_message(
                    f"{path}: a file of {stage.name} in DVC's cache, damaged since it was written: "
                    "deleted. The stage runs again, or DVC's remote has it"
                )


def find_stale(
    stages: list[Stage],
    removed: list[str],
    code_changes: Collection[str] | None = None,
    forced: Collection[str] | None = (),
) -> dict[str, str]:
    """Return {stage: reason} of the stages that may run, of `stages` in their order.

    A reason is DVC's, one of the `removed` results, an upstream stage, or that the stage or one of
    its results is in `forced` (None: all are). Where `code_changes` are known, the files that the
    stage `code` would change, only stages that read one run after it.
    """
    stale: dict[str, str] = {}
    for stage in stages:
        gone = [path for path in removed if any(path.startswith(f"{dep}/") for dep in stage.deps)]
        same_code = code_changes is not None and not {*code_changes} & {*stage.deps}
        upstream = [up for up in stage.upstream if up in stale and not (same_code and up == "code")]
        if forced is None or not {stage.name, *stage.outs}.isdisjoint(forced):
            stale[stage.name] = FORCED
        elif stage.reasons:
            stale[stage.name] = _first_of(stage.reasons)
        elif gone:
            stale[stage.name] = f"{gone[0]} is no longer in the study"
        elif upstream:
            stale[stage.name] = f"after {_first_of(upstream)}"
    return stale


def _first_of(items: list[str]) -> str:
    """Return the first item, and how many more there are."""
    return items[0] + (f" and {len(items) - 1} more" if items[1:] else "")


def predict_code_changes(stages: list[Stage]) -> set[str] | None:
    """Return the files that the stage `code` would change, for a dry run; None if not known."""
    if all(stage.reasons for stage in stages):  # as in a new clone
        return None
    if not any(stage.name == "code" and stage.reasons for stage in stages):
        return set()
    import digests  # here: it takes a second, and only a dry run after an edit needs it

    try:
        return {path.as_posix() for path in digests.find_changed(digests.code_texts())}
    except HeedError as error:
        print_message(str(error))
        return None


def longest_chains(stages: list[Stage]) -> dict[str, int]:
    """Return {stage: how long it takes with the longest chain of stages that must follow it}.

    Of the stages that are ready, the one with the longest chain should start first.
    """
    lengths = LENGTHS | FIRST
    chains = {stage.name: lengths.get(stage.name.partition("@")[0], 1) for stage in stages}
    own = dict(chains)
    for stage in reversed(stages):
        for upstream in stage.upstream:
            chains[upstream] = max(chains[upstream], own[upstream] + chains[stage.name])
    return chains


def collect() -> None:
    """Record in dvc.lock what ran on other machines, also for a killed run, and pull it."""
    files = [*RUNS.glob("*/done/*@*")]
    if names := remote_stage.record(files):
        remote_stage.dvc("pull", "--force", "--allow-missing", *names)
        for file in files:
            file.write_text("")  # else a later run would record it again


# --- one run of snakemake -------------------------------------------------------------------------


class Run:
    """One run of snakemake: the stages, the plan, and the done files.

    The plan is made when Snakemake first asks for the inputs of a rule: only then is it known
    whether this is a dry run. Jobs on other machines read the plan of the run that submitted them.
    """

    def __init__(self, workflow: Any) -> None:
        """Read the stages. Raises HeedError."""
        # jobs on other machines inherit it
        self.folder = RUNS / os.environ.setdefault("HEED_RUN", uuid.uuid4().hex[:12])
        self._workflow = workflow
        self.shares_nothing = engine.shares_nothing(workflow)
        self._plan: dict[str, str] | None = None
        main = engine.is_main_process(workflow)
        _put_python_on_path()
        make_private(RUNS.parent)
        self.plan_file = str(self.folder / "plan.json")
        if not main and Path(self.plan_file).exists():
            content = json.loads(Path(self.plan_file).read_text(encoding="utf-8"))
            self.stages = [Stage(**stage) for stage in content["stages"]]
            self._plan, self.trainings = content["stale"], content["trainings"]
            return
        if main and not engine.is_dry_run(workflow):
            _name_site_cache(RUNS.parent)
            self._lock()
            wait_for_dvc(Path())
            repair_lock(Path())
            collect()
        self._params = load()
        self.stages = read_stages(params=self._params)
        # of a model: one for each seed, and the longer one
        seeds = max(len(self._params.seeds_of(name)) for name in self._params.experiments)
        self.trainings = seeds + self._params.study.longer_training

    def _lock(self) -> None:
        """Refuse a second snakemake in this clone; kill -9 drops the lock too."""
        RUNS.mkdir(parents=True, exist_ok=True)
        self._lock_file = (RUNS / "lock").open("a")
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeedError(
                "another snakemake is running this pipeline in this clone: wait for it, or end it"
            ) from None
        except OSError:
            print_message(
                "this file system has no locks (flock): nothing prevents a second snakemake here"
            )

    def plan(self) -> dict[str, str]:
        """Return the stale stages with their reasons; the first call makes the plan.

        Where jobs will run, results that the study no longer has are moved away, and stale quick
        stages run first, so that the plan is exact.
        """
        if self._plan is not None:
            return self._plan
        if engine.is_touch(self._workflow):
            raise HeedError(
                "snakemake --touch: DVC knows results by their content, not by their dates, so "
                "there is nothing to touch. `dvc commit` takes results as they are"
            )
        executing = engine.is_running_jobs(self._workflow)
        forced = None if engine.is_drawing() else engine.forced(self._workflow)
        for warning in changed_file_warnings(self._params):
            print_message(warning)
        removed = find_removed(self.stages)
        if executing:
            self._clean(removed)
            if not self._run_quick_first() and removed:
                self.stages = read_stages(params=self._params)
            self._plan = find_stale(self.stages, [], forced=forced)
        else:
            code_changes = predict_code_changes(self.stages)
            self._plan = find_stale(self.stages, removed, code_changes, forced)
        (self.folder / "done").mkdir(parents=True, exist_ok=True)
        stages = [*map(dataclasses.asdict, self.stages)]
        plan = json.dumps({"stages": stages, "stale": self._plan, "trainings": self.trainings})
        Path(self.plan_file).write_text(plan, encoding="utf-8")
        if (
            executing and self.shares_nothing
        ):  # push what stages elsewhere read, and their own output
            running = [stage for stage in self.stages if stage.name in self._plan]
            names = {name for stage in running for name in (stage.name, *stage.upstream)}
            if here := names & read_lock().keys():
                remote_stage.dvc("push", *sorted(here))
        if not engine.is_drawing():
            self._announce(self._plan, "to run" if executing else "may run")
        if executing:
            shown.begin([*self._plan], self.folder)
            if not self._plan:  # Snakemake has then no hook that prints it
                self.print_answer()
        return self._plan

    def _clean(self, removed: list[str]) -> None:
        """Remove what no stage may read, before jobs run."""
        engine.start_jobs_at_once(self._workflow)
        move_removed(removed)
        remove_damaged(self.stages)
        for old in {*RUNS.glob("*/")} - {self.folder}:
            shutil.rmtree(old, ignore_errors=True)

    def _announce(self, plan: dict[str, str], words: str) -> None:
        stale, total = len(plan), len(self.stages)
        if stale:
            print_message(f"{stale} of {total} stages {words}, {total - stale} up to date")
        else:
            Path(self.done_file("all")).touch()
            print_message(f"all {total} stages are up to date")

    def _run_quick_first(self) -> bool:
        """Run the stale quick stages: `code`, then those that it has made stale.

        A recipe that comes out the same then keeps its trainings out of the plan. A stage that
        fails runs again as a job, which reports the failure. Returns whether any stage ran.
        """
        # --wait-for-lock counts only before `repro`
        repro = [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "--single-item"]
        tried: set[str] = set()
        while True:
            stale = find_stale(self.stages, []).keys()
            ready = [
                stage for stage in self.stages if stage.quick and not stale & {*stage.upstream}
            ]
            names = [stage.name for stage in ready if stage.name in stale - tried]
            if not names:
                return bool(tried)
            print_message(f"running first: {', '.join(names)}")
            Path("logs").mkdir(exist_ok=True)
            with Path("logs/quick.log").open("w", encoding="utf-8") as log:
                command = [*repro, "--keep-going", *names]
                subprocess.run(command, stdout=log, stderr=log, check=False)
            tried.update(names)
            self.stages = read_stages(params=self._params)

    def describe_reason(self, name: str) -> str:
        """Return why a stage runs, in brackets; nothing of one that never ran."""
        reason = self.plan().get(name, "requested")
        return "" if reason == engine.NEVER_RUN else f"  ({reason})"

    def print_answer(self) -> None:
        """Print the report's first sentences, where this run made or found all of the study."""
        if Path(self.done_file("all")).exists():
            if ANSWER.exists():
                print_line(wrap(ANSWER.read_text(encoding="utf-8").splitlines()), error=True)
            print_message("the study in params.yaml is up to date: reports/index.html")

    def done_file(self, name: str) -> str:
        """Return the path of a stage's done file."""
        return str(self.folder / "done" / name)

    def done_files(self, names: Iterable[str]) -> list[str]:
        """Return the done files of the stale stages in `names`; see `plan`."""
        return [self.done_file(name) for name in names if name in self.plan()]

    def threads(self, stage: Stage) -> int:
        """Return the cores of a stage.

        A model that does not name its `threads` gets its share of the cores: one where there are
        as many models to train as cores, more where there are fewer, at most one for each training
        of the model. On a cluster, where jobs do not share the cores of one machine, it gets so
        many.
        """
        if stage.threads:
            return stage.threads
        is_job = not engine.is_main_process(self._workflow)  # on a machine of a cluster
        if is_job or not engine.runs_jobs_here(self._workflow):
            return self.trainings
        models = sum(name.startswith("train@") for name in self.plan())
        return max(1, min(self.trainings, engine.cores(self._workflow) // max(1, models)))

    def describe_failures(self) -> Iterator[str]:
        """Yield why each stage of this run failed, where Snakemake has not said it.

        Stages that Ctrl-C has ended did not fail.
        """
        for name in {} if shown.is_stopped else self._plan or {}:
            if why := shown.why_failed(name):
                yield f"{name} failed: {why}"


def make_private(folder: Path) -> None:
    """Make a folder that no other user may enter: DVC keeps pickled objects in it.

    Where another user could write in it until now, what DVC keeps there is not to be believed.
    """
    folder.mkdir(exist_ok=True)
    if folder.stat().st_mode & 0o022:
        shutil.rmtree(folder / "dvc", ignore_errors=True)
    folder.chmod(0o700)


def _name_site_cache(folder: Path) -> None:
    """Give DVC the whole path of its cache: `dvc exp run --temp` changes the working folder."""
    path, local = str(folder.absolute() / "dvc"), Path(".dvc/config.local")
    lines = local.read_text(encoding="utf-8").splitlines() if local.exists() else []
    if f"site_cache_dir = {path}" not in [line.strip() for line in lines]:
        command = (sys.executable, "-m", "dvc", "config", "--local", "core.site_cache_dir", path)
        subprocess.run(command, check=False, capture_output=True)


def _put_python_on_path() -> None:
    """Let jobs find `heed` and `python` where PATH lacks their folder, and else as dvc does."""
    folder, path = str(Path(sys.executable).parent), os.environ["PATH"]
    if folder not in path.split(os.pathsep):
        os.environ["PATH"] = f"{folder}{os.pathsep}{path}"


def catch_interrupt() -> None:
    """Say at the first Ctrl-C that nothing is lost, before Snakemake stops; ignore any further one.

    Snakemake would print each job that Ctrl-C has ended as failed, with its command and its log.
    """

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.excepthook = lambda *_: None  # while it plans Snakemake does not catch the interrupt
        shown.is_stopped = True
        # else Python prints what threads log as they end, and Snakemake after it has closed its log
        logging.getLogger().addHandler(logging.NullHandler())
        print_message(INTERRUPTED)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, stop)
