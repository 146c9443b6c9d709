"""Records: dataclasses written as JSON, and read from JSON and YAML by types and limits."""

import dataclasses
import difflib
import functools
import math
import operator
import re
import reprlib
import typing
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from types import FunctionType, MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

# Marks a field (`Annotated[…, FLATTENED]`), a record or a mapping, whose entries are written at the
# level of the other fields. A mapping gets every key that is not a field of the record.
FLATTENED = "flattened"
OMITTED = "omitted"  # marks a field that is not written where it has its default

MARKS = FLATTENED, OMITTED
FOLLOWS = "follows from the rest; leave it out"  # describes such a key

# Controls, invisible marks such as zero-width spaces, and white space, by Unicode's categories;
# letters and a symbol that have no sign: fillers of Hangul, and Braille without a dot.
INVISIBLE, BLANKS = ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs"), "\u115f\u1160\u2800\u3164\uffa0"


def is_visible(text: str) -> bool:
    """Return whether a text has a sign that is seen."""
    return any(unicodedata.category(sign) not in INVISIBLE and sign not in BLANKS for sign in text)


# The limits of a value → the test, and how to say it. A field declares them as
# `Annotated[int, {"ge": 0}]`, or a hyperparameter in its metadata. `expected` says them otherwise.
# A text of params.yaml has a visible sign, but where its limit is `blank` or its default is "".
LIMITS = {
    "gt": (operator.gt, "above"), "ge": (operator.ge, "at least"), "lt": (operator.lt, "below"),
    "le": (operator.le, "at most"),
    "or_zero": (lambda value, least: value == 0 or value >= least, "0 or at least"),
    "min_length": (lambda value, length: len(value) >= length, "of length at least"),
    "max_length": (lambda value, length: len(value) <= length, "of length at most"),
    "pattern": (lambda value, pattern: re.fullmatch(pattern, value), "of the form"),
    "choices": (lambda value, names: value in names, "one of"),
    "visible": (lambda value, _: is_visible(value), "with"),
}  # fmt: skip
NOUNS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list",
    tuple: "a list", dict: "keys with values", NoneType: "nothing",
}  # fmt: skip
UNIONS = (typing.Union, UnionType)
VISIBLE = {"visible": "a visible sign"}
MISSES = "missing, and it has no default"
SHOWN = reprlib.Repr()  # of a wrong value, which may hold itself
SHOWN.maxlevel, SHOWN.maxstring, SHOWN.maxother = 2, 60, 60

Record = TypeVar("Record")
Key = tuple[str, ...]
Mistake = tuple[Key, str]


class Limits(dict[str, object]):
    """Limits as a mark of a type that a union may have, for which it is hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class Types(Limits):
    """Marks a record with the types of fields that its declaration cannot name."""


class OneOf(NamedTuple):
    """Marks a record that has one of several types, named by the value of one of its keys."""

    key: str
    kinds: Mapping[str, Any]


class RecordError(ValueError):
    """The mistakes in a record: the key and a message of each. Its text is the first."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        key, text = mistakes[0]
        super().__init__(": ".join([*filter(None, [".".join(key)]), text]))
        self.mistakes = mistakes


def suggest(name: str, known_names: Iterable[str]) -> str:
    """Return `; did you mean …?`, or a full stop when no known name is similar."""
    similar = difflib.get_close_matches(name, list(known_names), n=1, cutoff=0.5)
    return f"; did you mean {similar[0]}?" if similar else "."


def unknown_name(name: str, kind: str, known_names: Iterable[str]) -> str:
    """Return the message that there is no `kind` (experiment, model, …) with this name."""
    known = ", ".join(known_names) or "none"
    return f"there is no {kind} {name}{suggest(name, known_names)} Known: {known}"


def as_json(value: Any) -> Any:
    """Return a record, or a container of records, as JSON; keys in the order of the fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _record_as_json(value)
    if isinstance(value, dict):
        return {name: as_json(entry) for name, entry in value.items()}
    return [as_json(entry) for entry in value] if isinstance(value, list | tuple) else value


def _record_as_json(record: Any) -> dict[str, object]:
    entries: dict[str, object] = {}
    kind: type = type(record)
    for name, field in fields_of(kind).items():
        value = getattr(record, name)
        if not (field.is_omitted and value == field.default):
            entries |= as_json(value) if field.is_flattened else {name: as_json(value)}
    return entries


def read_record(kind: type[Record], value: Any, key: str = "", strict: bool = False) -> Record:
    """Return the record in a JSON object: a dataclass of scalars, lists, mappings and records.

    `key` is the object's own, for messages. Unknown keys are ignored; with `strict` there must be
    every key that is always written, also those with a default, and no other. Raises RecordError
    with all mistakes.
    """
    record: Record = _Reader(strict, strict).read_all(kind, value, (key,) if key else ())
    return record


def read_section(kind: Any, value: Any, key: Key = ()) -> Any:
    """Return a section of params.yaml, without unknown keys. Raises RecordError."""
    return _Reader(True, False).read_all(kind, value, key)


class Field(NamedTuple):
    """A field of a record: its type with its marks, its default or MISSING, and its limits."""

    declared: Any
    default: Any
    limits: Mapping[str, Any]
    description: str
    is_flattened: bool
    is_omitted: bool


@functools.cache
def fields_of(kind: type) -> dict[str, Field]:
    """Return the fields of a dataclass by name."""
    declared = typing.get_type_hints(kind, include_extras=True)
    return {
        field.name: Field(
            declared[field.name],
            field.default if field.default_factory is MISSING else field.default_factory(),
            field.metadata.get("limits", {}),
            field.metadata.get("description") or "",
            *(mark in getattr(declared[field.name], "__metadata__", ()) for mark in MARKS),
        )
        for field in dataclasses.fields(kind)
    }


def marks_of(kind: Any, mark: type) -> list[Any]:
    """Return the marks of a type that are instances of a class."""
    return [item for item in getattr(kind, "__metadata__", ()) if isinstance(item, mark)]


def plain_type(kind: Any) -> Any:
    """Return a type without its marks."""
    return get_args(kind)[0] if hasattr(kind, "__metadata__") else kind


def limits_of(kind: Any) -> dict[str, object]:
    """Return the limits that mark a type."""
    marks = [mark for mark in marks_of(kind, dict) if not isinstance(mark, Types)]
    return {name: limit for mark in marks for name, limit in mark.items()}


def types_of(kind: Any) -> Mapping[str, Any]:
    """Return the types that mark a record, by field."""
    return next(iter(marks_of(kind, Types)), {})


@functools.cache
def keys_of(kind: Any) -> dict[str, Field]:
    """Return the fields of a record by key, a flattened record's in their places."""
    keys: dict[str, Field] = {}
    for name, field in fields_of(get_origin(plain_type(kind)) or plain_type(kind)).items():
        declared = types_of(kind).get(name, field.declared)
        if not field.is_flattened:
            keys[name] = field._replace(declared=declared)
        elif dataclasses.is_dataclass(plain_type(declared)):
            keys |= keys_of(declared)
    return keys


@dataclasses.dataclass
class _Reader:
    """Reads records, and notes mistakes; after a mistake what is returned is of no use."""

    forbids_unknown: bool
    needs_all: bool
    mistakes: list[Mistake] = dataclasses.field(default_factory=list)

    @property
    def is_section(self) -> bool:
        """Whether a person has written it: a list has each name once, a text has a visible sign."""
        return self.forbids_unknown and not self.needs_all

    def read_all(self, kind: Any, value: Any, key: Key) -> Any:
        record = self.read(kind, value, key)
        if self.mistakes:
            raise RecordError(self.mistakes)
        return record

    def read(
        self, kind: Any, value: Any, key: Key, further: Mapping[str, Any] = MappingProxyType({})
    ) -> Any:
        """Return a JSON value as a type with its marks, within these and `further` limits."""
        for one_of in marks_of(kind, OneOf):
            if isinstance(value, dict):
                return self._read_one_of(one_of, value, key)
        limits, found = limits_of(kind) | {**further}, len(self.mistakes)
        read = self._read_plain(kind, value, key, limits)
        is_text = self.is_section and isinstance(value, str) and not limits.get("blank")
        if is_text and not is_visible(value):
            limits |= VISIBLE
        if value is None or len(self.mistakes) > found:
            return read
        if not _is_within(value, limits):
            return self._note(key, kind, value, limits)
        try:
            for check in marks_of(kind, FunctionType):
                check(read)
        except ValueError as error:
            self.mistakes.append((key, str(error)))
        return read

    def _read_plain(self, kind: Any, value: Any, key: Key, limits: Mapping[str, Any]) -> Any:
        plain = plain_type(kind)
        outer, inner = get_origin(plain) or plain, get_args(plain)
        options = [option for option in inner if option is not NoneType]
        if outer in UNIONS and len(options) == 1:
            return None if value is None else self.read(options[0], value, key, limits)
        if not _has_type(plain, value):
            return self._note(key, kind, value, limits)
        if dataclasses.is_dataclass(outer):
            return self._read_fields(kind, value, key)
        if outer is dict:
            return self._read_mapping(inner, value, key)
        if outer in (list, tuple):
            return self._read_list(outer, inner, value, key)
        return float(value) if plain is float else value

    def _read_mapping(self, inner: tuple[Any, ...], value: dict[Any, Any], key: Key) -> Any:
        keys = {name: (*key, str(name)) for name in value}
        return {
            self.read(inner[0], name, keys[name]): self.read(inner[1], entry, keys[name])
            for name, entry in value.items()
        }

    def _read_list(self, outer: Any, inner: tuple[Any, ...], value: list[Any], key: Key) -> Any:
        kinds = inner if outer is tuple else [inner[0]] * len(value)
        names = Counter(text for text in value if text and isinstance(text, str))
        twice = [name for name, count in names.items() if count > 1]
        if self.is_section and twice:
            self.mistakes.append((key, f"each name once, found twice: {', '.join(twice)}"))
        pairs = enumerate(zip(kinds, value, strict=True))
        return outer(self.read(kind, entry, (*key, str(i))) for i, (kind, entry) in pairs)

    def _read_one_of(self, one_of: OneOf, value: dict[str, object], key: Key) -> Any:
        if one_of.key not in value:
            return self.mistakes.append(((*key, one_of.key), MISSES))
        name = value[one_of.key]
        if not isinstance(name, str) or name not in one_of.kinds:
            return self._note((*key, one_of.key), str, name, {"choices": tuple(one_of.kinds)})
        return self.read(one_of.kinds[name], value, key)

    def _read_fields(self, kind: Any, value: dict[str, object], key: Key) -> Any:
        """Return a record. A key that is missing only by a misspelling is not a second mistake."""
        plain, values = get_origin(plain_type(kind)) or plain_type(kind), {}
        rest = {name: entry for name, entry in value.items() if name not in keys_of(kind)}
        unknown = [*map(str, rest)] if self.forbids_unknown else []
        for name, field in fields_of(plain).items():
            declared = types_of(kind).get(name, field.declared)
            if not field.is_flattened:
                if name in value:
                    values[name] = self._read_field(declared, value[name], (*key, name), field)
            elif dataclasses.is_dataclass(plain_type(declared)):
                part = {name: value[name] for name in keys_of(declared) if name in value}
                values[name] = self.read(declared, part, key)
            else:
                values[name], unknown = self.read(declared, rest, key), []
        missing = self._missing(plain, values)
        self._note_keys(kind, key, unknown, missing)
        return None if missing else plain(**values)

    def _read_field(self, declared: Any, value: Any, key: Key, field: Field) -> Any:
        is_empty = value == field.default == ""
        return "" if is_empty else self.read(declared, value, key, field.limits)

    def _note_keys(self, kind: Any, key: Key, unknown: list[str], missing: list[str]) -> None:
        keys = keys_of(kind)
        for name in unknown:
            message = f"unknown key{suggest(name, keys)} Allowed: {', '.join(keys)}"
            self.mistakes.append(((*key, name), message))
        meant = "".join(suggest(name, keys) for name in unknown)
        self.mistakes += [((*key, name), MISSES) for name in missing if f" {name}?" not in meant]

    def _missing(self, kind: Any, values: Mapping[str, Any]) -> list[str]:
        """Return the fields of a record that have no value, and must have one."""
        return [
            name
            for name, field in fields_of(kind).items()
            if name not in values
            and (field.default is MISSING or (self.needs_all and not field.is_omitted))
        ]

    def _note(self, key: Key, kind: Any, value: Any, limits: Mapping[str, Any]) -> None:
        texts = [] if "choices" in limits else [_describe(plain_type(kind))]
        for name, limit in limits.items():
            text = ", ".join(limit) if isinstance(limit, tuple) else limit
            texts += [f"{LIMITS[name][1]} {text}"] if name in LIMITS else []
        expected = limits.get("expected") or ", ".join(texts)
        self.mistakes.append((key, f"expected {expected}, found {SHOWN.repr(value)}"))


def _is_within(value: Any, limits: Mapping[str, Any]) -> bool:
    is_finite = not isinstance(value, float) or math.isfinite(value)
    tests = (LIMITS[name][0](value, limit) for name, limit in limits.items() if name in LIMITS)
    return not limits or (is_finite and all(tests))


def _has_type(kind: Any, value: Any) -> bool:
    """Return whether a JSON value is of a type, whatever its inner values; an int is a float.

    An int of more than 64 bits is refused: neither numpy nor torch could hold it.
    """
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if kind is Any or isinstance(kind, TypeVar):
        return True
    if outer is Literal:
        return any(type(option) is type(value) and option == value for option in inner)
    if outer in UNIONS:
        return any(_has_type(option, value) for option in inner)
    return _has_plain_type(outer, len(inner), value)


def _has_plain_type(kind: Any, items: int, value: Any) -> bool:
    """The same of a type that is not a union; `items` is the length of a tuple."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    if kind is tuple:
        return isinstance(value, list) and len(value) == items
    if dataclasses.is_dataclass(kind):
        return isinstance(value, dict)
    return isinstance(value, (int, float) if kind is float else kind)


def _describe(kind: Any) -> str:
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if outer is Literal:
        return f"one of {', '.join(map(str, inner))}" if len(inner) > 1 else str(inner[0])
    if outer in UNIONS:
        return " or ".join(_describe(option) for option in inner if option is not NoneType)
    if outer is tuple:
        return f"a list of {len(inner)} values"
    return NOUNS.get(outer, NOUNS[dict])
