"""Rules across sections of params.yaml: unknown names, and values that contradict each other.

Each rule, here and in model_rules.py, yields the key in params.yaml and a message.
"""

import dataclasses
from collections.abc import Iterator

from pydantic import ValidationError

from heed.corpora.declared import Corpus
from heed.corpora.kinds import KINDS, corpus_languages
from heed.evaluation.results import assign_roles
from heed.hyperparameters import MAX_SEED, Configuration
from heed.study.corpora import file_splits
from heed.study.experiments import ADVERSARIAL_METRICS, ExpectedResult, Experiment
from heed.study.model_rules import (
    Mistakes,
    hyperparameter_contradictions,
    model_contradictions,
    preset_contradictions,
    search_contradictions,
    unequal_searches,
    variant_contradictions,
)
from heed.study.schema import Params
from heed.study.section import RECIPES, rules_of, unknown_name
from heed.task.interface import DeclaredCorpus

NO_CORPUS = "has no corpus yet. Add one: heed corpus add FILE"


def contradictions(params: Params) -> Mistakes:
    """Yield (key, message) for every contradiction between sections."""
    if params.is_empty:
        yield ("corpora",), f"study {params.study.name} {NO_CORPUS}"
        return
    for section in ("sources", "corpora", "experiments", "models"):
        if not getattr(params, section):
            yield (section,), "empty: a study has at least one"
    yield from _study_contradictions(params)
    for names, rule in (
        (params.corpora, _corpus_contradictions),
        (params.experiments, _experiment_contradictions),
        (params.searches, search_contradictions),
        (params.searches, unequal_searches),
        (params.defaults.presets, preset_contradictions),
        (params.models, model_contradictions),
        (params.explain.models, _explain_contradictions),
        (params.adversarial_attention, _adversarial_model_contradictions),
    ):
        for name in names:
            yield from rule(params, name)


def _study_contradictions(params: Params) -> Mistakes:
    if len({*params.seeds}) < len(params.seeds):
        yield ("seeds",), f"each seed once, found {params.seeds}"
    if any(not 1 <= seed <= MAX_SEED for seed in params.seeds):
        yield ("seeds",), f"seeds are whole numbers from 1 to {MAX_SEED}, found {params.seeds}"
    variants = {model.variant for model in params.models.values()}
    for variant in params.study.attention:
        if variant not in variants and params.study.attention != ["attention"]:
            yield ("study", "attention"), unknown_name(variant, "variant", sorted(variants))


def _corpus_contradictions(params: Params, name: str) -> Mistakes:
    key, corpus = ("corpora", name), params.corpora[name]
    expected = KINDS[corpus.kind].source.name
    if corpus.source not in params.sources:
        yield (*key, "source"), unknown_name(corpus.source, "source", params.sources)
    elif (kind := params.sources[corpus.source].kind) != expected:
        message = f"kind {corpus.kind} is made from a source of kind {expected}, found {kind}"
        yield (*key, "source"), message
    if (folds := corpus.split.k) and len(params.seeds) % folds:
        yield (
            ("seeds",),
            f"corpus {name} has {folds} folds: the number of seeds must be a multiple of {folds}, "
            f"found {len(params.seeds)}",
        )
    yield from _drawn_split_contradictions(params, name)
    yield from _given_split_contradictions(params, name)


def _drawn_split_contradictions(params: Params, name: str) -> Mistakes:
    """Yield an error when a split leaves no document to train on, where their number is known."""
    corpus, split = params.corpora[name], params.corpora[name].split
    source = params.sources.get(corpus.source)
    sizes = KINDS[corpus.kind].documents, source.documents if source else None, corpus.sample
    documents = min(filter(None, sizes), default=0)
    if not documents or split.kind == "given":
        return
    test = split.test or 1 / (split.k or 1)
    tested = test if isinstance(test, int) else max(1, round(test * documents))
    validated = max(1, round(split.validation * (documents - tested)))
    if tested + validated >= documents or (split.k or 0) > documents:
        yield (
            ("corpora", name, "split"),
            f"leaves nothing to train on: of {documents:,} documents {tested:,} are for the test, "
            f"{validated:,} for validation",
        )


def _given_split_contradictions(params: Params, name: str) -> Mistakes:
    """Yield an error unless exactly one of a column and the keys of the files gives the splits."""
    corpus, kind = params.corpora[name], KINDS[params.corpora[name].kind]
    source = params.sources.get(corpus.source)
    if corpus.split.kind != "given" or "split_column" not in kind.keys or source is None:
        return
    splits = file_splits(source)
    if corpus.split_column and splits:
        yield (
            ("corpora", name, "split_column"),
            f"the keys of sources.{corpus.source}.paths are splits too: remove split_column, or "
            "name the files file_1, file_2",
        )
    if not corpus.split_column and not splits:
        files = "" if kind.parallel else ", or a source with `paths` whose keys are train and test"
        yield ("corpora", name, "split"), f"split kind given needs split_column{files}"


def _experiment_contradictions(params: Params, name: str) -> Mistakes:
    key, experiment = ("experiments", name), params.experiments[name]
    task, names = experiment.task, RECIPES[experiment.task].METRICS
    metric = _metric(experiment)
    if experiment.corpus not in params.corpora:
        yield (*key, "corpus"), unknown_name(experiment.corpus, "corpus", params.corpora)
    if experiment.published and not rules_of(task).IS_PUBLISHED:
        yield (*key, "published"), f"the talk has no row of the task {task}"
    elif (row := experiment.published) and row.comparable and metric != names[0]:
        yield (
            (*key, "published"),
            f"the talk's gain is one of {names[0]}, and {name} is compared by {metric}: write "
            "comparable: false, and the reason",
        )
    degraded = experiment.suboptimal_of
    original = params.experiments.get(degraded or name)
    if original is not None and original.task != task:
        message = f"{degraded} is of the task {original.task}, this of {task}"
        yield (*key, "suboptimal_of"), message
    elif original is not None and _metric(original) != metric:
        yield (
            (*key, "metric"),
            f"{degraded} is compared by {_metric(original)}, this by {metric}: no change follows "
            "from metrics of two kinds. Give both one",
        )
    if degraded and original is None:
        yield (*key, "suboptimal_of"), unknown_name(degraded, "experiment", params.experiments)
    if experiment.metric not in (None, *names):
        yield (*key, "metric"), unknown_name(experiment.metric or "", f"metric of {task}", names)
    yield from _data_contradictions(params, name, experiment)
    variants = {
        model.variant: each for each, model in params.models.items() if model.experiment == name
    }
    for number, expected_result in enumerate(experiment.expected_results):
        for field, message in _expected_result_contradictions(
            params, name, variants, expected_result
        ):
            yield (*key, "expected_results", str(number), field), message


def _metric(experiment: Experiment) -> str:
    """Return the metric by which the models of an experiment are compared."""
    return experiment.metric or RECIPES[experiment.task].METRICS[0]


def _data_contradictions(params: Params, name: str, experiment: Experiment) -> Mistakes:
    """Yield an error when a corpus of this kind does not have what the experiment names."""
    corpus = params.corpora.get(experiment.corpus)
    source = params.sources.get(corpus.source) if corpus else None
    if corpus is None or source is None or source.kind != KINDS[corpus.kind].source.name:
        return  # another rule reports this
    key, kind, rules = ("experiments", name), KINDS[corpus.kind], rules_of(experiment.task)
    if kind.parallel != rules.READS_PAIRS:
        made_of = "sentence pairs" if kind.parallel else "documents with labels"
        message = f"{experiment.corpus} has {made_of}, and the task is {experiment.task}"
        yield (*key, "corpus"), message
        return
    declared = DeclaredCorpus(
        name=experiment.corpus,
        pairs=kind.parallel,
        has_several=corpus.label_separator is not None,
        labels=tuple(kind.labels or corpus.label_names),
        labels_are_columns=not kind.labels,
        languages=tuple(corpus_languages(corpus, source)),
        optional_languages=tuple(corpus.optional_languages or ()),
    )
    for place, message in rules.corpus_contradictions(experiment.data, declared):
        yield (*key, *place.split(".")), message


def _expected_result_contradictions(
    params: Params, experiment: str, models: dict[str, str], expected_result: ExpectedResult
) -> Iterator[tuple[str, str]]:
    """Yield (name of a field, message) for what an expected result names, and the study lacks.

    `models` are those of the experiment by their variant.
    """
    if expected_result.adversarial_model:
        yield from _adversarial_model_expected_result_contradictions(
            params, experiment, expected_result
        )
        return
    if expected_result.variant not in models:
        yield (
            "variant",
            unknown_name(expected_result.variant or "", f"variant of {experiment}", models),
        )
        return
    model, task = models[expected_result.variant], params.experiments[experiment].task
    rules, is_explained = rules_of(task), model in params.explain.models
    if expected_result.against:
        values = {variant: params.hyperparameters(name) for variant, name in models.items()}
        roles = assign_roles(values, rules.REFERENCE_MODELS, params.study.attention)
        compared = [
            second for first, second, _ in roles.pairs() if first == expected_result.variant
        ]
        if expected_result.against not in compared:
            yield (
                "against",
                f"{expected_result.variant} is not compared with {expected_result.against} "
                f"(docs/statistics.md). It is "
                f"compared with: {', '.join(compared) or 'no other'}",
            )
    if expected_result.criterion and not is_explained:
        yield "criterion", f"{model} is not in explain.models, so no criterion judges its weights"
    known = (*RECIPES[task].METRICS, *rules.FURTHER_METRICS, *rules.EXPLAINED_METRICS)
    if expected_result.metric and expected_result.metric not in known:
        yield "metric", unknown_name(expected_result.metric, f"metric of {task}", known)
    elif expected_result.metric in rules.EXPLAINED_METRICS and not is_explained:
        yield (
            "metric",
            f"{model} is not in explain.models, where {expected_result.metric} is measured",
        )


def _adversarial_model_expected_result_contradictions(
    params: Params, experiment: str, expected_result: ExpectedResult
) -> Iterator[tuple[str, str]]:
    known = [
        name
        for name, each in params.adversarial_attention.items()
        if each.model in params.models and params.models[each.model].experiment == experiment
    ]
    if expected_result.adversarial_model not in known:
        message = unknown_name(
            expected_result.adversarial_model or "", f"adversarial model of {experiment}", known
        )
        yield "adversarial_model", message
    if expected_result.metric not in ADVERSARIAL_METRICS:
        yield (
            "metric",
            unknown_name(
                expected_result.metric or "", "metric of adversarial models", ADVERSARIAL_METRICS
            ),
        )


def _explain_contradictions(params: Params, name: str) -> Mistakes:
    key = ("explain", "models", name)
    if name not in params.models:
        yield key, unknown_name(name, "model", params.models)
        return
    noise = params.explain.models[name].noise
    if noise not in params.corpora:
        yield (*key, "noise"), unknown_name(noise, "corpus", params.corpora)
        return
    experiment = params.experiments.get(params.models[name].experiment)
    reads_noise = experiment is None or RECIPES[experiment.task].READS_NOISE
    if reads_noise and KINDS[params.corpora[noise].kind].parallel:
        yield (
            (*key, "noise"),
            f"{noise} has sentence pairs: noise is from a corpus of documents with labels",
        )


def _adversarial_model_contradictions(params: Params, name: str) -> Mistakes:
    key, adversarial_model = ("adversarial_attention", name), params.adversarial_attention[name]
    base = adversarial_model.model
    if name == "none":
        yield key, "the name none is taken: it means that no model is explained"
    if name in params.models:
        yield key, "is the name of a model too: messages name both; choose another"
    if base not in params.models:
        yield (*key, "model"), unknown_name(base, "model", params.models)
        return
    if base not in params.explain.models:
        yield (
            (*key, "model"),
            f"{base} is not in explain.models: what is told of an adversarial model stands "
            f"beside the "
            "explanation of its model. Name the model there",
        )
    if params.models[base].experiment in params.experiments:
        rules = rules_of(params.task(params.models[base]))
        if reason := rules.adversarial_model_contradiction(params.hyperparameters(base)):
            yield (*key, "model"), f"{base} can have no adversarial model: {reason}"
    corpus = params.corpora.get(adversarial_model.corpus)
    if adversarial_model.goal == "deceive" and corpus is not None and not _has_rationale(corpus):
        yield (
            (*key, "goal"),
            f"deceive takes the weights from rationales, and {adversarial_model.corpus} has none",
        )


def _has_rationale(corpus: Corpus) -> bool:
    """Whether documents of a corpus may bring rationale."""
    kind = KINDS[corpus.kind].rationale
    return kind is not None and (kind != "given" or corpus.rationale_column is not None)


def is_valid_configuration(params: Params, model: str, configuration: Configuration) -> bool:
    """Return whether `model` may have these hyperparameters, by their limits and all rules."""
    try:
        resolved = params.resolved(model, configuration)
    except ValidationError:
        return False
    section = params.models[model]
    changed = dataclasses.replace(section, overrides=section.overrides | configuration)
    return not [
        *hyperparameter_contradictions(params.task(changed), resolved),
        *variant_contradictions(params, model, changed),
    ]
