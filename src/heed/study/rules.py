"""Rules across sections of params.yaml: each yields the key of a mistake, and a message.

Those on models, presets and searches are of a study with all that follows in its place.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from heed.corpora.kinds import KINDS, corpus_languages
from heed.corpora.publication import split_of_key
from heed.corpora.sections import Corpus
from heed.evaluation.results import ATTENTION, BASELINE, Roles, assign_roles
from heed.hyperparameters import Configuration, Value
from heed.hyperparameters.pretrained import OF_TUNE, PRETRAINED, Pretrained
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
    ADVERSARIAL_METRICS,
    NAMES_BY_TASK,
    NOT_SEARCHED,
    RECIPES,
    SECTIONS,
    Dimension,
    ExpectedResult,
    Experiment,
    Search,
    rules_of,
)
from heed.study.schema import PARAMETER_MATCHED, SINGULAR, Model, Params, contradict, follow
from heed.task import task_names
from heed.task.interface import Contradiction, DeclaredCorpus

Mistakes = Iterator[Mistake]
# What heed 0.3.0 called the variants of readers, and of other tasks.
RENAMED = {
    "baseline": BASELINE, "mean": "average", "pooling": "attention-pooling",
    "uniform": "equal-weights", "bag": "average-of-embeddings",
    "attention": "attention-pooling or self-attention",
}  # fmt: skip
RENAMED_IN_OTHER_TASKS = {"baseline": BASELINE, "mean": "average", "uniform": "average"}
# a section, a key of its entries, and the section whose names it may have
REFERENCES = (
    ("corpora", "source", "sources"), ("experiments", "corpus", "corpora"),
    ("experiments", "suboptimal_of", "experiments"), ("models", "experiment", "experiments"),
    ("models", "search", "searches"), ("models", "match_parameters_of", "models"),
    ("adversarial_attention", "model", "models"), ("pretrained", "encoder", "encoders"),
    ("searches", "experiment", "experiments"), ("searches", "model", "models"),
)  # fmt: skip


def complete(params: Params) -> Params:
    """Return a study with all that follows in its place. Raises RecordError with its mistakes."""
    _refuse(_unknown_names(params))
    filled = follow(params)
    _refuse([*contradict(params, filled), *wrong_values(filled)])
    _refuse(_contradictions(filled))
    _refuse(equal_models(filled))
    return filled


def _refuse(mistakes: Iterable[Mistake]) -> None:
    if found := [*mistakes]:
        raise RecordError(found)


def _unknown_names(params: Params) -> Mistakes:
    for key, value, target in _references(params):
        known = {**getattr(params, target), **({"none": None} if target == "searches" else {})}
        if value not in known:
            yield key, unknown_name(value, SINGULAR[target], known)
    for name, corpus in params.corpora.items():
        source, expected = params.sources.get(corpus.source), KINDS[corpus.kind].source.name
        if source and source.kind != expected:
            message = f"is made from a source of kind {expected}, found {source.kind}"
            yield ("corpora", name, "source"), f"kind {corpus.kind} {message}"
    for section in ("sources", "corpora", "experiments", "models"):
        if not getattr(params, section):
            yield (section,), "empty: a study has at least one"


def _references(params: Params) -> Iterator[tuple[Key, str, str]]:
    """Yield each key that names an entry, the name, and its section."""
    for section, name, target in REFERENCES:
        for owner, entry in getattr(params, section).items():
            if value := getattr(entry, name):
                yield (section, owner, name), value, target
    for name, explained in params.explain.models.items():
        yield ("explain", "models", name), name, "models"
        yield ("explain", "models", name, "noise"), explained.noise, "corpora"


def _look_contradictions(looks: list[int], places: dict[Key, list[int] | None]) -> Mistakes:
    if looks != sorted({*looks}):
        yield ("study", "looks"), f"numbers of seeds that rise, found {looks}"
    for key, seeds in places.items():
        if looks and seeds and len(seeds) not in looks:
            yield key, f"as many as one of study.looks, {looks}, found {len(seeds)}"


def _contradictions(params: Params) -> Mistakes:
    places: dict[Key, list[int] | None] = {("seeds",): params.seeds}
    places |= {("experiments", n, "seeds"): e.seeds for n, e in params.experiments.items()}
    for key, seeds in places.items():
        if seeds and len({*seeds}) < len(seeds):
            yield key, f"each seed once, found {seeds}"
    yield from _look_contradictions(params.study.looks, places)
    for names, rule in (
        (params.study.attention, _attention_contradictions),
        (params.corpora, _corpus_contradictions),
        (params.corpora, _given_contradictions),
        (params.experiments, _experiment_contradictions),
        (params.searches, search_contradictions),
        (params.models, model_contradictions),
        (params.explain.models, _noise_contradictions),
        (params.adversarial_attention, _adversarial_model_contradictions),
        (params.encoders, _encoder_contradictions),
        (params.pretrained, _pretrained_contradictions),
    ):
        yield from itertools.chain.from_iterable(rule(params, name) for name in names)


def _attention_contradictions(params: Params, variant: str) -> Mistakes:
    key, variants = ("study", "attention"), {model.variant for model in params.models.values()}
    if variant == BASELINE:
        yield key, f"{BASELINE} is what the others are compared with"
    if variant not in variants and params.study.attention != list(ATTENTION):
        yield key, unknown_name(variant, "variant", sorted(variants))


def _noise_contradictions(params: Params, name: str) -> Mistakes:
    noise = params.explain.models[name].noise
    task = params.experiments[params.models[name].experiment].task
    if RECIPES[task].READS_NOISE and KINDS[params.corpora[noise].kind].parallel:
        yield ("explain", "models", name, "noise"), f"{noise} has sentence pairs, and no labels"


def _encoder_contradictions(params: Params, name: str) -> Mistakes:
    places = params.encoders[name].places
    if len(places) != 1:
        found = ", ".join(places) or "none of them"
        yield ("encoders", name), f"one of package, folder and hub says where it is, found {found}"
    elif bool(params.encoders[name].revision) != ("hub" in places):
        key = ("encoders", name, "revision")
        yield key, "a model on the hub, and no other, has one: the commit, of 40 digits"


def _pretrained_contradictions(params: Params, name: str) -> Mistakes:
    key, experiments = ("pretrained", name), params.experiments_on(name)
    if name in params.corpora and KINDS[params.corpora[name].kind].parallel:
        yield key, f"{name} has sentence pairs, and no labels"
    elif not experiments:
        known = {experiment.corpus for experiment in params.experiments.values()}
        yield key, unknown_name(name, "experiment on a corpus", sorted(known))
    declared = params.pretrained[name]
    if declared.explain and experiments and not params.explained_by_encoder(name):
        yield (*key, "explain"), "none of its experiments can be explained: set 0"
    for field in OF_TUNE * (not declared.tune):
        if getattr(declared, field) != getattr(Pretrained, field):
            yield (*key, field), "is of a tuned encoder: add `tune: true`"


def _seeds_on(params: Params, corpus: str) -> dict[Key, list[int]]:
    """Return the seeds of the experiments on a corpus, by the key that declares them."""
    experiments = params.experiments_on(corpus).items()
    own: dict[Key, list[int]] = {
        ("experiments", name, "seeds"): entry.seeds for name, entry in experiments if entry.seeds
    }
    has_others = len(own) < len(experiments) or not experiments
    return {("seeds",): params.seeds, **own} if has_others else own


def _corpus_contradictions(params: Params, name: str) -> Mistakes:
    corpus, split = params.corpora[name], params.corpora[name].split
    languages = corpus_languages(corpus)
    for language in sorted({*(corpus.tokenizers or ())} - {*languages}):
        yield ("corpora", name, "tokenizers"), unknown_name(language, "language", languages)
    folds, repeats = split.folds, f", {split.folds} in {split.repeats} repeats"
    for place, seeds in _seeds_on(params, name).items() if folds else ():
        trained = Counter((seed - 1) % folds for seed in seeds)
        if len({*map(trained.__getitem__, range(folds))}) > 1:
            yield (
                place,
                f"corpus {name} has {split.k} folds{repeats * (split.repeats > 1)}: each must have "
                f"equally many seeds (seed s trains the fold (s - 1) mod {folds}), as with the "
                f"seeds 1 to {folds} or to a multiple of {folds}; found {seeds}",
            )


def _given_contradictions(params: Params, name: str) -> Mistakes:
    corpus, split = params.corpora[name], params.corpora[name].split
    kind, paths = KINDS[corpus.kind], params.sources[corpus.source].paths
    is_given = split.kind == "given" and "split_column" in kind.keys
    have_splits = not kind.parallel and paths and all(map(split_of_key, paths))
    if is_given and bool(corpus.split_column) == bool(have_splits):
        yield (
            ("corpora", name, "split"),
            "split kind given needs either split_column, or a source with `paths` whose keys are "
            "train and test",
        )


def _experiment_contradictions(params: Params, name: str) -> Mistakes:
    key, experiment = ("experiments", name), params.experiments[name]
    task, metric = experiment.task, _metric(experiment)
    metrics, published = RECIPES[task].METRICS, experiment.published
    if metric not in metrics:
        yield (*key, "metric"), unknown_name(metric, f"metric of {task}", metrics)
    if experiment.control:
        yield from _control_contradictions(params, name, experiment.control)
    if published and published.comparable and metric != metrics[0]:
        yield (
            (*key, "published"),
            f"the talk's gain is one of {metrics[0]}, and {name} is compared by {metric}: write "
            "comparable: false, and the reason",
        )
    if experiment.suboptimal_of:
        yield from _suboptimal_contradictions(params, name, experiment.suboptimal_of)
    yield from _data_contradictions(params, name, experiment)
    for number, result in enumerate(experiment.expected_results):
        is_adversarial = result.adversarial_model is not None
        rule = _adversarial_contradictions if is_adversarial else _expected_result_contradictions
        for field, message in rule(params, name, result):
            yield (*key, "expected_results", str(number), field), message


def _suboptimal_contradictions(params: Params, name: str, original: str) -> Mistakes:
    """Yield why an experiment is not a copy of another with worse hyperparameters."""
    both = (params.experiments[name], params.experiments[original])
    asked = [(entry.task, entry.corpus, entry.data, _metric(entry)) for entry in both]
    if both[1].suboptimal_of or asked[0] != asked[1]:
        yield (
            ("experiments", name, "suboptimal_of"),
            "names an experiment that is not degraded, with the same task, corpus, data and "
            "metric: only hyperparameters may differ",
        )


def _control_contradictions(params: Params, name: str, control: str) -> Mistakes:
    """Yield why no comparison over an experiment's declared control would be primary."""
    key, roles = ("experiments", name, "control"), experiment_roles(params, name, ())
    others = [*roles.baseline, *roles.attention[1:], *roles.controls, *roles.others]
    if not roles.attention:
        answers = ", ".join(params.study.attention)
        yield key, f"{name} has no variant of study.attention ({answers}) to test over {control}"
    elif control not in others:
        yield key, unknown_name(control, "control", [*dict.fromkeys(others)])
    elif not any(family == "primary" for *_, family in roles.pairs()):
        yield key, f"{control} leaves out training items: it is compared with its baseline alone"


def _own_models(params: Params, experiment: str) -> dict[str, str]:
    """Return an experiment's models: variant → name."""
    return {
        model.variant: name
        for name, model in params.models.items()
        if model.experiment == experiment
    }


def experiment_roles(params: Params, experiment: str, reference_models: Iterable[str]) -> Roles:
    """Return the roles of an experiment's models and of these reference models."""
    models = _own_models(params, experiment).items()
    values = {variant: params.hyperparameters(name) for variant, name in models}
    control = params.experiments[experiment].control
    return assign_roles(values, [*reference_models], params.study.attention, control)


def _metric(experiment: Experiment) -> str:
    return experiment.metric or str(RECIPES[experiment.task].METRICS[0])


def _data_contradictions(params: Params, name: str, experiment: Experiment) -> Mistakes:
    corpus = params.corpora[experiment.corpus]
    key, kind, rules = ("experiments", name), KINDS[corpus.kind], rules_of(experiment.task)
    if kind.parallel != rules.READS_PAIRS:
        made_of = "sentence pairs" if kind.parallel else "documents with labels"
        message = f"{experiment.corpus} has {made_of}, and the task is {experiment.task}"
        yield (*key, "corpus"), message
        return
    declared = DeclaredCorpus(
        name=experiment.corpus,
        labels=tuple(kind.labels or corpus.label_names),
        labels_are_columns=not kind.labels,
        languages=tuple(corpus_languages(corpus)),
    )
    for place, message in rules.corpus_contradictions(experiment.data, declared):
        yield (*key, *place.split(".")), message


def _expected_result_contradictions(
    params: Params, experiment: str, result: ExpectedResult
) -> Iterator[tuple[str, str]]:
    """Yield (name of a field, message) for what an expected result names, and nothing measures."""
    models, declared = _own_models(params, experiment), params.experiments[experiment]
    rules, task = rules_of(declared.task), declared.task
    references = [*rules.REFERENCE_MODELS, *[PRETRAINED] * (declared.corpus in params.pretrained)]
    metrics = (*RECIPES[task].METRICS, *rules.FURTHER_METRICS, *rules.EXPLAINED_METRICS)
    unknown = [
        (field, unknown_name(name, kind, known))
        for field, kind, known in (
            ("variant", f"variant of {experiment}", [*models]),
            ("against", f"variant or reference model of {experiment}", [*models, *references]),
            ("metric", f"metric of {task}", metrics),
        )
        if (name := getattr(result, field)) not in (None, *known)
    ]
    yield from unknown or _unmeasured(params, experiment, result, references)


def _unmeasured(
    params: Params, experiment: str, result: ExpectedResult, references: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield what an expected result names, and no comparison or explanation of the study has."""
    pairs = experiment_roles(params, experiment, references).pairs()
    compared = [second for first, second, _ in pairs if first == result.variant]
    if result.against not in (None, *compared):
        text = f"{result.variant} is not compared with {result.against} (docs/read/statistics.md)."
        yield "against", f"{text} It is compared with: {', '.join(compared) or 'no other'}"
    explained = rules_of(params.experiments[experiment].task).EXPLAINED_METRICS
    model = _own_models(params, experiment)[str(result.variant)]
    metric = result.metric if result.metric in explained else None
    for field, name in (("criterion", result.criterion), ("metric", metric)):
        if name and model not in params.explain.models:
            yield field, f"{model} is not in explain.models, where {name} is measured"


def has_rationale(corpus: Corpus) -> bool:
    """Return whether documents of a corpus may have a rationale."""
    rationale = KINDS[corpus.kind].rationale
    return bool(corpus.rationale_column if rationale == "given" else rationale)


def _adversarial_contradictions(
    params: Params, experiment: str, result: ExpectedResult
) -> Iterator[tuple[str, str]]:
    known = [
        name
        for name, adversarial in params.adversarial_attention.items()
        if params.models[adversarial.model].experiment == experiment
    ]
    name, metric = result.adversarial_model or "", result.metric or ""
    if name not in known:
        message = unknown_name(name, f"adversarial model of {experiment}", known)
        yield "adversarial_model", message
    if metric not in ADVERSARIAL_METRICS:
        yield "metric", unknown_name(metric, "metric of adversarial models", ADVERSARIAL_METRICS)


def _adversarial_model_contradictions(params: Params, name: str) -> Mistakes:
    key, adversarial = ("adversarial_attention", name), params.adversarial_attention[name]
    base = adversarial.model
    if base not in params.explain.models:
        yield (
            (*key, "model"),
            f"{base} is not in explain.models: the report shows an adversarial model beside "
            "the explanation of its model. Name the model there",
        )
    rules = rules_of(params.task(params.models[base]))
    if reason := rules.adversarial_model_contradiction(params.hyperparameters(base)):
        yield (*key, "model"), f"{base} can have no adversarial model: {reason}"
    corpus = params.models[base].corpus
    if adversarial.goal == "deceive" and not has_rationale(params.corpora[corpus]):
        message = f"deceive takes the weights from rationales, and {corpus} has none"
        yield (*key, "goal"), message


def is_valid_configuration(params: Params, model: str, configuration: Configuration) -> bool:
    """Return whether `model` may have these hyperparameters, by their limits and all rules."""
    try:
        resolved = params.hyperparameters(model, configuration)
    except ValueError:
        return False
    section = params.models[model]
    changed = dataclasses.replace(section, overrides=section.overrides | configuration)
    return not [
        *hyperparameter_contradictions(params.task(changed), resolved),
        *variant_contradictions(params, model, changed),
    ]


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
    """Yield the unknown or invalid hyperparameters of models and presets."""
    for name, values in params.defaults.presets.items():
        key = ("defaults", "presets", name)
        users = {params.task(model) for model in params.models.values() if model.preset == name}
        mistakes = [find_mistakes(SECTIONS[task], values, key) for task in users or SECTIONS]
        # unused, it must suit one task
        yield from max(mistakes, key=len) if users else min(mistakes, key=len)
    for name, model in params.models.items():
        yield from find_mistakes(MODELS[params.task(model)], model.line(), ("models", name))
        if model.preset != params.experiments[model.experiment].preset:
            yield from _unknown_preset(params, params.task(model), ("models", name), model.preset)
    for name, experiment in params.experiments.items():
        yield from _unknown_preset(
            params, experiment.task, ("experiments", name), experiment.preset
        )


def _unknown_preset(params: Params, task: str, key: Key, preset: str) -> Mistakes:
    if preset not in ("", *(known := params.presets(task))):
        yield (*key, "preset"), unknown_name(preset, f"preset of {task}", known)


def model_contradictions(params: Params, name: str) -> Mistakes:
    """Yield (key, message) for every contradiction of a model."""
    key, model = ("models", name), params.models[name]
    for other, entry in params.models.items():
        if other != name and (entry.experiment, entry.variant) == (model.experiment, model.variant):
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
        yield (*key, next((own for own in names if own in model.overrides), names[0])), message


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
    if new := _name_of_today(model.variant, h):
        yield ("variant",), f"what heed 0.3.0 called {model.variant} is called {new} now"
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
    if not params.hyperparameters(match).is_recurrent:
        message = f"variant parameter-matched widens a recurrent network, and {match} has none"
        yield ("match_parameters_of",), message


def _name_of_today(variant: str, hyperparameters: Any) -> str:
    """Return what a variant of heed 0.3.0 is called now; empty where its name is the same."""
    names = RENAMED if hasattr(hyperparameters, "pooling") else RENAMED_IN_OTHER_TASKS
    owner, dash, last = variant.rpartition("-")
    is_former = last in names and (not owner or last in ("baseline", "mean"))
    return f"{owner}{dash}{names[last]}" if is_former else ""


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
    """Return the space of a search, of one of its models: what has an effect there."""
    task, h = params.task(params.models[model]), params.hyperparameters(model)
    left_out = rules_of(task).no_effect(h)
    return {key: value for key, value in params.searches[name].space.items() if key not in left_out}


def _trial_contradictions(params: Params, name: str, model: str) -> Iterator[tuple[str, str]]:
    search, task = params.search(name, model), params.task(params.models[model])
    metrics = RECIPES[task].VALIDATION_METRICS
    if search.metric not in metrics:
        yield "metric", unknown_name(search.metric, f"validation metric of {task}", metrics)
    for hyperparameter, dimension in search.space.items():
        for message in _dimension_contradictions(params, search, hyperparameter, dimension):
            yield f"space.{hyperparameter}", message


def _unequal_budget(params: Params, name: str) -> Mistakes:
    """Yield where a budget differs from the first search's of the same experiment."""
    experiment = params.searches[name].experiment
    other = next(key for key, search in params.searches.items() if search.experiment == experiment)
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
    params: Params, search: Search, key: str, dimension: Dimension
) -> Iterator[str]:
    model = params.models[search.model]
    task = params.task(model)
    allowed = [name for name in NAMES_BY_TASK[task] if name not in NOT_SEARCHED]
    if key not in allowed:
        reason = NOT_SEARCHED.get(key, f"unknown hyperparameter{suggest(key, allowed)}")
        yield f"cannot be searched: {reason} Allowed: {', '.join(allowed)}"
        return
    has_fraction = isinstance(getattr(params.apply_defaults(model), key), float)
    if dimension.kind != "choice" and has_fraction == (dimension.kind == "integer"):
        use = ("none: use integer", "a number with a fraction: use uniform")[has_fraction]
        yield f"is {use} or choice, found {dimension.kind}"
        return
    for value in dimension.values:
        if mistakes := find_mistakes(SECTIONS[task], {key: value}):
            yield f"{dimension.kind}: {mistakes[0][1]}"
