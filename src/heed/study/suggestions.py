"""Messages about an unknown name: the name that was probably meant, and all known names."""

import difflib
from collections.abc import Iterable


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
