"""Rows: functions from results, or from an experiment of these, to the records of a table.

tables.yaml names each and declares the columns of its records. Text and layout are not here.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from heed.report.results import Source


@dataclasses.dataclass(frozen=True)
class Rows:
    """The records of a table, and what its declaration in tables.yaml asks for.

    facts: values for names in braces in titles, headings and meanings; for `for_each` and `when`.
    part: what tells a table from others of its declaration, such as a model; in the file's name.
    """

    records: Sequence[Any]
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    part: str = ""
    sources: tuple[Source, ...] = ()


def known(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return values by name, with None for a name that has none."""
    return defaultdict(lambda: None, values)
