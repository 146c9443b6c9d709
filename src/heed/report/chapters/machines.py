"""The machine kinds that the runs were trained on, and where several stand in one comparison."""

from collections import Counter

from heed.evaluation.results import NOT_NOTED, runs_by_machine_kind
from heed.report.blocks import Block, Items, Paragraph
from heed.report.experiments import Experiment
from heed.report.language import say, say_count
from heed.report.results import Results


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a warning with the runs of each machine kind; nothing where all are of one."""
    comparison = results.comparison
    runs = runs_by_machine_kind(comparison.experiments[experiment.key], comparison.seeds)
    if len(runs) < 2:
        return []
    items = tuple((f"{_name(kind)}: {_list_runs(variants)}",) for kind, variants in runs.items())
    return [Paragraph((f"{_warning(len(runs), NOT_NOTED in runs)} {_meaning()}",)), Items(items)]


def all_machine_kinds(results: Results) -> list[Block]:
    """Return on which machine kinds the study's runs were trained, with their numbers."""
    experiments = results.comparison.experiments.values()
    counts = Counter(
        kind
        for experiment in experiments
        for model in experiment.models.values()
        for kind in model.machine_kinds
    )
    if len(counts) > 1:
        head = say("The runs were trained on several machine kinds:")
        kinds = sorted(counts.items(), key=lambda each: (each[0] == NOT_NOTED, -each[1]))
        items = tuple(
            (f"{_name(kind)}: " + say_count("{count} run", "{count} runs", count),)
            for kind, count in kinds
        )
        return [Paragraph((head,)), Items(items)]
    kind = next(iter(counts), NOT_NOTED)
    if kind == NOT_NOTED:
        return [Paragraph((say("On which machine kind the runs were trained is not noted."),))]
    return [Paragraph((say("All runs were trained on one machine kind: {kind}.", kind=kind),))]


def _warning(kinds: int, some_not_noted: bool) -> str:
    if not some_not_noted:
        return say("Runs of {count} machine kinds stand in this comparison.", count=kinds)
    return say(
        "Runs whose machine kind is not noted stand in this comparison, beside those of {noted}.",
        noted=say_count("{count} machine kind", "{count} machine kinds", kinds - 1),
    )


def _meaning() -> str:
    """Return what follows from several machine kinds (measured: docs/report.md)."""
    return say(
        "On another machine kind the same recipe and seed give another training. In heed's "
        "measurements on CPUs it differed less than that of another seed, for which the intervals "
        "allow; GPUs were not measured. Only where each variant "
        "ran on a kind of its own could a difference between the kinds count as one between the "
        "variants (docs/report.md)."
    )


def _name(kind: str) -> str:
    return kind if kind != NOT_NOTED else say("machine kind not noted")


def _list_runs(variants: dict[str, list[int]]) -> str:
    """Return variants with their seeds."""
    return "; ".join(
        say_count(
            "{variant} with seed {seeds}",
            "{variant} with seeds {seeds}",
            len(seeds),
            variant=variant,
            seeds=", ".join(map(str, seeds)),
        )
        for variant, seeds in variants.items()
    )
