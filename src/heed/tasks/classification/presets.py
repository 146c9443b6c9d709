"""Heed's presets: hyperparameters that were tuned together, measured in docs/presets.md."""

from heed.hyperparameters import Configuration, Preset

# Of a small corpus the best epoch on validation is luck: with 44 documents there the last epoch,
# after the learning rate has fallen to 0, is better by 1.3 to 9.4 points. Character n-grams add 1.5
# points on 2,000 headlines. No `skip`: pooling last does not go with it, and the variants of a
# comparison share all that they can. The values of the branch are for models with `tfidf_branch`.
_REGULARISED: Configuration = {
    "embedding_std": 0.1,
    "character_buckets": 20_000,
    "dropout": 0.5,
    "embedding_dropout": 0.5,
    "word_dropout": 0.1,
    "label_smoothing": 0.1,
    "ema_decay": 0.99,
    "lr_schedule": "linear",
    "monitor": "last",
    "tfidf_buckets": 65_536,
    "tfidf_dropout": 0.3,
    "tfidf_loss": "separate",
}
_SHORT: Configuration = _REGULARISED | {
    "embedding_dim": 100,
    "hidden_size": 64,
    "learning_rate": 0.008,
    "tfidf_rate": 2.0,
}

PRESETS: dict[str, Preset] = {
    "tiny": Preset(
        "fewer than 1,000 short texts: small batches and more epochs, for enough steps",
        _SHORT | {"batch_size": 16, "epochs": 20},
    ),
    "small": Preset(
        "some 1,000 to 20,000 short texts: much regularisation, and character n-grams",
        _SHORT | {"batch_size": 32, "epochs": 12},
    ),
    "long": Preset(
        "texts of more than 150 tokens: smaller states, which learn few texts by heart less; "
        "both ends of a text are read",
        _REGULARISED
        | {
            "embedding_dim": 64,
            "hidden_size": 32,
            "batch_size": 16,
            "learning_rate": 0.004,
            "epochs": 8,
            "max_tokens": 300,
            "truncation": "ends",
            "tfidf_rate": 4.0,
        },
    ),
}
FEW_TRAINED = 720  # documents to train on: of 1,000 where heed draws the split
LONG_TEXTS = 150  # tokens; measured were means of 62 and less, and of 260 and more
TRAINED_PER_TOKEN = 3  # of long texts: with fewer, no network came near the linear model


def choose_preset(trained: int, tokens_per_document: float) -> str:
    """Return the name of heed's preset for a corpus; `trained` documents are trained on."""
    if tokens_per_document > LONG_TEXTS:
        return "long"
    return "tiny" if trained < FEW_TRAINED else "small"


def recommend_linear(trained: int, tokens_per_document: float) -> str:
    """Return why the linear model is recommended for a corpus, or "" where it is not.

    There no preset came within 2 points of its accuracy (docs/presets.md).
    """
    needed = int(round(TRAINED_PER_TOKEN * tokens_per_document, -2))
    if tokens_per_document <= LONG_TEXTS or trained >= needed:
        return ""
    return (
        f"the linear model is recommended: {trained:,} texts of {tokens_per_document:,.0f} tokens "
        "to train on are too few for networks without pretraining. In measurements these stayed 2 "
        f"to 6 points below it with so few long texts; from about {needed:,} on they may keep up"
    )
