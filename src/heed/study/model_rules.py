"""The rules on models: unknown names, requirements of variants, contradicting hyperparameters."""

from collections.abc import Iterator

from heed.hyperparameters.classifier import ATTENTION_POOLINGS
from heed.study.models import Model
from heed.study.schema import Key, Params
from heed.study.suggestions import unknown_name
from heed.tasks.classification.recipe import Hyperparameters


def model_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a model."""
    key = ("models", name)
    if model.experiment not in params.experiments:
        yield (*key, "experiment"), unknown_name(model.experiment, "experiment", params.experiments)
        return
    if name != f"{model.experiment}-{model.variant}":
        yield (
            key,
            (
                "a model is named EXPERIMENT-VARIANT: expected "
                f"{model.experiment}-{model.variant}, "
                f"found {name}"
            ),
        )
    if (
        model.corpus != (expected := params.experiments[model.experiment].corpus)
        and expected in params.corpora
    ):
        yield (
            (*key, "corpus"),
            f"experiment {model.experiment} uses corpus {expected}, found {model.corpus}",
        )
    if model.tuned_by not in {*params.searches, "none"}:
        yield (
            (*key, "tuned_by"),
            unknown_name(model.tuned_by, "search", {**params.searches, "none": None}),
        )
    if model.match not in params.models:
        yield (*key, "match"), unknown_name(model.match, "model", params.models)
        return
    settings = params.hyperparameters(name)
    for names, message in hyperparameter_contradictions(settings):
        hyperparameter = next((h for h in names if getattr(model, h) is not None), names[0])
        yield (*key, hyperparameter), message
    # with another name the variant may be wrong, which is reported above
    if name == f"{model.experiment}-{model.variant}":
        yield from variant_contradictions(params, name, model)


def variant_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a model with its variant.

    `model` may differ from the model of this name in `params`, as for a trial of a search.
    """
    key, settings = ("models", name), params.apply_defaults(model)
    if model.variant in ("linear", "majority"):
        yield (*key, "variant"), f"{model.variant} is the name of an opponent; choose another"
    if model.variant == "baseline" and (settings.attends or settings.attention != "none"):
        hyperparameter = _attending_hyperparameter(settings)
        yield (
            (*key, hyperparameter),
            f"variant baseline is without attention, found {getattr(settings, hyperparameter)}",
        )
    if model.variant == "attention" and not settings.attends:
        yield (
            (*key, "variant"),
            (
                "variant attention needs attention (multi-head, single-head), a pooling with "
                "attention or encoder transformer, found attention: "
                f"{settings.attention}, pooling: {settings.pooling}, encoder: {settings.encoder}"
            ),
        )
    if model.variant == "wide":
        yield from _wide_contradictions(params, name, model)
    elif model.match != name:
        yield (
            (*key, "match"),
            f"only variant wide matches another model; expected {name}, found {model.match}",
        )


def _attending_hyperparameter(settings: Hyperparameters) -> str:
    """Return the name of the hyperparameter that brings attention into a model."""
    if settings.attention != "none":
        return "attention"
    return "encoder" if settings.encoder == "transformer" else "pooling"


def _wide_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a model of variant wide."""
    key, matched = ("models", name), params.models[model.match]
    if model.match == name or matched.experiment != model.experiment:
        yield (
            (*key, "match"),
            (
                "variant wide names the model of the same experiment whose size it matches, "
                f"found {model.match}"
            ),
        )
    if extra := sorted(set(model.overrides()) - {"pooling"}):
        yield (
            (*key, extra[0]),
            (
                f"variant wide takes every hyperparameter but pooling from {model.match}; "
                f"remove {', '.join(extra)}"
            ),
        )
    if params.hyperparameters(model.match).encoder != "bilstm":
        yield (*key, "match"), f"variant wide widens a BiLSTM, and {model.match} has none"
    pooling = params.apply_defaults(model).pooling
    if pooling in ATTENTION_POOLINGS:
        yield (*key, "pooling"), f"variant wide is without attention, found {pooling}"
    if model.tuned_by != matched.tuned_by:
        yield (*key, "tuned_by"), f"must be that of {model.match}: {matched.tuned_by}"


def hyperparameter_contradictions(h: Hyperparameters) -> Iterator[tuple[Key, str]]:
    """Yield (names of hyperparameters, message) for every contradiction between them."""
    if h.has_heads and h.state_size % h.heads:
        yield (
            ("heads", "hidden_size", "embedding_dim", "skip", "encoder", "attention"),
            (
                f"heads must divide the size of the states: {h.heads} heads do not divide "
                f"{h.state_size} (with a BiLSTM twice the hidden size, with skip the embeddings "
                "too; else embedding_dim)"
            ),
        )
    if h.encoder == "none" and h.linear_branch == "none":
        yield (
            ("encoder", "linear_branch"),
            "with encoder none only the linear branch is left, and linear_branch is none",
        )
    if h.encoder == "none" and (
        h.attention != "none" or h.pooling in ATTENTION_POOLINGS or h.hierarchical
    ):
        yield (
            ("encoder",),
            (
                "encoder none has no states to attend to: attention none, a pooling without it, "
                "not hierarchical"
            ),
        )
    if h.pooling == "last" and h.encoder in ("embeddings", "transformer"):
        yield (
            ("pooling", "encoder"),
            f"pooling last takes the BiLSTM's last states, and encoder {h.encoder} has none",
        )
    if h.pooling == "last" and h.skip:
        yield (
            ("skip", "pooling"),
            "pooling last takes the BiLSTM's last states: it does not go with skip",
        )
    if h.patience and h.select == "last":
        yield (
            ("patience", "select"),
            "patience waits for a better epoch, which select: last does not look for",
        )
