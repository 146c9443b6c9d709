"""Generate docs/params.md and docs/params.schema.json from the sections (`heed schema`)."""

import dataclasses
import inspect
import itertools
import re
from collections.abc import Mapping
from io import StringIO
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from heed.corpora.declared import Split
from heed.explanation.declared import AdversarialAttention, Explain, ExplainedModel
from heed.hyperparameters.pretrained import Encoder, Pretrained
from heed.records import FOLLOWS, UNIONS, OneOf, keys_of, limits_of, marks_of, plain_type
from heed.study.corpora import AnyCorpus, AnySource
from heed.study.experiments import (
    EXPERIMENTS,
    Dimension,
    ExpectedResult,
    Published,
    Search,
    Study,
    TrainingSection,
)
from heed.study.schema import AnyParams, Model
from heed.study.section import PRESETS, RECIPES, SECTIONS

Schema = dict[str, Any]
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
# the limits of a value → their names in a JSON schema, for text, for lists and for numbers
LIMITS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
VISIBLE = r"\S"  # a text with a visible sign, or nearly: `heed check` knows more that have none
LENGTHS = {
    "string": {"pattern": "pattern", "min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
}


def json_schema() -> Schema:
    """Return the JSON schema of params.yaml, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "heed params.yaml",
        **_schema(AnyParams, {}),
    }


def _schema(kind: Any, limits: Mapping[str, object]) -> Schema:
    for one_of in marks_of(kind, OneOf):
        return {"oneOf": [_schema(each, {}) for each in one_of.kinds.values()]}
    plain, limits = plain_type(kind), limits_of(kind) | {**limits}
    outer, inner = get_origin(plain) or plain, get_args(plain)
    choices: Any = inner if outer is Literal else limits.get("choices")
    if choices:
        return {"enum": [*choices]}
    if outer in UNIONS:
        options = [_schema(each, limits) for each in inner if each is not NoneType]
        return {"anyOf": options} if len(options) > 1 else options[0]
    if outer is dict:
        names, values = (_schema(each, {}) for each in inner)
        return {"type": "object", "propertyNames": names, "additionalProperties": values}
    if dataclasses.is_dataclass(outer):
        return _schema_of_record(kind)
    schema: Schema = {"type": TYPES[outer]}
    if outer is list:
        schema["items"] = _schema(inner[0], {})
        schema |= {"uniqueItems": True} if plain_type(inner[0]) is str else {}
    if outer is str and not {"pattern", "blank"} & {*limits}:
        schema["pattern"] = VISIBLE
    if least := limits.get("or_zero"):
        schema |= {"minimum": 0, "not": {"exclusiveMinimum": 0, "exclusiveMaximum": least}}
    names_of = LENGTHS.get(schema["type"], LIMITS)
    return schema | {names_of[name]: limits[name] for name in names_of if name in limits}


def _schema_of_record(kind: Any) -> Schema:
    """Return the JSON schema of a record; a model has the hyperparameters of any task."""
    keys, properties = keys_of(kind), {}
    for name, field in keys.items():
        # a text that is empty by default may be so
        limits = {**field.limits} | ({"blank": True} if field.default == "" else {})
        described = {"description": field.description} if field.description else {}
        properties[name] = _schema(field.declared, limits) | described
    if kind is Model:
        sections = [_schema_of_record(each)["properties"] for each in SECTIONS.values()]
        for name in dict.fromkeys(itertools.chain(*sections)):
            properties[name] = {"anyOf": [each[name] for each in sections if name in each]}
    return {
        "type": "object",
        "description": inspect.getdoc(plain_type(kind)),
        "properties": properties,
        "required": [key for key, field in keys.items() if field.default is dataclasses.MISSING],
        "additionalProperties": False,
    }


INTRODUCTION = """\
# params.yaml

Generated from `src/heed/study/` by `heed schema`; a test fails when they differ.
Add `# yaml-language-server: $schema=docs/params.schema.json` at the top for completion in editors.

`seeds`: a list of whole numbers from 1; every model is trained once with each.
"""
OF_MODELS = """
and any key of `defaults` of its task, for this model alone. Two commands write models: \
[commands.md](commands.md#write-a-model).

## Presets

Hyperparameters under a name. A model with `preset: NAME` has the values of `defaults` of its \
task, replaced by those of the preset, and these by the keys of its own line and by the winner of \
its search. The control `parameter-matched` has the preset of the model in `match_parameters_of`.

`defaults.presets.NAME` is a preset of the study, with any keys of `defaults` of the task of its \
models. heed's own are:

| task | preset | for | values |
|---|---|---|---|
"""


def reference() -> str:
    """Return docs/params.md: every key with its type, default and meaning."""
    text = StringIO()
    text.write(INTRODUCTION)
    known: dict[str, dict[str, str]] = {}  # rows by title
    first, *later = EXPERIMENTS
    for title, kind in _titles().items():
        section = plain_type(kind)
        text.write(f"\n## {title}\n\n{inspect.getdoc(section)}\n\n")
        rows = _rows(kind)
        of_first = known.get(re.sub("|".join(later), first, title), {})
        if same := [key for key, row in rows.items() if of_first.get(key) == row]:
            text.write(f"As of task {first}: {', '.join(f'`{key}`' for key in same)}.\n\n")
        known[title] = rows
        rows = {key: row for key, row in rows.items() if key not in same}
        if rows:
            text.write("| key | type | default | meaning |\n|---|---|---|---|\n")
            text.writelines(rows.values())
        if section is Model:
            text.write(OF_MODELS)
            for task, presets in PRESETS.items():
                for name, preset in presets.items():
                    pairs = preset.values.items()
                    values = ", ".join(f"{key}: {_format_value(value)}" for key, value in pairs)
                    text.write(f"| {task} | `{name}` | {preset.description} | `{values}` |\n")
    return text.getvalue()


def _rows(kind: Any) -> dict[str, str]:
    """Return the rows of a section's table by key."""
    rows = {}
    for name, field in keys_of(kind).items():
        if field.description != FOLLOWS:
            type_ = _format_type(_schema(field.declared, field.limits))
            default = _format_default(field.default)
            rows[name] = f"| `{name}` | {type_} | {default} | {field.description} |\n"
    return rows


def _titles() -> Mapping[str, Any]:
    titles: Schema = {"study": Study, "sources.NAME": AnySource, "corpora.NAME": AnyCorpus}
    titles["corpora.NAME.split"] = Split
    for task, experiment in EXPERIMENTS.items():
        titles[f"experiments.NAME (task {task})"] = experiment
        titles[f"experiments.NAME.data (task {task})"] = RECIPES[task].Target
    return titles | {
        "experiments.NAME.published": Published,
        "experiments.NAME.expected_results (a list)": ExpectedResult,
        "searches.NAME, later_searches.NAME": Search,
        "searches.NAME.space.HYPERPARAMETER": Dimension,
        **{f"defaults.{task}": section for task, section in SECTIONS.items()},
        "models.NAME": Model,
        "training": TrainingSection,
        "explain": Explain,
        "explain.models.NAME": ExplainedModel,
        "adversarial_attention.NAME": AdversarialAttention,
        "encoders.NAME": Encoder,
        "pretrained.CORPUS": Pretrained,
    }


def _format_default(default: object) -> str:
    if default is dataclasses.MISSING:
        return "required"
    return "" if default is None else f"`{_format_value(default)}`"


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_type(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(map(_format_type, schema["anyOf"]))
    if "properties" in schema:
        return "section"
    if "not" in schema:
        schema = schema | {"minimum": schema["not"]["exclusiveMaximum"], "type": "number 0 or"}
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    limits = [
        f"{sign} {schema[key]}" for name, sign in signs.items() if (key := LIMITS[name]) in schema
    ]
    return " ".join([schema["type"], *limits])
