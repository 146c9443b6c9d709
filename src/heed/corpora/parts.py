"""The parts of a split, and the names that users have for them."""

import re

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
