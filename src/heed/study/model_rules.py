"""The rules on models: names that lead nowhere, what a variant must and may not have,
hyperparameters against each other.
"""

from collections.abc import Iterator

from heed.hyperparameters import ATTENTION_POOLINGS
from heed.study.models import Model
from heed.study.schema import Key, Params
from heed.study.suggestions import unknown
from heed.tasks.classification.recipe import Hyperparameters


def model_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield what is wrong with a model."""
    key = ("models", name)
    if model.experiment not in params.experiments:
        yield (*key, "experiment"), unknown(model.experiment, "experiment", params.experiments)
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
            unknown(model.tuned_by, "search", {**params.searches, "none": None}),
        )
    if model.match not in params.models:
        yield (*key, "match"), unknown(model.match, "model", params.models)
        return
    settings = params.hyperparameters(name)
    for keys, complaint in hyperparameter_contradictions(settings):
        at = next((name for name in keys if getattr(model, name) is not None), keys[0])
        yield (*key, at), complaint
    # else the variant may be what is wrong, and that is said
    if name == f"{model.experiment}-{model.variant}":
        yield from variant_contradictions(params, name, model)


def variant_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield what is wrong with a model for its variant; the model need not be the one of this name
    in `params`.
    """
    key, settings, matched = ("models", name), params.given_to(model), params.models[model.match]
    if model.variant in ("linear", "majority"):
        yield (*key, "variant"), f"{model.variant} is the name of an opponent; choose another"
    attends = (
        settings.attention not in ("none", "uniform") or settings.pooling in ATTENTION_POOLINGS
    )
    given = "attention" if model.attention else "pooling"
    if model.variant == "baseline" and (attends or settings.attention != "none"):
        yield (
            (*key, given),
            f"variant baseline is without attention, found {getattr(settings, given)}",
        )
    if model.variant == "attention" and not attends:
        yield (
            (*key, "variant"),
            (
                "variant attention needs attention (multi-head, single-head) or a pooling with "
                f"attention, found attention: {settings.attention}, pooling: {settings.pooling}"
            ),
        )
    if model.variant == "wide":
        if model.match == name or matched.experiment != model.experiment:
            yield (
                (*key, "match"),
                (
                    "variant wide names the model of the same experiment that it is as large as, "
                    f"found {model.match}"
                ),
            )
        if more := sorted(set(model.given()) - {"pooling"}):
            yield (
                (*key, more[0]),
                (
                    f"variant wide takes every hyperparameter but pooling from {model.match}; "
                    f"take {', '.join(more)} away"
                ),
            )
        if params.hyperparameters(model.match).encoder != "bilstm":
            yield (*key, "match"), f"variant wide widens a BiLSTM, and {model.match} has none"
        if settings.pooling in ATTENTION_POOLINGS:
            yield (*key, "pooling"), f"variant wide is without attention, found {settings.pooling}"
        if model.tuned_by != matched.tuned_by:
            yield (*key, "tuned_by"), f"must be that of {model.match}: {matched.tuned_by}"
    elif model.match != name:
        yield (
            (*key, "match"),
            f"only variant wide matches another model; expected {name}, found {model.match}",
        )


def hyperparameter_contradictions(h: Hyperparameters) -> Iterator[tuple[Key, str]]:
    """Yield (the keys that contradict each other, complaint)."""
    if h.attention in ("multi-head", "uniform") and h.state_size % h.heads:
        yield (
            ("heads", "hidden_size", "skip", "encoder", "attention"),
            (
                f"heads must divide the size of the states: {h.heads} heads do not divide "
                f"{h.state_size} (twice the hidden size; with skip the embeddings too)"
            ),
        )
    if h.encoder == "none" and h.linear_branch == "none":
        yield (
            ("encoder", "linear_branch"),
            "encoder none leaves the linear branch alone, and linear_branch is none",
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
    if h.pooling == "last" and h.encoder == "embeddings":
        yield (
            ("pooling", "encoder"),
            "pooling last takes the BiLSTM's last states, and encoder embeddings has none",
        )
    if h.pooling == "last" and h.skip:
        yield (
            ("skip", "pooling"),
            "pooling last takes the BiLSTM's last states: it does not go with skip",
        )
    if h.patience and h.select == "last":
        yield (
            ("patience", "select"),
            "patience waits for a better epoch, and select: last knows none",
        )
