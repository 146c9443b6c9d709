"""DVC's resolved stages, and its verdict on each, for the Snakefile: the only code that knows both
engines.

DVC decides what must run, runs it, caches it and locks it. Snakemake orders and places. A Snakemake
rule hands on a *receipt*, an empty file of this run, and never a file that DVC tracks: Snakemake
then has nothing of DVC's to compare, touch or delete. What is used of the two beyond their
documented interfaces stands in engine_names.py.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import engine_names as engine
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.files import HeedError, write_text
from heed.study import Params, load
from heed.study.own_corpus import changed_file_warnings

RUNS = Path(".heed/snakemake")
KEPT_LOCK = Path(".heed/dvc.lock")  # dvc.lock as the last run of Snakemake found it
SHOWN = Path(".heed/shown")  # copies of the report's parts, for `snakemake --report`
SWEPT = tuple(
    f"results/{room}/" for room in ("recipe", "search", "train", "predict", "opponents", "evaluate")
)
MOST_SETTLERS = 4


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
    quick: bool
    why: list[str]  # DVC's own reasons to run it; none: up to date


def _why(stage: Any) -> list[str]:
    """Return DVC's reasons to run `stage`: what `dvc status` says, without its lock.

    Stage.status() and Stage.changed() take DVC's rwlock, and would say "busy" beside a job that
    runs.
    """
    deps, outs = engine.dependencies(stage), engine.outputs(stage)
    if not any(map(engine.is_recorded, [*deps, *outs])):
        return ["never run"]
    reasons = ["its command changed"] if engine.command_changed(stage) else []
    reasons += ["always runs"] if engine.always_runs(stage) else []
    entries = [("", dep) for dep in deps if not engine.is_frozen(stage)] + [
        ("output ", out) for out in outs
    ]
    for kind, entry in entries:
        for name, found in engine.entry_changes(entry).items():
            reasons.append(
                f"{kind}{name} {found if isinstance(found, str) else ' and '.join(found)}"
            )
    return reasons


def _needs(meta: dict[str, Any], params: Params) -> tuple[int, int]:
    """Return (threads, gpu) of a stage: its own `threads`, or what its model or the trials of its
    search take.
    """
    # models.imdb-attention: a matrix cannot look gpu and threads up itself
    if address := meta.get("resources"):
        kind, name = address.split(".", 1)
        if kind == "searches":
            return params.searches[name].resources
        return params.hyperparameters(name).threads, params.models[name].gpu
    return int(meta.get("threads", 1)), int(meta.get("gpu", 0))


def read_stages(root: str | Path = ".") -> list[Stage]:
    """Return the stages of the study in params.yaml, each after those it reads from.

    Raises:
        HeedError: params.yaml is wrong, or DVC reads it otherwise; no DVC repository; a dvc.yaml
            that DVC does not take.

    """
    root = Path(root)
    params = load(root / "params.yaml")
    check_params(root / "params.yaml")
    if not lock_is_whole(root):
        raise HeedError(
            "dvc.lock: cut off by a kill: `snakemake --cores 1` mends it, and so does `git "
            "checkout dvc.lock`"
        )
    try:
        repository = engine.open_repository(root)
        return [
            Stage(
                engine.stage_name(stage),
                engine.upstream_names(repository, stage),
                [engine.entry_path(repository, dep) for dep in engine.dependencies(stage)],
                [engine.entry_path(repository, out) for out in engine.outputs(stage)],
                *_needs(engine.stage_meta(stage), params),
                bool(engine.stage_meta(stage).get("quick")),
                _why(stage),
            )
            for stage in engine.pipeline_stages(repository)
        ]
    except engine.missing_repository_errors() as error:
        raise HeedError(
            f"{_line(error)}. heed runs in the top folder of a git clone: it needs .git and .dvc"
        ) from None
    except engine.dvc_errors() as error:
        raise HeedError(f"DVC: {_line(error)}. `dvc status` says more") from None


def check_params(path: Path) -> None:
    """Check that DVC reads the same values as heed. Raises HeedError.

    DVC's C parser refuses a `:` or `?` in a text without quotes within braces, which YAML 1.2
    allows, and takes some invisible characters for an end of line.
    """
    try:
        as_dvc_reads = engine.read_yaml(path)
    except ValueError as error:
        raise HeedError(f"{error}. heed can read it, DVC cannot: put the text in quotes") from None
    if as_dvc_reads != YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")):
        raise HeedError(
            f"{path}: DVC reads other values than heed: look for invisible characters, and for & "
            "and ! without quotes"
        )


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def lock_is_whole(root: Path, patience: float = 2.0) -> bool:
    """Whether DVC can read dvc.lock, or there is none; waits `patience` seconds for one that is
    being written.

    DVC writes the file in place, so a kill -9 in that moment leaves it cut off.
    """
    end = time.monotonic() + patience
    while (root / "dvc.lock").exists():
        try:
            text = (root / "dvc.lock").read_text(encoding="utf-8")
            engine.check_lock(YAML(typ="safe").load(text) if text.endswith("\n") else None)
        except (YAMLError, ValueError):
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        else:
            return True
    return True


def free_locks(root: Path) -> None:
    """Wait until no DVC process holds a stage, then drop what dead ones still hold in DVC's rwlock.

    A snakemake that was killed leaves its jobs at work. DVC takes a process of any kind for the
    holder when it has its id, and writes the file in place, so that a kill can cut it off; it would
    then refuse every stage.
    """
    while holder := _holder(root):
        stage = _running_stage(holder)
        say(
            f"waiting for process {holder}, a dvc{f' that runs {stage}' * bool(stage)}: a killed "
            "run has left it at work, "
            "or you have started it"
        )
        # not only until it frees this stage: `dvc repro` goes on with the next
        while _is_dvc(holder):
            time.sleep(0.5)
    (root / engine.RWLOCK).unlink(missing_ok=True)


def _holder(root: Path) -> int | None:
    """Return a DVC process that holds a stage."""
    return next(filter(_is_dvc, engine.rwlock_processes(root)), None)


def _is_dvc(process: int) -> bool:
    """Whether a process runs that is DVC's; one that has ended, and that nobody has asked for its
    exit code, does not.
    """
    import psutil

    with contextlib.suppress(psutil.Error):
        return any("dvc" in part for part in psutil.Process(process).cmdline())
    return False


def _running_stage(dvc: int) -> str:
    """Return the stage that a DVC process runs, as DVC tells the stage's command, or nothing where
    that cannot be read.
    """
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for child in psutil.Process(dvc).children():
            if stage := engine.running_stage(child.environ()):
                return stage
    return ""


def mend_lock(root: Path) -> None:
    """Put the last whole dvc.lock back where a kill cut it off; what was done since comes back from
    DVC's run-cache.
    """
    lock, kept = root / "dvc.lock", root / KEPT_LOCK
    if lock_is_whole(root):
        if lock.exists():
            write_text(kept, lock.read_text(encoding="utf-8"))
        return
    lock.replace(lock.with_name("dvc.lock.broken"))
    if kept.exists():
        write_text(lock, kept.read_text(encoding="utf-8"))
    say(
        "dvc.lock could not be read (a kill, or a merge) and is mended; it is kept as "
        "dvc.lock.broken. DVC's cache knows what was done since"
    )


def find_orphans(root: str | Path, stages: list[Stage]) -> list[str]:
    """Return the results of stages that the study no longer has.

    Only what dvc.lock knows as an output and DVC's cache has, byte for byte: nothing that a person
    put there or edited, and no last copy.
    """
    root = Path(root)
    if not (root / "dvc.lock").exists():
        return []
    locked = YAML(typ="safe").load(root / "dvc.lock").get("stages", {})
    known = {out["path"]: out for entry in locked.values() for out in entry.get("outs", [])}
    gone = known.keys() - {out for stage in stages for out in stage.outs}
    there = sorted(path for path in gone if path.startswith(SWEPT) and (root / path).exists())
    return [path for path in there if _is_cached(root, known[path])]


def _is_cached(root: Path, entry: dict[str, Any]) -> bool:
    """Whether an output is what dvc.lock says of it, and whole in DVC's cache."""
    out = engine.recorded_output(engine.open_repository(root), entry)
    cached = not engine.entry_changes(out) and engine.is_in_cache(out)
    if not cached:
        say(
            f"{entry['path']}: no longer of the study, and left: it was edited, or DVC's cache "
            "has lost it"
        )
    return cached


def stale(stages: list[Stage], orphans: list[str], code: set[str] | None = None) -> dict[str, str]:
    """Return the stages that may run, each with the reason: DVC's, an orphan that goes, or a stage
    before it.

    `code`: the files that the stage `code` would write otherwise, where that is known; other stages
    do not run after it.
    """
    found: dict[str, str] = {}
    for stage in stages:
        swept = [
            orphan for orphan in orphans if any(orphan.startswith(f"{dep}/") for dep in stage.deps)
        ]
        same = {"code"} if code is not None and not code & {*stage.deps} else set()
        if stage.why or swept:
            found[stage.name] = _short(stage.why or [f"{swept[0]} is no longer of the study"])
        elif ups := [up for up in stage.upstream if up in found.keys() - same]:
            found[stage.name] = f"after {_short(ups)}"
    return found


def foresee_code(stages: list[Stage]) -> set[str] | None:
    """Return the files that the stage `code` would write otherwise, for a dry run; None where it
    fails, and says why.
    """
    import digests  # here: it takes a second, and only a dry run needs it

    if not any(stage.name == "code" and stage.why for stage in stages):
        return set()
    try:
        return {path.as_posix() for path in digests.changed(digests.texts())}
    except HeedError as error:
        say(str(error))
        return None


def _short(items: list[str]) -> str:
    return items[0] + (f" and {len(items) - 1} more" if items[1:] else "")


def show(root: Path = Path()) -> bool:
    """Copy figures, tables and the page to where `snakemake --report` finds them; say whether there
    is a report.

    Copies, because Snakemake deletes, touches and stamps its outputs, and reports/ is DVC's.
    """
    page, into = root / "reports/index.html", root / SHOWN
    if not page.exists():
        return False
    if (into / "index.html").exists() and (into / "index.html").read_bytes() == page.read_bytes():
        return True
    shutil.rmtree(into, ignore_errors=True)
    for room, kind in (("figures", "svg"), ("tables", "csv")):
        (into / room).mkdir(parents=True)
        for path in sorted((root / "reports" / room).glob(f"*.{kind}")):
            shutil.copyfile(
                path, into / room / (path.name if "_" in path.name else f"study_{path.name}")
            )
    shutil.copyfile(page, into / "index.html")
    return True


class Run:
    """One call of snakemake: the stages, the plan, and the receipts.

    Made when the Snakefile is read. The plan is made later, when Snakemake first asks for the
    inputs of a rule: only then is it known whether this is a dry run. Jobs on other machines read
    the plan of the call that sent them.
    """

    def __init__(self, main: bool, dry: bool) -> None:
        """Read the stages; `main` is false in a job on another machine. Raises HeedError."""
        # jobs on other machines inherit it
        name = os.environ.setdefault("HEED_RUN", uuid.uuid4().hex[:12])
        self.folder = RUNS / name
        self._plan: dict[str, str] | None = None
        here = str(Path(sys.executable).parent)
        # .venv/bin/snakemake without activation
        if here not in os.environ["PATH"].split(os.pathsep):
            os.environ["PATH"] = here + os.pathsep + os.environ["PATH"]
        plan = self.folder / "plan.json"
        if not main and plan.exists():
            kept = json.loads(plan.read_text(encoding="utf-8"))
            self.stages, self._plan = [Stage(**stage) for stage in kept["stages"]], kept["stale"]
            return
        if main and not dry:
            self._lock()
            engine.drop_snakemake_locks()  # of a run that was killed: this one is alone
            free_locks(Path())
            mend_lock(Path())
        self.stages = read_stages()

    def _lock(self) -> None:
        """Refuse a second snakemake in this clone.

        The kernel drops the lock when this process ends, kill -9 included.
        """
        RUNS.mkdir(parents=True, exist_ok=True)
        self._held = (RUNS / "lock").open("a")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeedError(
                "another snakemake is running this pipeline, in this clone: wait for it, or end it"
            ) from None

    def plan(self, acting: bool, cores: int = 1) -> dict[str, str]:
        """Return the stale stages with their reasons; the first call makes the plan.

        `acting` (no dry run): orphans are deleted and stale quick stages are settled first, so that
        the plan is exact.
        """
        if self._plan is not None:
            return self._plan
        for line in changed_file_warnings(load()):
            say(line)
        orphans = find_orphans(".", self.stages)
        if acting:
            for path in orphans:
                say(f"{path}: no longer of the study, deleted (DVC's cache has it)")
                shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()
            for old in RUNS.glob("*/"):
                if old != self.folder:
                    shutil.rmtree(old, ignore_errors=True)
            if not self._settle(cores) and orphans:
                self.stages = read_stages()
        self._plan = (
            stale(self.stages, [])
            if acting
            else stale(self.stages, orphans, foresee_code(self.stages))
        )
        (self.folder / "receipts").mkdir(parents=True, exist_ok=True)
        kept = {"stages": [dataclasses.asdict(stage) for stage in self.stages], "stale": self._plan}
        (self.folder / "plan.json").write_text(json.dumps(kept), encoding="utf-8")
        if not self._plan:
            Path(self.receipt("all")).touch()
        fresh = len(self.stages) - len(self._plan)
        what = (
            f"{len(self._plan)} of {len(self.stages)} stages {'to run' if acting else 'may run'}, "
            f"{fresh} up to date"
        )
        say(what if self._plan else f"all {len(self.stages)} stages are up to date")
        return self._plan

    def failures(self) -> Iterator[str]:
        """Yield a line for people for each stage of this run that failed: heed's own last word, or
        where to read.
        """
        plan = self.folder / "plan.json"
        for name in self.plan(False) if plan.exists() else ():
            log = Path("logs", f"{name}.log")
            if (
                Path(self.receipt(name)).exists()
                or not log.exists()
                or log.stat().st_mtime < plan.stat().st_mtime
            ):
                continue
            said = ["", "", *log.read_text(encoding="utf-8", errors="replace").splitlines()]
            if said[-1].startswith("ERROR: failed to reproduce"):
                own = said[-2].startswith("heed: ")
                yield f"{name} failed: {said[-2].removeprefix('heed: ') if own else f'see {log}'}"

    def _settle(self, cores: int) -> bool:
        """Run the stale quick stages that wait for nothing, `code` first, then those that it has
        made stale; say whether any ran.

        A recipe that stays the same then keeps its trainings out of the plan. One that fails is
        left to its job.
        """
        tried: set[str] = set()
        while due := self._due(tried):
            say(f"settling {len(due)} quick stage{'s' * (len(due) > 1)}: {', '.join(due)}")
            Path("logs").mkdir(exist_ok=True)
            with ThreadPoolExecutor(max(1, min(cores, MOST_SETTLERS))) as pool:
                list(pool.map(_run_quietly, due))
            tried.update(due)
            self.stages = read_stages()
        return bool(tried)

    def _due(self, tried: set[str]) -> list[str]:
        """Return the stale quick stages that wait for none, and have not been tried."""
        found = stale(self.stages, [])
        return [
            s.name
            for s in self.stages
            if s.quick and s.name in found.keys() - tried and not found.keys() & {*s.upstream}
        ]

    def receipt(self, name: str) -> str:
        """Return the path of a stage's receipt."""
        return str(self.folder / "receipts" / name)

    def receipts(self, names: Iterable[str], acting: bool, cores: int) -> list[str]:
        """Return the receipts of those of `names` that are stale."""
        plan = self.plan(acting, cores)
        return [self.receipt(name) for name in names if name in plan]


def _run_quietly(stage: str) -> None:
    with Path(f"logs/{stage}.log").open("w", encoding="utf-8") as log:
        subprocess.run([*engine.REPRO, stage], stdout=log, stderr=subprocess.STDOUT, check=False)


def say(message: str) -> None:
    """Print a line of heed's own among Snakemake's."""
    print(f"heed: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    show()
