"""The rules on the hyperparameters of a classifier, by themselves and by its variant."""

from collections.abc import Iterator
from typing import Any

from heed.hyperparameters.classifier import ATTENTION_POOLINGS, encoder_size
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
    yield from label_contradictions(data.label, corpus)


def label_contradictions(label: str, corpus: DeclaredCorpus) -> Iterator[tuple[str, str]]:
    """Yield (key of an experiment, message) if a corpus has no such label."""
    if label not in corpus.labels:
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
    if h.pooling == "last" and h.skip:
        yield (
            ("skip", "pooling"),
            "pooling last takes the last states of a recurrence: it does not go with skip",
        )


def variant_contradictions(variant: str, h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction of the hyperparameters with the variant's name."""
    if variant == "baseline" and (h.attends or h.attention != "none"):
        name = "encoder" if h.encoder == "transformer" else "pooling"
        name = "attention" if h.attention != "none" else name
        yield (name,), f"variant baseline is without attention, found {getattr(h, name)}"
    if variant == "attention" and not h.attends:
        yield (
            ("variant",),
            "variant attention needs attention (multi-head, single-head), a pooling with attention "
            f"or encoder transformer, found attention: {h.attention}, pooling: {h.pooling}, "
            f"encoder: {h.encoder}",
        )
    if variant == "parameter-matched" and h.pooling in ATTENTION_POOLINGS:
        yield ("pooling",), f"variant parameter-matched is without attention, found {h.pooling}"


def parameter_matched_contradiction(model: str, matched: Hyperparameters) -> str | None:
    """Return why no variant parameter-matched can be made of a model, or None."""
    if not matched.is_recurrent:
        return f"variant parameter-matched widens a recurrent network, and {model} has none"
    return None


def adversarial_model_contradiction(h: Hyperparameters) -> str | None:
    """Return why no adversarial model with other weights can be made of a model, or None."""
    if h.pooling in ("last", "max"):
        return f"pooling {h.pooling} is no weighted sum of states; mean and attention are"
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
