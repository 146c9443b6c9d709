"""The words of the report on a regression: all else is as for every task."""

from heed.task.interface import ReferenceModel

HAS_SCORES = HAS_BROWSER = False
REFERENCE_MODELS = {
    "ridge": ReferenceModel("Ridge", "ridge regression on TF-IDF", "Ridge on TF-IDF.")
}
VALUES = "Figures of a regression are means over seeds."
