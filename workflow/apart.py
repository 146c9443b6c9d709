"""A stage on a machine that shares no folder with that of `snakemake`: before and after it runs.

    python workflow/apart.py fetch STAGE UPSTREAM_STAGE ... DONE_FILE ...
    python workflow/apart.py deliver STAGE DONE_FILE

Data go by the DVC remote. A done file holds the stage's entry of dvc.lock. To fetch is to record
the entries of the stages that a stage reads from, and to pull their files; to deliver, to push what
the stage made, and to write its entry. DVC's run-cache goes along (`dvc repro --pull` pulls it), so
that no machine makes again what another has made.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import engine_names as engine
import yaml

LOCK = Path("dvc.lock")


def fetch(stage: str, upstream: list[str]) -> None:
    """Record what a stage reads, and pull it, with its own earlier output, which it may keep.

    `upstream` has the stages that it reads from, and the done files of those that this run made.
    """
    prepare_folder()
    record(path for path in upstream if "/" in path)
    names = [stage, *(name for name in upstream if "/" not in name)]
    recorded = yaml.safe_load(LOCK.read_text(encoding="utf-8"))["stages"]
    dvc("pull", "--force", "--allow-missing", *filter(recorded.get, names))


def prepare_folder() -> None:
    """Make the code that a cluster has sent, without git, a folder of DVC's with its own cache."""
    local = Path(".dvc/config.local")
    if Path(".git").exists() or local.exists():
        return
    cache = Path(os.environ.get("HEED_CACHE") or Path.home() / ".cache/heed").absolute()
    part = local.with_suffix(f".{os.getpid()}")
    part.write_text(f"[core]\n    no_scm = true\n[cache]\n    dir = {cache}\n", encoding="utf-8")
    part.replace(local)


def record(done_files: Iterable[str | Path]) -> list[str]:
    """Write the entries in done files into dvc.lock; return the names of their stages."""
    entries = {}
    for path in map(Path, done_files):
        entries |= yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    if entries:
        with engine.locked_repository():
            content = yaml.safe_load(LOCK.read_text()) if LOCK.exists() else {"schema": "2.0"}
            content["stages"] = content.get("stages", {}) | entries
            part = LOCK.with_suffix(f".{os.getpid()}")
            part.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
            part.replace(LOCK)
    return [*entries]


def deliver(stage: str, done_file: list[str]) -> None:
    """Push what a stage made, and write its entry of dvc.lock into its done file."""
    dvc("push", "--run-cache", stage)
    entry = {stage: yaml.safe_load(LOCK.read_text(encoding="utf-8"))["stages"][stage]}
    Path(*done_file).write_text(yaml.safe_dump(entry, sort_keys=False), encoding="utf-8")


def dvc(*arguments: str) -> None:
    """Run a command of DVC; end this process where it fails, as it has said why."""
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", *arguments, "--quiet"]
    if subprocess.run(command, check=False).returncode:
        sys.exit(
            f"heed: dvc {arguments[0]} failed: stages on other machines get data by the DVC "
            "remote (docs/cluster.md)"
        )


if __name__ == "__main__":
    {"fetch": fetch, "deliver": deliver}[sys.argv[1]](sys.argv[2], sys.argv[3:])
