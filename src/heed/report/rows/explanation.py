"""The rows of what the weights explain: the criteria by model, and the means of the tests."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation.results import format_significant
from heed.explanation.registry import CRITERIA, TESTS
from heed.report.explanations import Explanation, range_of
from heed.report.formats import format_count, format_interval, format_number
from heed.report.measures import lacks_layer
from heed.report.results import Results, Source
from heed.report.rows import Rows


def criteria(results: Results) -> Rows | None:
    """Return the outcome of each criterion by model; None of a study that explains no model."""
    facts = {"criteria": {name: test.criterion for name, test in CRITERIA.items()}}
    records = [*map(_criteria, results.explanations)]
    return _rows(results, records, *results.comparison_sources, **facts)


def _rows(results: Results, records: list[Any], *sources: Source, **facts: Any) -> Rows | None:
    """Return rows, of the means of all explained models; None where there are no records."""
    if not records:
        return None
    marks = {model.experiment.mark for model in results.explanations}
    facts["several"] = len({model.experiment.key for model in results.explanations}) > 1
    facts["mark"] = marks.pop() if len(marks) == 1 else ""
    files = [model.folder / "summary.csv" for model in results.explanations]
    own = results.sources.add_files(results.folder / "explain", files, "heed explain MODEL")
    return Rows(records, facts, sources=(own, *sources))


def _named(explanation: Explanation) -> dict[str, Any]:
    """Return the experiment, and the model in words; of a reading of an encoder its name."""
    words = explanation.experiment.words.get(explanation.variant, explanation.variant)
    return {"experiment": explanation.experiment, "variant": explanation.variant, "words": words}


def _criteria(explanation: Explanation) -> dict[str, Any]:
    gain, outcomes = explanation.gain, explanation.outcomes
    interval = f": {format_interval(gain.interval)}" if gain.interval else ""
    control = explanation.experiment.words.get(gain.control, gain.control)
    notes = {
        name: outcome.reason or "" if outcome.value is None else format_number(outcome.value, 2)
        for name, outcome in outcomes.items()
    }
    return _named(explanation) | {
        "gain": gain, "over": "" if gain.gain is None else f"{control}{interval}", "note": notes,
        "outcome": outcomes, "known": {n: not outcome.reason for n, outcome in outcomes.items()},
    }  # fmt: skip


def means(results: Results) -> Rows | None:
    """Return the mean of each test, over documents and seeds, with its deviation over seeds."""
    columns = [(test, column) for test in TESTS for column in test.columns]
    records = []
    for model in results.explanations:
        found = [_mean_of_seeds(test.means(model.summary, column)) for test, column in columns]
        records.append(_named(model) | {"means": found})
    titles = {str(number): column.title for number, (_, column) in enumerate(columns)}
    return _rows(results, records, titles=titles)


def sizes(results: Results) -> dict[str, Any]:
    """Return the number of seeds, and the range of documents of each, that the means are over."""
    columns = [(test, column) for test in TESTS if test.table != "seeds" for column in test.columns]
    summaries = [model.summary for model in results.explanations]
    counted = pd.concat(test.rows(own, column) for own in summaries for test, column in columns)
    documents = counted["documents"].astype(int).tolist() or [0]
    return {"seeds": counted["seed"].nunique(), "documents": range_of(documents, format_count)}


def _mean_of_seeds(values: list[float]) -> dict[str, Any]:
    if not values:
        return {"mean": None, "note": ""}
    note = f"± {format_number(float(np.std(values, ddof=1)), 3)}" if len(values) > 1 else ""
    return {"mean": float(np.mean(values)), "note": note}


def trained(results: Results) -> Rows | None:
    """Return the means of models that were trained with other weights; None without any."""
    models = [model for base in results.explanations for model in base.adversarial_attention]
    keys, records = ["test", "measure", "weights"], list[dict[str, Any]]()
    for model in models:
        known = model.summary.dropna(subset="mean").fillna({"weights": ""})
        for key, rows in known.groupby(keys, sort=False):
            metric = " ".join(filter(None, map(str, key)))
            means = _mean_of_seeds(rows["mean"].tolist())
            records.append({"model": model.name, "metric": metric, **means})
    files = results.sources.add(*dict.fromkeys(model.folder / "summary.csv" for model in models))
    found = _rows(results, records)
    return found and dataclasses.replace(found, sources=files)


def all_means(results: Results) -> Rows | None:
    """Return every mean by seed, ranking and class, for the CSV file."""
    records = []
    for model in results.explanations:
        known = model.summary.dropna(subset="mean").astype({"seed": int, "documents": int})
        records += [_named(model) | {"row": row} for row in known.fillna("").to_dict("records")]
    return Rows(records) if results.explanations else None


def has_layer_note(results: Results) -> bool:
    """Return whether a control lacks the whole layer of a model, and not its weights alone."""
    own = [model for model in results.explanations if not model.is_of_encoder and model.has_weights]
    return any(lacks_layer(model.experiment.result, model.variant) for model in own)


def papers_text(results: Results, explained: Sequence[Explanation], test: str) -> str:
    """Return what papers say of a test, and their scores on corpora that the study has whole."""
    scores, sentences = (table[table["test"] == test] for table in results.papers)
    read, lengths, kinds = list[int](), list[int](), set[str]()
    for model in explained:
        result, statistics = model.experiment.result, model.experiment.result.corpus.statistics
        is_whole = not statistics.reduced and statistics.kind in {*scores["corpus"]}
        if is_whole and not model.is_of_encoder:
            kinds.add(statistics.kind)
            read.append(result.models[model.variant].hyperparameters.max_tokens)
            lengths.append(round(statistics.tokens / statistics.documents))
    texts = []
    for paper, rows in scores[scores["corpus"].isin(kinds)].groupby("paper", sort=False):
        printed = rows["mean"].map(lambda mean: format_significant(float(mean), 3))
        models = printed.groupby(rows["model"], sort=False).agg("/".join)
        listed = ", ".join(f"{name} {own}" for name, own in models.items())
        texts.append(f"{paper} print: {listed}.")
    if read:
        most, mean = range_of(read, format_count), range_of(lengths, format_count)
        texts.append(f"Ours read at most {most} tokens of a text; the mean length is {mean}.")
    texts += [f"“{row.sentence}” ({row.paper})." for row in sentences.itertuples()]
    return " ".join(texts)
