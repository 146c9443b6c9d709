"""The words of the report on a translation; its rows and templates stand in heed.report."""

HAS_BROWSER = False
REFERENCE_MODELS = {  # with their meanings, in the order of their columns
    "statistical": "A reference model: IBM model 1 and a trigram language model.",
    "copy": "A reference model: it gives the source for its translation.",
}
VALUES = (
    "Metrics of translations are means over seeds of metrics of the whole test split: BLEU is not "
    "averaged over sentences. The statistical reference model is tuned on the validation split; "
    "without folds the reference models are fitted once and have no standard deviation."
)
