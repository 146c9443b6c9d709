"""Read the objects of a JSON file, each with its line: one object a line, or a list of objects."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from heed.files import HeedError

MAX_BYTES = 200_000_000  # of a list of objects, which is read whole
BETWEEN = re.compile(r"[\s,:]*")  # what stands between two values of valid JSON

Objects = Iterator[tuple[str, dict[str, Any]]]  # the location for messages, and the object


def printable(name: str) -> str:
    """Return a name for a message of one line, quoted if a terminal would obey it."""
    return name if name.isprintable() else repr(name)


def read_json_lines(path: Path, file: IO[str]) -> Objects:
    """Yield the objects of a file with one JSON object a line; empty lines are skipped.

    Raises HeedError for a line that is no object.
    """
    for number, line in enumerate(file, 1):
        if line.strip():
            location = f"{path}:{number}"
            yield location, _require_object(location, _decode(location, DECODER.decode, line))


def read_json(path: Path, file: IO[str]) -> Objects:
    """Yield the objects of a list, of the only list of objects in an object, or one a line.

    Raises:
        HeedError: the file is not JSON, has no such list or several, is a list of more than
            MAX_BYTES, or an item of the list is no object.

    """
    is_lines = _has_object_a_line(file)
    file.seek(0)
    if is_lines:
        yield from read_json_lines(path, file)
        return
    if (size := path.stat().st_size) > MAX_BYTES:
        raise HeedError(
            f"{path}: {size:,} bytes: a .json file with a list is read whole, and may have "
            f"{MAX_BYTES:,}. Write it as .jsonl, one object a line, which may have any size"
        )
    text = file.read()
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise HeedError(f"{path}:{error.lineno}: not JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:  # numbers too long, lists too deep
        raise HeedError(f"{path}: not JSON ({error})") from None
    position = _skip(text, 0)
    if isinstance(document, dict):
        position = _list_position(text, position, _list_key(path, document))
    elif not isinstance(document, list):
        raise HeedError(f"{path}: expected a list of objects, found {type(document).__name__}")
    del document
    yield from _read_list(path, text, position)


def _has_object_a_line(file: IO[str]) -> bool:
    """Return whether the first line that is not empty is an object, and not all of the file."""
    first = next((line for line in _bounded_lines(file) if line.strip()), "")
    try:
        is_object = isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False
    return is_object and any(line.strip() for line in _bounded_lines(file))


def _bounded_lines(file: IO[str]) -> Iterator[str]:
    """Yield the lines of a file, in pieces of at most MAX_BYTES characters."""
    while line := file.readline(MAX_BYTES):
        yield line


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _list_key(path: Path, document: dict[str, Any]) -> str:
    """Return the key of the only list of objects. Raises HeedError when there is none, or more."""
    keys = [key for key, value in document.items() if _is_list_of_objects(value)]
    if not keys:
        raise HeedError(
            f"{path}: expected a list of objects, or an object with one, found an object with "
            f"{', '.join(map(printable, document)) or 'no keys'} (of a table of pandas, "
            'to_json(orient="records") writes a list)'
        )
    if len(keys) > 1:
        raise HeedError(
            f"{path}: expected one list of objects, found {len(keys)}: "
            f"{', '.join(map(printable, keys))}. Write each to a file of its own"
        )
    return keys[0]


def _list_position(text: str, position: int, key: str) -> int:
    """Return where the value of the last `key` of the object at `position` begins."""
    decoder, found = json.JSONDecoder(), -1
    position = _skip(text, position + 1)
    while text[position] != "}":
        name, position = decoder.raw_decode(text, position)
        position = _skip(text, position)
        if name == key:
            found = position
        _, position = decoder.raw_decode(text, position)
        position = _skip(text, position)
    return found


def _read_list(path: Path, text: str, position: int) -> Objects:
    """Yield the objects of the list at `position` of valid JSON, with their lines."""
    line, counted = 1, 0
    position = _skip(text, position + 1)
    while text[position] != "]":
        line, counted = line + text.count("\n", counted, position), position
        location = f"{path}:{line}"
        row, position = _decode(location, DECODER.raw_decode, text, position)
        yield location, _require_object(location, row)
        position = _skip(text, position)


def _skip(text: str, position: int) -> int:
    match = BETWEEN.match(text, position)
    assert match
    return match.end()


def _decode(location: str, decode: Callable[..., Any], *text: Any) -> Any:
    """Return what a method of DECODER makes of a text. Raises HeedError when it is not JSON."""
    try:
        return decode(*text)
    except (ValueError, RecursionError) as error:
        raise HeedError(f"{location}: not a JSON object ({error})") from None


def _require_object(location: str, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise HeedError(f"{location}: expected a JSON object, found {type(row).__name__}")
    return row


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict. Raises ValueError when a key occurs twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {max(names, key=names.count)!r} occurs twice")
    return row


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
