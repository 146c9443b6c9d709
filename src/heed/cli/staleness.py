"""The command that says why stages are stale."""

import os
import sys
from pathlib import Path


def why(stage: str) -> None:
    """Say why a stage is stale: which code, value, data or output changed. Runs nothing."""
    tool = Path("workflow/why.py")
    if not tool.exists():
        from heed.files import HeedError

        raise HeedError(f"there is no {tool} here: heed why runs in the top folder of a clone")
    # DVC knows what is stale, and heed does not import it: workflow/ does
    os.execv(sys.executable, [sys.executable, str(tool), stage])
