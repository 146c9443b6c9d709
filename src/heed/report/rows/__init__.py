"""Rows: functions from results to the records of a table, without text and without layout.

A function is given the results, and of a table of experiments one of these. tables.yaml names it
and declares the columns of its records.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from heed.report.sources import Source


@dataclasses.dataclass(frozen=True)
class Rows:
    """The records of a table, and what its declaration in tables.yaml asks for.

    facts: values for names in braces in titles, headings and meanings, and for `each` and `when`.
    part: what tells a table from others of its declaration, such as a model; in the file's name.
    location: the place of the values in the first source.
    """

    records: Sequence[Any]
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    part: str = ""
    sources: tuple[Source, ...] = ()
    location: str = ""


class Known(dict[str, Any]):
    """Values by name; None for a name without one."""

    def __missing__(self, name: str) -> None:
        return None
