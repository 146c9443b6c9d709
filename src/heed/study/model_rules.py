"""The rules on models: unknown names, requirements of variants, contradicting hyperparameters."""

from collections.abc import Iterator
from typing import Any

from heed.study.models import Model
from heed.study.preset_rules import wrong_hyperparameters, wrong_preset
from heed.study.schema import Key, Params
from heed.study.suggestions import unknown_name
from heed.study.tasks import rules_of
from heed.task import task_names
from heed.task.interface import Contradiction


def model_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a model."""
    key = ("models", name)
    if model.experiment not in params.experiments:
        yield (*key, "experiment"), unknown_name(model.experiment, "experiment", params.experiments)
        return
    yield from _name_contradictions(params, name, model)
    if model.match not in params.models:
        yield (*key, "match"), unknown_name(model.match, "model", params.models)
        return
    task = params.task(model)
    if mistakes := list(wrong_hyperparameters(task, model.overrides())):
        yield from (((*key, name), message) for name, message in mistakes)
        return
    if message := wrong_preset(params, model):
        yield (*key, "preset"), message
        return
    if list(wrong_hyperparameters(task, params.presets(task).get(model.preset, {}))):
        return  # a rule on presets reports this
    for contradiction in hyperparameter_contradictions(task, params.apply_defaults(model)):
        yield _locate(key, model, contradiction)
    yield from vector_contradictions(params, key, model)
    yield from variant_contradictions(params, name, model)


def _name_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for a variant that another model has, or an unknown search."""
    key = ("models", name)
    for other, each in params.models.items():
        if other != name and (each.experiment, each.variant) == (model.experiment, model.variant):
            yield key, f"{other} is the variant {model.variant} of {model.experiment} too"
    if model.tuned_by not in {*params.searches, "none"}:
        yield (
            (*key, "tuned_by"),
            unknown_name(model.tuned_by, "search", {**params.searches, "none": None}),
        )


def vector_contradictions(params: Params, key: Key, model: Model) -> Iterator[tuple[Key, str]]:
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
    return (*key, next((name for name in names if name in model.overrides()), names[0])), message


def hyperparameter_contradictions(task: str, h: Any) -> Iterator[Contradiction]:
    """Yield every contradiction between the hyperparameters of a model."""
    yield from rules_of(task).contradictions(h)
    if h.patience and h.select == "last":
        yield (
            ("patience", "select"),
            "patience waits for a better epoch, which select: last does not look for",
        )


def variant_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a model with its variant.

    `model` may differ from the model of this name in `params`, as for a trial of a search.
    """
    key, rules = ("models", name), rules_of(params.task(model))
    if any(model.variant in rules_of(task).OPPONENTS for task in task_names()):
        yield (*key, "variant"), f"{model.variant} is the name of an opponent; choose another"
    for contradiction in rules.variant_contradictions(model.variant, params.apply_defaults(model)):
        yield _locate(key, model, contradiction)
    if model.variant == "wide":
        yield from _wide_contradictions(params, name, model)


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
        return
    if model.preset:
        yield (*key, "preset"), f"variant wide takes the preset of {model.match}; remove it"
    rules = rules_of(params.task(model))
    if extra := sorted({*model.overrides()} - {*rules.WIDE_KEYS}):
        allowed = " and ".join(rules.WIDE_KEYS) or "none"
        yield (
            (*key, extra[0]),
            (
                f"variant wide takes every hyperparameter but {allowed} from {model.match}; "
                f"remove {', '.join(extra)}"
            ),
        )
    if message := rules.wide_contradiction(model.match, params.hyperparameters(model.match)):
        yield (*key, "match"), message
