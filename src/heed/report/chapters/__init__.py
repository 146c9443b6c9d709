"""Chapters: functions that turn results into blocks, for page, paper and tables.

A chapter of the study is a function of the results; a chapter of an experiment is a function of the
results and the experiment. A new chapter is a module here and an entry in a list below.
"""

from collections.abc import Callable

from heed.report.blocks import Block, Section
from heed.report.chapters import (
    answer,
    classification,
    comparisons,
    documents,
    experiment,
    explanation,
    hyperparameters,
    machines,
    provenance,
    scores,
    searches,
    translation,
    truths,
)
from heed.report.experiments import Experiment
from heed.report.results import Results

StudyChapter = Callable[[Results], list[Block]]
ExperimentChapter = Callable[[Results, Experiment], list[Block]]

# Before and after the sections of the experiments.
FIRST_CHAPTERS: list[StudyChapter] = [truths.failures, answer.chapter, truths.chapter]
LAST_CHAPTERS: list[StudyChapter] = [
    explanation.chapter,
    scores.chapter,
    hyperparameters.meanings,
    provenance.chapter,
]
# By the task of the experiment, in the order of its section.
CHAPTERS_BY_TASK: dict[str, list[ExperimentChapter]] = {
    "classification": [
        experiment.chapter,
        machines.chapter,
        comparisons.chapter,
        classification.chapter,
        hyperparameters.chapter,
        searches.chapter,
        documents.chapter,
    ],
    "multilabel": [
        experiment.chapter,
        machines.chapter,
        comparisons.chapter,
        classification.multilabel_chapter,
        hyperparameters.chapter,
        searches.chapter,
        documents.chapter,
    ],
    "translation": [
        experiment.chapter,
        translation.chapter,
        machines.chapter,
        comparisons.chapter,
        hyperparameters.chapter,
        searches.chapter,
    ],
}


def report(results: Results) -> list[Block]:
    """Return the sections of the report: the study's, and between them one for each experiment."""
    sections = [block for chapter in FIRST_CHAPTERS for block in chapter(results)]
    for each in results.experiments:
        chapters = CHAPTERS_BY_TASK[results.comparison.experiments[each.key].task]
        blocks = tuple(block for chapter in chapters for block in chapter(results, each))
        sections.append(Section(f"experiment-{each.key}", each.title, blocks, each.mark))
    return sections + [block for chapter in LAST_CHAPTERS for block in chapter(results)]
