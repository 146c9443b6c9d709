"""The words of the report on a classification; its rows and templates stand in heed.report."""

from heed.hyperparameters.pretrained import PRETRAINED
from heed.task.interface import ReferenceModel

HAS_SCORES = HAS_BROWSER = True
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
