"""The cells of a table that hold any number of labels."""

from typing import Any

from heed.files import HeedError


def split_labels(location: str, cell: Any, separator: str) -> list[Any]:
    """Return the labels of a cell: of a list its items, of a text what stands between separators.

    White space around a label counts as part of the separator. A missing or empty cell has none.

    Raises:
        HeedError: a text has nothing between two separators.

    """
    if isinstance(cell, list):
        return cell
    if not isinstance(cell, str):
        return [] if cell is None or cell != cell else [cell]  # NaN is not equal to itself
    if not cell.strip():
        return []
    names = [name.strip() for name in cell.split(separator)]
    if not all(names):
        raise HeedError(
            f"{location}: no label before, after or between two {separator!r} in {cell!r}. Remove "
            "one of them"
        )
    return names
