"""Heed's presets: hyperparameters that were tuned together, measured in docs/presets.md."""

from heed.hyperparameters import Configuration, Preset

# `skip` and character n-grams let a pooling read words and their parts beside the states: on 34
# classes of headlines, five of which make a text, attention pooling has .902 with both and .804
# with n-grams alone. A last state has no use for the last word beside it: with it `skip` is off.
# The last epoch is kept, after the learning rate has fallen to 0: with few documents the best one
# on validation is luck.
_ALL: Configuration = {
    "embedding_std": 0.1,
    "skip": True,
    "character_buckets": 20_000,
    "dropout": 0.5,
    "embedding_dropout": 0.5,
    "word_dropout": 0.1,
    "label_smoothing": 0.1,
    "ema_decay": 0.99,
    "lr_schedule": "linear",
    "monitor": "last",
}
_SHORT: Configuration = _ALL | {
    "embedding_dim": 128,
    "hidden_size": 64,
    "linear_size": 256,
    "learning_rate": 0.004,
}
_LONG: Configuration = _ALL | {
    "embedding_dim": 64,
    "hidden_size": 32,
    "truncation": "ends",
    "learning_rate": 0.004,
}

PRESETS: dict[str, Preset] = {
    "tiny": Preset(
        "fewer than 1,000 texts: small batches and more epochs, for enough steps",
        _SHORT
        | {
            "learning_rate": 0.008,
            "batch_size": 16,
            "epochs": 20,
        },
    ),
    "small": Preset(
        "some 1,000 to 15,000 texts of a length up to 150 tokens, of few or many classes",
        _SHORT | {"batch_size": 32, "epochs": 12},
    ),
    "large": Preset(
        "more texts of such a length: larger batches and fewer epochs",
        _SHORT | {"batch_size": 128, "epochs": 8, "state_dropout": 0.3},
    ),
    "long": Preset(
        "texts of more than 150 tokens: smaller states, and both ends of a text are read",
        _LONG | {"batch_size": 16, "epochs": 8, "max_tokens": 800},
    ),
    "large-long": Preset(
        "more than 15,000 texts of more than 150 tokens: larger batches and fewer epochs",
        _LONG
        | {
            "hidden_size": 64,
            "learning_rate": 0.003,
            "batch_size": 64,
            "epochs": 3,
            "max_tokens": 400,
        },
    ),
}
FEW, MANY = 720, 10_000  # documents to train on: of 1,000 and 14,000 where heed draws the split
LONG_TEXTS = 150  # tokens; measured were means of 62 and less, and of 260 and more


def choose_preset(trained: int, tokens_per_document: float) -> str:
    """Return the name of heed's preset for a corpus; `trained` documents are trained on."""
    if tokens_per_document > LONG_TEXTS:
        return "long" if trained < MANY else "large-long"
    if trained < FEW:
        return "tiny"
    return "small" if trained < MANY else "large"
