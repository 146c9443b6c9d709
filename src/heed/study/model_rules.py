"""The rules on models, presets and searches: unknown names, contradictions, equal budgets."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from heed.hyperparameters import Configuration, Value
from heed.study.experiments import GROUPS, NOT_SEARCHED, Dimension, Search
from heed.study.schema import PARAMETER_MATCHED, Key, Model, Params
from heed.study.section import (
    NAMES_BY_TASK,
    PRESETS,
    RECIPES,
    SECTIONS,
    rules_of,
    suggest,
    unknown_name,
)
from heed.task import task_names
from heed.task.interface import Contradiction

Mistakes = Iterator[tuple[Key, str]]  # a key of params.yaml, and a message


def preset_contradictions(params: Params, name: str) -> Mistakes:
    """Yield (key, message) for every contradiction of a preset of the study."""
    key, values = ("defaults", "presets", name), params.defaults.presets[name]
    if any(name in presets for presets in PRESETS.values()):
        yield key, "is the name of a preset of heed's own; choose another"
    users = {
        params.task(model): model_name
        for model_name, model in reversed(params.models.items())
        if model.preset == name and model.experiment in params.experiments
    }
    for task, model_name in users.items():
        for hyperparameter, message in wrong_hyperparameters(task, values):
            yield (*key, hyperparameter), f"{message} (models.{model_name} has this preset)"
    mistakes = [list(wrong_hyperparameters(task, values)) for task in SECTIONS]
    if not users and all(mistakes):  # report those of the task that it fits best
        for hyperparameter, message in min(mistakes, key=len):
            yield (*key, hyperparameter), message


def _wrong_preset(params: Params, model: Model) -> str:
    """Return the message on a preset that a model names and its task lacks, or ""."""
    task = params.task(model)
    known = params.presets(task)
    if model.preset in ("", *known):
        return ""
    if others := [other for other in PRESETS if model.preset in PRESETS[other]]:
        return f"preset {model.preset} is of {others[0]}, and this model of {task}"
    return unknown_name(model.preset, f"preset of {task}", known or {"none": {}})


def wrong_hyperparameters(task: str, values: Configuration) -> Iterator[tuple[str, str]]:
    """Yield (name, message) for hyperparameters of another task, or with values of another."""
    names = NAMES_BY_TASK[task]
    for name in values:
        if name not in names:
            yield name, f"is no hyperparameter of {task}{suggest(name, names)}"
    try:
        SECTIONS[task].model_validate({k: v for k, v in values.items() if k in names})
    except ValidationError as error:
        for mistake in error.errors():
            text, found = mistake["msg"], mistake["input"]
            yield str(mistake["loc"][0]), f"{text[0].lower()}{text[1:]}, found {found!r}"


def model_contradictions(params: Params, name: str) -> Mistakes:
    """Yield (key, message) for every contradiction of a model."""
    key, model = ("models", name), params.models[name]
    if model.experiment not in params.experiments:
        yield (*key, "experiment"), unknown_name(model.experiment, "experiment", params.experiments)
        return
    for other, each in params.models.items():
        if other != name and (each.experiment, each.variant) == (model.experiment, model.variant):
            yield key, f"{other} is the variant {model.variant} of {model.experiment} too"
    if model.search not in (searches := [*params.searches, "none"]):
        yield (*key, "search"), unknown_name(model.search, "search", searches)
    if model.match_parameters_of not in params.models:
        yield (
            (*key, "match_parameters_of"),
            unknown_name(model.match_parameters_of, "model", params.models),
        )
        return
    task = params.task(model)
    if mistakes := list(wrong_hyperparameters(task, model.overrides)):
        yield from (((*key, name), message) for name, message in mistakes)
        return
    if message := _wrong_preset(params, model):
        yield (*key, "preset"), message
        return
    if list(wrong_hyperparameters(task, params.presets(task).get(model.preset, {}))):
        return  # a rule on presets reports this
    for contradiction in hyperparameter_contradictions(task, params.apply_defaults(model)):
        yield _locate(key, model, contradiction)
    yield from vector_contradictions(params, key, model)
    yield from variant_contradictions(params, name, model)


def vector_contradictions(params: Params, key: Key, model: Model) -> Mistakes:
    """Yield (key, message) for a model with word vectors whose source has none."""
    # translators have no such hyperparameter
    vectors = getattr(params.apply_defaults(model), "vectors", "none")
    corpus = params.corpora.get(model.corpus)
    source = params.sources.get(corpus.source) if corpus else None
    if vectors != "none" and corpus and source and not source.vectors:
        yield (
            (*key, "vectors"),
            f"{vectors}, and sources.{corpus.source} has no word vectors: name a file in its "
            "`vectors`",
        )


def _locate(key: Key, model: Model, contradiction: Contradiction) -> tuple[Key, str]:
    """Return a contradiction with its key: the first of its names that the model sets itself."""
    names, message = contradiction
    return (*key, next((name for name in names if name in model.overrides), names[0])), message


def hyperparameter_contradictions(task: str, h: Any) -> Iterator[Contradiction]:
    """Yield every contradiction between the hyperparameters of a model."""
    yield from rules_of(task).contradictions(h)
    if h.patience and h.monitor == "last":
        yield (
            ("patience", "monitor"),
            "patience waits for a better epoch, which select: last does not look for",
        )


def variant_contradictions(params: Params, name: str, model: Model) -> Mistakes:
    """Yield (key, message) for every contradiction of a model with its variant.

    `model` may differ from the model of this name in `params`, as for a trial of a search.
    """
    key, rules = ("models", name), rules_of(params.task(model))
    if any(model.variant in rules_of(task).REFERENCE_MODELS for task in task_names()):
        yield (*key, "variant"), f"{model.variant} is the name of a reference model; choose another"
    for contradiction in rules.variant_contradictions(model.variant, params.apply_defaults(model)):
        yield _locate(key, model, contradiction)
    if model.variant == PARAMETER_MATCHED:
        for field, message in _parameter_matched_contradictions(params, name, model):
            yield (*key, field), message


def _parameter_matched_contradictions(
    params: Params, name: str, model: Model
) -> Iterator[tuple[str, str]]:
    """Yield (name of a field, message) for every contradiction of a model of variant
    parameter-matched.
    """
    match, rules = model.match_parameters_of, rules_of(params.task(model))
    if match == name or params.models[match].experiment != model.experiment:
        yield (
            "match_parameters_of",
            "variant parameter-matched names the model of the same experiment whose size it "
            "matches, "
            f"found {match}",
        )
        return
    if model.preset:
        yield "preset", f"variant parameter-matched takes the preset of {match}; remove it"
    if extra := sorted({*model.overrides} - {*rules.PARAMETER_MATCHED_KEYS}):
        allowed = " and ".join(rules.PARAMETER_MATCHED_KEYS) or "none"
        yield (
            extra[0],
            f"variant parameter-matched takes every hyperparameter but {allowed} from {match}; "
            f"remove "
            f"{', '.join(extra)}",
        )
    if message := rules.parameter_matched_contradiction(match, params.hyperparameters(match)):
        yield "match_parameters_of", message


def search_contradictions(params: Params, name: str) -> Mistakes:
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
    if model.match_parameters_of != search.model:
        yield (
            (*key, "model"),
            f"{search.model} takes its hyperparameters from {model.match_parameters_of}: search "
            f"that one",
        )
    for message in _after_contradictions(params, name):
        yield (*key, "after"), message
    for field, message in _trial_contradictions(params, name):
        yield (*key, field), message
    for hyperparameter, dimension in search.space.items():
        for message in _dimension_contradictions(params, model, hyperparameter, dimension):
            yield (*key, "space", hyperparameter), message


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


def _trial_contradictions(params: Params, name: str) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for what a search asks of another task, and an unsuitable space."""
    search = params.searches[name]
    task = params.task(params.models[search.model])
    if search.metric not in ("", *(scores := RECIPES[task].VALIDATION_METRICS)):
        yield "metric", unknown_name(search.metric, f"validation metric of {task}", scores)
    for group in search.groups:
        if unknown := {*GROUPS[group]} - {*NAMES_BY_TASK[task]}:
            names = ", ".join(sorted(unknown))
            yield (
                "groups",
                f"{group} has {names}, and {search.model} is of {task}, which lacks that",
            )
    yield from _budget_contradictions(params, search)
    space = search_space(params, name)
    if {"vectors", "embedding_dim"} <= space.keys():
        yield (
            "space",
            "vectors and embedding_dim together: the size of the word vectors is embedding_dim",
        )
    if search.trials and not space:
        yield "space", "there is nothing to search: name `groups`, or hyperparameters in `space`"


def _budget_contradictions(params: Params, search: Search) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for contradictions of a search's seed, scheduler or GPUs."""
    if search.seed in params.seeds:
        yield (
            "seed",
            f"the study's seeds are {params.seeds}: a search with one of them would select "
            f"hyperparameters for that run; found {search.seed}",
        )
    h = params.hyperparameters(search.model)
    epochs, found = search.epochs or h.epochs, f"found {search.grace_period:g}"
    if search.scheduler == "asha" and search.grace_period > epochs:
        yield "grace_period", f"at most the epochs of a trial, {epochs}, {found}"
    if search.scheduler == "asha" and (search.grace_period * search.reports) % 1:
        message = f"a multiple of 1/reports of an epoch, 1/{search.reports}, {found}"
        yield "grace_period", message
    if h.device == "cuda" and not search.gpu:
        yield (
            "gpu",
            f"{search.model} has device: cuda, and its trials have no gpu. Set gpu: 1, or a "
            "fraction of one",
        )


def unequal_searches(params: Params, name: str) -> Mistakes:
    """Yield (key, message) for a search whose budget differs from that of the one it is beside.

    That is the first with a model of the same experiment, after as many other searches.
    """
    places = {
        other: (search.experiment, _depth(params, search))
        for other, search in params.searches.items()
        if search.trials and _is_known(params, search)  # another rule reports the others
    }
    if name not in places:
        return
    other = next(each for each, place in places.items() if place == places[name])
    budget = _budget(params, other)
    for key, value in _budget(params, name).items():
        if value != budget[key]:
            yield (
                (*params.search_key(name), key),
                f"compared variants get the same budget: {value} here, {budget[key]} in search "
                f"{other} of experiment {params.searches[name].experiment}",
            )


def _depth(params: Params, search: Search) -> int:
    """Return how many searches a search comes after."""
    depth = 0
    while search.after in params.searches and depth <= len(params.searches):
        depth, search = depth + 1, params.searches[search.after]
    return depth


def _budget(params: Params, name: str) -> dict[str, Value | None]:
    search = params.search(name)
    return search.budget(params.hyperparameters(search.model))


def _is_known(params: Params, search: Search) -> bool:
    """Return whether the experiment of a search, its model, and the model's experiment exist."""
    model = params.models.get(search.model)
    experiments = (search.experiment, model.experiment if model else "")
    return model is not None and {*experiments} <= params.experiments.keys()


def _after_contradictions(params: Params, name: str) -> Iterator[str]:
    """Yield a message when the search before this one is unknown, unsuitable or circular."""
    search = params.searches[name]
    if search.after == "none":
        return
    if search.after not in params.searches:
        yield unknown_name(search.after, "search", [*params.searches, "none"])
        return
    if (model := params.searches[search.after].model) != search.model:
        yield f"{search.after} searches {model}, and this one {search.model}"
    seen, previous = [name], search.after
    while previous in params.searches:
        if previous in seen:
            yield f"searches wait for each other: {' after '.join([*seen, previous])}"
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
        allowed = ", ".join(name for name in names if name not in NOT_SEARCHED)
        yield f"unknown hyperparameter{suggest(key, names)} Allowed: {allowed}"
        return
    if key in NOT_SEARCHED:
        yield f"cannot be searched: {NOT_SEARCHED[key]}"
        return
    h = params.apply_defaults(model)
    if reason := rules_of(task).no_effect(h).get(key):
        yield f"has no effect: model {model.match_parameters_of} has {reason}"
    has_fraction = isinstance(getattr(h, key), float)
    if dimension.kind == "integer" and has_fraction:
        yield "is a number with a fraction: use uniform or loguniform"
    if dimension.kind in ("uniform", "loguniform") and not has_fraction:
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
        changed = dataclasses.replace(model, overrides=model.overrides | {key: value})
        if key in ("attention", "pooling", "encoder", "decoder"):
            for _, message in variant_contradictions(params, model.match_parameters_of, changed):
                yield f"{value}: {message}"
        if key == "vectors":
            yield from (message for _, message in vector_contradictions(params, (), changed))
