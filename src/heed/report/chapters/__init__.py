"""Chapters: each turns results into blocks. Page, paper and tables are loops over them.

A chapter of the study is a function of the results; one of an experiment, of the results and the
experiment. A new chapter is a module here and an entry below.
"""

from collections.abc import Callable

from heed.report.blocks import Block, Section
from heed.report.chapters import (
    answer,
    classification,
    comparisons,
    documents,
    experiment,
    hyperparameters,
    provenance,
    scores,
    searches,
)
from heed.report.experiments import Experiment
from heed.report.results import Results

OfStudy = Callable[[Results], list[Block]]
OfExperiment = Callable[[Results, Experiment], list[Block]]

BEFORE: list[OfStudy] = [answer.chapter]  # the experiments
AFTER: list[OfStudy] = [scores.chapter, provenance.chapter]
# By the task of an experiment, in the order of its section.
OF_TASK: dict[str, list[OfExperiment]] = {
    "classification": [
        experiment.chapter,
        comparisons.chapter,
        classification.chapter,
        hyperparameters.chapter,
        searches.chapter,
        documents.chapter,
    ],
}


def report(results: Results) -> list[Block]:
    """Return the sections of the report: those of the study, and between them one an experiment."""
    sections = [block for chapter in BEFORE for block in chapter(results)]
    for each in results.experiments:
        chapters = OF_TASK[results.comparison.experiments[each.key].task]
        blocks = tuple(block for chapter in chapters for block in chapter(results, each))
        sections.append(Section(f"experiment-{each.key}", each.title, blocks, each.mark))
    return sections + [block for chapter in AFTER for block in chapter(results)]
