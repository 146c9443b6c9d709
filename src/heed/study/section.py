"""The base class of all sections of params.yaml, and the form of names."""

import dataclasses
from typing import Annotated, Any, get_type_hints

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


def fields_of(*declarations: type) -> dict[str, Any]:
    """Return a pydantic field for each described field of dataclasses (heed.hyperparameters).

    It has the type with its limits, the default and the description.
    """
    fields = {}
    for declaration in declarations:
        types = get_type_hints(declaration)
        for field in dataclasses.fields(declaration):
            if "description" not in field.metadata:  # of another section
                continue
            limits, type_ = field.metadata["limits"], types[field.name]
            limited = Annotated[type_, Field(**limits)] if limits else type_
            default = field.default
            if field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            elif default is dataclasses.MISSING:
                default = ...
            described = Field(default, description=field.metadata["description"])
            fields[field.name] = (limited, described)
    return fields
