"""Heed's presets: hyperparameters that were tuned together, which a model takes by one name."""

import dataclasses

from heed.hyperparameters import Configuration


@dataclasses.dataclass(frozen=True)
class Preset:
    """Hyperparameters under a name. `description` says for which corpora they are."""

    description: str
    values: Configuration


PRESETS: dict[str, dict[str, Preset]] = {  # by task and name
    "classification": {
        "small": Preset(
            "a few thousand documents: much regularisation, and epochs until the validation part "
            "improves no more",
            {
                "embedding_std": 0.1,
                "embedding_dim": 100,
                "hidden_size": 64,
                "skip": True,
                "dropout": 0.5,
                "embedding_dropout": 0.3,
                "word_dropout": 0.1,
                "epochs": 30,
                "patience": 4,
                "select": "accuracy",
                "batch_size": 32,
                "learning_rate": 0.003,
                "decay": "linear",
                "averaging": 0.99,
            },
        ),
    },
    "translation": {},
}
# Of the same networks. In the first epochs no probability may be above one half: micro F1 is then
# 0, and with patience a training would end before it has begun.
PRESETS["multilabel"] = {
    name: dataclasses.replace(preset, values={**preset.values, "select": "loss"})
    for name, preset in PRESETS["classification"].items()
}


def choose_preset(documents: int, classes: int, tokens_per_document: float) -> str:
    """Return the name of heed's preset for a corpus.

    Args:
        documents: of the whole corpus.
        classes: of its label.
        tokens_per_document: their mean number.

    """
    return "small"
