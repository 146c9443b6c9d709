"""The rules on the hyperparameters of a translator, by themselves and by its variant."""

from collections.abc import Iterator
from typing import Any

from heed.hyperparameters import Preset
from heed.records import suggest
from heed.task.interface import Contradiction, DeclaredCorpus
from heed.tasks.translation.recipe import Hyperparameters

REFERENCE_MODELS = ("copy", "statistical")  # names that no variant may have
PARAMETER_MATCHED_KEYS = ()  # what a variant parameter-matched may set itself
LABELS = "none"  # it reads none
READS_PAIRS = True  # the items of its corpora are sentences in several languages
EXPLAINED_METRICS = ()
FURTHER_METRICS = ("aer",)  # of an expected result: not of the test split's statistics
PRESETS: dict[str, Preset] = {}


def corpus_contradictions(data: Any, corpus: DeclaredCorpus) -> Iterator[tuple[str, str]]:
    """Yield (key of an experiment, message) where its languages are not those of its corpus."""
    languages, known = corpus.languages, ", ".join(corpus.languages)
    for name, language in (("source", data.source), ("target", data.target)):
        if languages and language not in languages:
            did_you_mean = suggest(language, languages)
            message = (
                f"corpus {corpus.name} has no language {language}{did_you_mean} Known: {known}"
            )
            yield f"data.{name}", message
    if data.source == data.target:
        yield "data.target", f"is the source too: {data.source}"


def contradictions(h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction between hyperparameters."""
    is_transformer = h.decoder == "transformer"
    if (h.encoder == "transformer") != is_transformer:
        yield (
            ("encoder", "decoder"),
            "a transformer has both encoder: transformer and decoder: transformer, found "
            f"{h.encoder} and {h.decoder}",
        )
    if is_transformer and h.embedding_dim % h.heads:
        yield (
            ("heads", "embedding_dim"),
            f"heads must divide embedding_dim: {h.heads} heads do not divide {h.embedding_dim}",
        )
    if h.score == "diagonal" and h.decoder in ("input", "input-literal"):
        yield (
            ("score", "decoder"),
            f"score diagonal is a control of decoder output, found decoder: {h.decoder}",
        )
    if h.encoder == "bidirectional" and h.hidden_size % 2:
        yield (
            ("hidden_size", "encoder"),
            f"each direction has half of hidden_size, which must be even, found {h.hidden_size}",
        )


def adversarial_model_contradiction(_: Hyperparameters) -> str | None:
    """Return why no adversarial model can be made of a translator."""
    return "adversarial models are of classifications, and its task is translation"


def variant_contradictions(variant: str, h: Hyperparameters) -> Iterator[Contradiction]:
    """Yield every contradiction of the hyperparameters with the variant's name."""
    if variant == "last-state" and h.attends:
        yield ("decoder",), f"variant last-state is without attention, found decoder: {h.decoder}"
    if variant == "attention" and not h.learns_weights:
        key = "score" if h.attends else "decoder"
        needs = {"score": "a score that is learned", "decoder": "a decoder with attention"}[key]
        found = f"found {key}: {getattr(h, key)}"
        yield (key, "variant"), f"variant attention needs {needs}, {found}"
    if variant == "average" and (h.learns_weights or not h.attends or h.score != "uniform"):
        yield (
            ("score", "decoder", "variant"),
            "variant average reads all states by equal weights: score: uniform and a decoder that "
            f"has a score, found score: {h.score} and decoder: {h.decoder}",
        )


def no_effect(h: Hyperparameters) -> dict[str, str]:
    """Return the hyperparameters that have no effect: name → by which value of another."""
    names = ["heads", "feed_forward_size", "context" if h.attends else "score"]
    if h.decoder == "transformer":
        names = ["recurrence", "score", "context", "hidden_size", "residual"]
    ineffective = dict.fromkeys(names, f"decoder: {h.decoder}")
    if h.segmentation != "words":
        ineffective["lowercase"] = f"segmentation: {h.segmentation}"
    return ineffective
