"""Labels that look the same: in another case, width or form, or with signs that are not drawn."""

import unicodedata
from collections.abc import Mapping

from heed.files import HeedError


class SimilarLabelsError(HeedError):
    """Labels that look the same, and would be several classes."""


def require_distinct(places: Mapping[str, str], column: str) -> None:
    """Raise SimilarLabelsError where labels of a column look the same; `places` has their rows."""
    groups: dict[str, list[str]] = {}
    for label in places:
        groups.setdefault(_drawn(label), []).append(label)
    for labels in groups.values():
        if len(labels) > 1:
            shown = ", ".join(f"{places[each]} {each!r}" for each in labels)
            raise SimilarLabelsError(
                f"column {column!r}: labels that look the same would be {len(labels)} classes: "
                f"{shown}. Write them alike in the file, or keep them as they are: "
                "`similar_labels: true` of the corpus in params.yaml, --similar-labels of heed "
                "corpus add."
            )


def _drawn(label: str) -> str:
    """Return what a label looks like, in lower case; a message escapes the signs left out here."""
    signs = unicodedata.normalize("NFKC", label)
    return " ".join("".join(s for s in signs if unicodedata.category(s) != "Cf").lower().split())
