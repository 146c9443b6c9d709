"""The words of the report on a translation; its rows and templates stand in heed.report."""

from heed.task.interface import ReferenceModel

HAS_SCORES = HAS_BROWSER = False  # its score functions stand with its own figures
REFERENCE_MODELS = {
    "statistical": ReferenceModel(
        "Statistical",
        "a reference model from outside: IBM model 1 and a trigram language model",
        "A reference model: IBM model 1 and a trigram language model.",
        "statistical translation",
        "Against statistical translation",
        "Statistical translation",
    ),
    "copy": ReferenceModel(
        "Copy",
        "the reference model that gives the source for its translation",
        "A reference model: it gives the source for its translation.",
    ),
}
VALUES = (
    "Metrics of translations are means over seeds of metrics of the whole test split: BLEU is not "
    "averaged over sentences. The statistical reference model is tuned on the validation split; "
    "without folds the reference models are fitted once and have no standard deviation."
)
