"""Two runs of one study on two machine kinds: python -m benchmarks.machines FOLDER OTHER.

Each is the folder of a published report, or of its comparisons and values by seed alone. Prints
how far the same seed differs between the two, how far two seeds of one differ, which verdicts
changed, and which differences of the second run are outside the intervals of the first.
"""

import argparse
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pandas as pd
from scipy import stats

VALIDATION_METRICS = ("accuracy", "bleu")  # a classification's, a translation's
KEYS = ["experiment", "variant"]
PAIR = ["experiment", "first", "second"]
Rows = TypeVar("Rows", pd.Series, pd.DataFrame)


def main(argv: list[str] | None = None) -> None:
    """Print what differs, in points of accuracy or BLEU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs=2, type=_tables, metavar="FOLDER")
    one, other = parser.parse_args(argv).folders
    tables = read_tables(one, "seeds"), read_tables(other, "seeds")
    seeds = 0
    for metric in VALIDATION_METRICS:
        values = in_both(*(values_of(table, metric) for table in tables))
        if len(values[0]):
            print(describe_values(metric, *values))
            seeds = max(seeds, int(values[0].groupby(level=KEYS).size().max()))
    if not seeds:
        parser.error(f"no training is in the tables of both {one} and {other}")
    comparisons = (read_tables(folder, "comparisons").set_index(PAIR) for folder in (one, other))
    pairs, others = in_both(*comparisons)
    print(f"{len(pairs)} comparisons. Another verdict:")
    print("\n".join(changed_verdicts(pairs, others)) or "  none")
    print("The second difference is outside the first interval:")
    print("\n".join(outside_intervals(pairs, others)) or "  none")
    print(f"  were the runs independent, {expected_outside(seeds):.1%} would be ({seeds} seeds)")


def expected_outside(seeds: int, level: float = 0.95) -> float:
    """Return the probability that the mean of a second run is outside the interval of a first.

    Both are of so many independent seeds; the interval is Student's over seeds, of `level`, and
    narrower than heed's, which allows for other documents too. The difference of two such means has
    the square root of 2 times the standard error of one.
    """
    freedom = seeds - 1
    width = stats.t.ppf((1 + level) / 2, freedom)
    return float(2 * stats.t.sf(width / math.sqrt(2), freedom))


def read_tables(folder: Path, name: str) -> pd.DataFrame:
    """Return the table of this name of all experiments: `seeds` or `comparisons`."""
    return pd.concat(pd.read_csv(path) for path in sorted(folder.glob(f"*_{name}.csv")))


def values_of(rows: pd.DataFrame, metric: str) -> pd.Series:
    """Return the figure of every training in points, by experiment, variant and run."""
    name = "metric" if "metric" in rows else "figure"  # in reports of 0.2.0
    is_metric = rows[name] == metric
    if "row" in rows:  # of a classification: accuracy is in the column of F1
        is_metric |= (rows["row"] == metric) & (rows[name] == "f1")
    rows = rows[is_metric & rows["run"].str.startswith("seed")]
    return 100 * rows.set_index([*KEYS, "run"])["value"]


def in_both(one: Rows, other: Rows) -> tuple[Rows, Rows]:
    """Return the rows of each that the other has too, in the order of the first."""
    shared = one.index[one.index.isin(other.index)]
    return one.loc[shared], other.loc[shared]


def describe_values(metric: str, one: pd.Series, other: pd.Series) -> str:
    """Return how far the same seed differs on two kinds, and two seeds on one."""
    same = (one - other).abs()
    seeds = [
        abs(first - second)
        for values in (one, other)
        for _, group in values.groupby(level=KEYS)
        for first, second in itertools.combinations(group, 2)
    ]
    return (
        f"{metric}, {len(same)} trainings: the same seed on two kinds {same.mean():.2f} points (at "
        f"most {same.max():.2f}; {int((same == 0).sum())} have the same figure), two seeds on one "
        f"kind {sum(seeds) / len(seeds):.2f} (at most {max(seeds):.2f})"
    )


def changed_verdicts(one: pd.DataFrame, other: pd.DataFrame) -> Iterator[str]:
    """Yield the comparisons whose verdicts differ, in words."""
    changed = one["verdict"] != other["verdict"]
    yield from _describe_pairs(one[changed], other)


def outside_intervals(one: pd.DataFrame, other: pd.DataFrame) -> Iterator[str]:
    """Yield the comparisons of which the second difference is not in the first printed interval."""
    inside = other["difference_pp"].between(one["low_pp"], one["high_pp"])
    yield from _describe_pairs(one[~inside], other)


def _describe_pairs(pairs: pd.DataFrame, other: pd.DataFrame) -> Iterator[str]:
    before, after = pairs.reset_index(), other.loc[pairs.index]
    for row, then in zip(before.itertuples(), after.itertuples(), strict=True):
        sides = (
            f"{each.verdict} {each.difference_pp:+.2f} ({each.low_pp:+.2f} to {each.high_pp:+.2f})"
            for each in (row, then)
        )
        yield f"  {row.experiment}: {row.first} against {row.second}: {', then '.join(sides)}"


def _tables(name: str) -> Path:
    """Return the folder of a published report's tables, or the one named, if it has the tables
    itself.
    """
    folder = Path(name)
    folder = folder / "tables" if (folder / "tables").is_dir() else folder
    if not any(folder.glob("*_seeds.csv")) or not any(folder.glob("*_comparisons.csv")):
        raise argparse.ArgumentTypeError(f"{folder} has no *_seeds.csv and *_comparisons.csv")
    return folder


if __name__ == "__main__":
    main()
