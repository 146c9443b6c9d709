"""heed: does attention help? From raw corpora to a printed report.

What flows, in the order of the stages: `corpora` → `tokens` → `inputs` → `models`, which `search`
and `training` fit as a `recipe` says → `prediction`, `explanation` and `reference_models` →
`evaluation` → `report`.
`study` is what params.yaml asks for, `tasks` what is learned and how it is judged. `cli` has a
command for each stage. Below all of them: `hyperparameters`, `files` (whole or none), `paths`
(where each stage writes), `annotations` (rationale, and links between words), `terminal` (what is
printed), `records` (dataclasses as JSON), `digests` (which program a stage runs) and `pipeline`
(what DVC knows of the results).

Nothing here imports dvc or snakemake: workflow/ does. pyproject.toml says which way imports go.
"""

from pathlib import Path
from typing import Any

__version__ = "0.3.0"
__all__ = ["load_run"]


def load_run(model: str | Path, seed: int | None = None) -> Any:
    """Return a trained run that is ready for texts of one's own, on the CPU (docs/run/python.md).

    A classifier has `predict(texts)` and `weights(texts)`, a translator `translate(texts)` and
    `score(texts, translations)`. `model` is the folder of a run, results/train/MODEL/SEED or a copy
    of it elsewhere; or, with `seed`, a model with runs in results/train. Raises HeedError: there is
    no such run, or it is not whole.
    """
    from heed.files import HeedError
    from heed.paths import RUN, run_folder
    from heed.task import task_module
    from heed.training.run import read_run, read_run_folder

    if seed is None:
        folder = Path(model)
        if not (folder / RUN).is_file():
            raise HeedError(
                f"{folder}: not the folder of a run: there is no {RUN} in it. Give the folder "
                "results/train/MODEL/SEED or a copy of it, or a model's name and a seed"
            )
        run = read_run_folder(folder, "heed train MODEL")
    else:
        folder, run = run_folder(str(model), seed), read_run(str(model), seed)
    return task_module(run.recipe.task, "texts").open_run(run, folder)
