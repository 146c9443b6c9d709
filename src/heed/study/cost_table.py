"""The table of a study's estimated cost, by model, and how many seeds which time is enough for."""

import os
import textwrap
from collections.abc import Iterator, Mapping

from heed.speed import Workload
from heed.study.corpus_size import CorpusSize
from heed.study.cost import Cost, ModelCost, estimate_cost
from heed.study.schema import Params
from heed.study.tasks import PRESETS

WIDTH = 78
FEW_EPOCHS = 10  # with fewer, and without patience, a training may end before it has converged
MAX_SEEDS = 1000
BUDGETS = {"10 minutes": 10, "1 hour": 60, "8 hours": 480, "1 day": 1440, "1 week": 10080}
SPANS = 3  # of these are printed, from the first that is enough for a seed
COLUMNS = "{:<42}{:>12}{:>14}{:>9}"


def format_cost(
    params: Params, measured: Mapping[Workload, float] | None = None, cores: int | None = None
) -> str:
    """Return a table of the estimated cost of a study.

    Args:
        params: the study.
        measured: the times of workloads on this machine (heed.speed.measure_all), if there are any.
        cores: that the study runs on; all that this process may use.

    """
    cost = estimate_cost(params, measured)
    cores = cores or len(os.sched_getaffinity(0))
    lines = [
        params.study.title,
        (
            f"  {cost.stages} stages; {cost.runs} trainings: {len(params.models)} models x "
            f"{cost.seeds} seeds"
        ),
        "",
        *_table(params, cost),
        "",
        *_totals(cost, cores),
        *_budgets(cost, cores),
        "",
        *(_wrap(note) for note in _notes(params, cost, bool(measured))),
        f"Look first: snakemake -n. Run: snakemake --cores {cores} (or: dvc repro)",
    ]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines())


def summarise_cost(params: Params, cores: int) -> str:
    """Return the estimated cost of a study in a sentence, and the commands that come next."""
    cost = estimate_cost(params)
    duration = _format_duration(cost.minutes(cost.seeds, cores))
    return (
        f"{cost.runs} trainings ({len(params.models)} models x {cost.seeds} seeds): about "
        f"{duration} on {cores} core{'s' * (cores > 1)}, and {_format_bytes(cost.disk).strip()} "
        "of disk (more: heed cost)\n"
        f"Look first: snakemake -n. Run: snakemake --cores {cores} (or: dvc repro)"
    )


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _table(params: Params, cost: Cost) -> Iterator[str]:
    """Yield the lines of the table: the models of each experiment."""
    yield COLUMNS.format("  of one seed", "parameters", "core-minutes", "disk")
    for name, experiment in params.experiments.items():
        models = [model for model in cost.models if model.experiment == name]
        if models:
            yield _wrap(f"{name}: {_format_size(cost.sizes[experiment.corpus])}")
            yield from (_row(f"    {model.variant}", model) for model in models)


def _row(label: str, model: ModelCost) -> str:
    minutes = format_number(model.seconds / 60)
    label = label if len(label) < 42 else f"{label[:40]}…"
    disk = _format_bytes(model.disk)
    return COLUMNS.format(label, _format_count(model.parameters), minutes, disk)


def _format_size(size: CorpusSize) -> str:
    """Return the size of a corpus in words."""
    texts = f" in each of {size.texts} languages" if size.texts > 1 else " each"
    documents = _format_documents(size.train)
    return f"{documents} documents to train on, {size.mean_length:.0f} tokens{texts}"


def _totals(cost: Cost, cores: int) -> Iterator[str]:
    """Yield what the study costs in all."""
    models = sum(model.seconds for model in cost.models)
    seeds = f"{cost.seeds} seed{'s' * (cost.seeds > 1)}"
    rows = {f"all models, {seeds}": cost.seeds * models}
    rows[f"explanations and adversaries, {seeds}"] = cost.seeds * cost.seed
    rows |= {f"once: {what}": seconds for what, seconds in cost.once.items()}
    total = sum(rows.values())
    for label, seconds in rows.items():
        if seconds:
            yield COLUMNS.format(f"  {label}", "", format_number(seconds / 60), "")
    yield COLUMNS.format("  in all, about", "", format_number(total / 60), _format_bytes(cost.disk))
    yield ""
    duration = _format_duration(cost.minutes(cost.seeds, cores))
    yield f"  On {cores} core{'s' * (cores > 1)} of this machine: about {duration}."


def _budgets(cost: Cost, cores: int) -> Iterator[str]:
    """Yield how many seeds some spans of time are enough for, from the first that is."""
    if not cost.models:
        return
    enough = {
        span: seeds
        for span, minutes in BUDGETS.items()
        if (seeds := cost.seeds_within(minutes, cores))
    }
    parts = [f"{span}: {format_seeds(seeds)}" for span, seeds in [*enough.items()][:SPANS]]
    text = "; ".join(parts) or "not even 1 in a week. Make the study smaller"
    yield _wrap(f"Seeds for which the time is enough: {text}.")


def format_seeds(seeds: int) -> str:
    """Return a number of seeds in words, as rough as it is known."""
    if seeds > MAX_SEEDS:
        return f"more than {MAX_SEEDS:,} seeds"
    digits = 10 ** max(0, len(str(seeds)) - 2)
    return f"{seeds // digits * digits:,} seed{'s' * (seeds > 1)}"


def _notes(params: Params, cost: Cost, is_measured: bool) -> Iterator[str]:
    """Yield where the figures come from, and warnings."""
    if is_measured:
        yield (
            "Speeds were measured on this machine, one core, while other processes may have run. "
            "Expect a factor of 1.5 in either direction."
        )
    else:
        yield (
            "Speeds are estimated from operations and the speed of this machine: expect "
            "a factor of 2 in either direction. To measure them here, in some seconds: heed cost."
        )
    if any(params.hyperparameters(name).patience for name in params.models):
        yield (
            "Models with `patience` are counted with all their epochs, and may stop earlier: "
            "theirs is an upper bound."
        )
    if any(search.trials and search.scheduler == "asha" for search in params.searches.values()):
        yield "A search by asha is counted with the epochs that its trials are expected to reach."
    yield "On file systems without reflink (ext4), DVC's cache takes the same disk again."
    for name, size in cost.sizes.items():
        if size.note:
            yield f"The size of corpus {name} is estimated {size.note}."
    for name, reason in cost.unknown.items():
        yield f"Without corpus {name} and its models: its size is not known ({reason})."
    if hurried := [name for name in params.models if _may_stop_too_early(params, name)]:
        named = ", ".join([*hurried[:3], *(["…"] if len(hurried) > 3 else [])])
        yield (
            f"Warning: {len(hurried)} of {len(params.models)} models train for fewer than "
            f"{FEW_EPOCHS} epochs without patience ({named}): a training that has not converged "
            "decides nothing. Set more epochs, and patience: 2."
        )


def _may_stop_too_early(params: Params, model: str) -> bool:
    """Return whether a model has few epochs that heed has not measured, as those of a preset."""
    hyperparameters = params.resolved(model, {})
    section = params.models[params.models[model].match]
    is_measured = section.preset in PRESETS[params.task(section)] and section.epochs is None
    return hyperparameters.epochs < FEW_EPOCHS and not hyperparameters.patience and not is_measured


def format_number(number: float) -> str:
    """Return a number above 0 with one or two digits that mean something."""
    if number < 0.095:
        return f"{max(0.01, number):.2f}"
    if number < 9.95:
        return f"{number:.1f}".removesuffix(".0")
    digits = 10 ** (len(str(round(number))) - 2)
    return f"{round(number / digits) * digits:,}"


def _format_documents(number: float) -> str:
    return format_number(max(1, round(number)))


def _format_duration(minutes: float) -> str:
    """Return a span of time in minutes, hours or days."""
    for unit, length in (("days", 1440), ("hours", 60)):
        if minutes >= 2 * length:
            return f"{format_number(minutes / length)} {unit}"
    return "a minute" if minutes < 1.5 else f"{format_number(minutes)} minutes"


def _format_count(number: int) -> str:
    """Return a number of parameters, in thousands or millions."""
    if number >= 1e6:
        return f"{format_number(number / 1e6)} M"
    return f"{format_number(number / 1e3)} k"


def _format_bytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{format_number(max(1, size / 1e6))} MB"
