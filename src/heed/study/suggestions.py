"""What the messages about a wrong name say: the name that was probably meant, and all that there
are.
"""

import difflib
from collections.abc import Iterable


def near(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?`, or a full stop where no known word is like this one."""
    meant = nearest(word, known)
    return f"; did you mean {meant}?" if meant else "."


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most like this one, or nothing."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)), "")


def unknown(found: str, what: str, known: Iterable[str]) -> str:
    """Return the message that there is no `what` of this name."""
    return f"there is no {what} {found}{near(found, known)} Known: {', '.join(known)}"
