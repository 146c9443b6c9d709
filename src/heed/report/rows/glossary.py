"""The rows of what a study is made of: networks, words, corpora, files and machine kinds."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping

from heed.evaluation.results import BASELINE, NOT_NOTED, runs_by_machine_kind
from heed.report.experiments import Experiment
from heed.report.formats import format_count, read_yaml
from heed.report.measures import describe_reference_models, explain_degenerate
from heed.report.results import Results
from heed.report.rows import Rows
from heed.report.words import describe_network


@dataclasses.dataclass(frozen=True)
class Entry:
    """A network of a study in those experiments where it is the same."""

    variant: str  # its name in params.yaml
    words: str
    description: str
    role: str  # baseline, control, matched or nothing
    search: str  # of its hyperparameters; nothing without one
    experiments: list[str]  # titles


def networks(results: Results) -> list[Entry]:
    """Return the networks of a study; one that differs between experiments has several entries."""
    entries: dict[tuple[str, ...], Entry] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            declared = results.params.models.get(model.model)
            search = declared.search if declared and declared.search != "none" else ""
            matched = declared and declared.match_parameters_of != model.model
            told = (
                name, experiment.words[name], describe_network(model.hyperparameters),
                _role(experiment, name) or ("matched" if matched else ""), search,
            )  # fmt: skip
            entries.setdefault(told, Entry(*told, [])).experiments.append(experiment.title)
    return sorted(entries.values(), key=lambda each: each.variant != BASELINE)


def _role(experiment: Experiment, name: str) -> str:
    return BASELINE if name == BASELINE else "control" * (name in experiment.result.controls)


def glossary() -> Mapping[str, tuple[str, str]]:
    """Return the name and the meaning of each word of glossary.yaml."""
    words = read_yaml("glossary")
    return {key: (each["name"], each["meaning"]) for key, each in words.items()}


def words(results: Results) -> dict[str, tuple[str, str]]:
    """Return the words and the reference models, with what they mean in this study."""
    method = results.comparison.significance
    measures = [each.measure for each in results.experiments]
    values = {
        "level": f"{method.alpha:g}",
        "margin": _alternatives(each.margin(method.equivalence_margin) for each in measures),
        "limit": _alternatives(
            each.of_validation.convergence_margin(method.convergence_pp) for each in measures
        ),
    }
    found = {key: (name, meaning.format(**values)) for key, (name, meaning) in glossary().items()}
    found["degenerate"] = (
        "degenerate run",
        _alternatives((explain_degenerate(each.result) for each in results.experiments), " "),
    )
    references = describe_reference_models(each.measure.task for each in results.experiments)
    for each in results.experiments:
        for name in each.result.reference_models:
            found[name] = (each.words[name], references[name].glossary)
    return found


def _alternatives(texts: Iterable[str], between: str = " or ") -> str:
    return between.join(dict.fromkeys(texts))


def models(results: Results) -> Rows:
    """Return each network of a study once: its name in words, what it does, and its sizes."""
    records: dict[tuple[str, str], dict[str, object]] = {}
    for experiment in results.experiments:
        for name, model in experiment.result.models.items():
            words, does = experiment.words[name], describe_network(model.hyperparameters)
            known = records.setdefault(
                (words, does), {"words": words, "does": does, "parameters": set()}
            )
            known["parameters"] |= {model.parameters}  # type: ignore[operator]
    for each in records.values():
        each["parameters"] = _range(each["parameters"])  # type: ignore[arg-type]
    return Rows([*records.values()], location="experiments")


def _range(counts: set[int]) -> str:
    """Return one number of parameters in millions, or the least and the most."""
    ends = dict.fromkeys(f"{count / 1e6:.2f}" for count in (min(counts), max(counts)))
    return " to ".join(ends)


def corpora(results: Results) -> Rows:
    """Return the corpus of each experiment once, with the sizes of its splits."""
    records = {}
    for each in results.experiments:
        statistics = each.result.corpus.statistics
        near = statistics.near_duplicates
        sizes = (statistics.splits[split] for split in ("train", "validation", "test"))
        records[each.corpus_name] = {
            "experiment": each, "tokens": statistics.tokens, "documents": statistics.documents,
            "splits": " / ".join(map(format_count, sizes)),
            "near": f"{'' if near.complete else 'at least '}{format_count(near.total)}",
        }  # fmt: skip
    return Rows([*records.values()], location="experiments")


def sources(results: Results) -> Rows:
    """Return every source of the report; it is built last, when all tables have added theirs."""
    return Rows(results.sources.all())


def machine_kinds(results: Results) -> dict[str, int]:
    """Return the number of runs that were trained on each machine kind: most first."""
    counts = Counter(
        kind
        for experiment in results.experiments
        for model in experiment.result.models.values()
        for kind in model.machine_kinds
    )
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
