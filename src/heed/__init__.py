"""heed: does attention help? From raw corpora to a printed report."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heed.training.run import Run

__version__ = "0.1.0"
__all__ = ["load_run"]


def load_run(path: str) -> "Run":
    """Return the trained run in folder `path` (results/train/MODEL/SEED), ready to predict; for notebooks."""
    from heed.training.run import load_run as load

    return load(path)


if "HEED_PLANNED" in os.environ:  # a process that a stage has started: a worker of Ray, or one that tokenises
    from heed.guard import join

    join()
