"""The section `defaults`: the hyperparameters of each task.

Its schema is made from their dataclasses, so that the two never differ.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from heed.hyperparameters import Configuration
from heed.study.section import Name, Section, fields_of
from heed.study.tasks import RECIPES


def _make_section(task: str, schema: Any) -> type[Section]:
    """Return the schema of the hyperparameters of a task: of training, and of prediction."""
    section: type[Section] = create_model(
        f"{task.capitalize()}Defaults",
        __base__=Section,
        __doc__=schema.Hyperparameters.__doc__,
        **fields_of(schema.Hyperparameters, schema.Prediction),
    )
    return section


SECTIONS: dict[str, type[Section]] = {
    task: _make_section(task, schema) for task, schema in RECIPES.items()
}
# The names of each task's hyperparameters, and those of all tasks.
NAMES_BY_TASK = {task: tuple(section.model_fields) for task, section in SECTIONS.items()}
NAMES = tuple(dict.fromkeys(name for names in NAMES_BY_TASK.values() for name in names))


def _optional(fields: list[FieldInfo]) -> Any:
    """Return the type of a hyperparameter, or None: of tasks that share its name, of any."""
    types = [field.annotation for field in fields]
    if all(get_origin(type_) is Literal for type_ in types):
        values = dict.fromkeys(value for type_ in types for value in get_args(type_))
        return Literal[tuple(values)] | None
    assert len({*types}) == 1, types
    is_shared = all(field.metadata == fields[0].metadata for field in fields)
    limits = tuple(fields[0].metadata) if is_shared else ()
    return (Annotated[(types[0], *limits)] if limits else types[0]) | None  # type: ignore[operator]


class _Overriding(Section):
    """Some hyperparameters of any task, as a model or a preset sets them; None where it does not.

    What is allowed in one task is a rule (model_rules.py, preset_rules.py).
    """

    def overrides(self) -> Configuration:
        """Return the hyperparameters that are set here."""
        return {key: value for key in NAMES if (value := getattr(self, key)) is not None}


if TYPE_CHECKING:

    class Overrides(_Overriding):
        """Some hyperparameters of any task."""

        def __getattr__(self, key: str) -> Any: ...

    class Defaults(Section):
        """The hyperparameters of all models that do not set their own, for each task."""

        presets: dict[Name, Overrides]

        def __getattr__(self, key: str) -> Any: ...

else:
    Overrides = create_model(
        "Overrides",
        __base__=_Overriding,
        **{
            name: (
                _optional(
                    [
                        section.model_fields[name]
                        for section in SECTIONS.values()
                        if name in section.model_fields
                    ]
                ),
                None,
            )
            for name in NAMES
        },
    )
    Defaults = create_model(
        "Defaults",
        __base__=Section,
        __doc__="The hyperparameters of all models that do not set their own, for each task.",
        **{
            task: (
                section,
                Field(section(), description=f"for the models of experiments with task {task}"),
            )
            for task, section in SECTIONS.items()
        },
        presets=(
            dict[Name, Overrides],
            Field({}, description="hyperparameters under a name, for the models that name it"),
        ),
    )
