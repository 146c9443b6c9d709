"""The rules on models, presets and searches, of a study with all that follows in its place."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Annotated, Any

from heed.hyperparameters import Value
from heed.hyperparameters.pretrained import PRETRAINED
from heed.records import (
    FLATTENED,
    Key,
    Mistake,
    RecordError,
    Types,
    read_section,
    suggest,
    unknown_name,
)
from heed.study.experiments import (
    NAMES_BY_TASK,
    NOT_SEARCHED,
    RECIPES,
    SECTIONS,
    Dimension,
    Search,
    rules_of,
)
from heed.study.schema import PARAMETER_MATCHED, Model, Params
from heed.task import task_names
from heed.task.interface import Contradiction

Mistakes = Iterator[Mistake]
# a model with the hyperparameters of its task
MODELS = {
    task: Annotated[Model, Types(overrides=Annotated[section, FLATTENED])]
    for task, section in SECTIONS.items()
}


def find_mistakes(kind: Any, values: object, key: Key = ()) -> list[Mistake]:
    """Return the mistakes in a section of params.yaml."""
    try:
        read_section(kind, values, key)
    except RecordError as error:
        return error.mistakes
    return []


def wrong_values(params: Params) -> Mistakes:
    """Yield the hyperparameters of models and presets that their task has not, or not so."""
    for name, values in params.defaults.presets.items():
        key = ("defaults", "presets", name)
        users = {params.task(model) for model in params.models.values() if model.preset == name}
        mistakes = [find_mistakes(SECTIONS[task], values, key) for task in users or SECTIONS]
        # unused, it must suit one task
        yield from max(mistakes, key=len) if users else min(mistakes, key=len)
    for name, model in params.models.items():
        task = params.task(model)
        yield from find_mistakes(MODELS[task], model.line(), ("models", name))
        if model.preset not in ("", *(known := params.presets(task))):
            message = unknown_name(model.preset, f"preset of {task}", known)
            yield ("models", name, "preset"), message


def model_contradictions(params: Params, name: str) -> Mistakes:
    """Yield (key, message) for every contradiction of a model."""
    key, model = ("models", name), params.models[name]
    for other, each in params.models.items():
        if other != name and (each.experiment, each.variant) == (model.experiment, model.variant):
            yield key, f"{other} is the variant {model.variant} of {model.experiment} too"
    references = (rules_of(task).REFERENCE_MODELS for task in task_names())
    if model.variant in (PRETRAINED, *itertools.chain(*references)):
        yield (*key, "variant"), f"{model.variant} is the name of a reference model; choose another"
    h = params.apply_defaults(model)
    contradictions = [
        *hyperparameter_contradictions(params.task(model), h),
        *variant_contradictions(params, name, model),
    ]
    for names, message in contradictions:  # the key is the first that the model sets itself
        yield (*key, next((each for each in names if each in model.overrides), names[0])), message


def equal_models(params: Params) -> Mistakes:
    """Yield the models of an experiment that have the settings of an earlier one."""
    known: dict[str, str] = {}
    for name, model in params.models.items():
        h = params.hyperparameters(name)
        ineffective = rules_of(params.task(model)).no_effect(h)
        values = {key: value for key, value in vars(h).items() if key not in ineffective}
        is_widened = model.variant == PARAMETER_MATCHED
        settings = (model.experiment, values, params.prediction(name), model.search, is_widened)
        if (first := known.setdefault(repr(settings), name)) != name:
            yield ("models", name), f"has the settings of {first}: nothing but the name differs"


def hyperparameter_contradictions(task: str, h: Any) -> Iterator[Contradiction]:
    """Yield every contradiction between the hyperparameters of a model."""
    yield from rules_of(task).contradictions(h)
    if h.patience and h.monitor == "last":
        yield (
            ("patience", "monitor"),
            "patience waits for a better epoch, which monitor: last does not look for",
        )


def variant_contradictions(params: Params, name: str, model: Model) -> Iterator[Contradiction]:
    """Yield every contradiction of a model with its variant.

    `model` may differ from the model of this name in `params`, as for a trial of a search.
    """
    rules, h = rules_of(params.task(model)), params.apply_defaults(model)
    yield from rules.variant_contradictions(model.variant, h)
    if model.variant != PARAMETER_MATCHED:
        return
    match = model.match_parameters_of
    if match == name or params.models[match].experiment != model.experiment:
        yield (
            ("match_parameters_of",),
            "variant parameter-matched names the model of the same experiment whose size it "
            f"matches, found {match}",
        )
        return
    extra = sorted({*model.overrides} - {*rules.PARAMETER_MATCHED_KEYS})
    if extra or model.preset:
        yield (
            tuple(extra or ["preset"]),
            f"variant parameter-matched takes its hyperparameters from {match}; remove "
            f"{', '.join(extra or ['preset'])}",
        )
    if message := rules.parameter_matched_contradiction(match, params.hyperparameters(match)):
        yield ("match_parameters_of",), message


def search_contradictions(params: Params, name: str) -> Mistakes:
    """Yield (key, message) for every contradiction of a search."""
    key, search = ("searches", name), params.searches[name]
    seeds = params.seeds_of(search.experiment)
    for model, section in params.models.items():
        if section.search == name and section.experiment != search.experiment:
            yield ("models", model, "search"), f"search {name} is of {search.experiment}"
    found = [*_wrong_model(params, name)]
    if search.seed in seeds:
        message = f"the study's seeds are {seeds}: a search with one of them would select"
        found.append(("seed", f"{message} hyperparameters for that run; found {search.seed}"))
    models = [] if found else params.searched_models(name)
    for model in models:
        found += _trial_contradictions(params, name, model)
    for field, message in dict.fromkeys(found):
        yield (*key, *field.split(".")), message
    if models and not found:
        yield from _unequal_budget(params, name)


def _wrong_model(params: Params, name: str) -> Iterator[tuple[str, str]]:
    """Yield why a search has no model that it can search."""
    search = params.searches[name]
    if not search.model:
        if not params.searched_models(name):
            yield (
                "trials",
                f"no model of {search.experiment} names this search: write `search: {name}` in "
                "each model that is to be searched, or here the one `model`",
            )
        return
    model = params.models[search.model]
    if search.experiment != model.experiment:
        yield "experiment", f"model {search.model} is of {model.experiment}"
    if model.match_parameters_of != search.model:
        yield (
            "model",
            f"{search.model} takes its hyperparameters from {model.match_parameters_of}: search "
            "that one",
        )


def search_space(params: Params, name: str, model: str) -> dict[str, Dimension]:
    """Return the space of a search, of one of its models.

    Where several models are searched, only what has an effect.
    """
    search = params.searches[name]
    task, h = params.task(params.models[model]), params.hyperparameters(model)
    left_out = {} if search.model else rules_of(task).no_effect(h)
    return {key: each for key, each in search.space.items() if key not in left_out}


def _trial_contradictions(params: Params, name: str, model: str) -> Iterator[tuple[str, str]]:
    search, h = params.search(name, model), params.hyperparameters(model)
    task = params.task(params.models[model])
    metrics, epochs = RECIPES[task].VALIDATION_METRICS, search.epochs or h.epochs
    if search.metric not in metrics:
        yield "metric", unknown_name(search.metric, f"validation metric of {task}", metrics)
    if search.scheduler == "asha" and search.grace_period > epochs:
        yield (
            "grace_period",
            f"at most the epochs of a trial, {epochs}, found {search.grace_period}",
        )
    if search.scheduler == "none" and 0 < search.trainings < search.trials:
        yield (
            "trials",
            f"with scheduler none each trial is a full training: at most {search.trainings} with "
            f"trainings: {search.trainings}, found {search.trials}. Or use scheduler: asha",
        )
    elif search.trainings == 1 < search.trials:
        yield (
            "trainings",
            f"at least 2 with trials: {search.trials}, found 1: the first trial, the model's own "
            "configuration, is a full training, and no other would run",
        )
    for hyperparameter, dimension in search.space.items():
        for message in _dimension_contradictions(params, name, search, hyperparameter, dimension):
            yield f"space.{hyperparameter}", message


def _unequal_budget(params: Params, name: str) -> Mistakes:
    """Yield where a budget differs from the first search's of the same experiment."""
    experiment = params.searches[name].experiment
    other = next(each for each, it in params.searches.items() if it.experiment == experiment)
    models = params.searched_models(name)
    first = next(iter(params.searched_models(other)), models[0])
    for model in models:
        here, there = "here", f"in search {other} of experiment {experiment}"
        if other == name:
            here, there = f"of {model}", f"of {first}: say `epochs`"
        budget = _budget(params, other, first)
        for field, value in _budget(params, name, model).items():
            if value != budget[field]:
                message = f"{value} {here}, {budget[field]} {there}"
                yield ("searches", name, field), f"compared variants get the same budget: {message}"


def _budget(params: Params, name: str, model: str) -> dict[str, Value | None]:
    return params.search(name).budget(params.hyperparameters(model))


def _dimension_contradictions(
    params: Params, name: str, search: Search, key: str, dimension: Dimension
) -> Iterator[str]:
    model = params.models[search.model]
    task = params.task(model)
    allowed = [each for each in NAMES_BY_TASK[task] if each not in NOT_SEARCHED]
    if key not in allowed:
        reason = NOT_SEARCHED.get(key, f"unknown hyperparameter{suggest(key, allowed)}")
        yield f"cannot be searched: {reason} Allowed: {', '.join(allowed)}"
        return
    h = params.apply_defaults(model)
    if reason := rules_of(task).no_effect(h).get(key):
        others = {*params.searched_models(name)} - {search.model}
        if any(key in search_space(params, name, other) for other in others):
            return
        yield f"has no effect: model {search.model} has {reason}"
    has_fraction = isinstance(getattr(h, key), float)
    if dimension.kind != "choice" and has_fraction == (dimension.kind == "integer"):
        use = ("none: use integer", "a number with a fraction: use uniform")[has_fraction]
        yield f"is {use} or choice, found {dimension.kind}"
        return
    for value in dimension.values:
        yield from _value_contradictions(params, search.model, key, value, dimension.kind)


def _value_contradictions(
    params: Params, name: str, key: str, value: Any, kind: str
) -> Iterator[str]:
    model = params.models[name]
    if mistakes := find_mistakes(SECTIONS[params.task(model)], {key: value}):
        yield f"{kind}: {mistakes[0][1]}"
    elif key in ("attention", "pooling", "encoder", "decoder"):
        changed = dataclasses.replace(model, overrides=model.overrides | {key: value})
        for _, message in variant_contradictions(params, name, changed):
            yield f"{value}: {message}"
