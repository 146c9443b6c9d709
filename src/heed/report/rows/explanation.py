"""The rows of what the weights explain: the criteria by model, and the means of the tests."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation.results import format_significant
from heed.explanation.registry import CRITERIA, TESTS
from heed.report.explanations import Explanation, range_of
from heed.report.formats import format_count, format_interval, format_number
from heed.report.measures import lacks_layer
from heed.report.published import PaperScore
from heed.report.results import Results
from heed.report.rows import Rows


def criteria(results: Results) -> Rows | None:
    """Return the outcome of each criterion by model; None of a study that explains no model."""
    if not results.explanations:
        return None
    facts = _facts(results) | {
        "criteria": {name: test.criterion for name, test in CRITERIA.items()}
    }
    sources = (results.explanation_source, *results.comparison_sources)
    return Rows([_criteria(each) for each in results.explanations], facts, sources=sources)


def _facts(results: Results) -> dict[str, Any]:
    """Return what declarations ask for: whether there are several experiments, and their mark."""
    marks = {each.experiment.mark for each in results.explanations}
    several = len({each.experiment.key for each in results.explanations}) > 1
    return {"several": several, "mark": marks.pop() if len(marks) == 1 else ""}


def _words(explanation: Explanation) -> str:
    """Return the model in words; of a reading of a pretrained encoder its name."""
    return explanation.experiment.words.get(explanation.variant, explanation.variant)


def _criteria(explanation: Explanation) -> dict[str, Any]:
    gain = explanation.gain
    interval = f": {format_interval(gain.interval)}" if gain.interval else ""
    control = explanation.experiment.words.get(gain.control, gain.control)
    outcomes = explanation.outcomes
    return {
        "experiment": explanation.experiment, "link": f"#experiment-{explanation.experiment.key}",
        "variant": explanation.variant, "words": _words(explanation), "gain": gain,
        "over": "" if gain.gain is None else f"{control}{interval}",
        "outcome": {name: each.outcome for name, each in outcomes.items()},
        "value": {name: each.value for name, each in outcomes.items()},
        "note": {
            name: each.reason or "" if each.value is None else format_number(each.value, 2)
            for name, each in outcomes.items()
        },
        "known": {name: not each.reason for name, each in outcomes.items()},
    }  # fmt: skip


def means(results: Results) -> Rows | None:
    """Return the mean of each test, over documents and seeds, with its deviation over seeds."""
    columns = [(test, column) for test in TESTS for column in test.columns]
    records = [
        {
            "experiment": each.experiment, "words": _words(each),
            "means": [_mean_of_seeds(test.means(each.summary, col)) for test, col in columns],
        }
        for each in results.explanations
    ]  # fmt: skip
    titles = {str(number): column.title for number, (_, column) in enumerate(columns)}
    facts = _facts(results) | {"titles": titles}
    return Rows(records, facts, sources=(results.explanation_source,)) if records else None


def sizes(results: Results) -> dict[str, Any]:
    """Return the number of seeds, and the range of documents of each, that the means are over."""
    counted = pd.concat(
        test.rows(each.summary, column)
        for each in results.explanations
        for test in TESTS
        for column in test.columns
        if test.table != "seeds"
    )
    documents = counted["documents"].astype(int).tolist() or [0]
    return {"seeds": counted["seed"].nunique(), "documents": range_of(documents, format_count)}


def _mean_of_seeds(values: list[float]) -> dict[str, Any]:
    if not values:
        return {"mean": None, "note": ""}
    note = f"± {format_number(float(np.std(values, ddof=1)), 3)}" if len(values) > 1 else ""
    return {"mean": float(np.mean(values)), "note": note}


def trained(results: Results) -> Rows | None:
    """Return the means of models that were trained with other weights; None without any."""
    records = [
        {"model": model.name, "metric": " ".join(filter(None, map(str, key)))}
        | _mean_of_seeds(rows["mean"].tolist())
        for each in results.explanations
        for model in each.adversarial_attention
        for key, rows in model.summary.dropna(subset="mean")
        .fillna({"weights": ""})
        .groupby(["test", "measure", "weights"], sort=False)
    ]
    if not records:
        return None
    folders = {
        model.folder: model for each in results.explanations for model in each.adversarial_attention
    }
    files = results.sources.add(*(folder / "summary.csv" for folder in folders))
    return Rows(records, _facts(results), sources=files)


def all_means(results: Results) -> Rows | None:
    """Return every mean by seed, ranking and class, for the CSV file."""
    records = [
        {"experiment": each.experiment, "variant": each.variant, "row": row}
        for each in results.explanations
        for row in each.summary.dropna(subset="mean")
        .astype({"seed": int, "documents": int})
        .fillna("")
        .to_dict("records")
    ]
    return Rows(records) if results.explanations else None


def has_layer_note(results: Results) -> bool:
    """Return whether a control lacks the whole layer of a model, and not its weights alone."""
    own = [each for each in results.explanations if not each.is_of_encoder and each.has_weights]
    return any(lacks_layer(each.experiment.result, each.variant) for each in own)


def papers_text(results: Results, explained: Sequence[Explanation], test: str) -> str:
    """Return what papers print of a test on the corpora of these models, and say of it.

    Scores are compared where the study has the whole corpus.
    """
    papers = results.papers
    scores = [each for each in papers.scores if each.test == test]
    texts = [*_compare_papers(scores, [each for each in explained if not each.is_of_encoder])]
    sentences = (each for each in papers.sentences if each.test == test)
    return " ".join([*texts, *(f"“{each.sentence}” ({each.paper})." for each in sentences)])


def _compare_papers(scores: list[PaperScore], explained: list[Explanation]) -> Iterator[str]:
    """Yield the scores of each paper, and the lengths of the texts that our models read."""
    read, lengths, kinds = list[int](), list[int](), set[str]()
    for each in explained:
        result, statistics = each.experiment.result, each.experiment.result.corpus.statistics
        if not statistics.reduced and statistics.kind in {score.corpus for score in scores}:
            kinds.add(statistics.kind)
            read.append(result.models[each.variant].hyperparameters.max_tokens)
            lengths.append(round(statistics.tokens / statistics.documents))
    models: dict[str, dict[str, list[str]]] = {}
    for score in scores:
        if score.corpus in kinds:
            own = models.setdefault(score.paper, {}).setdefault(score.model, [])
            own.append(format_significant(score.mean, 3))
    for paper, found in models.items():
        listed = ", ".join(f"{name} {'/'.join(each)}" for name, each in found.items())
        yield f"{paper} print: {listed}."
    if read:
        yield (
            f"Ours read at most {range_of(read, format_count)} tokens of a text; the mean length "
            f"is {range_of(lengths, format_count)}."
        )
