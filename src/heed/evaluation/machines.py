"""The machine kinds of the runs that stand in one comparison, which `heed train` has noted."""

from collections.abc import Iterator

from heed.evaluation.results import Comparison, ExperimentResult

NOT_NOTED = ""  # the machine kind of a run that an older heed trained


def runs_by_machine_kind(
    experiment: ExperimentResult, seeds: list[int]
) -> dict[str, dict[str, list[int]]]:
    """Return {machine kind: {variant: seeds}} of an experiment's runs; NOT_NOTED comes last.

    Args:
        experiment: the experiment, whose runs all stand in one comparison.
        seeds: of the study, in the order of each model's runs.

    """
    runs: dict[str, dict[str, list[int]]] = {}
    for variant, model in experiment.models.items():
        for seed, kind in zip(seeds, model.machine_kinds, strict=True):
            runs.setdefault(kind, {}).setdefault(variant, []).append(seed)
    return dict(sorted(runs.items(), key=lambda each: each[0] == NOT_NOTED))


def mixed_machine_kinds(comparison: Comparison) -> Iterator[str]:
    """Yield a message for each experiment whose runs are not known to be of one machine kind."""
    for name, experiment in comparison.experiments.items():
        runs = runs_by_machine_kind(experiment, comparison.seeds)
        if len(runs) > 1:
            noted = "; ".join(
                f"{kind or 'not noted'}: {_list_runs(variants)}" for kind, variants in runs.items()
            )
            yield (
                f"{name}: runs of several machine kinds stand in this comparison (docs/report.md):"
                f" {noted}"
            )


def _list_runs(variants: dict[str, list[int]]) -> str:
    """Return variants with their seeds, for people."""
    return ", ".join(
        f"{variant} with seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
        for variant, seeds in variants.items()
    )
