"""`heed verdict`: reads scores, prints the verdict on them, and writes it where asked."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from heed.files import HeedError, write_text
from heed.tables import csv_text
from heed.terminal import print_line, wrap
from heed.verdict import words
from heed.verdict.pairs import Asked, Verdict, judge
from heed.verdict.scores import given_files, read_scores
from heed.verdict.words import Section


def verdict(
    files: Sequence[str], asked: Asked, metric: str = "", references: Path | None = None,
    csv: Path | None = None, **wanted: Path | None,
) -> None:  # fmt: skip
    """Print the verdict on the scores in files, and write its pairs where asked.

    `wanted` are the files html, latex and svg (see `heed.verdict.page.write`). Raises HeedError: a
    file that is not a table of scores; a metric or a model that is not there.
    """
    inputs = [*(file.path for file in given_files(files)), *filter(None, [references])]
    for path in filter(None, (csv, *wanted.values())):
        if path.resolve() in map(Path.resolve, inputs):
            raise HeedError(f"{path}: is read here. Write the result to another file")
    found = [*judge_all(read_scores(files, references, metric), asked, metric)]
    sections = [*map(words.section, found)]
    for lines in map(described, sections):
        print_line("\n".join(lines))
    if csv:
        write_text(csv, csv_text(pd.concat(map(as_table, found), ignore_index=True)))
    if any(wanted.values()):
        from heed.verdict import page  # here: the report takes a while to import

        page.write("verdict", "Which model is better?", sections, **wanted)


def judge_all(scores: pd.DataFrame, asked: Asked, metric: str = "") -> Iterator[Verdict]:
    """Yield the verdict on each dataset, by one metric. Raises HeedError."""
    for dataset, table in scores.groupby("dataset", sort=False):
        chosen = _choose([*table["metric"].unique()], metric)
        own = table[table["metric"] == chosen]
        models = own["model"].unique()
        if asked.control and asked.control not in models:
            raise HeedError(f"--control: no model {asked.control}: {', '.join(models)}")
        if len(models) == 1:
            raise HeedError(f"one model, {models[0]}: there is nothing to compare it with")
        yield judge(own, asked, str(dataset), chosen)


def _choose(metrics: list[str], metric: str) -> str:
    chosen = metric or metrics[0]
    if chosen not in metrics or (not metric and metrics[1:]):
        problem = f"no metric {metric}" if metric else "several metrics"
        known = ", ".join(metrics) or "(none)"
        raise HeedError(f"{problem}: choose one by --metric: {known}")
    return chosen


def described(section: Section) -> Iterator[str]:
    """Yield the lines that are printed of a verdict."""
    if section.title:
        yield f"{section.title}:"
    yield from (wrap([sentence]) for sentence in section.sentences)
    table = [section.columns, *section.rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()
    yield wrap([section.design])


def as_table(verdict: Verdict) -> pd.DataFrame:
    """Return the pairs with all their numbers, for programs."""
    rows = [
        {
            "dataset": verdict.dataset, "metric": verdict.metric, "first": pair.first,
            "second": pair.second, "difference": pair.result.mean_pp,
            "low": (pair.result.interval_pp or (None, None))[0],
            "high": (pair.result.interval_pp or (None, None))[1], "p": pair.result.p,
            "p_corrected": pair.result.p_corrected, "tests": pair.result.tests,
            "verdict": pair.result.verdict, "seeds_needed": pair.result.seeds_needed,
            "items_needed": pair.items_needed,
        }
        for pair in verdict.pairs
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"seeds_needed": "Int64", "items_needed": "Int64"})
