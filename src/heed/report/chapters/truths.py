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
from heed.report.formats import TEXT, decimals, format_number
from heed.report.language import say, say_count
from heed.report.measures import Measure
from heed.report.results import Results

if TYPE_CHECKING:
    from heed.study import Truth

TRUTHS = "truths"  # the section
MIDDLE = ("4", "5")  # tenths of a document


@dataclasses.dataclass(frozen=True)
class Finding:
    """The finding of a study about one truth."""

    experiment: Experiment
    truth: "Truth"
    found: str  # the verdict or the outcome; empty where there is none, or where a figure is known
    value: float | None  # the figure, or the one that decided the outcome
    difference: Difference | None  # of the verdict
    holds: bool  # whether that agrees with the truth


def judge_truths(results: Results) -> list[Finding]:
    """Return what the study found about each truth, in the order of params.yaml."""
    return [
        judge(
            experiment,
            truth,
            [each for each in results.explanations if each.experiment.key == experiment.key],
        )
        for experiment in results.experiments
        for truth in results.params.experiments[experiment.key].truths
    ]


def judge(experiment: Experiment, truth: "Truth", explanations: list[Explanation]) -> Finding:
    """Return what an experiment found about one truth; `explanations` are of its models.

    What is missing, such as a test that was not run, does not agree with any truth.
    """
    result = experiment.result
    explanation = next((each for each in explanations if each.variant == truth.variant), None)
    if truth.verdict is not None:
        difference = result.comparisons.get(truth.variant or "", {}).get(truth.against or "")
        found = difference.verdict if difference else ""
        return Finding(experiment, truth, found, None, difference, found == truth.verdict)
    if truth.criterion is not None:
        outcome = explanation.outcomes[truth.criterion] if explanation else None
        found, value = (outcome.outcome, outcome.value) if outcome else ("", None)
        return Finding(experiment, truth, found, value, None, found == truth.outcome)
    if truth.adversary:
        value = _adversary_figure(truth, explanations)
    else:
        value = _figure(truth, result, explanation)
    low = 0.0 if truth.at_least is None else truth.at_least
    high = 1.0 if truth.at_most is None else truth.at_most
    holds = value is not None and low <= value <= high
    return Finding(experiment, truth, "", value, None, holds)


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
    for adversary in (adversary for each in explanations for adversary in each.adversaries):
        if adversary.name == truth.adversary:
            rows = measured(adversary.summary, "adversary", truth.figure or "")
            return _mean(rows["mean"].tolist())
    return None


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


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
    lines = [
        say(
            "{experiment}: {claim} Expected: {expected}; found: {found}",
            experiment=finding.experiment.title,
            claim=finding.truth.claim,
            expected=expected_text(finding),
            found=found_text(finding),
        )
        for finding in failed
    ]
    return [head, *lines]


def chapter(results: Results) -> list[Block]:
    """Return the section; nothing in a study of which nothing is known beforehand."""
    findings = judge_truths(results)
    if not findings:
        return []
    columns = (
        *join_columns("experiment"),
        Column("", say("Experiment"), value="experiment.title", merge=True, width=24),
        Column("claim", say("What is known"), value="truth.claim", width=54),
        Column("expected", say("heed should find"), TEXT, expected_text, width=42),
        Column("found", say("heed found"), TEXT, found_text, width=26),
        Column("holds", say("Agrees"), TEXT, _agreement, width=13),
        Column("value", "", decimals(4), "value"),
        Column("difference_pp", "", decimals(2), "difference.mean_pp"),
    )
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
        held=sum(finding.holds for finding in findings),
    )
    return [Section(TRUTHS, say("Does heed find what is known?"), (Paragraph((head,)), table))]


def _agreement(finding: Finding) -> Phrase:
    return Phrase((Span(say("yes"), "strong"),) if finding.holds else (Span(say("NO"), "wrong"),))


def expected_text(finding: Finding) -> str:
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
    least, most = truth.at_least, truth.at_most
    limits = [
        "" if least is None else say("at least {limit}", limit=_figure_text(finding, least)),
        "" if most is None else say("at most {limit}", limit=_figure_text(finding, most)),
    ]
    names = {
        "aer": say("alignment error rate"),
        "evidence_weight": say("share of the weights on the evidence"),
        "accuracy_in_middle": say("accuracy where the evidence is in the middle"),
    }
    return say(
        "{figure} of {variant}: {limits}",
        figure=names.get(truth.figure or "") or _measure(finding).name,
        variant=model,
        limits=", ".join(filter(None, limits)),
    )


def found_text(finding: Finding) -> str:
    """Return what the study found about a truth."""
    if finding.difference is not None:
        difference = finding.experiment.measure.difference(finding.difference.mean_pp)
        return f"{verdict_text(finding.found)}, {difference}"
    if finding.found:
        value = "" if finding.value is None else f", {format_number(finding.value, 2)}"
        return f"{say(finding.found)}{value}"
    return say("not measured") if finding.value is None else _figure_text(finding, finding.value)


def _measure(finding: Finding) -> Measure:
    return Measure(finding.experiment.measure.task, finding.truth.figure or "")


def _figure_text(finding: Finding, value: float) -> str:
    measure = _measure(finding)
    is_weight = measure.metric == "evidence_weight" or not measure.in_hundreds
    return format_number(value, 3) if is_weight else measure.figure(value)
