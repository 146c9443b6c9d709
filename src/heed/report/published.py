"""The scores that others print, in data/published/: the talk's, and papers' on explanations."""

import csv
import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from scipy import stats

from heed.files import reading

RESULTS, CLASSES = "talk_results.csv", "talk_classes.csv"
EXPLANATION, SENTENCES = "explanation.csv", "explanation_sentences.csv"
TALK_VARIANTS = ("last-state", "self-attention")
SHOWN_BELOW = 0.05  # the p of a gain of the talk, two-sided


class Talk(NamedTuple):
    """The talk's scores of one experiment and variant; empty where it has none."""

    summary: dict[str, str]
    classes: dict[str, dict[str, str]]  # by class name in lower case

    def class_scores(self, name: str) -> dict[str, str]:
        """Return precision, recall, f1 and support of a class, whatever its case, as printed."""
        return _as_printed(self.classes.get(name.casefold(), {}))

    def average_scores(self, row: str) -> dict[str, str]:
        """Return the scores of the row accuracy, macro avg or weighted avg, as printed."""
        averages = {score: f"{row.split()[0]}_{score}" for score in SCORES}
        columns = {"f1": "accuracy"} if row == "accuracy" else averages
        columns["support"] = "test_items"
        return _as_printed({key: self.summary.get(name, "") for key, name in columns.items()})


SCORES = ("precision", "recall", "f1")
NO_SCORES = Talk({}, {})


def _as_printed(row: dict[str, str]) -> dict[str, str]:
    scores = {key: f"{float(row[key]):.4f}" for key in SCORES if row.get(key)}
    return scores | ({"support": row["support"]} if row.get("support") else {})


def read_published(folder: Path) -> dict[str, dict[str, Talk]]:
    """Return the talk's scores by experiment and variant."""
    published: dict[str, dict[str, Talk]] = {}
    for row in _read_rows(folder / RESULTS):
        published.setdefault(row["experiment"], {})[row["variant"]] = Talk(row, {})
    for row in _read_rows(folder / CLASSES):
        published[row["experiment"]][row["variant"]].classes[row["class"].casefold()] = row
    return published


class TalkTest(NamedTuple):
    """The talk's gain against chance in the choice of test documents: z and the two-sided p."""

    gain_pp: float
    documents: int
    z: float
    p: float
    shown: bool  # whether another draw of test documents would hardly have given such a gain


def talk_test(talk: dict[str, Talk]) -> TalkTest | None:
    """Return the test of two proportions on the accuracies that the talk prints; None without both.

    The two are taken as independent, since what each got right is not published: with errors in
    common, the usual case, z is too small. What seeds and splits change is not known: for that z is
    too large.
    """
    rows = [talk.get(variant, NO_SCORES).summary for variant in TALK_VARIANTS]
    if not all(row.get("accuracy") for row in rows):
        return None
    shares = [float(row["accuracy"]) for row in rows]
    counts = [int(row["test_items"]) for row in rows]
    variances = (s * (1 - s) / count for s, count in zip(shares, counts, strict=True))
    gain = shares[1] - shares[0]
    z = gain / math.sqrt(sum(variances))
    p = 2 * float(stats.norm.sf(abs(z)))
    return TalkTest(100 * gain, counts[0], z, p, p < SHOWN_BELOW)


def read_papers(folder: Path) -> list[pd.DataFrame]:
    """Return the scores and the sentences of papers on explanations, of all corpora and tests."""
    return [pd.DataFrame(_read_rows(folder / name)) for name in (EXPLANATION, SENTENCES)]


def _read_rows(path: Path) -> list[dict[str, str]]:
    with reading(path, f"git checkout {path}"), path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
