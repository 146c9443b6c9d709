"""Known truths: what heed should find in this study, and what it found (docs/statistics.md)."""

import dataclasses
import statistics
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import Difference, ExperimentResult
from heed.explanation.registry import CRITERIA
from heed.explanation.test import measured
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
from heed.report.explanations import Explanation
from heed.report.formats import decimals, format_number
from heed.report.language import say, say_count
from heed.report.measures import Measure
from heed.report.results import Results

if TYPE_CHECKING:
    from heed.study import Truth


MIDDLE = ("4", "5")  # tenths of a document


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a study found about one truth.

    experiment: its key
    found: the verdict or the outcome; empty where there is none, or where a figure is known
    value: the figure, or the one that decided the outcome; None where there is none
    difference: of the verdict
    holds: whether that agrees with the truth
    """

    experiment: str
    truth: "Truth"
    found: str
    value: float | None
    difference: Difference | None
    holds: bool


def judge_truths(results: Results) -> list[Finding]:
    """Return what the study found about each truth, in the order of params.yaml."""
    return [
        judge(
            experiment.key,
            truth,
            results.comparison.experiments[experiment.key],
            [each for each in results.explanations if each.experiment.key == experiment.key],
        )
        for experiment in results.experiments
        for truth in results.params.experiments[experiment.key].truths
    ]


def judge(
    experiment: str, truth: "Truth", result: ExperimentResult, explanations: list[Explanation]
) -> Finding:
    """Return what an experiment found about one truth.

    What is missing, such as a test that was not run, does not agree with any truth.

    Args:
        experiment: its key.
        truth: what is known.
        result: the experiment in the comparison.
        explanations: of its models.

    """
    explanation = next((each for each in explanations if each.variant == truth.variant), None)
    if truth.verdict is not None:
        difference = result.comparisons.get(truth.variant or "", {}).get(truth.against or "")
        found = difference.verdict if difference else ""
        return Finding(experiment, truth, found, None, difference, found == truth.verdict)
    if truth.criterion is not None:
        outcome = explanation.outcomes[truth.criterion] if explanation else None
        found = outcome.outcome if outcome else ""
        value = outcome.value if outcome else None
        return Finding(experiment, truth, found, value, None, found == truth.outcome)
    if truth.adversary:
        value = _adversary_figure(truth, explanations)
    else:
        value = _figure(truth, result, explanation)
    return Finding(experiment, truth, "", value, None, _is_within(truth, value))


def _is_within(truth: "Truth", value: float | None) -> bool:
    low = 0.0 if truth.at_least is None else truth.at_least
    high = 1.0 if truth.at_most is None else truth.at_most
    return value is not None and low <= value <= high


def _figure(
    truth: "Truth", result: ExperimentResult, explanation: Explanation | None
) -> float | None:
    """Return a variant's figure, the mean over its seeds; None where it was not measured."""
    summary = result.models[truth.variant or ""].summary
    if truth.figure in summary:
        return summary[truth.figure].mean
    if explanation is None:
        return None
    if truth.figure == "evidence_weight":
        return _mean(explanation.means("adversarial_weights", "evidence_weight"))
    return _accuracy_in_middle(explanation.recency)


def _accuracy_in_middle(recency: pd.DataFrame | None) -> float | None:
    """Return the share of right predictions of all seeds where evidence is in the middle fifth."""
    if recency is None:
        return None
    rows = recency[(recency["measure"] == "accuracy_by_place") & recency["at"].isin(MIDDLE)]
    documents = float(rows["documents"].sum())
    return float((rows["mean"] * rows["documents"]).sum()) / documents if documents else None


def _adversary_figure(truth: "Truth", explanations: list[Explanation]) -> float | None:
    """Return the mean over seeds of an adversary's figure; None where it was not measured."""
    summaries = (
        adversary.summary
        for explanation in explanations
        for adversary in explanation.adversaries
        if adversary.name == truth.adversary
    )
    if (summary := next(summaries, None)) is None:
        return None
    return _mean(measured(summary, "adversary", truth.figure or "")["mean"].tolist())


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


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
