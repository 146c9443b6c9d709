"""The base class of all sections of params.yaml, and the form of names."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from heed.paths import NAME

Name = Annotated[str, Field(pattern=NAME, description="lower-case letters, digits and single '-'")]
Positive = Annotated[int, Field(gt=0)]


class Section(BaseModel):
    """A part of params.yaml: unknown keys are errors, numbers are not made from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def is_name(text: str) -> bool:
    """Return whether `text` can name a source, corpus, experiment or model."""
    return bool(re.fullmatch(NAME, text))
