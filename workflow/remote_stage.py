"""A stage on a machine that shares no folder with that of `snakemake`: before and after it runs.

    python workflow/remote_stage.py fetch STAGE UPSTREAM_STAGE ... DONE_FILE ...
    python workflow/remote_stage.py deliver STAGE DONE_FILE

Data go by the DVC remote. A done file holds the stage's entry of dvc.lock. To fetch is to record
the entries of the stages that a stage reads from, and to pull their files; to deliver, to push what
the stage made, and to write its entry. DVC's run-cache goes along (`dvc repro --pull` pulls it).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import engine_names as engine
import yaml

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.files import HeedError, write_text
from heed.pipeline import LOCK, read_lock


def fetch(stage: str, upstream: list[str]) -> None:
    """Record what a stage reads, and pull it, with its own earlier output, which it may keep.

    `upstream` has the stages that it reads from, and the done files of those that this run made.
    The code that a cluster has sent, without git, first becomes a folder of DVC's.
    """
    local = Path(".dvc/config.local")
    if not Path(".git").exists() and not local.exists():
        cache = Path(os.environ.get("HEED_CACHE") or Path.home() / ".cache/heed").absolute()
        write_text(local, f"[core]\n    no_scm = true\n[cache]\n    dir = {cache}\n")
    record(path for path in upstream if "/" in path)
    dvc("pull", "--force", "--allow-missing", *(read_lock().keys() & {stage, *upstream}))


def record(done_files: Iterable[str | Path]) -> list[str]:
    """Write the entries in done files into dvc.lock; return the names of their stages."""
    files = [Path(path).read_text(encoding="utf-8") for path in done_files]
    entries = {name: entry for text in files if text for name, entry in json.loads(text).items()}
    if entries:
        with engine.locked_repository():
            content = {"schema": "2.0", "stages": read_lock() | entries}
            write_text(LOCK, yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False))
    return [*entries]


def deliver(stage: str, done_file: list[str]) -> None:
    """Push what a stage made, and write its entry of dvc.lock into its done file."""
    dvc("push", "--run-cache", stage)
    write_text(Path(*done_file), json.dumps({stage: read_lock()[stage]}))


def dvc(*arguments: str) -> None:
    """Run a command of DVC; end this process where it fails, as it has said why."""
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", *arguments, "--quiet"]
    if subprocess.run(command, check=False).returncode:
        sys.exit(
            f"heed: dvc {arguments[0]} failed: stages on other machines get data by the DVC "
            "remote (docs/run/cluster.md)"
        )


if __name__ == "__main__":
    try:
        {"fetch": fetch, "deliver": deliver}[sys.argv[1]](sys.argv[2], sys.argv[3:])
    except HeedError as error:
        sys.exit(f"heed: {error}")
