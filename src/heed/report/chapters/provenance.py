"""The sources of the report's numbers: each file, its stage and command; and the machine kinds."""

from collections import Counter

from heed.evaluation.results import NOT_NOTED, runs_by_machine_kind
from heed.report.blocks import (
    PAGE,
    Block,
    Column,
    Disclosure,
    Items,
    Paragraph,
    Span,
    Table,
    make_rows,
)
from heed.report.experiments import Experiment
from heed.report.formats import DASH, TEXT, name_runs, pluralize
from heed.report.measures import report_of
from heed.report.results import Results


def machine_kinds(results: Results, experiment: Experiment) -> list[Block]:
    """Return a warning with the runs of each machine kind; nothing where all are of one.

    It says what follows from several machine kinds (measured: docs/report.md).
    """
    runs = runs_by_machine_kind(experiment.result, results.comparison.seeds_of(experiment.key))
    kinds = len(runs)
    if kinds < 2:
        return []
    warning = f"Runs of {kinds} machine kinds stand in this comparison."
    if NOT_NOTED in runs:
        warning = (
            "Runs whose machine kind is not noted stand in this comparison, beside those of "
            "{noted}."
        ).format(noted=pluralize("{count} machine kind", "{count} machine kinds", kinds - 1))
    meaning = (
        "On another machine kind the same recipe and seed give another training. In heed's "
        "measurements on CPUs it differed less than that of another seed, for which the intervals "
        "allow; GPUs were not measured. Only where each variant "
        "ran on a kind of its own could a difference between the kinds count as one between the "
        "variants (docs/report.md)."
    )
    items = []
    for kind, variants in runs.items():
        texts = [name_runs(variant, seeds) for variant, seeds in variants.items()]
        items.append((f"{_name(kind)}: {'; '.join(texts)}",))
    return [Paragraph((f"{warning} {meaning}",)), Items(tuple(items))]


def all_machine_kinds(results: Results) -> list[Block]:
    """Return on which machine kinds the study's runs were trained, with their numbers."""
    counts = Counter(
        kind
        for experiment in results.comparison.experiments.values()
        for model in experiment.models.values()
        for kind in model.machine_kinds
    )
    if len(counts) > 1:
        head = "The runs were trained on several machine kinds:"
        kinds = sorted(counts.items(), key=lambda each: (each[0] == NOT_NOTED, -each[1]))
        texts = [pluralize("{count} run", "{count} runs", count) for _, count in kinds]
        items = [f"{_name(kind)}: {text}" for (kind, _), text in zip(kinds, texts, strict=True)]
        return [Paragraph((head,)), Items(tuple((item,) for item in items))]
    kind = next(iter(counts), NOT_NOTED)
    text = (
        "On which machine kind the runs were trained is not noted."
        if kind == NOT_NOTED
        else f"All runs were trained on one machine kind: {kind}."
    )
    return [Paragraph((text,))]


def _name(kind: str) -> str:
    return kind if kind != NOT_NOTED else "machine kind not noted"


def chapter(results: Results) -> list[Block]:
    """Return the list of sources; it comes last, when every chapter has added its own."""
    columns = (
        Column("file", "File", value="path", width=62),
        Column("stage", "Stage", value=lambda each: each.stage or "in git", paper=False),
        Column("command", "Command", TEXT, lambda e: e.command or DASH, width=44, code=True),
        Column("md5", "MD5", value="md5", code=True),
    )
    table = Table(
        "sources",
        "Files",
        columns,
        make_rows(columns, results.sources.all(), key=lambda each: each.key),
        style="from",
        files=(),
        media=(PAGE,),
    )
    on_page = (
        "Each table and figure names its file, also in a tooltip. MD5 is DVC’s hash: the name of "
        "the file’s content in DVC’s cache. The command makes the file again from the results of "
        "other stages; dvc status says which stages are not up to date, and dvc repro runs them. "
        "When, where and with which versions they were computed stands in provenance.json."
    )
    tasks = sorted({each.measure.task for each in results.experiments})
    values = " ".join(report_of(task).VALUES for task in tasks)
    source, command = Span("report.tex", link="report.tex"), Span("make pdf", "code")
    all_of_it = ("All of it on paper:", " ", source, " (", command, ").")
    blocks = (
        Paragraph((on_page,), media=(PAGE,)),
        table,
        *all_machine_kinds(results),
        Paragraph((values,), "small", media=(PAGE,)),
        Paragraph(all_of_it, "small", media=(PAGE,)),
    )
    return [Disclosure("Where every number comes from", blocks, key="sources")]
