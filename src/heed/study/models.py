"""The section `models`: the compared variants, each with its changes to `defaults`."""

from typing import Annotated

from pydantic import Field

from heed.hyperparameters import MAX_THREADS
from heed.study.defaults import Overrides
from heed.study.section import FOLLOWS, Name

MAX_GPUS = 1024


class Model(Overrides):
    """A model: a variant of an experiment, with the hyperparameters that differ from `defaults`."""

    experiment: str = Field(description="a key of `experiments`")
    variant: Name = Field(
        "",
        description=(
            "what is compared: baseline, attention, wide (for capacity), or another name; only "
            "where the model is not named EXPERIMENT-VARIANT"
        ),
    )
    tuned_by: str = Field(
        "", description="a key of `searches` whose winner replaces the hyperparameters"
    )
    match: str = Field(
        "", description="of variant wide: the model to whose parameter count it is widened"
    )
    threads: Annotated[int, Field(ge=0, le=MAX_THREADS)] = Field(
        0,
        description=(
            "cores of its trainings: so many seeds are trained at the same time; 0: as many as "
            "the run can spare"
        ),
    )
    gpus: Annotated[int, Field(ge=0, le=MAX_GPUS)] = Field(
        0,
        description=(
            "GPUs of its trainings, which Snakemake counts: so many seeds are trained at the same "
            "time, each on one"
        ),
    )
    corpus: str = Field("", description=FOLLOWS)
    preset: str = Field(
        "",
        description=(
            "hyperparameters that this model takes by a name: of heed's presets (below) or of "
            "`defaults.presets`; its own keys replace them"
        ),
    )
