"""The base of all sections of params.yaml, and what each task says of its own: hyperparameters."""

import dataclasses
import difflib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    create_model,
)
from pydantic.fields import FieldInfo

from heed.hyperparameters import MAX_COUNT, MAX_SEED, Configuration, Preset
from heed.paths import MAX_NAME, NAME
from heed.task import part_modules, task_module, task_names

Name = Annotated[
    str,
    Field(
        pattern=NAME, max_length=MAX_NAME, description="lower-case letters, digits and single '-'"
    ),
]
Fields = dict[str, Any]  # the type and the default of each, as create_model takes them
FOLLOWS = "of heed 0.2.0: follows from the rest; leave it out"
Count = Annotated[int, Field(gt=0, le=MAX_COUNT)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
# The part `recipe` of each task, as heed/task/interface.py describes it.
RECIPES: dict[str, ModuleType] = {task: task_module(task, "recipe") for task in task_names()}
# heed's own presets: task → name → preset
PRESETS: dict[str, dict[str, Preset]] = {
    task: task_module(task, "presets").PRESETS if part_modules(task, "presets") else {}
    for task in task_names()
}


def rules_of(task: str) -> Any:
    """Return the part `rules` of a task; imported when it is asked for, since it imports this."""
    return task_module(task, "rules")


def task_of_labels(has_several: bool) -> str:
    """Return the task that learns a label of which a document has one class, or several."""
    number = "several" if has_several else "one"
    return next(task for task in task_names() if number == rules_of(task).LABELS)


def suggest(name: str, known_names: Iterable[str]) -> str:
    """Return `; did you mean …?`, or a full stop when no known name is similar."""
    similar = most_similar(name, known_names)
    return f"; did you mean {similar}?" if similar else "."


def most_similar(name: str, known_names: Iterable[str]) -> str:
    """Return the known name that is most similar to this one, or "" when none is similar."""
    return next(iter(difflib.get_close_matches(name, list(known_names), n=1, cutoff=0.5)), "")


def unknown_name(name: str, kind: str, known_names: Iterable[str]) -> str:
    """Return the message that there is no `kind` (experiment, model, …) with this name."""
    suggestion = suggest(name, known_names)
    return f"there is no {kind} {name}{suggestion} Known: {', '.join(known_names)}"


class Section(BaseModel):
    """A part of params.yaml: unknown keys are errors, numbers are not made from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def fields_of(*declarations: type, **types: Any) -> Fields:
    """Return a pydantic field for each described field of dataclasses (heed.hyperparameters).

    It has the type with its limits, or that in `types`, the default and the description.
    """
    fields = {}
    for declaration in declarations:
        declared = get_type_hints(declaration, include_extras=True) | types
        for field in dataclasses.fields(declaration):
            if "description" not in field.metadata:  # of another section
                continue
            limits, type_ = field.metadata["limits"], declared[field.name]
            limited = Annotated[type_, Field(**limits)] if limits else type_
            default = field.default
            if field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            elif default is dataclasses.MISSING:
                default = ...
            described = Field(default, description=field.metadata["description"])
            fields[field.name] = (limited, described)
    return fields


def make_section(declaration: type, *others: type, name: str = "", **types: Any) -> type[Section]:
    """Return the schema of a section that is declared by dataclasses, as `fields_of` reads them."""
    section: type[Section] = create_model(
        name or declaration.__name__,
        __base__=Section,
        __doc__=declaration.__doc__,
        **fields_of(declaration, *others, **types),
    )
    return section


def values_of(section: Section, declaration: Any, **others: Any) -> Any:
    """Return a dataclass with the values that a section has of its fields; `others` are given."""
    names = {field.name for field in dataclasses.fields(declaration)} - others.keys()
    return declaration(**{name: getattr(section, name) for name in names}, **others)


@dataclasses.dataclass(frozen=True)
class Reads:
    """Marks a plain type (`Annotated[Source, Reads(…)]`) that pydantic reads by another's schema.

    `read` makes the value of the section, and raises ValueError where its keys contradict.
    """

    section: type[Section]
    read: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return pydantic's schema."""
        return AfterValidator(self.read).__get_pydantic_core_schema__(self.section, handler)


def reads(
    section: type[Section], declaration: type, check: Callable[[Any], Any] | None = None
) -> Reads:
    """Return the mark of a dataclass that is read by the schema of a section, and checked."""

    def read(values: Section) -> Any:
        made = values_of(values, declaration)
        return check(made) if check else made

    return Reads(section, read)


# The hyperparameters of each task: of training, and of prediction.
SECTIONS: dict[str, type[Section]] = {
    task: make_section(
        schema.Hyperparameters, schema.Prediction, name=f"{task.capitalize()}Defaults"
    )
    for task, schema in RECIPES.items()
}
# The names of each task's hyperparameters, and those of all tasks.
NAMES_BY_TASK = {task: tuple(section.model_fields) for task, section in SECTIONS.items()}
NAMES = tuple(dict.fromkeys(name for names in NAMES_BY_TASK.values() for name in names))


def _optional(name: str) -> tuple[Any, None]:
    """Return the type of a hyperparameter, or None: of tasks that share its name, of any."""
    fields: list[FieldInfo] = [
        section.model_fields[name] for section in SECTIONS.values() if name in section.model_fields
    ]
    types = [field.annotation for field in fields]
    if all(get_origin(type_) is Literal for type_ in types):
        values = dict.fromkeys(value for type_ in types for value in get_args(type_))
        return Literal[tuple(values)] | None, None
    assert len({*types}) == 1, types
    is_shared = all(field.metadata == fields[0].metadata for field in fields)
    limits = tuple(fields[0].metadata) if is_shared else ()
    limited = Annotated[(types[0], *limits)] if limits else types[0]
    return limited | None, None  # type: ignore[operator]


# Some hyperparameters of any task, as a model or a preset sets them; None where it does not. The
# rules say which are allowed in one task.
OVERRIDES: Fields = {name: _optional(name) for name in NAMES}


def overrides_of(section: Section) -> Configuration:
    """Return the hyperparameters that a section sets."""
    return {key: value for key in NAMES if (value := getattr(section, key)) is not None}


@dataclasses.dataclass(frozen=True)
class Defaults:
    """The hyperparameters of all models that do not set their own, for each task."""

    values: dict[str, Configuration]  # by task
    presets: dict[str, Configuration]


def _read_defaults(section: Any) -> Defaults:
    values = {task: getattr(section, task).model_dump() for task in SECTIONS}
    return Defaults(values, section.presets)


PRESET = create_model("Overrides", __base__=Section, **OVERRIDES)
_FIELDS: Fields = {
    task: (
        section,
        Field(section(), description=f"for the models of experiments with task {task}"),
    )
    for task, section in SECTIONS.items()
}
_FIELDS["presets"] = (
    dict[Name, Annotated[Configuration, Reads(PRESET, overrides_of)]],
    Field({}, description="hyperparameters under a name, for the models that name it"),
)
DEFAULTS = create_model("Defaults", __base__=Section, __doc__=Defaults.__doc__, **_FIELDS)
AnyDefaults = Annotated[Defaults, Reads(DEFAULTS, _read_defaults)]
