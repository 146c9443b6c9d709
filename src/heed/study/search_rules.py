"""The rules on searches: their models and spaces, and equal budgets for compared variants."""

from collections.abc import Iterator

from pydantic import ValidationError

from heed.study.defaults import NAMES_BY_TASK, SECTIONS
from heed.study.model_rules import variant_contradictions, vector_contradictions
from heed.study.models import Model
from heed.study.schema import Key, Params
from heed.study.searches import GROUPS, NOT_SEARCHED, Dimension, Search
from heed.study.suggestions import suggest, unknown_name
from heed.study.tasks import RECIPES, rules_of


def search_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a search."""
    key, search = params.search_key(name), params.searches[name]
    if name == "none":
        yield key, "the name none is taken: it means that nothing is searched"
    if search.model not in params.models:
        yield (*key, "model"), unknown_name(search.model, "model", params.models)
        return
    model = params.models[search.model]
    if search.experiment != model.experiment:
        yield (
            (*key, "experiment"),
            f"model {search.model} has experiment {model.experiment}, found {search.experiment}",
        )
    if model.experiment not in params.experiments:
        return  # a rule on models reports this
    if model.match != search.model:
        yield (
            (*key, "model"),
            f"{search.model} takes its hyperparameters from {model.match}: search that one",
        )
    yield from _task_contradictions(params, name)
    yield from _after_contradictions(params, name)
    yield from _trial_contradictions(params, name)
    for hyperparameter, dimension in search.space.items():
        for message in _dimension_contradictions(params, model, hyperparameter, dimension):
            yield (*key, "space", hyperparameter), message


def _task_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for what a search asks of another task than its model's."""
    key, search = params.search_key(name), params.searches[name]
    task = params.task(params.models[search.model])
    figures = RECIPES[task].FIGURES
    if search.metric not in ("", *figures):
        yield (
            (*key, "metric"),
            unknown_name(search.metric, f"validation figure of {task}", figures),
        )
    for group in search.groups:
        if unknown := {*GROUPS[group]} - {*NAMES_BY_TASK[task]}:
            names = ", ".join(sorted(unknown))
            message = f"{group} has {names}, and {search.model} is of {task}, which lacks that"
            yield (*key, "groups"), message


def search_space(params: Params, name: str) -> dict[str, Dimension]:
    """Return the space of a search: its groups, then `space`.

    Hyperparameters of a group that have no effect, such as heads without multi-head attention, are
    left out.
    """
    search = params.searches[name]
    task, h = params.task(params.models[search.model]), params.hyperparameters(search.model)
    ineffective = rules_of(task).no_effect(h)
    groups = {
        key: dimension
        for group in search.groups
        for key, dimension in GROUPS[group].items()
        if key not in ineffective
    }
    return groups | search.space


def _trial_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for contradictions of a search's seed, scheduler, GPUs or space."""
    key, search = params.search_key(name), params.searches[name]
    if search.seed in params.seeds:
        yield (
            (*key, "seed"),
            (
                f"the study's seeds are {params.seeds}: a search with one of them would select "
                f"hyperparameters for that run; found {search.seed}"
            ),
        )
    h = params.hyperparameters(search.model)
    epochs = search.epochs or h.epochs
    if search.scheduler == "asha":
        yield from _grace_period_contradictions(search, (*key, "grace_period"), epochs)
    if h.device == "cuda" and not search.gpu:
        yield (
            (*key, "gpu"),
            (
                f"{search.model} has device: cuda, and its trials have no gpu. Set gpu: 1, or a "
                "fraction of one"
            ),
        )
    space = search_space(params, name)
    if {"vectors", "embedding_dim"} <= space.keys():
        yield (
            (*key, "space"),
            "vectors and embedding_dim together: the size of the word vectors is embedding_dim",
        )
    if search.trials and not space:
        yield (
            (*key, "space"),
            "there is nothing to search: name `groups`, or hyperparameters in `space`",
        )


def _is_known(params: Params, search: Search) -> bool:
    """Return whether the experiment of a search, its model, and the model's experiment exist."""
    model = params.models.get(search.model)
    return (
        search.experiment in params.experiments
        and model is not None
        and model.experiment in params.experiments
    )


def unequal_searches(params: Params) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for searches of compared variants with different budgets."""
    first: dict[tuple[str, int], str] = {}
    for name, search in params.searches.items():
        depth, previous = 0, search
        while previous.after in params.searches and depth <= len(params.searches):
            depth, previous = depth + 1, params.searches[previous.after]
        if not search.trials or not _is_known(params, search):
            continue  # another rule reports this
        other = first.setdefault((search.experiment, depth), name)
        budget = params.search(other).budget(params.hyperparameters(params.searches[other].model))
        for key, value in params.search(name).budget(params.hyperparameters(search.model)).items():
            if value != budget[key]:
                yield (
                    (*params.search_key(name), key),
                    (
                        f"compared variants get the same budget: {value} here, {budget[key]} in "
                        f"search {other} of experiment {search.experiment}"
                    ),
                )


def _grace_period_contradictions(
    search: Search, key: Key, epochs: int
) -> Iterator[tuple[Key, str]]:
    found = f"found {search.grace_period:g}"
    if search.grace_period > epochs:
        yield key, f"at most the epochs of a trial, {epochs}, {found}"
    if (search.grace_period * search.reports) % 1:
        yield key, f"a multiple of 1/reports of an epoch, 1/{search.reports}, {found}"


def _after_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) when the search before this one is unknown, unsuitable or circular."""
    key, search = (*params.search_key(name), "after"), params.searches[name]
    if search.after == "none":
        return
    if search.after not in params.searches:
        yield key, unknown_name(search.after, "search", {**params.searches, "none": None})
        return
    if (model := params.searches[search.after].model) != search.model:
        yield key, f"{search.after} searches {model}, and this one {search.model}"
    seen, previous = [name], search.after
    while previous in params.searches:
        if previous in seen:
            yield key, f"searches wait for each other: {' after '.join([*seen, previous])}"
            return
        seen.append(previous)
        previous = params.searches[previous].after


def _dimension_contradictions(
    params: Params, model: Model, key: str, dimension: Dimension
) -> Iterator[str]:
    """Yield a message for everything that is wrong with one hyperparameter of a space."""
    task = params.task(model)
    names = NAMES_BY_TASK[task]
    if key not in names:
        yield (
            f"unknown hyperparameter{suggest(key, names)} Allowed: "
            f"{', '.join(k for k in names if k not in NOT_SEARCHED)}"
        )
        return
    if key in NOT_SEARCHED:
        yield f"cannot be searched: {NOT_SEARCHED[key]}"
        return
    h = params.apply_defaults(model)
    if reason := rules_of(task).no_effect(h).get(key):
        yield f"has no effect: model {model.match} has {reason}"
    if dimension.kind == "integer" and isinstance(getattr(h, key), float):
        yield "is a number with a fraction: use uniform or loguniform"
    if dimension.kind in ("uniform", "loguniform") and not isinstance(getattr(h, key), float):
        yield (
            f"{dimension.kind} draws numbers with a fraction, and it has none: use integer or "
            "choice"
        )
        return
    for value in dimension.values:
        try:
            SECTIONS[task].model_validate({key: value})
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            yield f"{dimension.kind}: {message[0].lower()}{message[1:]}, found {value!r}"
            continue
        if key in ("attention", "pooling", "encoder", "decoder"):
            changed = model.model_copy(update={key: value})
            yield from (
                f"{value}: {message}"
                for _, message in variant_contradictions(params, model.match, changed)
            )
        if key == "vectors":
            changed = model.model_copy(update={key: value})
            yield from (message for _, message in vector_contradictions(params, (), changed))
