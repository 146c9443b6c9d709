"""Compare a finished study with its golden files.

The golden files are every table, metrics.json and comparison.json of the study `lectures` and of
tests/studies/golden.yaml (`small`), made on the machine kind that machine.txt names. A study made
on this kind must have the same values to the last digit; on another kind they must be within LIMIT.
They were made anew on 26 November 2026, when `lectures` was trained until it had converged and the
rules of the tests changed; the scores of `small` are those of heed 0.2.0, but for the linear models
of `author`, which are chosen by macro F1 since 27 November. Since 29 November no interval of them
is wider than scores can differ: 15 numbers beyond 100 points became 100; and all numbers of
translation are new, since an encoder hands over its cell. No number of another experiment changed,
but metrics.json has the networks' scores alone."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parent
TABLES, COMPARISON = "reports/tables", "results/compare/comparison.json"

# What differs between two runs on one machine, and why. Nothing else is left out.
LEFT_OUT = {
    "core_minutes": "the time of the trainings",
    "core_minutes_of_all_seeds": "the time of the trainings",
    "core_minutes_of_longer_training": "the time of the trainings",
    "cost.csv:ratio": "the time of a model's trainings over the time of its baseline's",
}
# comparison.json ends the names of its methods with two versions, which another environment may
# have, and be right.
VERSIONS = re.compile(r"\|(numpy|scipy):[^|\"]*")

# On another machine kind a figure may be so many points from the golden one (a share of 1: so many
# hundredths). The same seed differs on two kinds by at most 8.00 points of accuracy and 11.01 of
# BLEU (docs/read/report.md). Twice that, since a third kind may go beyond these two.
LIMIT = 22.02
# There these must be the same, since no training decides them: what was read, and how large it is.
FACTS = re.compile(
    r".*:(sentences|parameters|support|published.*)"
    r"|comparison.json:(alpha|power|equivalence_margin|convergence_pp|tests|folds|documents|tokens|train"
    r"|validation|test|seeds|.*_size|.*_dim|epochs)"
)
# There these may be any number, but not none in place of one: they are intervals, deviations,
# quotients and probabilities, which a small difference of figures may change a lot, or counts of
# documents on which models were right.
UNLIMITED = re.compile(
    r".*:(p|.*_p|p_corrected|.*low_pp|.*high_pp|interval_pp|.*std_pp|detectable_pp|equal_within_pp"
    r"|standard_error_pp|degrees_of_freedom|wrong_words|.*best_epoch)"
    r"|explanation_all-means.csv:(mean|documents)"
)
# There these are not compared: words that say what a training found, and numbers that there are not
# where no number of seeds would do, or nothing varies.
UNCOMPARED = re.compile(
    r".*:(verdict|.*_verdict|attention_over_this|found|holds|machine_kinds?|convergence|diverged)"
    r"|.*:seeds_needed"
    r"|.*_examples.csv:text|explanation_criteria.csv:(permutation|seeds|adversarial_attention|rationale)"
)

Cells = dict[tuple[str, str], str]  # (row, column) of a table, (section, key) of a JSON file: text


def golden_kind() -> str:
    return (GOLDEN / "machine.txt").read_text(encoding="utf-8").strip()


def machine_kinds(folder: Path) -> set[str]:
    comparison = json.loads((folder / COMPARISON).read_text(encoding="utf-8"))
    models = [
        model
        for experiment in comparison["experiments"].values()
        for model in experiment["models"].values()
    ]
    longer = {each["longer_training"]["machine_kind"] for each in models if each["longer_training"]}
    return longer.union(*(each["machine_kinds"] for each in models))


def golden_files(golden: Path) -> dict[Path, str]:
    """Return the golden files of a study, and where a finished clone has them."""
    return {
        golden / "metrics.json": "metrics.json",
        golden / "comparison.json": COMPARISON,
        **{path: f"{TABLES}/{path.name}" for path in sorted(golden.glob("tables/*.csv"))},
    }


def differences(golden: Path, folder: Path, is_same_kind: bool) -> list[str]:
    """Return what differs in a finished study from its golden files: file, row, column, values."""
    files = golden_files(golden)
    new = {f"{TABLES}/{path.name}" for path in (folder / TABLES).glob("*.csv")} - {*files.values()}
    found = [f"{name}: no golden file has this name" for name in sorted(new)]
    for path, name in files.items():
        if not (folder / name).exists():
            found.append(f"{name}: missing")
            continue
        found += [f"{name}: {each}" for each in _differences(path, folder / name, is_same_kind)]
    return found


def _differences(golden: Path, path: Path, is_same_kind: bool) -> Iterator[str]:
    left_out = "" if is_same_kind else "concentration"  # of a ranking without negative values
    expected, found = _read(golden, left_out), _read(path, left_out)
    for cell in [cell for cell in expected if cell not in found]:
        yield f"{_describe(cell, expected)}: expected {expected[cell]!r}, found nothing"
    for cell in [cell for cell in found if cell not in expected]:
        yield f"{_describe(cell, found)}: expected nothing, found {found[cell]!r}"
    if expected.keys() == found.keys() and [*expected] != [*found]:
        yield "the same names in another order"
    for cell in [cell for cell in expected if cell in found]:
        name = f"{golden.name}:{cell[1]}"
        if not {name, cell[1]} & LEFT_OUT.keys() and not (
            expected[cell] == found[cell]
            if is_same_kind
            else _is_near(name, expected[cell], found[cell])
        ):
            yield f"{_describe(cell, expected)}: expected {expected[cell]!r}, found {found[cell]!r}"
    if is_same_kind and expected == found and _text(golden) != _text(path):
        yield "the same values, but other bytes"


def _describe(cell: tuple[str, str], cells: Cells) -> str:
    """Return row and column of a value, and the names that stand before it in its row."""
    line, column = cell
    row = {key: value for (other, key), value in cells.items() if other == line}
    before = [*row][: [*row].index(column)] if line.startswith("line ") else []
    names = dict.fromkeys(row[key] for key in before if _numbers(row[key]) is None)
    return f"{line} ({', '.join(names)}), {column}" if names else f"{line}, {column}"


def _is_near(name: str, expected: str, found: str) -> bool:
    """Return whether a value of another machine kind may stand for the golden one."""
    if expected == found or UNCOMPARED.fullmatch(name):
        return True
    one, other = _numbers(expected), _numbers(found)
    if FACTS.fullmatch(name) or one is None or other is None or len(one) != len(other):
        return False
    in_points = name.endswith("_pp")
    return bool(UNLIMITED.fullmatch(name)) or all(
        abs(a - b) <= (LIMIT if in_points or max(abs(a), abs(b)) > 1 else LIMIT / 100)
        for a, b in zip(one, other, strict=True)
    )


def _numbers(text: str) -> list[float] | None:
    """Return the numbers of a value, or None if it has words."""
    try:
        return [float(part) for part in text.strip("[]'").replace(",", " ").split()]
    except ValueError:
        return None


def _text(path: Path) -> str:
    return VERSIONS.sub("", path.read_bytes().decode("utf-8"))


def _read(path: Path, left_out: str) -> Cells:
    """Return the values of a CSV or JSON file, in their order, without rows of a measure."""
    if path.suffix == ".json":
        return dict(_flat("", json.loads(_text(path))))
    header, *rows = csv.reader(io.StringIO(_text(path), newline=""))
    rows = [row for row in rows if not left_out or left_out not in row]
    return {
        (f"line {line}", column): value
        for line, row in enumerate(rows, 2)
        for column, value in zip(header, row, strict=True)
    }


def _flat(section: str, values: dict[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flat(f"{section}/{key}", value)
        else:
            yield (section, key), value if isinstance(value, str) else json.dumps(value)
