"""What the Snakefile needs around its rules: the plan of this run, its receipts, and one run at a time."""

import dataclasses
import fcntl
import json
import os
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any

from heed.files import HeedError, write_json

ROOM = Path(".heed/snakemake")


class Receipts:
    """A run of Snakemake: `stale` are the stages to run, `wanted` their receipts."""

    def __init__(self, workflow: Any) -> None:
        """Make the plan, or, in a job of a running Snakemake (a cluster's node too), read it."""
        self.path = str(Path(sys.executable).parent)  # so that `.venv/bin/snakemake` works without activation
        self.main = "HEED_SNAKEMAKE_RUN" not in os.environ
        self.run = os.environ.setdefault("HEED_SNAKEMAKE_RUN", uuid.uuid4().hex[:12])
        self.folder = ROOM / self.run
        dryrun = bool(getattr(workflow, "dryrun", False))
        if (self.folder / "plan.json").exists():
            records = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        else:
            records = self._plan(Path(workflow.basedir), dryrun)
        self.stale = [record for record in records if record["stale"]]
        self._rules = {record["rule"] for record in self.stale}
        self.wanted = [self.receipt(record["rule"]) for record in self.stale]
        if not self.stale and self.main:
            print(f"heed: all {len(records)} stages are up to date", file=sys.stderr)

    def _plan(self, root: Path, dryrun: bool) -> list[dict[str, Any]]:
        from stages import plan

        try:
            if not dryrun:
                self.lock()
            records = [dataclasses.asdict(record) for record in plan(root, settle=not dryrun)]
        except HeedError as error:
            sys.exit(f"heed: {error}")
        if not dryrun:
            for old in ROOM.glob("*/"):
                shutil.rmtree(old, ignore_errors=True)
        write_json(self.folder / "plan.json", records)
        return records

    def receipt(self, rule: str) -> str:
        """Return the file that says that `rule` ran."""
        return f"{self.folder}/{rule}"

    def inputs(self, record: dict[str, Any]) -> list[str]:
        """Return the receipts of the stale stages that this one reads from."""
        return [self.receipt(rule) for rule in record["upstream"] if rule in self._rules]

    def lock(self) -> None:
        """Hold this clone for one Snakemake; the kernel frees it, also on kill -9."""
        if hasattr(self, "_lock"):
            return
        ROOM.mkdir(parents=True, exist_ok=True)
        self._lock = (ROOM / "lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("heed: another snakemake is running in this clone; wait for it, or stop it")

    def done(self) -> None:
        """Say where to look."""
        if self.stale:
            print("heed: done; the report is reports/index.html", file=sys.stderr)
