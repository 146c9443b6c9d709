"""The report on several labels a document: the report on classes, without their confusion."""

import dataclasses

from heed.report.blocks import Block
from heed.report.chapters.shared import all_models
from heed.report.experiments import Experiment
from heed.report.figures.curves import curves
from heed.report.figures.variants import drawn_variants
from heed.report.results import Results
from heed.tasks.classification import report as classification
from heed.tasks.classification.tables import Layout

HAS_SCORES = False
MAJORITY = "Reference model: labels of more than half of the training documents"
LAYOUT = Layout(("subset_accuracy", "label_accuracy"), ("micro", "macro"), MAJORITY)


REFERENCE_MODELS = classification.REFERENCE_MODELS | {
    "majority": dataclasses.replace(
        classification.REFERENCE_MODELS["majority"],
        meaning="the reference model that always predicts the labels of more than half of the "
        "training documents",
    )
}
VALUES = (
    "Metrics of a multi-label classification are means over seeds; a document has the labels whose "
    "probability is above one half. Micro F1 counts all decisions on a document and a label "
    "together, macro F1 is the mean over labels. Subset accuracy: the share of documents with "
    "exactly the right labels; label accuracy: the share of right decisions. Standard deviation: "
    "that of the deciding metric over seeds, in percentage points. The linear reference model is a "
    "linear support vector machine on TF-IDF for each label, tuned on the validation split; "
    "without folds it is fitted once and has no standard deviation."
)
UNTESTED_WEIGHTS = "The tests of what they explain are of predictions of one class."
BELOW_MAJORITY = "{name} ({metric}) is below the most frequent labels ({majority})"
DEGENERATE = (
    "A run is degenerate if its {metric} is no higher than that of the most frequent labels on the "
    "same documents, or more than {far} below the median of the model's other runs."
)


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the curves, then on demand the scores by class."""
    variants = drawn_variants(results, experiment)
    shown = (curves(results, experiment, variants),)
    every = all_models(results, experiment, variants, {"curves": curves})
    return classification.figures_and_tables(results, experiment, shown, (), every)


first_example = classification.first_example
CHAPTERS = [*classification.CHAPTERS[:3], chapter, *classification.CHAPTERS[4:]]
APPENDICES = [classification.APPENDICES[0], classification.values_appendix]
