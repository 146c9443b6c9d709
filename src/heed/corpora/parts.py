"""The parts of a split, and the names that users have for them."""

import re
from typing import Any

from heed.files import HeedError
from heed.terminal import print_line

PARTS = ("train", "validation", "test")
NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "development": "validation",
    "test": "test",
    "testing": "test",
}


def part_of(name: str) -> str | None:
    """Return the part that a name stands for, in any case; None for any other name.

    `eval` is none: some mean the validation part by it, others the test part.
    """
    return NAMES.get(name.strip().lower())


def part_of_key(key: str) -> str | None:
    """Return the part that the key of a file names: `train`, `dev`, `train_1`; or None."""
    return part_of(re.sub(r"_[0-9]+$", "", key))


class PartNames:
    """The names that a table has for the parts of its rows, and what they became."""

    def __init__(self, subject: str) -> None:
        """`subject` is what has the names, for messages: a column, or the files."""
        self._subject = subject
        self._parts: dict[str, str] = {}

    def read(self, name: Any, location: str) -> str:
        """Return the part that a name stands for. Raises HeedError for no part."""
        part = part_of(name) if isinstance(name, str) else None
        if part is None:
            ambiguous = isinstance(name, str) and name.strip().lower() in ("eval", "evaluation")
            reason = ", which some say for validation, others for test" if ambiguous else ""
            raise HeedError(
                f"{location}: {self._subject}: expected {', '.join(PARTS)} (or dev, valid, val, "
                f"training, testing), found {name!r}{reason}"
            )
        self._parts[name] = part
        return part

    def add(self, name: str, part: str) -> None:
        """Remember a name whose part is known."""
        self._parts[name] = part

    def print_changes(self) -> None:
        """Print the names that are not heed's own, and the part that each became."""
        changed = [f"{name} is {part}" for name, part in self._parts.items() if name != part]
        if changed:
            print_line(f"{self._subject}: {', '.join(changed)}")
