"""Records: dataclasses written as JSON and read back.

An error names the key that is missing or has a wrong value. Without pydantic, since stages read
records where it is not installed.
"""

import dataclasses
import functools
import math
import operator
import types
import typing
from typing import Any, TypeVar

# Marks a field (`Annotated[…, FLATTENED]`), itself a record or a mapping, whose entries are written
# at the level of the other fields and not below the field's name. When it is read, it gets every
# key that is no field of the record.
FLATTENED = "flattened"

# The limits of a number, by pydantic's names → the test, and how to say it. A field declares them
# as `Annotated[int, {"ge": 0}]`, or a hyperparameter in its metadata.
LIMITS = {
    "gt": (operator.gt, "above"),
    "ge": (operator.ge, "at least"),
    "lt": (operator.lt, "below"),
    "le": (operator.le, "at most"),
}

Record = TypeVar("Record")


def as_json(value: Any) -> Any:
    """Return a record, or a container of records, as JSON; keys in the order of the fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries: dict[str, Any] = {}
        for name, field in _fields(type(value)).items():
            entry = as_json(getattr(value, name))
            entries |= entry if field.is_flattened else {name: entry}
        return entries
    if isinstance(value, dict):
        return {name: as_json(entry) for name, entry in value.items()}
    return [as_json(entry) for entry in value] if isinstance(value, list | tuple) else value


def read_record(kind: type[Record], value: Any, key: str = "", strict: bool = False) -> Record:
    """Return the record of type `kind` in a JSON object; unknown keys are ignored unless `strict`.

    Args:
        kind: a dataclass of numbers, texts, lists, pairs, mappings with names as keys, and other
            records.
        value: the object as `json` reads it.
        key: the object's own key in its file, for the message.
        strict: require every key, also those with a default, and no other key.

    Raises ValueError: a required key is missing or one is unknown, or a value has a wrong type or
    is outside its field's limits.
    """
    entries, fields = _require_type(dict, value, key), _fields(kind)  # type: ignore[arg-type]
    values = {}
    for name, field in fields.items():
        if field.is_flattened:
            rest = {other: entry for other, entry in entries.items() if other not in fields}
            values[name] = _read_value(field.declared, rest, key)
        elif name in entries:
            values[name] = _read_value(field.declared, entries[name], _join_key(key, name))
            _check_limits(values[name], field.limits, _join_key(key, name))
        elif strict or not field.has_default:
            raise ValueError(f"{_join_key(key, name)} is missing")
    if strict and (unknown := entries.keys() - fields.keys()):
        raise ValueError(f"{_join_key(key, min(unknown))} is unknown")
    return kind(**values)


def _check_limits(value: Any, limits: dict[str, float], key: str) -> None:
    """Raise ValueError unless a number with limits is finite and within them."""
    if limits and isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{key} is no finite number: {value}")
    for name, limit in limits.items():
        is_within, text = LIMITS[name]
        if not is_within(value, limit):
            raise ValueError(f"{key} is not {text} {limit:g}: {_abbreviate(value)}")


class _Field(typing.NamedTuple):
    """A field of a record: its type, whether it is FLATTENED or has a default, and its limits."""

    declared: Any
    is_flattened: bool
    limits: dict[str, float]
    has_default: bool


@functools.cache
def _fields(kind: type) -> dict[str, _Field]:
    """Return the fields of a dataclass by name."""
    annotated, plain = typing.get_type_hints(kind, include_extras=True), typing.get_type_hints(kind)
    fields, missing = {}, dataclasses.MISSING
    for field in dataclasses.fields(kind):
        marks = getattr(annotated[field.name], "__metadata__", ())
        declared = (mark for mark in marks if isinstance(mark, dict))
        limits = next(declared, field.metadata.get("limits", {}))
        has_default = field.default is not missing or field.default_factory is not missing
        is_flattened = FLATTENED in marks
        fields[field.name] = _Field(plain[field.name], is_flattened, limits, has_default)
    return fields


def _read_value(kind: Any, value: Any, key: str) -> Any:
    """Return a JSON value as the type that a field declares."""
    if kind is Any or isinstance(kind, TypeVar):
        return value
    outer, inner = typing.get_origin(kind), typing.get_args(kind)
    if outer is typing.Literal:
        if value not in inner:
            raise ValueError(f"{key} is none of {', '.join(map(str, inner))}: {_abbreviate(value)}")
        return value
    if dataclasses.is_dataclass(outer or kind):  # a generic record has its class as its origin
        record: type[Any] = outer or kind
        return read_record(record, value, key)
    if outer in (typing.Union, types.UnionType):
        options = [option for option in inner if option is not types.NoneType]
        is_read = value is None or len(options) > 1  # one of several scalars
        return value if is_read else _read_value(options[0], value, key)
    if outer is dict:
        return {
            name: _read_value(inner[1], entry, _join_key(key, name))
            for name, entry in _require_type(dict, value, key).items()
        }
    if outer is list:
        return [
            _read_value(inner[0], entry, _join_key(key, str(i)))
            for i, entry in enumerate(_require_type(list, value, key))
        ]
    if outer is tuple:
        if len(_require_type(list, value, key)) != len(inner):
            raise ValueError(f"{key} has {len(value)} values, not {len(inner)}")
        return tuple(
            _read_value(*pair, _join_key(key, str(i)))
            for i, pair in enumerate(zip(inner, value, strict=True))
        )
    return _require_type(kind, value, key)


def _require_type(kind: type, value: Any, key: str) -> Any:
    """Return the value. Raises ValueError when it has another type; an int passes as a float.

    An int of more than 64 bits is refused: neither numpy nor torch could hold it.
    """
    if kind is int and isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{key} is no number of 64 bits: {_abbreviate(value)}")
    if isinstance(value, bool) is (kind is bool) and isinstance(
        value, (int, float) if kind is float else kind
    ):
        return value
    raise ValueError(f"{key or 'all of it'} is no {kind.__name__}: {_abbreviate(value)}")


def _join_key(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _abbreviate(value: Any, limit: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
