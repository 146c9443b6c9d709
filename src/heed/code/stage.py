"""The stage of DVC that runs a command, by DVC's environment variable DVC_STAGE.

dvc.yaml has no name of params.yaml in a command: a shell would read the name before heed has
checked it. So a stage's command is `heed train`, and its arguments are in the stage's name.
"""

import os
from collections.abc import Mapping

from heed.files import HeedError
from heed.paths import is_name

VARIABLE = "DVC_STAGE"


def running_stage(environment: Mapping[str, str] = os.environ) -> str:
    """Return DVC's name of the stage whose command this process is, such as train@imdb-mean-1.

    It is empty for a command that a person runs.
    """
    # DVC adds the path of dvc.yaml where it was started in a subfolder
    return environment.get(VARIABLE, "").rpartition("dvc.yaml:")[2]


def stage_arguments(command: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the arguments of `heed COMMAND` as the running stage's command.

    For the stage train@imdb-mean-1 and `heed train` they are imdb-mean --seed 1. There are none
    where no stage runs, or the stage of another command.

    Raises HeedError: the stage has a name that params.yaml may not have.
    """
    stage = running_stage(environment)
    group, _, key = stage.partition("@")
    if group != command or not key:
        return []
    name, _, seed = key.rpartition("-") if command == "train" else (key, "", "1")
    if not is_name(name) or not seed.isdecimal():
        raise HeedError(
            f"stage {stage!r}: names have lower-case letters, digits and single '-', and seeds are "
            "whole numbers. `heed check` says which name in params.yaml is wrong"
        )
    return [name, "--seed", seed] if command == "train" else [name]
