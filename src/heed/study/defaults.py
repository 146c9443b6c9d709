"""The section `defaults`: the hyperparameters of each task.

Its schema is made from their dataclass, so that the two never differ.
"""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from heed.study.section import Section
from heed.tasks.classification.recipe import Hyperparameters

NAMES = tuple(field.name for field in dataclasses.fields(Hyperparameters))


def _make_fields(hyperparameters: type) -> dict[str, Any]:
    """Return a pydantic field for each field of a dataclass of hyperparameters.

    It has the type with its limits, the default and the description.
    """
    types, fields = get_type_hints(hyperparameters), {}
    for field in dataclasses.fields(hyperparameters):
        limits, type_ = field.metadata["limits"], types[field.name]
        limited = Annotated[type_, Field(**limits)] if limits else type_
        description = field.metadata["description"]
        fields[field.name] = (limited, Field(field.default, description=description))
    return fields


if TYPE_CHECKING:

    class ClassificationDefaults(Section):
        """The hyperparameters of a classification."""

        def __getattr__(self, key: str) -> Any: ...

else:
    ClassificationDefaults = create_model(
        "ClassificationDefaults",
        __base__=Section,
        __doc__=Hyperparameters.__doc__,
        **_make_fields(Hyperparameters),
    )


class Defaults(Section):
    """The hyperparameters of all models that do not set their own, for each task."""

    classification: ClassificationDefaults = Field(
        description="for the models of experiments with task classification"
    )


def _optional(field: FieldInfo) -> Any:
    """Return the field's type with its limits, or None."""
    limits = tuple(field.metadata)
    return (Annotated[(field.annotation, *limits)] if limits else field.annotation) | None  # type: ignore[operator]


# Every hyperparameter as an optional key of a model.
if TYPE_CHECKING:

    class Overrides(Section):
        """The hyperparameters that a model sets itself; None where it does not."""

        def __getattr__(self, key: str) -> Any: ...

else:
    Overrides = create_model(
        "Overrides",
        __base__=Section,
        **{
            key: (_optional(field), None)
            for key, field in ClassificationDefaults.model_fields.items()
        },
    )
