"""The figures that others print, in data/published/: the talk's, and papers' on explanations."""

import csv
import dataclasses
import math
from pathlib import Path

from scipy import stats

from heed.files import HeedError, reading

RESULTS, CLASSES = "talk_results.csv", "talk_classes.csv"
EXPLANATION, SENTENCES = "explanation.csv", "explanation_sentences.csv"
TALK_VARIANTS = ("baseline", "attention")
SHOWN_BELOW = 0.05  # the p of a gain of the talk, two-sided


@dataclasses.dataclass(frozen=True)
class Talk:
    """The talk's scores of one experiment and variant; empty where it has none."""

    summary: dict[str, str]
    classes: dict[str, dict[str, str]]  # by class name in lower case

    def class_scores(self, name: str) -> dict[str, str]:
        """Return precision, recall, f1 and support of a class, whatever its case, as printed."""
        return _as_printed(self.classes.get(name.casefold(), {}))

    @property
    def misprints(self) -> list[str]:
        """The supports that the talk's text has otherwise than its other classes leave."""
        return [
            f"{row['class']} {row['support']} (printed as {row['support_as_printed']})"
            for row in self.classes.values()
            if row["support_as_printed"]
        ]

    def average_scores(self, row: str) -> dict[str, str]:
        """Return the figures of the row accuracy, macro avg or weighted avg, as printed."""
        columns = {each: f"{row.split()[0]}_{each}" for each in ("precision", "recall", "f1")}
        columns = {"f1": "accuracy"} if row == "accuracy" else columns
        columns["support"] = "test_items"
        return _as_printed({key: self.summary.get(name, "") for key, name in columns.items()})


NO_SCORES = Talk({}, {})


def _as_printed(row: dict[str, str]) -> dict[str, str]:
    scores = {key: row[key] for key in ("precision", "recall", "f1") if row.get(key)}
    printed = {key: f"{float(value):.4f}" for key, value in scores.items()}
    return printed | ({"support": row["support"]} if row.get("support") else {})


def read_published(folder: Path) -> dict[str, dict[str, Talk]]:
    """Return the talk's scores by experiment and variant."""
    published: dict[str, dict[str, Talk]] = {}
    for row in _read_rows(folder / RESULTS):
        published.setdefault(row["experiment"], {})[row["variant"]] = Talk(row, {})
    for row in _read_rows(folder / CLASSES):
        published[row["experiment"]][row["variant"]].classes[row["class"].casefold()] = row
    return published


def experiment_scores(
    published: dict[str, dict[str, Talk]], name: str, key: str
) -> dict[str, Talk]:
    """Return the talk's scores of experiment `name` by variant; params.yaml names it at `key`.

    Raises HeedError: the talk has no such experiment.
    """
    if name not in published:
        raise HeedError(
            f"params.yaml: {key}: the talk has no experiment {name} (data/published/{RESULTS}). "
            f"It has: {', '.join(published)}"
        )
    return published[name]


@dataclasses.dataclass(frozen=True)
class TalkTest:
    """The talk's gain against chance in the choice of test documents: z and the two-sided p."""

    gain_pp: float
    documents: int
    z: float
    p: float

    @property
    def shown(self) -> bool:
        """Whether another draw of test documents alone would hardly have given such a gain."""
        return self.p < SHOWN_BELOW


def talk_test(talk: dict[str, Talk]) -> TalkTest | None:
    """Return the test of two proportions on the accuracies that the talk prints; None without both.

    Both models have read the same documents, but which of them each got right is not published. So
    the two are taken as independent: with errors in common, the usual case, z is too small. What
    another seed or another split would change is not known, and no part of it: with it z is too
    large.
    """
    rows = [talk.get(variant, NO_SCORES).summary for variant in TALK_VARIANTS]
    if not all(row.get("accuracy") for row in rows):
        return None
    baseline, attention = (float(row["accuracy"]) for row in rows)
    counts = [int(row["test_items"]) for row in rows]
    variances = (
        share * (1 - share) / count
        for share, count in zip((baseline, attention), counts, strict=True)
    )
    z = (attention - baseline) / math.sqrt(sum(variances))
    gain = 100 * (attention - baseline)
    return TalkTest(gain, counts[0], z, 2 * float(stats.norm.sf(abs(z))))


@dataclasses.dataclass(frozen=True)
class PaperScore:
    """A figure of a paper on explanations, of a model on a kind of corpus."""

    paper: str
    place: str
    corpus: str  # a kind of corpora of heed
    model: str
    test: str
    measure: str
    mean: float


@dataclasses.dataclass(frozen=True)
class PaperSentence:
    """A sentence of a paper on a test."""

    test: str
    paper: str
    sentence: str


@dataclasses.dataclass(frozen=True)
class Papers:
    """The figures and sentences of papers on explanations."""

    scores: list[PaperScore]
    sentences: list[PaperSentence]


NO_PAPERS = Papers([], [])


def read_papers(folder: Path) -> Papers:
    """Return the figures and sentences of papers on explanations, of all corpora and tests."""
    scores, sentences = (_read_rows(folder / name) for name in (EXPLANATION, SENTENCES))
    names = [field.name for field in dataclasses.fields(PaperScore) if field.name != "mean"]
    return Papers(
        [PaperScore(**{k: row[k] for k in names}, mean=float(row["mean"])) for row in scores],
        [PaperSentence(row["test"], row["paper"], row["sentence"]) for row in sentences],
    )


def _read_rows(path: Path) -> list[dict[str, str]]:
    with reading(path, f"git checkout {path}"), path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
