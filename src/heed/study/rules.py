"""What no single section of params.yaml can see: names that lead nowhere, and values that contradict each other.

Each rule yields complaints: the keys of the place in params.yaml, and what is wrong there.
"""

from collections.abc import Iterator

from pydantic import ValidationError

from heed.corpora.kinds import KINDS
from heed.hyperparameters import ATTENTION_POOLINGS, Configuration
from heed.study.defaults import NAMES, ClassificationDefaults
from heed.study.experiments import Experiment
from heed.study.models import Model
from heed.study.schema import Params
from heed.study.searches import NOT_SEARCHED, Dimension
from heed.study.suggestions import near, unknown
from heed.tasks.classification.recipe import Hyperparameters

Key = tuple[str, ...]  # where in params.yaml: ("models", NAME, "heads")


def contradictions(params: Params) -> Iterator[tuple[Key, str]]:
    """Yield (key, complaint) for what no single section can see."""
    if len(set(params.seeds)) < len(params.seeds):
        yield ("seeds",), f"each seed once, found {params.seeds}"
    if any(seed < 1 for seed in params.seeds):
        yield ("seeds",), f"seeds are whole numbers from 1, found {params.seeds}"
    for name, corpus in params.corpora.items():
        if corpus.source not in params.sources:
            yield ("corpora", name, "source"), unknown(corpus.source, "source", params.sources)
        elif (kind := params.sources[corpus.source].kind) != (made_from := KINDS[corpus.kind].source.name):
            yield (
                ("corpora", name, "source"),
                f"corpus kind {corpus.kind} is made from a source of kind {made_from}, found {kind}",
            )
        if corpus.split.k and len(params.seeds) % corpus.split.k:
            yield (
                ("seeds",),
                f"corpus {name} has {corpus.split.k} folds: the number of seeds must be a multiple of {corpus.split.k}, found {len(params.seeds)}",
            )
    for name, experiment in params.experiments.items():
        if experiment.corpus not in params.corpora:
            yield ("experiments", name, "corpus"), unknown(experiment.corpus, "corpus", params.corpora)
        if experiment.suboptimal_of and experiment.suboptimal_of not in params.experiments:
            yield (
                ("experiments", name, "suboptimal_of"),
                unknown(experiment.suboptimal_of, "experiment", params.experiments),
            )
        yield from _data_contradictions(params, name, experiment)
    for name in params.searches:
        yield from _search_contradictions(params, name)
    yield from _unequal_searches(params)
    for name, model in params.models.items():
        yield from _model_contradictions(params, name, model)


def fits(params: Params, model: str, best: Configuration) -> bool:
    """Return whether `model` may have the hyperparameters `best`: each in its limits, none against another."""
    try:
        resolved = params.resolved(model, best)
    except ValidationError:
        return False
    changed = params.models[model].model_copy(update=best)
    return not [*_hyperparameter_contradictions(resolved), *_variant_contradictions(params, model, changed)]


def _data_contradictions(params: Params, name: str, experiment: Experiment) -> Iterator[tuple[Key, str]]:
    """Yield what an experiment asks of a corpus whose kind does not have it; a table's columns are known when it is read."""
    corpus = params.corpora.get(experiment.corpus)
    if corpus is None or corpus.source not in params.sources:
        return  # said of the experiment, or of the corpus
    kind, label = KINDS[corpus.kind], experiment.data.label
    if params.sources[corpus.source].kind == kind.source.name and kind.labels and label not in kind.labels:
        yield (
            ("experiments", name, "data", "label"),
            f"corpus {experiment.corpus} has no label {label}{near(label, kind.labels)} Known: {', '.join(kind.labels)}",
        )


def _model_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    key = ("models", name)
    if model.experiment not in params.experiments:
        yield (*key, "experiment"), unknown(model.experiment, "experiment", params.experiments)
        return
    if name != f"{model.experiment}-{model.variant}":
        yield key, f"a model is named EXPERIMENT-VARIANT: expected {model.experiment}-{model.variant}, found {name}"
    if model.corpus != (expected := params.experiments[model.experiment].corpus) and expected in params.corpora:
        yield (*key, "corpus"), f"experiment {model.experiment} uses corpus {expected}, found {model.corpus}"
    if model.tuned_by not in {*params.searches, "none"}:
        yield (*key, "tuned_by"), unknown(model.tuned_by, "search", {**params.searches, "none": None})
    if model.match not in params.models:
        yield (*key, "match"), unknown(model.match, "model", params.models)
        return
    settings = params.hyperparameters(name)
    for keys, complaint in _hyperparameter_contradictions(settings):
        at = next((name for name in keys if getattr(model, name) is not None), keys[0])
        yield (*key, at), complaint
    if name == f"{model.experiment}-{model.variant}":  # else the variant may be what is wrong, and that is said
        yield from _variant_contradictions(params, name, model)


def _variant_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    key, settings, matched = ("models", name), params.given_to(model), params.models[model.match]
    if model.variant in ("linear", "majority"):
        yield (*key, "variant"), f"{model.variant} is the name of an opponent; choose another"
    attends = settings.attention not in ("none", "uniform") or settings.pooling in ATTENTION_POOLINGS
    given = "attention" if model.attention else "pooling"
    if model.variant == "baseline" and (attends or settings.attention != "none"):
        yield (*key, given), f"variant baseline is without attention, found {getattr(settings, given)}"
    if model.variant == "attention" and not attends:
        yield (
            (*key, "variant"),
            f"variant attention needs attention (multi-head, single-head) or a pooling with attention, found attention: {settings.attention}, pooling: {settings.pooling}",
        )
    if model.variant == "wide":
        if model.match == name or matched.experiment != model.experiment:
            yield (
                (*key, "match"),
                f"variant wide names the model of the same experiment that it is as large as, found {model.match}",
            )
        if more := sorted(set(model.given()) - {"pooling"}):
            yield (
                (*key, more[0]),
                f"variant wide takes every hyperparameter but pooling from {model.match}; take {', '.join(more)} away",
            )
        if params.hyperparameters(model.match).encoder != "bilstm":
            yield (*key, "match"), f"variant wide widens a BiLSTM, and {model.match} has none"
        if settings.pooling in ATTENTION_POOLINGS:
            yield (*key, "pooling"), f"variant wide is without attention, found {settings.pooling}"
        if model.tuned_by != matched.tuned_by:
            yield (*key, "tuned_by"), f"must be that of {model.match}: {matched.tuned_by}"
    elif model.match != name:
        yield (*key, "match"), f"only variant wide matches another model; expected {name}, found {model.match}"


def _search_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    key, search = ("searches", name), params.searches[name]
    if name == "none":
        yield key, "the name none is taken: it stands for no search"
    if search.model not in params.models:
        yield (*key, "model"), unknown(search.model, "model", params.models)
        return
    model = params.models[search.model]
    for what in ("experiment", "corpus"):
        if (found := getattr(search, what)) != (expected := getattr(model, what)):
            yield (*key, what), f"model {search.model} has {what} {expected}, found {found}"
    if model.experiment not in params.experiments:
        return  # said of the model
    if model.match != search.model:
        yield (*key, "model"), f"{search.model} takes its hyperparameters from {model.match}: search that one"
    yield from _after_contradictions(params, name)
    if search.seed in params.seeds:
        yield (
            (*key, "seed"),
            f"the study's seeds are {params.seeds}: a search with one of them would have chosen for that run; found {search.seed}",
        )
    h = params.hyperparameters(search.model)
    most = search.epochs or h.epochs
    if search.scheduler == "asha" and search.grace_period > most:
        yield (*key, "grace_period"), f"at most the epochs of a trial, {most}, found {search.grace_period:g}"
    if search.scheduler == "asha" and (search.grace_period * search.reports) % 1:
        yield (
            (*key, "grace_period"),
            f"a multiple of 1/reports of an epoch, 1/{search.reports}, found {search.grace_period:g}",
        )
    if h.device == "cuda" and not search.gpu:
        yield (
            (*key, "gpu"),
            f"{search.model} has device: cuda, and its trials have no gpu. Say gpu: 1, or a part of one",
        )
    if search.trials and not search.dimensions(h):
        yield (*key, "space"), "there is nothing to search: name `groups`, or hyperparameters in `space`"
    for hyperparameter, dimension in search.space.items():
        for what in _dimension_complaints(params, model, hyperparameter, dimension):
            yield (*key, "space", hyperparameter), what


def _after_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    at, search = ("searches", name, "after"), params.searches[name]
    if search.after == "none":
        return
    if search.after not in params.searches:
        yield at, unknown(search.after, "search", {**params.searches, "none": None})
        return
    if (model := params.searches[search.after].model) != search.model:
        yield at, f"{search.after} searches {model}, and this one {search.model}"
    seen, now = [name], search.after
    while now in params.searches:
        if now in seen:
            yield at, f"searches wait for each other: {' after '.join([*seen, now])}"
            return
        seen.append(now)
        now = params.searches[now].after


def _dimension_complaints(params: Params, model: Model, key: str, dimension: Dimension) -> Iterator[str]:
    """Yield what is wrong with one hyperparameter of a space."""
    if key not in NAMES:
        yield f"unknown hyperparameter{near(key, NAMES)} Allowed: {', '.join(k for k in NAMES if k not in NOT_SEARCHED)}"
        return
    if key in NOT_SEARCHED:
        yield f"is not searched: {NOT_SEARCHED[key]}"
        return
    given = params.given_to(model)
    if key == "heads" and given.attention not in ("multi-head", "uniform"):
        yield f"does nothing here: model {model.match} has attention: {given.attention}"
    if dimension.kind == "integer" and isinstance(getattr(given, key), float):
        yield "takes numbers with a fraction: say uniform or loguniform"
    if dimension.kind in ("uniform", "loguniform") and not isinstance(getattr(given, key), float):
        yield f"{dimension.kind} draws numbers with a fraction, and it takes none: say integer or choice"
        return
    for value in dimension.values:
        try:
            ClassificationDefaults.model_validate({key: value})
        except ValidationError as error:
            what = error.errors()[0]["msg"]
            yield f"{dimension.kind}: {what[0].lower()}{what[1:]}, found {value!r}"
            continue
        if key in ("attention", "pooling"):
            changed = model.model_copy(update={key: value})
            yield from (f"{value}: {what}" for _, what in _variant_contradictions(params, model.match, changed))


def _unequal_searches(params: Params) -> Iterator[tuple[Key, str]]:
    """Yield searches of compared variants that may not pay the same."""
    first: dict[tuple[str, int], str] = {}
    for name, search in params.searches.items():
        depth, now = 0, search
        while now.after in params.searches and depth <= len(params.searches):
            depth, now = depth + 1, params.searches[now.after]
        if not search.trials or search.model not in params.models:
            continue
        other = first.setdefault((search.experiment, depth), name)
        theirs = params.searches[other].budget(params.hyperparameters(params.searches[other].model))
        for key, value in search.budget(params.hyperparameters(search.model)).items():
            if value != theirs[key]:
                yield (
                    ("searches", name, key),
                    f"compared variants get the same budget: {value} here, {theirs[key]} in search {other} of experiment {search.experiment}",
                )


def _hyperparameter_contradictions(h: Hyperparameters) -> Iterator[tuple[Key, str]]:
    """Yield (the keys that contradict each other, complaint)."""
    if h.attention in ("multi-head", "uniform") and h.state_size % h.heads:
        yield (
            ("heads", "hidden_size", "skip", "encoder", "attention"),
            f"heads must divide the size of the states: {h.heads} heads do not divide {h.state_size} (twice the hidden size; with skip the embeddings too)",
        )
    if h.encoder == "none" and h.linear_branch == "none":
        yield ("encoder", "linear_branch"), "encoder none leaves the linear branch alone, and linear_branch is none"
    if h.encoder == "none" and (h.attention != "none" or h.pooling in ATTENTION_POOLINGS or h.hierarchical):
        yield (
            ("encoder",),
            "encoder none has no states to attend to: attention none, a pooling without it, not hierarchical",
        )
    if h.pooling == "last" and h.encoder == "embeddings":
        yield ("pooling", "encoder"), "pooling last takes the BiLSTM's last states, and encoder embeddings has none"
    if h.pooling == "last" and h.skip:
        yield ("skip", "pooling"), "pooling last takes the BiLSTM's last states: it does not go with skip"
    if h.patience and h.select == "last":
        yield ("patience", "select"), "patience waits for a better epoch, and select: last knows none"
