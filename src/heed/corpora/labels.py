"""Labels that look the same, by Unicode's properties and by the outlines of their letters."""

import functools
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import regex

from heed.files import HeedError

# Characters that are not drawn, but for those within an emoji: its joiners, the tags of a flag.
IGNORED = regex.compile(
    r"(?<=\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]*)"
    r"(?:\u200D(?=\p{Extended_Pictographic})|[\U000E0020-\U000E007F]+)(*SKIP)(*FAIL)"
    r"|\p{Default_Ignorable_Code_Point}"
)
FORMS = ("<font>", "<narrow>", "<noBreak>", "<wide>")  # not superscripts, circled digits, ligatures


class SimilarLabelsError(HeedError):
    """Labels that look the same, and would be several classes."""


def require_distinct(places: Mapping[str, str], column: str) -> None:
    """Raise SimilarLabelsError where labels of a column look the same; `places` has their rows."""
    for labels in _similar(places):
        shown = [f"{places[each]} {each!r}{_code_points(each, labels)}" for each in labels]
        raise SimilarLabelsError(
            f"column {column!r}: labels that look the same would be {len(labels)} classes: "
            f"{', '.join(shown)}. Write them alike in the file, or keep them as they are: "
            "`similar_labels: true` of the corpus in params.yaml, --similar-labels of heed corpus "
            "add."
        )


def _similar(labels: Iterable[str]) -> Iterator[list[str]]:
    """Yield the groups of labels that differ in case, in what is not drawn, or in like letters.

    Letters are alike as they are written, such as Cyrillic В and B, or as small letters.
    """
    written = {label: IGNORED.sub("", "".join(map(_plain, label))) for label in labels}
    small = {label: text.lower() for label, text in written.items()}
    drawn = [
        {label: unicodedata.normalize("NFD", text) for label, text in texts.items()}
        for texts in (written, small)
    ]
    same = _like_letters()
    for texts in drawn:
        groups: dict[str, list[str]] = {}
        for label, text in texts.items():
            groups.setdefault(" ".join(text.translate(same).lower().split()), []).append(label)
        yield from (group for group in groups.values() if len(group) > 1)


def _plain(sign: str) -> str:
    """Return the sign that another width, font or space is a form of; of others the sign itself."""
    form = unicodedata.decomposition(sign).partition(" ")[0]
    return unicodedata.normalize("NFKC", sign) if form in FORMS else sign


@functools.cache
def _like_letters() -> dict[int, str]:
    """Return the first of the letters with the same outline for each, such as a for Cyrillic а.

    Those of DejaVu Sans and its Mono (benchmarks/like_letters.py): Latin, Greek, Cyrillic and more.
    """
    groups = json.loads(Path(__file__).with_name("like_letters.json").read_text(encoding="ascii"))
    return {ord(letter): group[0] for group in groups for letter in group}


def _code_points(label: str, others: Iterable[str]) -> str:
    """Return the characters of a label that not all others have, as code points."""
    common = set[str].intersection(*map(set, others))
    own = [f"U+{ord(sign):04X}" for sign in dict.fromkeys(label) if sign not in common]
    return f" ({' '.join(own)})" if own else ""
