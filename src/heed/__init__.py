"""heed: does attention help? From raw corpora to a printed report.

What flows, in the order of the stages: `corpora` → `tokens` → `inputs` → `models`, which `search`
and `training` fit as a `recipe` says → `prediction`, `explanation` and `opponents` → `evaluation` →
`report`.
`study` is what params.yaml asks for, `tasks` what is learned and how it is judged. `cli` has a
command for each stage. Below all of them: `hyperparameters`, `files` (whole or none), `paths`
(where each stage writes), `links` (between words), `terminal` (what is printed), `records`
(dataclasses as JSON), `seeds` (of params.yaml, where pydantic is not installed), `code` (which
program a stage runs), `fork_client` (commands as forks of one process) and `pipeline` (what DVC
knows of the results).

Nothing here imports dvc or snakemake: workflow/ does. pyproject.toml says which way imports go.
"""

import os
from typing import Any

__version__ = "0.1.0"
__all__ = ["load_run"]


def load_run(model: str, seed: int) -> Any:
    """Return the trained run of a model in results/train/MODEL/SEED, on the CPU; for notebooks.

    A classifier predicts documents of its corpus (`predict`), a translator translates texts
    (`translate`, `score`).
    """
    from heed.tasks import task_module
    from heed.training.run import read_run

    run = read_run(model, seed)
    return task_module(run.recipe.task, "texts").open_run(run)


# a process that a stage has started: a worker of Ray, or one that tokenises
if "HEED_PLANNED" in os.environ:
    from heed.code.guard import guard_child_process

    guard_child_process()
