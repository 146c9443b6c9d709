"""The rows of what a study is made of: networks, words, corpora, files and machine kinds."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from heed.evaluation.results import BASELINE, NOT_NOTED, runs_by_machine_kind
from heed.report.experiments import Experiment
from heed.report.formats import format_count, read_yaml
from heed.report.measures import explain_degenerate, report_of
from heed.report.results import Results
from heed.report.rows import Rows
from heed.report.words import describe_network


def networks(results: Results) -> list[dict[str, Any]]:
    """Return the networks of a study; one that differs between experiments has several entries.

    role: baseline, control, matched or nothing. search: of its hyperparameters; nothing without
    one. experiments: titles of those where it is the same.
    """
    titles: dict[tuple[str, ...], list[str]] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            declared = results.params.models.get(model.model)
            roles = {
                BASELINE: name == BASELINE, "control": name in experiment.result.controls,
                "matched": declared and declared.match_parameters_of != model.model,
            }  # fmt: skip
            search = declared.search if declared and declared.search != "none" else ""
            told = (
                name, experiment.words[name], describe_network(model.hyperparameters),
                next(filter(roles.get, roles), ""), search,
            )  # fmt: skip
            titles.setdefault(told, []).append(experiment.title)
    keys = ("variant", "words", "description", "role", "search")
    entries = [dict(zip(keys, told, strict=True), experiments=own) for told, own in titles.items()]
    return sorted(entries, key=lambda each: each["variant"] != BASELINE)


def words(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words and the reference models, with what they mean in this study."""
    method = results.comparison.significance
    experiments, measures = results.experiments, [each.measure for each in results.experiments]
    values = {
        "level": f"{method.alpha:g}",
        "margin": _alternatives(f"±{each.limit(method.equivalence_margin)}" for each in measures),
        "limit": _alternatives(
            each.of_validation.convergence_margin(method.convergence_pp) for each in measures
        ),
        "degenerate": _alternatives((explain_degenerate(each.result) for each in experiments), " "),
    }
    found = {
        key: (each["name"], each["meaning"].format(**values))
        for key, each in read_yaml("glossary").items()
    }
    for each in experiments:
        meanings = report_of(each.measure.task).REFERENCE_MODELS
        found |= {name: (each.words[name], meanings[name]) for name in each.result.reference_models}
    return found


def _alternatives(texts: Iterable[str], between: str = " or ") -> str:
    return between.join(dict.fromkeys(texts))


def models(results: Results) -> Rows:
    """Return each network of a study once: its name in words, what it does, and its sizes."""
    counts: dict[tuple[str, str], list[int]] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            key = experiment.words[name], describe_network(model.hyperparameters)
            counts.setdefault(key, []).append(model.parameters)
    records = [
        {
            "words": words, "does": does,
            "parameters": _alternatives((f"{n / 1e6:.2f}" for n in (min(own), max(own))), " to "),
        }
        for (words, does), own in counts.items()
    ]  # fmt: skip
    return Rows(records)


def corpora(results: Results) -> Rows:
    """Return the corpus of each experiment once, with the sizes of its splits."""
    records = {}
    for each in results.experiments:
        statistics = each.result.corpus.statistics
        near = statistics.near_duplicates
        sizes = (statistics.splits[split] for split in ("train", "validation", "test"))
        records[each.corpus_name] = {
            "experiment": each, "statistics": statistics,
            "splits": " / ".join(map(format_count, sizes)),
            "near": f"{'' if near.complete else 'at least '}{format_count(near.total)}",
        }  # fmt: skip
    return Rows([*records.values()])


def sources(results: Results) -> Rows:
    """Return every source of the report; it is built last, when all tables have added theirs."""
    return Rows(results.sources.all())


def machine_kinds(results: Results) -> dict[str, int]:
    """Return the number of runs that were trained on each machine kind: most first."""
    models = (model for each in results.experiments for model in each.result.models.values())
    counts = Counter(kind for model in models for kind in model.machine_kinds)
    order = sorted(counts.items(), key=lambda each: (each[0] == NOT_NOTED, -each[1]))
    return {_name(kind): count for kind, count in order}


def runs_of_kinds(results: Results, experiment: Experiment) -> dict[str, dict[str, list[int]]]:
    """Return the seeds of each model in words by machine kind; nothing where all are of one."""
    runs = runs_by_machine_kind(experiment.result, results.comparison.seeds_of(experiment.key))
    if len(runs) < 2:
        return {}
    return {
        _name(kind): {experiment.words[variant]: seeds for variant, seeds in variants.items()}
        for kind, variants in runs.items()
    }


def _name(kind: str) -> str:
    return kind if kind != NOT_NOTED else "a machine kind that is not noted"
