"""Chapters: functions that turn results into blocks, for page, paper and tables.

A chapter of the study is a function of the results; a chapter of an experiment is a function of the
results and the experiment. A new chapter is a module here and an entry in a list below.
"""

from collections.abc import Callable

from heed.report.blocks import Block, Disclosure, Section
from heed.report.chapters import (
    answer,
    classification,
    comparisons,
    cost,
    documents,
    experiment,
    explanation,
    glossary,
    hyperparameters,
    provenance,
    scores,
    translation,
    truths,
)
from heed.report.experiments import Experiment
from heed.report.language import say
from heed.report.results import Results

StudyChapter = Callable[[Results], list[Block]]
ExperimentChapter = Callable[[Results, Experiment], list[Block]]

# Before and after the sections of the experiments.
FIRST_CHAPTERS: list[StudyChapter] = [truths.failures, answer.chapter, truths.chapter]
LAST_CHAPTERS: list[StudyChapter] = [
    explanation.chapter,
    scores.chapter,
    cost.chapter,
    glossary.chapter,
]
# The appendix: for each experiment by its task, then of the study.
APPENDICES_BY_TASK: dict[str, list[ExperimentChapter]] = {
    "classification": [hyperparameters.chapter, classification.appendix],
    "multilabel": [hyperparameters.chapter, classification.multilabel_appendix],
    "translation": [hyperparameters.chapter],
}
STUDY_APPENDICES: list[StudyChapter] = [
    hyperparameters.on_paper,
    hyperparameters.meanings,
    provenance.chapter,
]
# By the task of the experiment, in the order of its section.
CHAPTERS_BY_TASK: dict[str, list[ExperimentChapter]] = {
    "classification": [
        experiment.chapter,
        provenance.machine_kinds,
        experiment.scores,
        classification.chapter,
        comparisons.chapter,
        hyperparameters.searches_chapter,
        documents.chapter,
    ],
    "multilabel": [
        experiment.chapter,
        provenance.machine_kinds,
        experiment.scores,
        classification.multilabel_chapter,
        comparisons.chapter,
        hyperparameters.searches_chapter,
        documents.chapter,
    ],
    "translation": [
        experiment.chapter,
        translation.chapter,
        provenance.machine_kinds,
        comparisons.chapter,
        hyperparameters.searches_chapter,
    ],
}


def report(results: Results) -> list[Block]:
    """Return the sections of the report.

    They are the study's, between them one for each experiment, and the appendix.
    """
    sections = [block for chapter in FIRST_CHAPTERS for block in chapter(results)]
    for each in results.experiments:
        blocks = _experiment_blocks(results, each, CHAPTERS_BY_TASK)
        sections.append(Section(f"experiment-{each.key}", each.title, blocks, each.mark))
    sections += [block for chapter in LAST_CHAPTERS for block in chapter(results)]
    return [*sections, Section("appendix", say("Appendix"), tuple(_appendix(results)))]


def _experiment_blocks(
    results: Results, experiment: Experiment, chapters: dict[str, list[ExperimentChapter]]
) -> tuple[Block, ...]:
    """Return the blocks of an experiment, by the chapters of its task."""
    task = results.comparison.experiments[experiment.key].task
    return tuple(block for chapter in chapters[task] for block in chapter(results, experiment))


def _appendix(results: Results) -> list[Block]:
    """Return what the page opens on demand: details of each experiment, then of the study."""
    blocks: list[Block] = []
    for each in results.experiments:
        details = _experiment_blocks(results, each, APPENDICES_BY_TASK)
        summary = say("{title}: hyperparameters, values by seed", title=each.title)
        blocks.append(Disclosure(summary, details, key=f"appendix-{each.key}"))
    return [*blocks, *(block for chapter in STUDY_APPENDICES for block in chapter(results))]
