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
from heed.study.corpora import file_parts
from heed.study.experiments import ADVERSARY_FIGURES, Experiment, Truth
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
        (params.adversaries, _adversary_contradictions),
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
    """Yield an error unless exactly one of a column and the keys of the files gives the parts."""
    corpus, kind = params.corpora[name], KINDS[params.corpora[name].kind]
    source = params.sources.get(corpus.source)
    if corpus.split.kind != "given" or "split_column" not in kind.keys or source is None:
        return
    parts = file_parts(source)
    if corpus.split_column and parts:
        yield (
            ("corpora", name, "split_column"),
            f"the keys of sources.{corpus.source}.paths are parts too: remove split_column, or "
            "name the files file_1, file_2",
        )
    if not corpus.split_column and not parts:
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
            "from figures of two kinds. Give both one",
        )
    if degraded and original is None:
        yield (*key, "suboptimal_of"), unknown_name(degraded, "experiment", params.experiments)
    if experiment.metric not in (None, *names):
        yield (*key, "metric"), unknown_name(experiment.metric or "", f"metric of {task}", names)
    yield from _data_contradictions(params, name, experiment)
    variants = {
        model.variant: each for each, model in params.models.items() if model.experiment == name
    }
    for number, truth in enumerate(experiment.truths):
        for field, message in _truth_contradictions(params, name, variants, truth):
            yield (*key, "truths", str(number), field), message


def _metric(experiment: Experiment) -> str:
    """Return the figure by which the models of an experiment are compared."""
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


def _truth_contradictions(
    params: Params, experiment: str, models: dict[str, str], truth: Truth
) -> Iterator[tuple[str, str]]:
    """Yield (name of a field, message) for what a truth names, and the study lacks.

    `models` are those of the experiment by their variant.
    """
    if truth.adversary:
        yield from _adversary_truth_contradictions(params, experiment, truth)
        return
    if truth.variant not in models:
        yield "variant", unknown_name(truth.variant or "", f"variant of {experiment}", models)
        return
    model, task = models[truth.variant], params.experiments[experiment].task
    rules, is_explained = rules_of(task), model in params.explain.models
    if truth.against:
        values = {variant: params.hyperparameters(name) for variant, name in models.items()}
        roles = assign_roles(values, rules.OPPONENTS, params.study.attention)
        compared = [second for first, second, _ in roles.pairs() if first == truth.variant]
        if truth.against not in compared:
            yield (
                "against",
                f"{truth.variant} is not compared with {truth.against} (docs/statistics.md). It is "
                f"compared with: {', '.join(compared) or 'no other'}",
            )
    if truth.criterion and not is_explained:
        yield "criterion", f"{model} is not in explain.models, so no criterion judges its weights"
    known = (*RECIPES[task].METRICS, *rules.FURTHER_METRICS, *rules.EXPLAINED_METRICS)
    if truth.figure and truth.figure not in known:
        yield "figure", unknown_name(truth.figure, f"figure of {task}", known)
    elif truth.figure in rules.EXPLAINED_METRICS and not is_explained:
        yield "figure", f"{model} is not in explain.models, where {truth.figure} is measured"


def _adversary_truth_contradictions(
    params: Params, experiment: str, truth: Truth
) -> Iterator[tuple[str, str]]:
    known = [
        name
        for name, each in params.adversaries.items()
        if each.model in params.models and params.models[each.model].experiment == experiment
    ]
    if truth.adversary not in known:
        message = unknown_name(truth.adversary or "", f"adversary of {experiment}", known)
        yield "adversary", message
    if truth.figure not in ADVERSARY_FIGURES:
        yield "figure", unknown_name(truth.figure or "", "figure of adversaries", ADVERSARY_FIGURES)


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


def _adversary_contradictions(params: Params, name: str) -> Mistakes:
    key, adversary = ("adversaries", name), params.adversaries[name]
    base = adversary.model
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
            f"{base} is not in explain.models: what is told of an adversary stands beside the "
            "explanation of its model. Name the model there",
        )
    if params.models[base].experiment in params.experiments:
        rules = rules_of(params.task(params.models[base]))
        if reason := rules.adversary_contradiction(params.hyperparameters(base)):
            yield (*key, "model"), f"{base} can have no adversary: {reason}"
    corpus = params.corpora.get(adversary.corpus)
    if adversary.goal == "deceive" and corpus is not None and not _has_evidence(corpus):
        yield (
            (*key, "goal"),
            f"deceive takes the weights from known evidence, and {adversary.corpus} has none",
        )


def _has_evidence(corpus: Corpus) -> bool:
    """Whether documents of a corpus may bring evidence."""
    kind = KINDS[corpus.kind].evidence
    return kind is not None and (kind != "given" or corpus.evidence_column is not None)


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
