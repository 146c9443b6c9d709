"""Chapters: functions that turn results into blocks, for page, paper and tables.

A chapter of the study is a function of the results, named in a list below; a chapter of an
experiment is a function of the results and the experiment, named by the report of its task.
"""

from collections.abc import Callable

from heed.report.blocks import Block, Disclosure, Section
from heed.report.chapters import (
    cost,
    expected_results,
    experiment,
    explanation,
    glossary,
    provenance,
    scores,
    summary,
)
from heed.report.experiments import Experiment
from heed.report.measures import report_of
from heed.report.results import Results

StudyChapter = Callable[[Results], list[Block]]
ExperimentChapter = Callable[[Results, Experiment], list[Block]]

# Before and after the sections of the experiments.
FIRST_CHAPTERS: list[StudyChapter] = [
    expected_results.failures,
    summary.chapter,
    experiment.talks_gains,
]
LAST_CHAPTERS: list[StudyChapter] = [
    explanation.chapter,
    scores.chapter,
    cost.chapter,
    glossary.chapter,
    expected_results.chapter,
]


def report(results: Results) -> list[Block]:
    """Return the sections of the report.

    They are the study's, between them one for each experiment, and the appendix.
    """
    sections = [block for chapter in FIRST_CHAPTERS for block in chapter(results)]
    for each in results.experiments:
        blocks = _experiment_blocks(results, each, "CHAPTERS")
        sections.append(Section(f"experiment-{each.key}", each.title, blocks, each.printed_mark))
    sections += [block for chapter in LAST_CHAPTERS for block in chapter(results)]
    return [*sections, Section("appendix", "Appendix", tuple(_appendix(results)))]


def _experiment_blocks(results: Results, experiment: Experiment, kind: str) -> tuple[Block, ...]:
    chapters: list[ExperimentChapter] = getattr(report_of(experiment.measure.task), kind)
    return tuple(block for chapter in chapters for block in chapter(results, experiment))


def _appendix(results: Results) -> list[Block]:
    """Return what the page opens on demand: details of each experiment, then of the study."""
    blocks: list[Block] = []
    for each in results.experiments:
        details = _experiment_blocks(results, each, "APPENDICES")
        summary = f"{each.title}: hyperparameters, values by seed"
        blocks.append(Disclosure(summary, details, key=f"appendix-{each.key}"))
    return [*blocks, *provenance.chapter(results)]
