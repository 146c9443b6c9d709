"""The rules on the hyperparameters of a classifier, by themselves and by its variant; its presets.

heed's presets were tuned together, measured in docs/reference/presets.md.
"""

from collections.abc import Iterator
from typing import Any

from heed.hyperparameters import Configuration, Preset
from heed.hyperparameters.classifier import encoder_size
from heed.records import suggest
from heed.task.interface import Contradiction, DeclaredCorpus
from heed.tasks.classification.recipe import Hyperparameters

REFERENCE_MODELS = ("linear", "majority")  # names that no variant may have
PARAMETER_MATCHED_KEYS = ("pooling",)  # what a variant parameter-matched may set itself
LABELS = "one"  # how many classes of a label a document of a corpus has
READS_PAIRS = False  # the items of its corpora are documents with labels
# Metrics of an expected result that are not of the test split; explained models have them.
EXPLAINED_METRICS = ("rationale_weight", "accuracy_in_middle")
FURTHER_METRICS = ()


def corpus_contradictions(data: Any, corpus: DeclaredCorpus) -> Iterator[tuple[str, str]]:
    """Yield (key of an experiment, message) where a corpus lacks what an experiment needs."""
    if (label := data.label) not in corpus.labels:
        named = " (labels have the names of their columns)" if corpus.labels_are_columns else ""
        yield (
            "data.label",
            f"corpus {corpus.name} has no label {label}{suggest(label, corpus.labels)} "
            f"Known: {', '.join(corpus.labels)}{named}",
        )


def contradictions(h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction between hyperparameters."""
    sizes = [h.state_size, *([encoder_size(h, h.state_size)] if h.hierarchical else [])]
    if h.has_heads and (undivided := next((size for size in sizes if size % h.heads), 0)):
        yield (
            ("heads", "hidden_size", "embedding_dim", "skip", "encoder", "attention"),
            f"heads must divide the size of the states: {h.heads} heads do not divide {undivided} "
            "(of a recurrent encoder twice the hidden size, with skip the embeddings too; else "
            "embedding_dim)",
        )
    if h.pooling == "last" and not h.is_recurrent:
        yield (
            ("pooling", "encoder"),
            f"pooling last takes the last states of a recurrence; encoder {h.encoder} has none",
        )


def variant_contradictions(variant: str, h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction of the hyperparameters with the variant's name."""
    if variant == "last-state" and (h.attends or h.attention != "none"):
        name = "encoder" if h.encoder == "transformer" else "pooling"
        name = "attention" if h.attention != "none" else name
        yield (name,), f"variant last-state is without attention, found {getattr(h, name)}"
    if variant in ("attention-pooling", "self-attention") and not h.attends:
        yield (
            ("variant",),
            f"variant {variant} needs attention (multi-head, single-head), a pooling with "
            f"attention or encoder transformer, found attention: {h.attention}, pooling: "
            f"{h.pooling}, encoder: {h.encoder}",
        )
    if variant == "parameter-matched" and h.pooling == "attention":
        yield ("pooling",), f"variant parameter-matched is without attention, found {h.pooling}"


def adversarial_model_contradiction(h: Hyperparameters) -> str | None:
    """Return why no adversarial model with other weights can be made of a model, or None."""
    if h.pooling in ("last", "max"):
        return f"pooling {h.pooling} is not a weighted sum of states; mean and attention are"
    if not h.chooses_weights:
        return (
            f"attention: {h.attention} with pooling: {h.pooling} gives every word the same weight"
        )
    return None


def no_effect(h: Hyperparameters) -> dict[str, str]:
    """Return the hyperparameters that have no effect: name → by which value of another."""
    attention, encoder = f"attention: {h.attention}", f"encoder: {h.encoder}"
    scores = h.attention == "single-head" or h.pooling == "attention"
    rules = (
        (not h.has_heads, ("heads",), attention),
        (h.encoder != "transformer", ("encoder_layers", "feed_forward_size"), encoder),
        (not h.is_recurrent, ("hidden_size", "skip"), encoder),
        (not scores, ("score",), f"{attention} and pooling: {h.pooling}"),
        (h.vectors != "none", ("embedding_dim",), f"vectors: {h.vectors}, whose size it is"),
    )
    return {name: reason for applies, names, reason in rules if applies for name in names}


# `skip` and character n-grams let a pooling read words and their parts beside the states: on 34
# classes of headlines, five of which make a text, attention pooling has .902 with both and .804
# with n-grams alone.
# The last epoch is kept, after the learning rate has fallen to 0: with few documents the best one
# on validation is luck.
_ALL: Configuration = {
    "embedding_std": 0.1, "skip": True, "character_buckets": 20_000, "dropout": 0.5,
    "embedding_dropout": 0.5, "word_dropout": 0.1, "label_smoothing": 0.1, "ema_decay": 0.99,
    "lr_schedule": "linear", "monitor": "last",
}  # fmt: skip
_SHORT: Configuration = _ALL | {
    "embedding_dim": 128, "hidden_size": 64, "linear_size": 256, "learning_rate": 0.004,
}  # fmt: skip
_LONG: Configuration = _ALL | {
    "embedding_dim": 64, "hidden_size": 32, "truncation": "ends", "learning_rate": 0.004,
}  # fmt: skip

PRESETS: dict[str, Preset] = {
    "tiny": Preset(
        "fewer than 1,000 texts: small batches and more epochs, for enough steps",
        _SHORT | {"learning_rate": 0.008, "batch_size": 16, "epochs": 20},
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
        _LONG | {"hidden_size": 64, "learning_rate": 0.003, "batch_size": 64, "epochs": 3,
                 "max_tokens": 400},
    ),
    # chosen for speed
    "sample-news": Preset(
        "the articles of the sample study: trained in seconds",
        {"embedding_dim": 48, "hidden_size": 32, "character_buckets": 5000,
         "embedding_dropout": 0.5, "word_dropout": 0.1, "label_smoothing": 0.1,
         "learning_rate": 0.01, "epochs": 10, "lr_schedule": "linear", "monitor": "last"},
    ),
    "sample-place": Preset(
        "the generated text of the sample study: trained in seconds",
        {"embedding_dim": 16, "embedding_std": 1.0, "hidden_size": 16, "linear_size": 16,
         "dropout": 0.2, "batch_size": 32, "learning_rate": 0.02, "epochs": 8,
         "max_grad_norm": 1.0},
    ),
}  # fmt: skip
FEW, MANY = 720, 10_000  # documents to train on: of 1,000 and 14,000 where heed draws the split
LONG_TEXTS = 150  # tokens; measured were means of 62 and less, and of 260 and more


def choose_preset(trained: int, tokens_per_document: float) -> str:
    """Return the name of heed's preset for a corpus; `trained` documents are trained on."""
    if tokens_per_document > LONG_TEXTS:
        return "long" if trained < MANY else "large-long"
    if trained < FEW:
        return "tiny"
    return "small" if trained < MANY else "large"
