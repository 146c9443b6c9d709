"""DVC's resolved stages, and which of them are stale, for the Snakefile.

The only code that knows both engines. DVC decides what must run, runs it, caches it and locks it.
Snakemake orders the stages and assigns them to cores and GPUs. The output of a Snakemake rule is a
*receipt*, an empty file of this run, and never a file that DVC tracks: Snakemake then has no file
of DVC's to compare, touch or delete. engine_names.py holds what is used of the two beyond their
documented interfaces.
"""

import contextlib
import dataclasses
import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import engine_names as engine
import fork_server
from clone import describe_clone
from hosts import Host, read_hosts
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.corpora.kinds import KINDS
from heed.files import HeedError, write_text
from heed.progress import INTERRUPTED
from heed.search.cluster import LOCAL, read_address
from heed.study import Params, load
from heed.study.own.files import changed_file_warnings
from heed.study.syntax import read_yaml
from heed.terminal import print_line

RUNS = Path(".heed/snakemake")
LOCK_BACKUP = Path(".heed/dvc.lock")  # dvc.lock as it was when snakemake last started
REPORT_COPIES = Path(".heed/shown")  # copies of the report's parts, for `snakemake --report`
ORPHAN_FOLDERS = tuple(
    f"results/{stage}/"
    for stage in (
        "recipe",
        "search",
        "train",
        "timing/train",
        "predict",
        "explain",
        "adversaries",
        "opponents",
        "evaluate",
    )
)
MAX_CHEAP_JOBS = 4
TOKENIZING_THREADS = 4  # of a corpus of real text
# About how long a stage takes, in the unit of a short one, as in the sample study; others take 1.
LENGTHS = {"search": 10, "train": 4, "explain": 8, "adversaries": 20}


class Change(NamedTuple):
    """One of DVC's reasons to run a stage."""

    kind: str  # never run, command, always, parameters, input or output
    path: str = ""  # of the input, the output or the file of the parameters
    how: str = ""  # in DVC's word, such as modified or deleted; the new command
    keys: tuple[str, ...] = ()  # of the parameters

    def __str__(self) -> str:
        """Return the reason in a few words."""
        match self.kind:
            case "never run":
                return "never run"
            case "command":
                return "its command changed"
            case "always":
                return "always runs"
            case "parameters":
                return f"{self.path} {' and '.join(self.keys)}"
        return f"{'output ' * (self.kind == 'output')}{self.path} {self.how}"


@dataclasses.dataclass(frozen=True)
class Stage:
    """One DVC stage.

    `name` is DVC's address of it (train@imdb-attention-1) and the name of its Snakemake rule.
    """

    name: str
    upstream: list[str]
    deps: list[str]
    outs: list[str]
    threads: int
    gpu: int
    cheap: bool
    changes: list[Change]  # DVC's own reasons to run it; none: up to date
    reads: list[str] = dataclasses.field(default_factory=list)  # the stages whose files it reads
    here: bool = False  # in this clone, also where a run has other hosts
    group: str | None = None  # it shares a job of SLURM with one that it reads from

    @property
    def reasons(self) -> list[str]:
        """DVC's own reasons to run it, in a few words."""
        return [str(change) for change in self.changes]


def _find_changes(repository: Any, stage: Any) -> list[Change]:
    """Return DVC's reasons to run `stage`: what `dvc status` says, without its lock.

    Stage.status() and Stage.changed() take DVC's rwlock, and would say "busy" while a job runs.
    """
    deps, outs = engine.dependencies(stage), engine.outputs(stage)
    if not any(map(engine.is_recorded, [*deps, *outs])):
        return [Change("never run")]
    changes = []
    if engine.command_changed(stage):
        changes.append(Change("command", how=engine.command(stage)))
    if engine.always_runs(stage):
        changes.append(Change("always"))
    entries = [("input", dep) for dep in deps if not engine.is_frozen(stage)] + [
        ("output", out) for out in outs
    ]
    for kind, entry in entries:
        path = engine.entry_path(repository, entry)
        for change in engine.entry_changes(entry).values():
            if isinstance(change, str):
                changes.append(Change(kind, path, change))
            else:
                changes.append(Change("parameters", path, keys=tuple(change)))
    return changes


def _resources(meta: dict[str, Any], params: Params) -> tuple[int, int]:
    """Return (threads, gpu) of a stage: its own, or those of its corpus, model or search."""
    # models.imdb-attention: a matrix cannot look gpu and threads up itself
    if address := meta.get("resources"):
        kind, name = address.split(".", 1)
        if kind == "corpora":
            # a stage that asks for more than one core starts when so many are free, which may be
            # late: generated texts are few, and one core has tokenised them in two seconds
            return 1 if KINDS[params.corpora[name].kind].generated else TOKENIZING_THREADS, 0
        if kind == "searches":
            # on a cluster one core here, for the process that waits
            return params.searches[name].resources if read_address() == LOCAL else (1, 0)
        return params.hyperparameters(name).threads, params.models[name].gpu
    return int(meta.get("threads", 1)), int(meta.get("gpu", 0))


def _reads(upstream: list[str], meta: dict[str, Any], params: Params) -> list[str]:
    """Return the stages whose files a stage reads.

    A training reads the tokens of its model too, whose digest is in the recipe.
    """
    kind, _, name = meta.get("resources", "").partition(".")
    tokens = [f"tokenize@{params.models[name].corpus}"] if kind == "models" else []
    return sorted({*upstream, *tokens})


def _is_here(meta: dict[str, Any]) -> bool:
    """Whether a stage runs in this clone, also where a run has other hosts.

    A search on a cluster of Ray is started here.
    """
    on_cluster = meta.get("resources", "").startswith("searches.") and read_address() != LOCAL
    return bool(meta.get("cheap") or meta.get("here") or on_cluster)


def read_stages(root: str | Path = ".") -> list[Stage]:
    """Return the stages of the study in params.yaml, each after those it reads from.

    Raises:
        HeedError: params.yaml is wrong, or DVC reads other values in it; no DVC repository; a
            dvc.yaml that DVC refuses; a file of a stage that cannot be read.

    """
    root = Path(root)
    params = load(root / "params.yaml")
    check_params(root / "params.yaml")
    if not is_lock_readable(root):
        raise HeedError(
            "dvc.lock cannot be read: a kill has cut it off, or a merge or an edit has broken it: "
            "`snakemake --cores 1` repairs it, and keeps it as dvc.lock.broken"
        )
    try:
        repository = engine.open_repository(root)
        return [
            Stage(
                engine.stage_name(stage),
                engine.upstream_names(repository, stage),
                [engine.entry_path(repository, dep) for dep in engine.dependencies(stage)],
                [engine.entry_path(repository, out) for out in engine.outputs(stage)],
                *_resources(engine.stage_meta(stage), params),
                bool(engine.stage_meta(stage).get("cheap")),
                _find_changes(repository, stage),
                _reads(engine.upstream_names(repository, stage), engine.stage_meta(stage), params),
                _is_here(engine.stage_meta(stage)),
                engine.stage_meta(stage).get("group"),
            )
            for stage in engine.pipeline_stages(repository)
        ]
    except engine.missing_repository_errors() as error:
        raise HeedError(
            f"{_one_line(error)}. heed runs in the top folder of a git clone: it needs .git and "
            ".dvc"
        ) from None
    except engine.dvc_errors() as error:
        raise HeedError(f"DVC: {_one_line(error)}. `dvc status` says more") from None
    except OSError as error:  # DVC itself stops at a link that leads nowhere
        raise HeedError(
            f"{error.filename}: {error.strerror}. It is a link that leads nowhere, or may not be "
            "read: mend it, or delete it, and its stage makes it again"
        ) from None


def check_params(path: Path) -> None:
    """Check that DVC reads the same values as heed. Raises HeedError.

    DVC's C parser refuses a `:` or `?` in an unquoted text within braces, which YAML 1.2 allows,
    and reads some invisible characters as an end of line.
    """
    try:
        read_by_dvc = engine.read_yaml(path)
    except ValueError as error:
        raise HeedError(f"{error}. heed can read it, DVC cannot: put the text in quotes") from None
    if read_by_dvc != read_yaml(path.read_text(encoding="utf-8"), path)[1]:
        raise HeedError(
            f"{path}: DVC reads other values than heed: look for invisible characters, and for & "
            "and ! without quotes"
        )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def is_lock_readable(root: Path, timeout: float = 2.0) -> bool:
    """Whether DVC can read dvc.lock, or there is none.

    Waits `timeout` seconds for a file that is being written. DVC writes it in place, so a kill -9
    in that moment leaves it cut off.
    """
    end = time.monotonic() + timeout
    while (root / "dvc.lock").exists():
        try:
            text = (root / "dvc.lock").read_text(encoding="utf-8")
            if not text.endswith("\n"):
                raise ValueError("cut off")
            parse_lock(text)
        except (YAMLError, ValueError):
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        else:
            return True
    return True


@functools.lru_cache(maxsize=1)  # for several readers: .3 s each of 300 stages
def parse_lock(text: str) -> Any:
    """Return the content of dvc.lock, not to be changed.

    Raises YAMLError or ValueError where DVC would refuse it.
    """
    content = YAML(typ="safe").load(text)
    engine.check_lock(content)
    return content


def drop_stale_rwlock(root: Path) -> None:
    """Wait until no DVC process locks a stage, then delete DVC's rwlock of dead processes.

    The jobs of a killed snakemake may still run. DVC believes in any process with the id in the
    file, and writes the file in place, so that a kill can cut it off: it would then refuse every
    stage.
    """
    while process := _find_lock_holder(root):
        stage = _running_stage(process)
        print_message(
            f"waiting for process {process}, a dvc{f' that runs {stage}' * bool(stage)}: a killed "
            "run has left it running, or you have started it"
        )
        # not only until it unlocks this stage: `dvc repro` goes on with the next
        while _is_running_dvc(process):
            time.sleep(0.5)
    (root / engine.RWLOCK).unlink(missing_ok=True)


def _find_lock_holder(root: Path) -> int | None:
    """Return the id of a DVC process that locks a stage, or None."""
    return next(filter(_is_running_dvc, engine.rwlock_processes(root)), None)


def _is_running_dvc(process: int) -> bool:
    """Whether a process runs that is DVC's, or its fork; a zombie process does not run."""
    import psutil

    names = ("dvc", Path(fork_server.__file__).name)
    with contextlib.suppress(psutil.Error):
        words = " ".join(psutil.Process(process).cmdline())
        return any(name in words for name in names)
    return False


def _running_stage(dvc: int) -> str:
    """Return the stage that a DVC process runs, or an empty string if that cannot be read."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for child in psutil.Process(dvc).children():
            if stage := engine.running_stage(child.environ()):
                return stage
    return ""


def repair_lock(root: Path) -> None:
    """Replace an unreadable dvc.lock by its backup, or back up a readable one.

    Stages that ran since the backup come back from DVC's run-cache.
    """
    lock, backup = root / "dvc.lock", root / LOCK_BACKUP
    if is_lock_readable(root):
        if lock.exists():
            write_text(backup, lock.read_text(encoding="utf-8"))
        return
    lock.replace(lock.with_name("dvc.lock.broken"))
    if backup.exists():
        write_text(lock, backup.read_text(encoding="utf-8"))
    print_message(
        "dvc.lock could not be read (a kill, or a merge) and is repaired; it is kept as "
        "dvc.lock.broken. What was done since comes from DVC's cache"
    )


def find_orphans(root: str | Path, outs: Collection[str]) -> list[str]:
    """Return the paths of results that are no outputs (`outs`) of the study's stages.

    Only outputs that dvc.lock records and DVC's cache has, byte for byte: no file that a person put
    there or edited, and no last copy.
    """
    root = Path(root)
    if not (root / "dvc.lock").exists():
        return []
    locked = parse_lock((root / "dvc.lock").read_text(encoding="utf-8")).get("stages", {})
    recorded = {out["path"]: out for entry in locked.values() for out in entry.get("outs", [])}
    paths = sorted(
        path
        for path in recorded.keys() - {*outs}
        if path.startswith(ORPHAN_FOLDERS) and ".." not in path and (root / path).exists()
    )
    if not paths:
        return []
    repository = engine.open_repository(root)
    return [path for path in paths if _is_cached(repository, recorded[path])]


def all_outs(stages: Iterable[Stage]) -> list[str]:
    """Return the outputs of all stages."""
    return [out for stage in stages for out in stage.outs]


def delete_orphans(orphans: list[str]) -> None:
    """Delete the results that `find_orphans` has found in the present folder.

    Another study leaves some fifty behind: they are counted, and the first one is named.
    """
    if orphans:
        count = f" (the first of {len(orphans)} such results)" if orphans[1:] else ""
        print_message(
            f"{orphans[0]}{count}: no longer in the study, deleted here. DVC's cache has it, and "
            "brings it back with its study"
        )
    for path in orphans:
        shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()


def _is_cached(repository: Any, entry: dict[str, Any]) -> bool:
    """Whether an output is as dvc.lock records it, and complete in DVC's cache."""
    out = engine.recorded_output(repository, entry)
    cached = not engine.entry_changes(out) and engine.is_in_cache(out)
    if not cached:
        print_message(
            f"{entry['path']}: no longer in the study, and not deleted: it was edited, or DVC's "
            "cache has lost it"
        )
    return cached


def find_stale(
    stages: list[Stage], orphans: list[str], code_changes: Collection[str] | None = None
) -> dict[str, str]:
    """Return {stage: reason} of the stages that may run.

    A reason is DVC's, an orphan that will be deleted, or an upstream stage.

    Args:
        stages: each after those it reads from.
        orphans: what `find_orphans` returns.
        code_changes: the files that the stage `code` would change, if known; only stages that
            depend on one of them run after it.

    """
    reasons: dict[str, str] = {}
    for stage in stages:
        deleted = orphans_read_by(stage, orphans)
        same_code = code_changes is not None and not {*code_changes} & {*stage.deps}
        unchanged = {"code"} if same_code else set()
        if stage.reasons or deleted:
            reasons[stage.name] = _first_of(
                stage.reasons or [f"{deleted[0]} is no longer in the study"]
            )
        elif ups := [up for up in stage.upstream if up in reasons.keys() - unchanged]:
            reasons[stage.name] = f"after {_first_of(ups)}"
    return reasons


def orphans_read_by(stage: Stage, orphans: list[str]) -> list[str]:
    """Return those of the orphans that lie in a folder which a stage reads."""
    return [orphan for orphan in orphans if any(orphan.startswith(f"{dep}/") for dep in stage.deps)]


def predict_code_changes(stages: list[Stage]) -> dict[str, str] | None:
    """Return {file: new text} of what the stage `code` would change, for a dry run.

    Prints the error and returns None where the stage would fail.
    """
    if not any(stage.name == "code" and stage.reasons for stage in stages):
        return {}
    import digests  # here: it takes a second, and only a dry run after an edit needs it

    try:
        changed = digests.find_changed(digests.code_texts())
        return {path.as_posix(): text for path, text in changed.items()}
    except HeedError as error:
        print_message(str(error))
        return None


def longest_chains(stages: list[Stage]) -> dict[str, int]:
    """Return {stage: how long it and those take that must follow it, in the longest chain}.

    Of the stages that are ready, that with the longest chain should start first. The unit is a
    short stage (LENGTHS).

    Args:
        stages: each after those it reads from.

    """
    chains = {stage.name: LENGTHS.get(stage.name.split("@")[0], 1) for stage in stages}
    own = dict(chains)
    for stage in reversed(stages):
        for upstream in stage.upstream:
            chains[upstream] = max(chains[upstream], own[upstream] + chains[stage.name])
    return chains


def _first_of(items: list[str]) -> str:
    """Return the first item, and how many more there are."""
    return items[0] + (f" and {len(items) - 1} more" if items[1:] else "")


def copy_report(root: Path = Path()) -> bool:
    """Copy figures, tables and page to where `snakemake --report` finds them, if there is a report.

    Copies, because Snakemake deletes, touches and stamps its outputs, and reports/ is DVC's.
    Returns whether there is a report.
    """
    page, copies = root / "reports/index.html", root / REPORT_COPIES
    if not page.exists():
        return False
    page_copy = copies / "index.html"
    if page_copy.exists() and page_copy.read_bytes() == page.read_bytes():
        return True
    shutil.rmtree(copies, ignore_errors=True)
    for folder, suffix in (("figures", "svg"), ("tables", "csv")):
        (copies / folder).mkdir(parents=True)
        for path in sorted((root / "reports" / folder).glob(f"*.{suffix}")):
            name = path.name if "_" in path.name else f"study_{path.name}"
            shutil.copyfile(path, copies / folder / name)
    shutil.copyfile(page, page_copy)
    return True


def check_hosts(
    hosts: list[Host],
    stages: list[Stage],
    stale: dict[str, str],
    cores: int,
    gpus: int | None,
    here: bool,
) -> None:
    """Check that the hosts can run the stale stages; say by which options all are used.

    Raises HeedError: none has as many GPUs as a stage; or jobs do not start `here`.
    """
    if not here:
        raise HeedError("HEED_HOSTS is for jobs that snakemake starts itself: without --executor")
    for stage in stages:
        if stage.name in stale and not stage.here and stage.gpu > max(host.gpus for host in hosts):
            raise HeedError(
                f"{stage.name} takes {stage.gpu} GPU, and no host of HEED_HOSTS has as many: set "
                "`gpus` there"
            )
    all_cores, all_gpus = sum(host.cores for host in hosts), sum(host.gpus for host in hosts)
    names = ", ".join(
        f"{host.name} ({host.cores} core{'s' * (host.cores != 1)}, {host.gpus} "
        f"GPU{'s' * (host.gpus != 1)})"
        for host in hosts
    )
    print_message(f"stages run on {names}")
    wanted = any(stage.gpu for stage in stages if stage.name in stale and not stage.here)
    if all_cores != cores or (wanted and all_gpus != gpus):
        print_message(
            f"--cores {all_cores} --resources gpu={all_gpus} would use all of them, no more"
        )


def push_inputs(stages: list[Stage], stale: dict[str, str]) -> None:
    """Push what other hosts will read of the stages that are up to date to the DVC remote.

    Raises HeedError: the remote cannot be reached.
    """
    names = {
        name
        for stage in stages
        if stage.name in stale and not stage.here
        for name in stage.reads
        if name not in stale
    }
    if not names:
        return
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "push", *sorted(names)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        raise HeedError(
            f"HEED_HOSTS: {' '.join(lines).removeprefix('ERROR: ') or done.stderr.strip()}. Other "
            "hosts get what they read by the DVC remote: `dvc remote list`, `dvc push`"
        )


def find_own_programs() -> None:
    """Make commands find the programs of this environment: .venv/bin may not be activated."""
    binaries = str(Path(sys.executable).parent)
    if binaries not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = binaries + os.pathsep + os.environ["PATH"]


class Run:
    """One run of snakemake: the stages, the plan, and the receipts.

    Made when the Snakefile is read. The plan is made later, when Snakemake first asks for the
    inputs of a rule: only then is it known whether this is a dry run. Jobs on other machines read
    the plan of the run that submitted them.
    """

    def __init__(self, main: bool, dry: bool) -> None:
        """Read the stages; `main` is false in a job on another machine. Raises HeedError."""
        # jobs on other machines inherit it
        name = os.environ.setdefault("HEED_RUN", uuid.uuid4().hex[:12])
        self.folder = RUNS / name
        self._plan: dict[str, str] | None = None
        find_own_programs()
        plan = self.folder / "plan.json"
        if not main and plan.exists():
            content = json.loads(plan.read_text(encoding="utf-8"))
            self.stages = [
                Stage(**stage | {"changes": [Change(*change) for change in stage["changes"]]})
                for stage in content["stages"]
            ]
            self._plan = content["stale"]
            return
        if main and not dry:
            self._lock()
            engine.drop_snakemake_locks()  # of a run that was killed: this one is alone
            drop_stale_rwlock(Path())
            repair_lock(Path())
        self.hosts = read_hosts() if main else []
        self.stages = read_stages()

    def _lock(self) -> None:
        """Refuse a second snakemake in this clone.

        The kernel drops the lock when this process ends, kill -9 included.
        """
        RUNS.mkdir(parents=True, exist_ok=True)
        self._lock_file = (RUNS / "lock").open("a")
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeedError(
                "another snakemake is running this pipeline, in this clone or, by HEED_HOSTS, from "
                "another one: wait for it, or end it"
            ) from None

    def plan(
        self, executing: bool, cores: int = 1, gpus: int | None = None, here: bool = False
    ) -> dict[str, str]:
        """Return the stale stages with their reasons; the first call makes the plan.

        When `executing` (no dry run), orphans are deleted and stale cheap stages run first, so that
        the plan is exact. With jobs that run `here`, on this machine, a server forks for them.
        """
        if self._plan is not None:
            return self._plan
        for warning in changed_file_warnings(load()):
            print_message(warning)
        orphans = find_orphans(".", all_outs(self.stages))
        if executing:
            delete_orphans(orphans)
            for old in RUNS.glob("*/"):
                if old != self.folder:
                    shutil.rmtree(old, ignore_errors=True)
            if here and find_stale(self.stages, orphans):
                self._server = fork_server.start(
                    self.folder
                )  # kept: its input ends with this process
            if not self._run_cheap_first(cores) and orphans:
                self.stages = read_stages()
        self._plan = (
            find_stale(self.stages, [])
            if executing
            else find_stale(self.stages, orphans, predict_code_changes(self.stages))
        )
        if executing and self.hosts:
            check_hosts(self.hosts, self.stages, self._plan, cores, gpus, here)
            push_inputs(self.stages, self._plan)
        self._write_plan(self._plan)
        stale, total = len(self._plan), len(self.stages)
        print_message(
            f"{stale} of {total} stages {'to run' if executing else 'may run'}, {total - stale} up "
            f"to date{'' if executing else ': `heed why` says why'}"
            if stale
            else f"all {total} stages are up to date"
        )
        return self._plan

    def _write_plan(self, stale: dict[str, str]) -> None:
        """Write the plan for jobs on other machines, and make the folder of the receipts."""
        (self.folder / "receipts").mkdir(parents=True, exist_ok=True)
        stages = [dataclasses.asdict(stage) for stage in self.stages]
        (self.folder / "plan.json").write_text(
            json.dumps({"stages": stages, "stale": stale} | self._describe_hosts()),
            encoding="utf-8",
        )
        if not stale:
            Path(self.receipt("all")).touch()

    def _describe_hosts(self) -> dict[str, Any]:
        """Return what a job needs to run a stage in the clone of another host (send_stage.py)."""
        return (
            {
                "hosts": [dataclasses.asdict(host) for host in self.hosts],
                "clone": dataclasses.asdict(describe_clone(Path.cwd())),
                "process": os.getpid(),
            }
            if self.hosts
            else {}
        )

    def describe_failures(self) -> Iterator[str]:
        """Yield a line for each stage of this run that failed: heed's message or the log's path.

        Stages that Ctrl-C has ended did not fail.
        """
        if engine.was_interrupted():
            return
        plan = self.folder / "plan.json"
        for name in self.plan(False) if plan.exists() else ():
            log = Path("logs", f"{name}.log")
            if (
                Path(self.receipt(name)).exists()
                or not log.exists()
                or log.stat().st_mtime < plan.stat().st_mtime
            ):
                continue
            lines = ["", "", *log.read_text(encoding="utf-8", errors="replace").splitlines()]
            if lines[-1].startswith(f"heed: {name} failed: "):  # on another host
                yield lines[-1].removeprefix("heed: ")
            elif lines[-1].startswith("ERROR: failed to reproduce"):
                message = lines[-2].removeprefix("heed: ")
                yield f"{name} failed: {message if message != lines[-2] else f'see {log}'}"

    def _run_cheap_first(self, cores: int) -> bool:
        """Run the stale cheap stages: `code`, then those that it has made stale.

        A recipe that comes out the same then keeps its trainings out of the plan. A stage that
        fails runs again as a job, which reports the failure. Returns whether any stage ran.
        """
        tried: set[str] = set()
        while names := self._find_ready_cheap(tried):
            print_message(
                f"running {len(names)} cheap stage{'s' * (len(names) > 1)} first: "
                f"{', '.join(names)}"
            )
            Path("logs").mkdir(exist_ok=True)
            with ThreadPoolExecutor(max(1, min(cores, MAX_CHEAP_JOBS))) as pool:
                list(pool.map(_run_stage, names))
            tried.update(names)
            self.stages = read_stages()
        return bool(tried)

    def _find_ready_cheap(self, tried: set[str]) -> list[str]:
        """Return the stale cheap stages not tried yet whose upstream stages are up to date."""
        stale = find_stale(self.stages, [])
        return [
            s.name
            for s in self.stages
            if s.cheap and s.name in stale.keys() - tried and not stale.keys() & {*s.upstream}
        ]

    def receipt(self, name: str) -> str:
        """Return the path of a stage's receipt."""
        return str(self.folder / "receipts" / name)

    def receipts(
        self, names: Iterable[str], executing: bool, cores: int, gpus: int | None, here: bool
    ) -> list[str]:
        """Return the receipts of those of `names` that are stale; see `plan`."""
        plan = self.plan(executing, cores, gpus, here)
        return [self.receipt(name) for name in names if name in plan]


def _run_stage(stage: str) -> None:
    """Run one stage through DVC; its output goes into its log alone."""
    with Path(f"logs/{stage}.log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "workflow/dvc_stage.py", stage]
        subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)


def print_interrupted() -> None:
    """Say that Ctrl-C loses nothing, while Snakemake waits for the processes to end."""
    print_message(INTERRUPTED)


def print_message(message: str) -> None:
    """Print a line of heed's own among Snakemake's."""
    print_line(f"heed: {message}", error=True)


if __name__ == "__main__":
    copy_report()
