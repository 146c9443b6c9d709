"""The rules on searches: what is searched and from where, and that compared variants get the same
budget.
"""

from collections.abc import Iterator

from pydantic import ValidationError

from heed.study.defaults import NAMES, ClassificationDefaults
from heed.study.model_rules import variant_contradictions
from heed.study.models import Model
from heed.study.schema import Key, Params
from heed.study.searches import NOT_SEARCHED, Dimension, Search
from heed.study.suggestions import near, unknown


def search_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield what is wrong with a search."""
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
        yield (
            (*key, "model"),
            f"{search.model} takes its hyperparameters from {model.match}: search that one",
        )
    yield from _after_contradictions(params, name)
    yield from _trial_contradictions(params, name)
    for hyperparameter, dimension in search.space.items():
        for what in _dimension_complaints(params, model, hyperparameter, dimension):
            yield (*key, "space", hyperparameter), what


def _trial_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    key, search = ("searches", name), params.searches[name]
    if search.seed in params.seeds:
        yield (
            (*key, "seed"),
            (
                f"the study's seeds are {params.seeds}: a search with one of them would have "
                f"chosen for that run; found {search.seed}"
            ),
        )
    h = params.hyperparameters(search.model)
    most = search.epochs or h.epochs
    if search.scheduler == "asha":
        yield from _grace_period_contradictions(search, (*key, "grace_period"), most)
    if h.device == "cuda" and not search.gpu:
        yield (
            (*key, "gpu"),
            (
                f"{search.model} has device: cuda, and its trials have no gpu. Say gpu: 1, or a "
                "part of one"
            ),
        )
    if search.trials and not search.dimensions(h):
        yield (
            (*key, "space"),
            "there is nothing to search: name `groups`, or hyperparameters in `space`",
        )


def unequal_searches(params: Params) -> Iterator[tuple[Key, str]]:
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
                    (
                        f"compared variants get the same budget: {value} here, {theirs[key]} in "
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


def _dimension_complaints(
    params: Params, model: Model, key: str, dimension: Dimension
) -> Iterator[str]:
    """Yield what is wrong with one hyperparameter of a space."""
    if key not in NAMES:
        yield (
            f"unknown hyperparameter{near(key, NAMES)} Allowed: "
            f"{', '.join(k for k in NAMES if k not in NOT_SEARCHED)}"
        )
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
        yield (
            f"{dimension.kind} draws numbers with a fraction, and it takes none: say integer or "
            "choice"
        )
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
            yield from (
                f"{value}: {what}"
                for _, what in variant_contradictions(params, model.match, changed)
            )
