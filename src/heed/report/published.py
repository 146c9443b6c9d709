"""The talk's figures in data/published/, as the talk prints them."""

import csv
import dataclasses
from pathlib import Path

from heed.files import HeedError

RESULTS, CLASSES = "talk_results.csv", "talk_classes.csv"


@dataclasses.dataclass(frozen=True)
class Talk:
    """What the talk has of one experiment and variant; empty where it has nothing."""

    summary: dict[str, str]
    classes: dict[str, dict[str, str]]  # by class name in lower case

    def of_class(self, name: str) -> dict[str, str]:
        """Return the class's precision, recall, f1 and support as printed; upper and lower case are
        the same.
        """
        return _printed(self.classes.get(name.casefold(), {}))

    def of_average(self, row: str) -> dict[str, str]:
        """Return the figures of the row accuracy, macro avg or weighted avg, as printed."""
        if row == "accuracy":
            found = {"f1": self.summary.get("accuracy", "")}
        else:
            found = {
                figure: self.summary.get(f"{row.split()[0]}_{figure}", "")
                for figure in ("precision", "recall", "f1")
            }
        return _printed(found | {"support": self.summary.get("test_items", "")})


NOTHING = Talk({}, {})


def _printed(row: dict[str, str]) -> dict[str, str]:
    """Return a row's figures with the four digits that the talk prints (the CSV drops a last 0),
    and its support.
    """
    found = {
        figure: f"{float(row[figure]):.4f}"
        for figure in ("precision", "recall", "f1")
        if row.get(figure)
    }
    return found | ({"support": row["support"]} if row.get("support") else {})


def read_published(folder: Path) -> dict[str, dict[str, Talk]]:
    """Return the talk's figures by experiment and variant."""
    found: dict[str, dict[str, Talk]] = {}
    for row in _rows(folder / RESULTS):
        found.setdefault(row["experiment"], {})[row["variant"]] = Talk(row, {})
    for row in _rows(folder / CLASSES):
        found[row["experiment"]][row["variant"]].classes[row["class"].casefold()] = row
    return found


def of_experiment(published: dict[str, dict[str, Talk]], name: str, key: str) -> dict[str, Talk]:
    """Return the talk's figures of experiment `name` by variant.

    Raises:
        HeedError: the talk has no such experiment; `key` is where params.yaml names it.

    """
    if name not in published:
        raise HeedError(
            f"params.yaml: {key}: the talk has no experiment {name} (data/published/{RESULTS}). "
            f"It has: {', '.join(published)}"
        )
    return published[name]


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise HeedError(
            f"{path}: not there. It is part of heed's repository: git checkout {path}"
        ) from None
