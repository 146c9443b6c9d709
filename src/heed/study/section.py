"""The base class of all sections of params.yaml, and the form of names."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from heed.hyperparameters import MAX_COUNT, MAX_SEED
from heed.paths import MAX_NAME, NAME

Name = Annotated[
    str,
    Field(
        pattern=NAME, max_length=MAX_NAME, description="lower-case letters, digits and single '-'"
    ),
]
FOLLOWS = "of heed 0.2.0: follows from the rest; leave it out"
Count = Annotated[int, Field(gt=0, le=MAX_COUNT)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]


class Section(BaseModel):
    """A part of params.yaml: unknown keys are errors, numbers are not made from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
