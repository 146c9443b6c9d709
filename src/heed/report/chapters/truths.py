"""Known truths: what heed should find in this study, and what it found."""

from heed.explanation.registry import CRITERIA
from heed.report.answer import verdict_text
from heed.report.blocks import (
    Block,
    Column,
    Items,
    Paragraph,
    Phrase,
    Section,
    Span,
    Table,
    make_rows,
)
from heed.report.chapters.shared import join_columns
from heed.report.experiments import Experiment
from heed.report.formats import decimals, format_number
from heed.report.language import say, say_count
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.truths import Finding, judge_truths

TRUTHS = "truths"  # the section


def failures(results: Results) -> list[Block]:
    """Return a warning with the truths that the study did not find; nothing where it found all."""
    if not (lines := failure_lines(results)):
        return []
    head, *failed = lines
    items = tuple((Span(f"✗ {line}", link=f"#{TRUTHS}"),) for line in failed)
    blocks = (Paragraph((Span(head, "strong"),), style="note"), Items(items))
    return [Section("truths-not-found", say("Known truths were not found"), blocks)]


def failure_lines(results: Results) -> list[str]:
    """Return a line with the number of truths that were not found, and one for each; or none."""
    failed = [finding for finding in judge_truths(results) if not finding.holds]
    if not failed:
        return []
    head = say_count(
        "This study did not find {count} truth that is known beforehand. Do not trust its other "
        "results before you know why:",
        "This study did not find {count} truths that are known beforehand. Do not trust its other "
        "results before you know why:",
        len(failed),
    )
    return [head, *(_failed_line(results, each) for each in failed)]


def _failed_line(results: Results, finding: Finding) -> str:
    return say(
        "{experiment}: {claim} Expected: {expected}; found: {found}",
        experiment=_experiment(results, finding).title,
        claim=finding.truth.claim,
        expected=expected_text(results, finding),
        found=found_text(results, finding),
    )


def chapter(results: Results) -> list[Block]:
    """Return the section; nothing in a study of which nothing is known beforehand."""
    findings = judge_truths(results)
    if not findings:
        return []
    columns = _columns(results)
    held = sum(finding.holds for finding in findings)
    caption = say(
        "What these texts should show, by how they were made and by trials before. The expected "
        "results stand in params.yaml; its history in git says when they were written."
    )
    if any(finding.truth.figure == "evidence_weight" for finding in findings):
        caption += " " + say(
            "The share of the weights on the evidence is a mean over all seeds and the documents "
            "that were explained; the tables of single experiments have that of the documents "
            "shown, of the first seed."
        )
    table = Table(
        TRUTHS,
        say("Known truths, and what this study found"),
        columns,
        make_rows(columns, findings),
        caption=caption,
        sources=results.comparison_sources,
        style="first",
    )
    head = say_count(
        "Of this study {count} truth is known beforehand; it found {held}.",
        "Of this study {count} truths are known beforehand; it found {held}.",
        len(findings),
        held=held,
    )
    return [Section(TRUTHS, say("Does heed find what is known?"), (Paragraph((head,)), table))]


def _columns(results: Results) -> tuple[Column, ...]:
    """Return the columns of the table, of findings."""
    return (
        *join_columns(lambda each: _experiment(results, each)),
        Column(
            "", say("Experiment"), value=lambda each: _experiment(results, each).title,
            merge=True, width=24,
        ),
        Column("claim", say("What is known"), value=lambda each: each.truth.claim, width=54),
        Column(
            "expected", say("heed should find"), value=lambda each: expected_text(results, each),
            width=42,
        ),
        Column(
            "found", say("heed found"), value=lambda each: found_text(results, each), width=26
        ),
        Column("holds", say("Agrees"), value=_agreement, width=13),
        Column("value", "", decimals(4), lambda each: each.value),
        Column(
            "difference_pp", "", decimals(2),
            lambda each: each.difference and each.difference.mean_pp,
        ),
    )  # fmt: skip


def _agreement(finding: Finding) -> Phrase:
    return Phrase((Span(say("yes"), "strong"),) if finding.holds else (Span(say("NO"), "wrong"),))


def expected_text(results: Results, finding: Finding) -> str:
    """Return the result that a truth demands."""
    truth = finding.truth
    model = truth.variant or truth.adversary or ""
    if truth.verdict:
        return say(
            "{variant} against {against}: {verdict}",
            variant=model,
            against=truth.against,
            verdict=verdict_text(truth.verdict),
        )
    if truth.criterion:
        return say(
            "criterion “{criterion}” of {variant}: {outcome}",
            criterion=say(CRITERIA[truth.criterion].criterion),
            variant=model,
            outcome=say(str(truth.outcome)),
        )
    limits = [
        say("at least {limit}", limit=_figure_text(results, finding, truth.at_least)),
        say("at most {limit}", limit=_figure_text(results, finding, truth.at_most)),
    ]
    given = [truth.at_least, truth.at_most]
    return say(
        "{figure} of {variant}: {limits}",
        figure=_figure_name(results, finding),
        variant=model,
        limits=", ".join(
            text for text, limit in zip(limits, given, strict=True) if limit is not None
        ),
    )


def found_text(results: Results, finding: Finding) -> str:
    """Return what the study found about a truth."""
    if finding.difference is not None:
        measure = _experiment(results, finding).measure
        return f"{verdict_text(finding.found)}, {measure.difference(finding.difference.mean_pp)}"
    if finding.found:
        value = "" if finding.value is None else f", {format_number(finding.value, 2)}"
        return f"{say(finding.found)}{value}"
    if finding.value is None:
        return say("not measured")
    return _figure_text(results, finding, finding.value)


def _experiment(results: Results, finding: Finding) -> Experiment:
    return next(each for each in results.experiments if each.key == finding.experiment)


def _figure_name(results: Results, finding: Finding) -> str:
    names = {
        "aer": say("alignment error rate"),
        "evidence_weight": say("share of the weights on the evidence"),
        "accuracy_in_middle": say("accuracy where the evidence is in the middle"),
    }
    figure, task = finding.truth.figure or "", _experiment(results, finding).measure.task
    return names.get(figure) or Measure(task, figure).name


def _figure_text(results: Results, finding: Finding, value: float | None) -> str:
    figure, task = finding.truth.figure or "", _experiment(results, finding).measure.task
    measure = Measure(task, figure)
    is_weight = figure == "evidence_weight" or not measure.in_hundreds
    return format_number(value, 3) if is_weight else measure.figure(value)
