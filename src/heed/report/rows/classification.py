"""The rows of a classification: precision, recall and F1 by class, as in the talk's tables."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from heed.evaluation.results import (
    BASELINE,
    Gain,
    MeanAndStd,
    ModelResult,
    ReferenceResult,
    Scores,
    mean_and_std,
    paired_gain,
)
from heed.report.experiments import Experiment
from heed.report.formats import format_number, format_points
from heed.report.published import NO_SCORES
from heed.report.results import Results
from heed.report.rows import Rows
from heed.report.rows.hyperparameters import GROUPS, shown_setting, talk_column
from heed.tasks.classification.metrics import AVERAGES

HEADINGS = {"precision": "precision", "recall": "recall", "f1": "f1-score", "support": "support"}
MEASURES = tuple(HEADINGS)[:3]
NO_SCORE = MeanAndStd(math.nan, None, [])  # of an accuracy in the columns of precision and recall


@dataclasses.dataclass(frozen=True)
class ClassScore:
    """A score over runs, printed with so many digits, and the talk's."""

    score: MeanAndStd
    published: str
    digits: int = 4

    @property
    def printed(self) -> str:
        """The mean in its format for people; nothing of an accuracy's precision."""
        return format_number(self.score.mean, self.digits) if self.score.values else ""

    @property
    def by_run(self) -> list[str]:
        """The value of each run in its format for people."""
        return [format_number(value, self.digits) for value in self.score.values]

    @property
    def other(self) -> str:
        """The talk's, where it is another one."""
        return "" if self.published == self.printed else self.published

    @property
    def difference(self) -> str:
        """Our score minus the talk's in percentage points; empty where they are not compared."""
        if not self.published or self.digits != 4:
            return ""
        return format_points(100 * (self.score.mean - float(self.published)), 1)


@dataclasses.dataclass(frozen=True)
class ClassRow:
    """A row of a table of the talk: a class or an average, which is its kind."""

    variant: str
    name: str
    kind: str
    precision: ClassScore
    recall: ClassScore
    f1: ClassScore
    support: ClassScore


def class_rows(experiment: Experiment, variant: str) -> list[ClassRow]:
    """Return the classification report of a model or a reference model: classes, then averages."""
    result = experiment.result
    of: ModelResult | ReferenceResult = (result.models | result.reference_models)[variant]
    talk = experiment.talk.get(variant, NO_SCORES)
    classes, summary = of.details["classes"], of.summary
    by_run = zip(*(scores["support"].values for scores in classes.values()), strict=True)
    support = {"support": mean_and_std([sum(values) for values in by_run])}
    averages = {"accuracy": {"f1": summary["accuracy"]}}
    for average in AVERAGES:
        averages[f"{average} avg"] = {each: summary[f"{average}_{each}"] for each in MEASURES}
    return [
        *(
            _row(variant, name, "class", classes[name], talk.class_scores(name))
            for name in result.groups["classes"]
        ),
        *(
            _row(variant, name, "average", scores | support, talk.average_scores(name))
            for name, scores in averages.items()
        ),
    ]


def _row(
    variant: str, name: str, kind: str, scores: Scores, published: Mapping[str, str]
) -> ClassRow:
    support = scores["support"]
    is_whole = all(value == round(value) for value in (support.mean, *support.values))
    digits = dict.fromkeys(MEASURES, 4) | {"support": 0 if is_whole else 1}
    cells = (
        ClassScore(scores.get(metric, NO_SCORE), published.get(metric, ""), digits[metric])
        for metric in HEADINGS
    )
    return ClassRow(variant, name, kind, *cells)


def reports(results: Results, experiment: Experiment) -> Iterator[Rows]:
    """Yield the classification report of each model and reference model."""
    result = experiment.result
    for variant in (*result.models, *result.reference_models):
        rows = class_rows(experiment, variant)
        kind = "models" if variant in result.models else "reference_models"
        facts: dict[str, Any] = {"variant": variant, "words": experiment.words[variant]}
        facts |= {"headings": HEADINGS, "measures": MEASURES}
        yield Rows(rows, facts, variant, location=f"experiments.{experiment.key}.{kind}.{variant}")


def slide(results: Results, experiment: Experiment) -> Rows | None:
    """Return both reports of a slide side by side: without and with attention.

    In the talk's order of classes where the talk has them; each cell has the talk's score with it.
    """
    pair = pair_of(experiment)
    if not pair:
        return None
    both = [{row.name: row for row in class_rows(experiment, variant)} for variant in pair]
    talk = [each.casefold() for each in experiment.talk.get(pair[0], NO_SCORES).classes]
    order = {name: number for number, name in enumerate(talk)}
    names = sorted(
        both[0],
        key=lambda name: (both[0][name].kind != "class", order.get(name.casefold(), len(order))),
    )
    records = [
        {"name": name, "kind": both[0][name].kind, "without": both[0][name], "with": both[1][name]}
        for name in names
    ]
    return Rows(records, {"without": experiment.words[pair[0]], "with": experiment.words[pair[1]]})


def pair_of(experiment: Experiment) -> tuple[str, str] | None:
    """Return the models of a slide, without and with attention; None where one is missing."""
    attention = next(iter(experiment.result.attention), "")
    return (BASELINE, attention) if attention and BASELINE in experiment.result.models else None


def seeds(results: Results, experiment: Experiment) -> Rows:
    """Return every score of every run of all models."""
    result = experiment.result
    of_models = [f"seed {seed}" for seed in results.comparison.seeds_of(experiment.key)]
    folds = [f"fold {fold}" for fold in range(result.corpus.folds)]
    names = dict.fromkeys(result.models, of_models)
    names |= dict.fromkeys(result.reference_models, folds)
    pair = pair_of(experiment) or (BASELINE, *result.attention[:1])
    order = sorted(names, key=lambda name: name not in pair)
    records = [
        {"variant": variant, "run": run, "row": row.name, "kind": row.kind, "metric": metric,
         "value": value}
        for variant in order
        for row in class_rows(experiment, variant)
        for metric in HEADINGS
        if (cell := getattr(row, metric)).score.values
        for run, value in zip(
            names[variant] if len(names[variant]) > 1 else ["the only one"],
            cell.by_run,
            strict=True,
        )
    ]  # fmt: skip
    return Rows(records)


class ClassChange(NamedTuple):
    """The change in a class's recall, paired by seed, and the talk's in percentage points."""

    name: str
    support: float
    gain: Gain
    talk: float | None

    @property
    def by_seed(self) -> str:
        """The change with each seed."""
        return " ".join(f"{value:+.2f}" for value in self.gain.values_pp)


def changes(results: Results, experiment: Experiment) -> Rows | None:
    """Return the change in recall of each class, attention over the baseline: largest first."""
    pair = pair_of(experiment)
    if not pair:
        return None
    found = []
    for before, after in zip(*(class_rows(experiment, each) for each in pair), strict=True):
        if after.kind == "class":
            old, new = before.recall, after.recall
            gain = paired_gain(new.score.values, old.score.values)
            both = old.published and new.published
            talk = 100 * (float(new.published) - float(old.published)) if both else None
            found.append(ClassChange(after.name, after.support.score.mean, gain, talk))
    return Rows(sorted(found, key=lambda each: (-each.gain.mean_pp, each.name)))


def never_predicted(experiment: Experiment) -> dict[str, list[str]]:
    """Return the classes of which a model of the slide has no right prediction, by variant."""
    found = {
        variant: [
            row.name
            for row in class_rows(experiment, variant)
            if row.kind == "class" and row.support.score.mean and not row.f1.score.mean
        ]
        for variant in pair_of(experiment) or ()
    }
    return {variant: names for variant, names in found.items() if names}


def untested(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the classes without test documents, with the number of folds that lack them."""
    fitted = next(iter(experiment.result.reference_models.values()))  # once for each test split
    found = []
    for name in experiment.result.groups["classes"]:
        counts = fitted.details["classes"][name]["support"].values
        if missing := counts.count(0):
            found.append({"name": name, "missing": missing, "folds": len(counts)})
    return found


# --- beneath the slide ----------------------------------------------------------------------------


def beneath(results: Results, experiment: Experiment) -> Rows | None:
    """Return what a slide has beneath its reports: deviation, gain, hyperparameters, parameters."""
    pair = pair_of(experiment)
    if not pair or not experiment.talk:
        return None
    talk = [experiment.talk.get(name, NO_SCORES).summary for name in pair]
    models = [experiment.result.models[name] for name in pair]
    deviations = [experiment.result.compared_score(each).std_pp for each in models]
    counts = [f"{each.parameters / 1e6:.2f}" for each in models]
    rows = [
        ("", "standard deviation, p.p.", [format_number(each, 3) for each in deviations],
         "std_percent"),
        *_settings(models),
        ("", "million parameters", counts, "parameters_million"),
    ]  # fmt: skip
    records = [
        {"group": group, "words": words, "ours": ours,
         "talk": [each.get(column, "") for each in talk]}
        for group, words, ours, column in rows
    ]  # fmt: skip
    return Rows(records, {"without": experiment.words[pair[0]], "with": experiment.words[pair[1]]})


def _settings(models: list[ModelResult]) -> Iterator[tuple[str, str, list[str], str]]:
    """Yield group, words, our values and the talk's column of its hyperparameters."""
    for group, keys in GROUPS.items():
        for place, (key, words) in enumerate(keys.items()):
            values = (shown_setting(each.hyperparameters, key) for each in models)
            yield group * (not place), words, [f"{each:g}" for each in values], talk_column(key)


@dataclasses.dataclass(frozen=True)
class Slide:
    """What the sentences around a slide name; the talk's values are as it prints them."""

    never: list[dict[str, Any]]  # classes without a right prediction, by model
    others: list[str]  # classes that the talk alone has
    misprints: list[str]
    losses: list[dict[str, Any]]  # when hyperparameters are degraded


def slide_facts(experiment: Experiment) -> Slide:
    """Return what is said around the slide of an experiment of the talk."""
    talk = experiment.talk
    never = [
        {
            "model": experiment.sentences[variant], "names": names,
            "talk": [
                score
                for name in names
                if (score := talk.get(variant, NO_SCORES).class_scores(name).get("f1"))
            ],
        }
        for variant, names in never_predicted(experiment).items()
    ]  # fmt: skip
    of_talk = next(iter(talk.values()), NO_SCORES)
    ours = {name.casefold() for name in experiment.result.groups["classes"]}
    losses = [
        {"words": experiment.words[each.variant], "change": each.change.mean_pp, "talk": each.talk}
        for each in experiment.degradations
    ]
    others = [row["class"] for name, row in of_talk.classes.items() if name not in ours]
    return Slide(never, others, of_talk.misprints, losses)
