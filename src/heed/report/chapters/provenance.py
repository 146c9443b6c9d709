"""The sources of the report's numbers: each file, its stage and command; and the machine kinds."""

from collections import Counter

from heed.evaluation.results import NOT_NOTED, runs_by_machine_kind
from heed.report.blocks import (
    PAGE,
    PAPER,
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
from heed.report.language import say, say_count
from heed.report.measures import CLASSIFICATION, MULTILABEL, TRANSLATION
from heed.report.results import Results


def machine_kinds(results: Results, experiment: Experiment) -> list[Block]:
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


def chapter(results: Results) -> list[Block]:
    """Return the list of sources; it comes last, when every chapter has added its own."""
    columns = (
        Column("file", say("File"), value=lambda each: each.path, width=62),
        Column("stage", say("Stage"), value=lambda each: each.stage or say("in git"), paper=False),
        Column(
            "command", say("Command"), value=lambda each: each.command or "–", width=44, code=True
        ),
        Column("md5", "MD5", value=lambda each: each.md5, code=True),
    )
    sources = results.sources.all()
    table = Table(
        "sources",
        say("Files"),
        columns,
        make_rows(columns, sources, key=lambda each: each.key),
        style="from",
        files=(),
        media=(PAGE,),
    )
    blocks = (
        Paragraph((_page_text(),), media=(PAGE,)),
        Paragraph((_paper_text(),), "small", media=(PAPER,)),
        table,
        *all_machine_kinds(results),
        Paragraph((_values_text(results),), "small", media=(PAGE,)),
        Paragraph(_paper_link(), "small", media=(PAGE,)),
    )
    return [Disclosure(say("Where every number comes from"), blocks, key="sources")]


def _page_text() -> str:
    return say(
        "Each table and figure names its file, also in a tooltip. MD5 is DVC’s hash: the name of "
        "the file’s content in DVC’s cache. The command makes the file again from the results of "
        "other stages; dvc repro runs the stages that are not up to date. heed report --check "
        "tests whether this report and the present results agree, number by number. heed "
        "provenance writes when, where and with which versions they were computed to "
        "reports/provenance.html."
    )


def _paper_text() -> str:
    return say(
        "The page, index.html, has every table and figure of this document and more, and lists the "
        "file that each comes from, with DVC’s hash of it and the command that makes it again. "
        "The folder tables has every number as CSV."
    )


def _values_text(results: Results) -> str:
    tasks = {each.measure.task for each in results.experiments}
    texts = {
        CLASSIFICATION: _of_classification(),
        MULTILABEL: _of_multilabel(),
        TRANSLATION: _of_translation(),
    }
    return " ".join(text for task, text in texts.items() if task in tasks)


def _of_translation() -> str:
    return say(
        "Figures of translations are means over seeds of figures of the whole test part: BLEU is "
        "not averaged over sentences. The statistical opponent is tuned on the validation part; "
        "without folds the opponents are fitted once and have no deviation."
    )


def _of_classification() -> str:
    return say(
        "Values are means over seeds. Standard deviation: sample standard deviation of the "
        "accuracy over seeds, in percentage points. With folds "
        "each seed is tested on another fold, so the deviation includes the differences between "
        "folds. The linear opponent is TF-IDF with a linear support vector machine, tuned on the "
        "validation part; without folds it is fitted once and has no deviation."
    )


def _of_multilabel() -> str:
    return say(
        "Figures of a multi-label classification are means over seeds; a document has the labels "
        "whose probability is above one half. Micro F1 counts all decisions on a document and a "
        "label together, macro F1 is the mean over labels. Subset accuracy: the share of documents "
        "with exactly the right labels; label accuracy: the share of right decisions. Standard "
        "deviation: that of the deciding figure over seeds, in percentage points. The linear "
        "opponent is a linear support vector machine on TF-IDF for each label, tuned on the "
        "validation part; without folds it is fitted once and has no deviation."
    )


def _paper_link() -> tuple[str | Span, ...]:
    command = Span("make pdf", "code")
    return (
        say("All of it on paper:"),
        " ",
        Span("report.tex", link="report.tex"),
        " (",
        command,
        ").",
    )
