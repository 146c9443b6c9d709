"""The rows of a classification: precision, recall and F1 by class, as in the talk's tables."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from heed.evaluation.results import BASELINE, MeanAndStd, Scores, mean_and_std
from heed.report.experiments import Experiment
from heed.report.formats import format_number, format_points
from heed.report.published import NO_SCORES
from heed.report.results import Results
from heed.report.rows import Rows
from heed.report.rows.hyperparameters import COLUMNS, GROUPS, shown_setting
from heed.tasks.classification.metrics import AVERAGES

HEADINGS = {"precision": "precision", "recall": "recall", "f1": "f1-score", "support": "support"}
MEASURES = tuple(HEADINGS)[:3]
NO_SCORE = MeanAndStd(math.nan, None, [])  # of an accuracy in the columns of precision and recall
Report = dict[tuple[str, str], dict[str, Any]]  # by kind and name


def report_of(experiment: Experiment, variant: str) -> Report:
    """Return the classification report of a model or a reference model: classes, then averages."""
    result, talk = experiment.result, experiment.talk.get(variant, NO_SCORES)
    of: Any = (result.models | result.reference_models)[variant]
    classes, summary = of.details["classes"], of.summary
    by_run = zip(*(scores["support"].values for scores in classes.values()), strict=True)
    support = mean_and_std([sum(values) for values in by_run])
    averages: dict[str, Scores] = {"accuracy": {"f1": summary["accuracy"], "support": support}}
    for average in AVERAGES:
        scores = {measure: summary[f"{average}_{measure}"] for measure in MEASURES}
        averages[f"{average} avg"] = scores | {"support": support}
    names = result.groups["classes"]
    rows = [_row(n, "class", classes[n], talk.class_scores(n)) for n in names]
    rows += [_row(n, "average", s, talk.average_scores(n)) for n, s in averages.items()]
    return {(row["kind"], row["name"]): row for row in rows}


def _row(name: str, kind: str, scores: Scores, published: Mapping[str, str]) -> dict[str, Any]:
    """Return a row: its name and kind, and each metric as printed; difference: p.p. to the talk."""
    support, row = scores["support"], dict[str, Any](name=name, kind=kind)
    is_whole = all(value == round(value) for value in (support.mean, *support.values))
    for metric in HEADINGS:
        score, talk = scores.get(metric, NO_SCORE), published.get(metric, "")
        digits = 4 if metric in MEASURES else int(not is_whole)
        printed = format_number(score.mean, digits) if score.values else ""
        row[metric] = {
            "score": score, "digits": digits, "printed": printed, "published": talk,
            "other": "" if talk == printed else talk, "difference": "",
        }  # fmt: skip
        if talk and metric in MEASURES:
            difference = 100 * (score.mean - float(talk))
            row[metric]["difference"] = format_points(difference, 1)
    return row


def reports(results: Results, experiment: Experiment) -> Iterator[Rows]:
    """Yield the classification report of each model and reference model."""
    for variant, words in experiment.words.items():
        records = [{"variant": variant} | row for row in report_of(experiment, variant).values()]
        yield Rows(records, {"words": words, "headings": HEADINGS, "measures": MEASURES}, variant)


def slide(results: Results, experiment: Experiment) -> Rows:
    """Return both reports of a slide side by side, in the talk's order of classes if it has it."""
    without, attention = (report_of(experiment, variant) for variant in experiment.pair)
    order = [*experiment.talk.get(BASELINE, NO_SCORES).classes]
    records = [row | {"without": row, "with": attention[key]} for key, row in without.items()]
    places = {name: number for number, name in enumerate(order, -len(order))}
    records.sort(key=lambda row: (row["kind"] != "class", places.get(row["name"].casefold(), 0)))
    return Rows(records, _headings(experiment))


def _headings(experiment: Experiment) -> dict[str, str]:
    without, attention = map(experiment.words.__getitem__, experiment.pair)
    return {"without": without, "with": attention}


def beneath(results: Results, experiment: Experiment) -> Rows:
    """Return what a slide has beneath its reports: deviation, hyperparameters, parameters."""
    models = [experiment.result.models[name] for name in experiment.pair]
    printed = [format_number(experiment.result.compared_score(model).std_pp, 3) for model in models]
    counts = [f"{model.parameters / 1e6:.2f}" for model in models]
    rows = [("", "standard deviation, p.p.", "std_percent", printed)]
    for group, keys in GROUPS.items():
        for place, (key, words) in enumerate(keys.items()):
            values = [f"{shown_setting(model.hyperparameters, key):g}" for model in models]
            rows.append((group * (not place), words, COLUMNS.get(key, key), values))
    rows.append(("", "million parameters", "parameters_million", counts))
    talk = [experiment.talk.get(name, NO_SCORES).summary for name in experiment.pair]
    records = [
        {"group": group, "words": words, "ours": ours, "talk": [e.get(column, "") for e in talk]}
        for group, words, column, ours in rows
    ]
    return Rows(records, _headings(experiment))
