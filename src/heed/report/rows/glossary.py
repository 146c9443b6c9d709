"""The rows of what a study is made of: networks, words, corpora, files and machine kinds."""

from collections import Counter
from typing import Any

from heed.evaluation.results import BASELINE
from heed.report.explanations import range_of
from heed.report.formats import format_count
from heed.report.results import Results
from heed.report.rows import Rows
from heed.report.words import describe_network


def networks(results: Results) -> list[dict[str, Any]]:
    """Return the networks of a study by what they do, with the titles of their experiments."""
    titles: dict[tuple[str, ...], list[str]] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            declared = results.params.models.get(model.model)
            roles = {
                BASELINE: name == BASELINE, "control": name in experiment.result.controls,
                "matched": declared and declared.match_parameters_of != model.model,
            }  # fmt: skip
            search = declared.search if declared and declared.search != "none" else ""
            about = experiment.words[name], describe_network(model.hyperparameters)
            told = (name, *about, next(filter(roles.get, roles), ""), search)
            titles.setdefault(told, []).append(experiment.title)
    keys = ("variant", "words", "description", "role", "search")
    entries = [dict(zip(keys, told, strict=True), experiments=own) for told, own in titles.items()]
    return sorted(entries, key=lambda entry: entry["variant"] != BASELINE)


def models(results: Results) -> Rows:
    """Return each network of a study once: its name in words, what it does, and its sizes."""
    counts: dict[tuple[str, str], list[int]] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            key = experiment.words[name], describe_network(model.hyperparameters)
            counts.setdefault(key, []).append(model.parameters)
    sizes = {key: range_of(own, lambda n: f"{n / 1e6:.2f}", " to ") for key, own in counts.items()}
    return Rows([{"words": w, "does": does, "parameters": n} for (w, does), n in sizes.items()])


def corpora(results: Results) -> Rows:
    """Return the corpus of each experiment once, with the sizes of its splits."""
    records = {}
    for experiment in results.experiments:
        statistics = experiment.result.corpus.statistics
        near = statistics.near_duplicates
        sizes = (statistics.splits[split] for split in ("train", "validation", "test"))
        records[experiment.corpus_name] = {
            "experiment": experiment, "statistics": statistics,
            "splits": " / ".join(map(format_count, sizes)),
            "near": f"{'' if near.complete else 'at least '}{format_count(near.total)}",
        }  # fmt: skip
    return Rows([*records.values()])


def sources(results: Results) -> Rows:
    """Return every source of the report; it is built last, when all tables have added theirs."""
    return Rows(results.sources.all())


def machine_kinds(results: Results) -> list[tuple[str, int]]:
    """Return the number of runs that were trained on each machine kind: most first."""
    found = (experiment.result for experiment in results.experiments)
    models = (model for result in found for model in result.models.values())
    counts = Counter(kind for model in models for kind in model.machine_kinds)
    return counts.most_common()
