"""The sources of the report's numbers: each file, its stage and command; and the machine kinds."""

from heed.report.blocks import (
    PAGE,
    PAPER,
    Block,
    Column,
    Disclosure,
    Paragraph,
    Span,
    Table,
    make_rows,
)
from heed.report.chapters.machines import all_machine_kinds
from heed.report.language import say
from heed.report.measures import CLASSIFICATION, MULTILABEL, TRANSLATION
from heed.report.results import Results


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
