"""The words of the report on a classification; its rows and templates stand in heed.report."""

from heed.hyperparameters.pretrained import PRETRAINED

HAS_BROWSER = True
REFERENCE_MODELS = {  # with their meanings, in the order of their columns
    "linear": "A reference model: TF-IDF with a linear support vector machine, tuned on the "
    "validation split.",
    "majority": "A reference model: it always predicts the most frequent class.",
    PRETRAINED: "A reference model: a linear support vector machine, tuned on the validation "
    "split, on the vectors of an encoder that was trained on other text, which may be like these "
    "documents, or have them in it. The encoder itself learns nothing here.",
}
VALUES = (  # how metrics are computed
    "Values are means over seeds. Standard deviation: sample standard deviation of the accuracy "
    "over seeds, in percentage points. With folds each seed is tested on another fold, so the "
    "deviation includes the differences between folds. The linear reference model is TF-IDF with a "
    "linear support vector machine, tuned on the validation split; without folds it is fitted once "
    "and has no standard deviation."
)
