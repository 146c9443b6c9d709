"""The pipeline as dvc.yaml declares it and as dvc.lock records it; `heed graph` draws its kinds.

The only module of the package that knows DVC: how it hashes, how it names a stage, what its two
files hold, and `dvc status`. It imports nothing of DVC.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, TypedDict

import yaml

from heed.files import HeedError, reading

PIPELINE, LOCK = Path("dvc.yaml"), Path("dvc.lock")


class File(TypedDict, total=False):
    """A dependency or an output in dvc.lock."""

    path: str
    md5: str
    size: int


class Entry(TypedDict, total=False):
    """A stage in dvc.lock."""

    cmd: str
    deps: list[File]
    params: dict[str, object]
    outs: list[File]


NAME_IN_PATH = re.compile(r"\$\{[^}]*\}")  # DVC's ${item.corpus}


def check_up_to_date(root: Path) -> None:
    """Raise HeedError unless `dvc status` finds every stage up to date."""
    command = [sys.executable, "-m", "dvc", "status", "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise HeedError(f"dvc status: {lines[-1]}")
    if stale := list(json.loads(done.stdout)):
        names = f"{', '.join(stale[:3])}{', ...' * (len(stale) > 3)}"
        raise HeedError(
            f"dvc status: not up to date: {names}. The results are not those of params.yaml, the "
            "code and the data. Run the study first: snakemake --cores 4"
        )


def read_lock(root: Path = Path()) -> dict[str, Entry]:
    """Return the entries of dvc.lock by the name of their stage, {} where there is no file.

    DVC writes it in place: it is read again for two seconds. Raises HeedError where a kill cut it
    off.
    """
    for _ in range(20):
        with contextlib.suppress(yaml.YAMLError, TypeError, KeyError):
            if not (root / LOCK).exists():
                return {}
            text = (root / LOCK).read_text(encoding="utf-8")
            stages = yaml.load(text, yaml.CSafeLoader)["stages"]
            if text.endswith("\n") and isinstance(stages, dict):
                return stages
        time.sleep(0.1)
    raise HeedError(
        "dvc.lock cannot be read: a kill has cut it off, or a merge or an edit has broken it: "
        "`snakemake --cores 1` repairs it, and keeps it as dvc.lock.broken"
    )


def _read_pipeline(path: Path) -> Mapping[str, Any]:
    with reading(path, "git checkout dvc.yaml"):
        stages: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["stages"]
    return stages


def recorded_files(stage: str) -> dict[Path, Path]:
    """Return the files of the folders that a stage made last: path → file of DVC's cache.

    There are none where dvc.lock has no such stage, or the cache has lost the list of a folder.
    """
    outs = read_lock().get(stage, {}).get("outs", [])
    if not outs:
        return {}
    command = [sys.executable, "-m", "dvc", "cache", "dir"]
    cache = Path(
        subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    )
    files = {}
    for out in outs:
        if (listing := _cached(cache, out["md5"])).exists():
            for each in json.loads(listing.read_text(encoding="utf-8")):
                files[Path(out["path"], each["relpath"])] = _cached(cache, each["md5"])
    return files


def _cached(cache: Path, digest: str) -> Path:
    return cache / "files/md5" / digest[:2] / digest[2:]


def stage_name(stage: str, *keys: str) -> str:
    """Return DVC's name of a stage and the keys of its command: score@imdb-attention."""
    return "@".join([stage, *keys])


def md5(path: Path) -> str:
    """Return DVC's hash of a file, which is also its name in DVC's cache."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def folder_md5(folder: Path, files: Iterable[Path] | None = None) -> str:
    """Return DVC's hash of a folder, or of some `files` in it: that of their hashes and names."""
    paths = (path for path in folder.rglob("*") if path.is_file()) if files is None else files
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    listing = json.dumps([{"md5": md5(folder / name), "relpath": name} for name in names])
    return hashlib.md5(listing.encode(), usedforsecurity=False).hexdigest() + ".dir"


@dataclasses.dataclass(frozen=True)
class Kind:
    """The stages that dvc.yaml declares for each key of a section; `*` is a name in a path."""

    stages: int
    deps: list[str]
    outs: list[str]


def read_kinds(pipeline: Path, params: object) -> dict[str, Kind]:
    """Return the kinds of stages of a dvc.yaml; `params` has the sections. Raises HeedError."""
    kinds: dict[str, Kind] = {}
    for name, declared in _read_pipeline(pipeline).items():
        stage = declared.get("do", declared)
        section = declared.get("foreach")  # ${models}: a stage for each key
        stages = len(attrgetter(section[2:-1])(params)) if section else 1
        deps, outs = (list(_patterns(stage.get(key, []))) for key in ("deps", "outs"))
        kinds[name] = Kind(stages, deps, outs)
    return kinds


def _patterns(entries: list[Any]) -> Iterator[str]:
    """Yield the paths of a stage's deps or outs; an out with options is a mapping of its path."""
    for entry in entries:
        yield NAME_IN_PATH.sub("*", entry if isinstance(entry, str) else next(iter(entry)))


def link_kinds(kinds: dict[str, Kind]) -> list[tuple[str, str]]:
    """Return (kind, kind that reads from it), less the pairs that follow from others."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(kinds)
    graph.add_edges_from(
        (written, read)
        for written, read in itertools.permutations(kinds, 2)
        if any(_overlap(out, dep) for out in kinds[written].outs for dep in kinds[read].deps)
    )
    order = list(kinds)
    return sorted(nx.transitive_reduction(graph).edges, key=lambda link: [*map(order.index, link)])


def _overlap(out: str, dep: str) -> bool:
    """Whether one path is the other, or lies in it, for some names."""
    return all(
        _matches(first, second) or _matches(second, first)
        for first, second in zip(out.split("/"), dep.split("/"), strict=False)
    )


def _matches(part: str, pattern: str) -> bool:
    """Whether a part of a path is one of a pattern, in which a `*` stands for a name (no dot)."""
    return bool(re.fullmatch(re.escape(pattern).replace(r"\*", "[a-z0-9*-]+"), part))


def draw_mermaid(kinds: dict[str, Kind]) -> str:
    """Return the graph as text that GitHub and other viewers of Markdown draw as a figure."""
    lines = ["flowchart TD"]
    for name, kind in kinds.items():
        count = f"{kind.stages or 'no'} stage{'s' * (kind.stages != 1)}"
        lines.append(f'    {name}["{name}<br>{count}"]')
    lines += [f"    {written} --> {read}" for written, read in link_kinds(kinds)]
    return "\n".join(lines)
