"""`heed pool`: one answer over the corpora of published studies, a random-effects mean.

REML for the variance between corpora (Viechtbauer 2005), intervals by Hartung & Knapp (2001) and
Sidik & Jonkman (2002), never narrower than with a normal distribution's standard error (Jackson et
al. 2017), and the interval of another corpus's difference by Higgins et al. (2009).
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from heed.evaluation import significance
from heed.evaluation.results import Interval
from heed.evaluation.significance import ALPHA
from heed.files import HeedError, write_text
from heed.paths import PARAMS
from heed.published.verify import STATISTICS
from heed.report.forest_plot import CORPUS, MEAN
from heed.report.formats import format_coverage, format_interval, format_points
from heed.report.words import all_words
from heed.study import load
from heed.tables import csv_text
from heed.terminal import print_line
from heed.verdict import page
from heed.verdict.command import described
from heed.verdict.pairs import SHARES, by_model, repeats_of
from heed.verdict.scores import read_scores
from heed.verdict.words import Section, interval_row

FEWEST = 3  # corpora: with two the interval of another one has no degrees of freedom


@dataclasses.dataclass(frozen=True)
class Value:
    """A difference with its standard error, both in the same unit, and the corpus it is of."""

    corpus: str
    difference: float
    error: float


@dataclasses.dataclass(frozen=True)
class Pooled:
    """The mean difference over corpora, and what is to be expected of another corpus."""

    values: list[Value]
    mean: float
    interval: Interval
    prediction: Interval
    deviation: float  # of the true differences, between corpora


def pool(values: Sequence[Value], alpha: float = ALPHA) -> Pooled:
    """Return the random-effects mean of at least FEWEST independent values."""
    effects = np.array([value.difference for value in values])
    variances = np.array([value.error**2 for value in values])
    between, count = _between(effects, variances), len(values)
    weights = 1 / (variances + between)
    mean = float(weights @ effects / weights.sum())
    spread = float(weights @ (effects - mean) ** 2) / (count - 1)
    error = math.sqrt(max(spread, 1.0) / weights.sum())
    half = float(stats.t.isf(alpha / 2, count - 1) * error)
    away = float(stats.t.isf(alpha / 2, count - 2) * math.sqrt(between + error**2))
    ends = (mean - half, mean + half), (mean - away, mean + away)
    return Pooled([*values], mean, *ends, math.sqrt(between))


def _between(effects: np.ndarray, variances: np.ndarray) -> float:
    """Return the variance between corpora by restricted maximum likelihood, at least 0."""

    def loss(between: float) -> float:
        weights = 1 / (variances + between)
        mean = weights @ effects / weights.sum()
        squares = weights @ (effects - mean) ** 2
        return float(squares + np.log(weights.sum()) - np.log(weights).sum()) / 2

    largest = 10 * float(np.var(effects, ddof=1)) + float(variances.max())
    found = optimize.minimize_scalar(loss, bounds=(0, largest), options={"xatol": 1e-12})
    return float(found.x) if found.fun < loss(0.0) else 0.0


def join_corpora(values: Sequence[Value], joined: Mapping[str, str]) -> list[Value]:
    """Return one value a corpus; `joined` names the corpus that another one is a part of.

    Values of the same texts depend on each other: the mean has the mean of their standard errors,
    as if they were one.
    """
    groups: dict[str, list[Value]] = {}
    for value in values:
        groups.setdefault(joined.get(value.corpus, value.corpus), []).append(value)
    return [
        Value(
            corpus,
            float(np.mean([value.difference for value in group])),
            float(np.mean([value.error for value in group])),
        )
        for corpus, group in groups.items()
    ]


# --- published studies ----------------------------------------------------------------------------

# What the lectures ask: variants of a study, and how both are called in a sentence (words.yaml).
QUESTIONS = (
    ("attention-pooling", "average", "attention", "mean"),
    ("attention-pooling", "average-of-embeddings", "attention", "bag"),
    ("attention-pooling", "last-state", "attention", "last"),
    ("average", "last-state", "mean", "last"),
    ("self-attention", "equal-weights", "self-attention", "uniform"),
    ("attention-pooling", "linear", "attention", "linear"),
)  # fmt: skip


def differences(edition: Path) -> Iterator[tuple[tuple[str, str], Value]]:
    """Yield the difference of each question in each experiment of a published study, in points.

    Experiments whose metric has another unit have none. Raises HeedError: not a published study.
    """
    scores = read_scores([str(edition / STATISTICS)])
    for experiment, table in scores.groupby("dataset", sort=False):
        if table["metric"].iloc[0] in SHARES:
            continue
        runs, repeats = by_model(table), repeats_of(table)
        for first, second, *_ in QUESTIONS:
            if first in runs and second in runs:
                found = significance.assess(runs[first], runs[second], repeats=repeats)
                if found.standard_error_pp:  # 0: all runs agree, which weighs infinitely
                    value = Value(str(experiment), found.mean_pp, found.standard_error_pp)
                    yield (first, second), value


Answer = tuple[tuple[str, str], Pooled]  # a question, as a key of QUESTIONS, and its answer


def pool_editions(
    editions: Sequence[Path], joined: Mapping[str, str], without: Sequence[str]
) -> list[Answer]:
    """Return the answer to each question that enough corpora of the published studies have.

    `joined` names the experiment that another one is joined with, `without` has those left out.
    Raises HeedError: an experiment that is nowhere, or twice; no question with enough corpora.
    """
    values: dict[tuple[str, str], list[Value]] = {}
    known: dict[str, Path] = {}
    for edition in editions:
        for question, value in differences(edition):
            if known.setdefault(value.corpus, edition) != edition:
                raise HeedError(
                    f"the experiment {value.corpus} is in {known[value.corpus]} and in {edition}: "
                    "name one of them"
                )
            if value.corpus not in without:
                values.setdefault(question, []).append(value)
    corpora = corpora_of(editions, joined, without)
    answers = [
        ((first, second), pool(own))
        for first, second, *_ in QUESTIONS
        if len(own := join_corpora(values.get((first, second), []), corpora)) >= FEWEST
    ]
    if not answers:
        raise HeedError(f"no question is asked in {FEWEST} corpora: name more published studies")
    return answers


def corpora_of(
    editions: Sequence[Path], joined: Mapping[str, str], without: Sequence[str]
) -> dict[str, str]:
    """Return the corpus of each experiment by its name in the study, or of the one joined with."""
    studies = [load(edition / PARAMS).experiments for edition in editions]
    corpora = {name: own.corpus for study in studies for name, own in study.items()}
    if strange := {*joined, *joined.values(), *without} - {*corpora}:
        raise HeedError(f"no experiment {min(strange)}: {', '.join(corpora)}")
    for part, whole in joined.items():
        own, other = corpora[part], corpora[whole]
        corpora = {name: other if corpus == own else corpus for name, corpus in corpora.items()}
    return corpora


def section(answer: Answer) -> Section:
    """Return an answer in words, a row for each corpus, and the mean over them."""
    question, found = answer
    kinds = next(entry[2:] for entry in QUESTIONS if entry[:2] == question)
    first, second = (all_words()[kind].words for kind in kinds)
    coverage, near = format_coverage(ALPHA), float(special.ndtri(1 - ALPHA / 2))
    low, high = found.interval
    said = "is better" if low > 0 else "is worse" if high < 0 else "does not differ significantly"
    mean = format_points(found.mean), format_interval(found.interval)
    weights = np.array([1 / (value.error**2 + found.deviation**2) for value in found.values])
    rows, drawn = [], []
    for value, weight in zip(found.values, weights / weights.sum(), strict=True):
        half, points = near * value.error, format_points(value.difference)
        own = value.difference - half, value.difference + half
        rows.append((value.corpus, points, format_interval(own), f"{weight:.0%}"))
        drawn.append(interval_row(value.corpus, value.difference, own, verdict=CORPUS, margin="0"))
    ends = dict(zip(("from_pp", "to_pp"), map(str, found.prediction), strict=True))
    drawn.append(interval_row("mean", found.mean, found.interval, verdict=MEAN, margin="0", **ends))
    return Section(
        f"{first} against {second}",
        [
            f"Over {len(found.values)} corpora, {first} {said}: mean {mean[0]} points, {coverage} "
            f"interval {mean[1]}.",
            f"Another corpus would be expected from {format_interval(found.prediction)}.",
        ],
        ("corpus", "difference", "interval", "weight"),
        [*rows, ("mean", *mean, "")],
        f"Differences are in points; a corpus has the {coverage} interval of its standard error.",
        drawn,
    )


def print_answers(
    editions: Sequence[Path], joined: Mapping[str, str], without: Sequence[str],
    csv: Path | None = None, html: Path | None = None,
) -> None:  # fmt: skip
    """Print the answers over the corpora of published studies, and write them where asked."""
    answers = pool_editions(editions, joined, without)
    sections = [*map(section, answers)]
    for lines in map(described, sections):
        print_line("\n".join(lines))
    if csv:
        write_text(csv, csv_text(pd.DataFrame(map(as_row, answers))))
    if html:
        page.write("pool", "What the studies find over their corpora", sections, html)


def as_row(answer: Answer) -> dict[str, Any]:
    """Return all numbers of an answer, for programs."""
    (first, second), found = answer
    (low, high), (from_, to) = found.interval, found.prediction
    return {
        "first": first, "second": second, "corpora": len(found.values), "mean_pp": found.mean,
        "low_pp": low, "high_pp": high, "prediction_low_pp": from_, "prediction_high_pp": to,
        "deviation_pp": found.deviation,
    }  # fmt: skip
