"""Records: dataclasses as JSON and back.

What a file lacks, or holds in another form, is named by its key.

Without pydantic, since stages read records where it is not installed.
"""

import dataclasses
import functools
import types
import typing
from typing import Any, TypeVar

NOTHING = type(None)
# Marks a field (`Annotated[…, BESIDE]`) whose entries stand, in the file, beside the fields of its
# record and not below a key of their own. It is a record itself, or a mapping: when it is read, it
# gets every key that is no field of its record.
BESIDE = "beside"

Record = TypeVar("Record")


def as_json(value: Any) -> Any:
    """Return a record, or what holds records, as JSON has it; keys in the order of the fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries: dict[str, Any] = {}
        for name, (_, is_beside) in _fields(type(value)).items():
            entry = as_json(getattr(value, name))
            entries |= entry if is_beside else {name: entry}
        return entries
    if isinstance(value, dict):
        return {name: as_json(entry) for name, entry in value.items()}
    return [as_json(entry) for entry in value] if isinstance(value, list | tuple) else value


def read_record(kind: type[Record], value: Any, key: str = "", whole: bool = False) -> Record:
    """Return the record of type `kind` that a JSON object holds; keys that it does not know are
    passed over.

    Args:
        kind: a dataclass of numbers, texts, lists, pairs, mappings with names as keys, and other
            records.
        value: the object as `json` reads it.
        key: where it stands in its file, for the message.
        whole: defaults do not count: every key must be there, and no other.

    Raises:
        ValueError: a key without a default is missing, or its value has another form.

    """
    entries, fields, read = _of(dict, value, key), _fields(kind), {}  # type: ignore[arg-type]
    for name, (declared, is_beside) in fields.items():
        if is_beside:
            rest = {other: entry for other, entry in entries.items() if other not in fields}
            read[name] = _value(declared, rest, key)
        elif name in entries:
            read[name] = _value(declared, entries[name], _below(key, name))
        elif whole or not hasattr(kind, name):  # a default is an attribute of the class
            raise ValueError(f"{_below(key, name)} is missing")
    if whole and (others := entries.keys() - fields.keys()):
        raise ValueError(f"{_below(key, min(others))} is unknown")
    return kind(**read)


@functools.cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return the fields of a dataclass in order, each with its type and whether it is BESIDE."""
    declared = typing.get_type_hints(kind, include_extras=True)
    marks = {
        field.name: getattr(declared[field.name], "__metadata__", ())
        for field in dataclasses.fields(kind)
    }
    plain = typing.get_type_hints(kind)
    return {name: (plain[name], BESIDE in mark) for name, mark in marks.items()}


def _value(kind: Any, value: Any, key: str) -> Any:
    """Return a JSON value as what a field declares."""
    if kind is Any or isinstance(kind, TypeVar):
        return value
    if typing.get_origin(kind) is typing.Literal:
        if value not in typing.get_args(kind):
            raise ValueError(
                f"{key} is none of {', '.join(map(str, typing.get_args(kind)))}: {_short(value)}"
            )
        return value
    outer, inner = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(outer or kind):  # a generic record has its class as its origin
        record: type[Any] = outer or kind
        return read_record(record, value, key)
    if outer in (typing.Union, types.UnionType):
        (given,) = (each for each in inner if each is not NOTHING)
        return None if value is None else _value(given, value, key)
    if outer is dict:
        return {
            name: _value(inner[1], entry, _below(key, name))
            for name, entry in _of(dict, value, key).items()
        }
    if outer is list:
        return [
            _value(inner[0], entry, _below(key, str(i)))
            for i, entry in enumerate(_of(list, value, key))
        ]
    if outer is tuple:
        if len(_of(list, value, key)) != len(inner):
            raise ValueError(f"{key} has {len(value)} values, not {len(inner)}")
        return tuple(
            _value(*each, _below(key, str(i)))
            for i, each in enumerate(zip(inner, value, strict=True))
        )
    return _of(kind, value, key)


def _of(kind: type, value: Any, key: str) -> Any:
    """Return a value that is of this type; a whole number is a float too, and a truth value is no
    number.
    """
    if isinstance(value, bool) is (kind is bool) and isinstance(
        value, (int, float) if kind is float else kind
    ):
        return value
    raise ValueError(f"{key or 'all of it'} is no {kind.__name__}: {_short(value)}")


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _short(value: Any, most: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"
