"""Where numbers come from: each file that the report is made of, its hash, stage and command."""

from heed.report.blocks import PAGE, PAPER, Block, Column, Paragraph, Section, Span, Table, rows_of
from heed.report.language import say
from heed.report.results import Results


def chapter(results: Results) -> list[Block]:
    """Return the list of sources; it comes last, when every chapter has named its own."""
    columns = (
        Column("", say("File"), value=lambda each: each.path, width=62),
        Column("", say("Stage"), value=lambda each: each.stage or say("in git"), paper=False),
        Column("", say("Command"), value=lambda each: each.command or "–", width=44, code=True),
        Column("", "MD5", value=lambda each: each.md5, code=True),
    )
    every = results.sources.all()
    table = Table(
        "sources",
        say("Files"),
        columns,
        rows_of(columns, every, key=lambda each: each.key),
        style="from",
        files=(),
    )
    blocks = (
        Paragraph((_on_page(),), on=(PAGE,)),
        Paragraph((_on_paper(),), "small", on=(PAPER,)),
        table,
        Paragraph((_values(),), "small", on=(PAGE,)),
        Paragraph(_paper_too(), "small", on=(PAGE,)),
    )
    return [Section("sources", say("Where every number comes from"), blocks)]


def _on_page() -> str:
    return say(
        "Each table and figure names its file; a pointer that rests on it shows the "
        "same. MD5 is DVC’s "
        "hash: under it the file’s content lies in DVC’s cache. The command makes the "
        "file again from "
        "the stages before it; dvc repro runs what is not up to date. heed report "
        "--check says whether "
        "this report and the present results agree, number by number. When, where, and by which "
        "versions it was computed: heed provenance writes it to reports/provenance.html."
    )


def _on_paper() -> str:
    return say(
        "MD5 is DVC’s hash of the file, under which its content lies in DVC’s cache. The "
        "command makes it "
        "again from the stages before it."
    )


def _values() -> str:
    return say(
        "Values are means over seeds. Standard deviation: sample standard deviation of "
        "the accuracy over "
        "seeds, in percentage points; the talk does not say what its own is the "
        "deviation of. With folds "
        "each seed tests on another fold, so its deviation holds the folds’ differences "
        "too. The linear "
        "opponent is TF-IDF with a linear support vector machine, tuned on the "
        "validation part; without "
        "folds it is fitted once and has no deviation."
    )


def _paper_too() -> tuple[str | Span, ...]:
    command = Span("make pdf", "code")
    return (
        say("All of it on paper:"),
        " ",
        Span("report.tex", link="report.tex"),
        " (",
        command,
        ").",
    )
