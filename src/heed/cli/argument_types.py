"""The types of arguments: each function reads the text of one, and says what is wrong with it."""

import argparse


def with_tabs(text: str) -> str:
    r"""Return a text with a tab for each `\t`, which a shell passes as two characters."""
    return text.replace("\\t", "\t")


def delimiter(text: str) -> str:
    """Return the character between the fields of a table."""
    character = with_tabs(text)
    if len(character) != 1 or character in '"\r\n':
        raise argparse.ArgumentTypeError(f"one character, or \\t for a tab, found {text[:20]!r}")
    return character


def count(text: str) -> int:
    """Return a whole number from 1 to 1000."""
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1000, found {text[:20]}")
    return int(text)


def size(text: str) -> int:
    """Return a number of texts."""
    if not text.isdecimal() or not 1 <= int(text) <= 100_000_000:
        raise argparse.ArgumentTypeError(f"a number of texts from 1, found {text[:20]}")
    return int(text)


def share(text: str) -> float:
    """Return a share above 0 and below 1."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"a share above 0 and below 1, found {text[:20]}")
    return number


def factor(text: str) -> float:
    """Return a number above 0 and at most 100."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 100:
        raise argparse.ArgumentTypeError(f"a number above 0 and at most 100, found {text[:20]}")
    return number


def seed(text: str) -> int:
    """Return the seed of a run."""
    from heed.hyperparameters import MAX_SEED

    if not text.isdecimal() or len(text) > 10 or not 1 <= int(text) <= MAX_SEED:
        raise argparse.ArgumentTypeError(
            f"a seed is a whole number from 1 to {MAX_SEED}, found {text[:20]}"
        )
    return int(text)


def seeds(text: str) -> list[int]:
    """Return the seeds of several runs, from a list with commas."""
    return [seed(part) for part in text.split(",")]
