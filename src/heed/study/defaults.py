"""The section `defaults`: the hyperparameters of each task, its schema made from their dataclass,
so that the two never differ.
"""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from heed.study.section import Section
from heed.tasks.classification.recipe import Hyperparameters

NAMES = tuple(field.name for field in dataclasses.fields(Hyperparameters))


def _schema_of(declared: type) -> dict[str, Any]:
    """Return, for each field of a dataclass of hyperparameters, its type with its limits, and its
    default and meaning.
    """
    hints, schema = get_type_hints(declared), {}
    for field in dataclasses.fields(declared):
        about = field.metadata
        limited = (
            Annotated[hints[field.name], Field(**about["limits"])]
            if about["limits"]
            else hints[field.name]
        )
        schema[field.name] = (limited, Field(field.default, description=about["description"]))
    return schema


# The schema of the hyperparameters of each task, made from its dataclass: written in one place.
if TYPE_CHECKING:

    class ClassificationDefaults(Section):
        """The hyperparameters of a classification."""

        def __getattr__(self, key: str) -> Any: ...

else:
    ClassificationDefaults = create_model(
        "ClassificationDefaults",
        __base__=Section,
        __doc__=Hyperparameters.__doc__,
        **_schema_of(Hyperparameters),
    )


class Defaults(Section):
    """The hyperparameters that a model has where it says nothing else, for each task."""

    classification: ClassificationDefaults = Field(
        description="of models whose experiment is a classification"
    )


def _optional(field: FieldInfo) -> Any:
    """Return the field's type with its limits, or None."""
    limits = tuple(field.metadata)
    return (Annotated[(field.annotation, *limits)] if limits else field.annotation) | None  # type: ignore[operator]


# Every hyperparameter once more, optional: written in one place, so that the two can never differ.
if TYPE_CHECKING:

    class Overrides(Section):
        """Every hyperparameter, or none."""

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
