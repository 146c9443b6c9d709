"""The rows of the files that a report reads, and the machine kinds of its runs."""

from collections import Counter

from heed.evaluation.results import NOT_NOTED, runs_by_machine_kind
from heed.report.experiments import Experiment
from heed.report.results import Results
from heed.report.rows import Rows


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
