"""The report on a classification: the words on the task, its chapter and its appendix."""

from heed.hyperparameters.pretrained import PRETRAINED
from heed.report.blocks import PAGE, Block, Disclosure, Group
from heed.report.chapters import (
    comparisons,
    convergence,
    documents,
    hyperparameters,
    provenance,
)
from heed.report.chapters import experiment as beginning
from heed.report.chapters.scores import lengths_file
from heed.report.chapters.shared import all_models, on_page
from heed.report.experiments import Experiment
from heed.report.figures.curves import by_length, curves
from heed.report.figures.variants import drawn_variants
from heed.report.measures import ReferenceModel
from heed.report.results import Results
from heed.tasks.classification import figures
from heed.tasks.classification.tables import (
    ClassTable,
    changes_file,
    class_table,
    every_value,
    tables_of,
    untested_classes,
)

HAS_SCORES = True  # its models use the score functions of the lectures
HAS_BROWSER = True  # heed score writes documents with the weights of their words
REFERENCE_MODELS = {
    "linear": ReferenceModel(
        "Linear",
        "a reference model from outside: TF-IDF with a linear support vector machine",
        "A reference model: TF-IDF with a linear support vector machine, tuned on the validation "
        "split.",
        "a linear model",
        "Against the linear model",
        "Linear model",
    ),
    "majority": ReferenceModel(
        "Majority",
        "the reference model that always predicts the most frequent class",
        "A reference model: it always predicts the most frequent class.",
    ),
    PRETRAINED: ReferenceModel(
        "Pretrained",
        "a reference model that was trained on other text: a linear model on its vectors",
        "A reference model: a linear support vector machine, tuned on the validation split, on the "
        "vectors of an encoder that was trained on other text, which may be like these documents, "
        "or have them in it. The encoder itself learns nothing here.",
        "a pretrained model",
        "Against the pretrained model",
        "Pretrained model",
    ),
}
VALUES = (  # how metrics are computed
    "Values are means over seeds. Standard deviation: sample standard deviation of the accuracy "
    "over seeds, in percentage points. With folds each seed is tested on another fold, so the "
    "deviation includes the differences between folds. The linear reference model is TF-IDF with a "
    "linear support vector machine, tuned on the validation split; without folds it is fitted once "
    "and has no standard deviation."
)
BELOW_MAJORITY = "{name} ({metric}) is below the majority class ({majority})"
DEGENERATE = (
    "A run is degenerate if its {metric} is no higher than that of the majority class on the same "
    "documents, or more than {far} below the median of the model's other runs."
)


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the accuracy by length, then on demand the scores by class and all other figures."""
    variants = drawn_variants(results, experiment)
    few_classes = not figures.has_many_classes(results, experiment)
    matrices = figures.matrices(results, experiment) if few_classes else []
    calibration = figures.calibration(results, experiment, variants)
    others = on_page((curves(results, experiment, variants), *matrices, calibration))
    titles = ", ".join(dict.fromkeys(figure.title for figure in others))
    kinds = {"lengths": by_length, "curves": curves, "calibration": figures.calibration}
    pair, rest = tables_of(results, experiment)

    def by_class(title: str, tables: list[ClassTable]) -> Disclosure:
        made = (class_table(results, experiment, table, len(pair) == 2) for table in tables)
        summary = f"{title}: {', '.join(table.key for table in tables)}"
        return Disclosure(summary, (Group(tuple(made), "pair"),), "others")

    title = "Scores by class of controls, other variants and reference models"
    return [
        *untested_classes(experiment.result),
        Group((by_length(results, experiment, variants),), "plots"),
        by_class("Scores by class", pair),
        Disclosure(f"More figures: {titles}", (Group(others, "plots"),), "others"),
        *all_models(results, experiment, variants, kinds),
        *([by_class(title, rest)] if rest else []),
    ]


def appendix(results: Results, experiment: Experiment) -> list[Block]:
    """Return the confusion matrices of many classes, and the files of each run and each length."""
    matrices: list[Block] = []
    if figures.has_many_classes(results, experiment):
        drawn = Group(tuple(figures.matrices(results, experiment)), "plots")
        summary = "Confusion matrices of all models"
        matrices = [Disclosure(summary, (drawn,), "figures-all", media=(PAGE,))]
    pair, others = tables_of(results, experiment)
    return [
        *matrices,
        every_value(experiment, [*pair, *others]),
        *changes_file(results, experiment, pair),
        lengths_file(results, experiment),
    ]


first_example = documents.first_text
CHAPTERS = [
    beginning.chapter,
    provenance.machine_kinds,
    beginning.scores,
    chapter,
    comparisons.chapter,
    convergence.chapter,
    hyperparameters.searches_chapter,
    documents.chapter,
]
APPENDICES = [hyperparameters.chapter, appendix]
