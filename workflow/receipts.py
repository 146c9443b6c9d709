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


LOOKS = ("dryrun", "lint", "dag", "rulegraph", "filegraph", "d3dag", "summary", "detailed_summary", "list_rules",
         "list_target_rules", "list_changes", "unlock", "cleanup_metadata", "delete_all_output")  # fmt: skip


def _only_looks() -> bool:
    """Return whether this call of snakemake runs no stage: while the Snakefile is read, snakemake itself cannot say."""
    from snakemake.cli import get_argument_parser

    arguments, _ = get_argument_parser().parse_known_args(sys.argv[1:])
    return any(getattr(arguments, look, None) for look in LOOKS)


class Receipts:
    """A run of Snakemake: `stale` are the stages to run, `wanted` their receipts."""

    def __init__(self, workflow: Any) -> None:
        """Make the plan, or, in a job of a running Snakemake (a cluster's node too), read it."""
        self.path = str(Path(sys.executable).parent)  # so that `.venv/bin/snakemake` works without activation
        self.main = "HEED_SNAKEMAKE_RUN" not in os.environ
        self.run = os.environ.setdefault("HEED_SNAKEMAKE_RUN", uuid.uuid4().hex[:12])
        self.folder = ROOM / self.run
        if (self.folder / "plan.json").exists():
            records = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        else:
            records = self._plan(Path(workflow.basedir))
        self.stale = [record for record in records if record["stale"]]
        self._rules = {record["rule"] for record in self.stale}
        self.wanted = [self.receipt(record["rule"]) for record in self.stale]
        if not self.stale and self.main:
            print(f"heed: all {len(records)} stages are up to date", file=sys.stderr)

    def _plan(self, root: Path) -> list[dict[str, Any]]:
        from stages import plan

        only_looks = _only_looks()
        try:
            if not only_looks:
                self.lock()
            records = [dataclasses.asdict(record) for record in plan(root, settle=not only_looks)]
        except HeedError as error:
            sys.exit(f"heed: {error}")
        if not only_looks:
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
