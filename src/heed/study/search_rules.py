"""The rules on searches: their models and spaces, and equal budgets for compared variants."""

from collections.abc import Iterator

from pydantic import ValidationError

from heed.study.defaults import NAMES, ClassificationDefaults
from heed.study.model_rules import variant_contradictions
from heed.study.models import Model
from heed.study.schema import Key, Params
from heed.study.searches import NOT_SEARCHED, Dimension, Search
from heed.study.suggestions import suggest, unknown_name


def search_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a search."""
    key, search = ("searches", name), params.searches[name]
    if name == "none":
        yield key, "the name none is taken: it means that nothing is searched"
    if search.model not in params.models:
        yield (*key, "model"), unknown_name(search.model, "model", params.models)
        return
    model = params.models[search.model]
    for section in ("experiment", "corpus"):
        if (found := getattr(search, section)) != (expected := getattr(model, section)):
            yield (*key, section), f"model {search.model} has {section} {expected}, found {found}"
    if model.experiment not in params.experiments:
        return  # a rule on models reports this
    if model.match != search.model:
        yield (
            (*key, "model"),
            f"{search.model} takes its hyperparameters from {model.match}: search that one",
        )
    yield from _after_contradictions(params, name)
    yield from _trial_contradictions(params, name)
    for hyperparameter, dimension in search.space.items():
        for message in _dimension_contradictions(params, model, hyperparameter, dimension):
            yield (*key, "space", hyperparameter), message


def _trial_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for contradictions of a search's seed, scheduler, GPUs or space."""
    key, search = ("searches", name), params.searches[name]
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
    if search.trials and not search.dimensions(h):
        yield (
            (*key, "space"),
            "there is nothing to search: name `groups`, or hyperparameters in `space`",
        )


def unequal_searches(params: Params) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for searches of compared variants with different budgets."""
    first: dict[tuple[str, int], str] = {}
    for name, search in params.searches.items():
        depth, previous = 0, search
        while previous.after in params.searches and depth <= len(params.searches):
            depth, previous = depth + 1, params.searches[previous.after]
        if not search.trials or search.model not in params.models:
            continue
        other = first.setdefault((search.experiment, depth), name)
        budget = params.searches[other].budget(params.hyperparameters(params.searches[other].model))
        for key, value in search.budget(params.hyperparameters(search.model)).items():
            if value != budget[key]:
                yield (
                    ("searches", name, key),
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
    key, search = ("searches", name, "after"), params.searches[name]
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
    if key not in NAMES:
        yield (
            f"unknown hyperparameter{suggest(key, NAMES)} Allowed: "
            f"{', '.join(k for k in NAMES if k not in NOT_SEARCHED)}"
        )
        return
    if key in NOT_SEARCHED:
        yield f"cannot be searched: {NOT_SEARCHED[key]}"
        return
    h = params.apply_defaults(model)
    if key == "heads" and not h.has_heads:
        yield f"has no effect: model {model.match} has attention: {h.attention}"
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
            ClassificationDefaults.model_validate({key: value})
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            yield f"{dimension.kind}: {message[0].lower()}{message[1:]}, found {value!r}"
            continue
        if key in ("attention", "pooling", "encoder"):
            changed = model.model_copy(update={key: value})
            yield from (
                f"{value}: {message}"
                for _, message in variant_contradictions(params, model.match, changed)
            )
