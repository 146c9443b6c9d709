"""Rules across sections of params.yaml: unknown names, and values that contradict each other.

Each rule, here and in model_rules.py, yields the key in params.yaml and a message.
"""

from collections.abc import Iterator

from pydantic import ValidationError

from heed.corpora.declared import Corpus
from heed.corpora.kinds import KINDS, corpus_languages
from heed.evaluation.verdicts import assign_roles
from heed.hyperparameters import MAX_SEED, Configuration
from heed.study.corpora import file_parts
from heed.study.experiments import ADVERSARY_FIGURES, Experiment, Truth
from heed.study.model_rules import (
    hyperparameter_contradictions,
    model_contradictions,
    preset_contradictions,
    search_contradictions,
    unequal_searches,
    variant_contradictions,
)
from heed.study.schema import Key, Params
from heed.study.section import RECIPES, rules_of, unknown_name
from heed.task.interface import DeclaredCorpus

NO_CORPUS = "has no corpus yet. Add one: heed corpus add FILE"


def contradictions(params: Params) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction between sections."""
    if params.is_empty:
        yield ("corpora",), f"study {params.study.name} {NO_CORPUS}"
        return
    for section in ("sources", "corpora", "experiments", "models"):
        if not getattr(params, section):
            yield (section,), "empty: a study has at least one"
    yield from _contradictions_of_sections(params)


def _contradictions_of_sections(params: Params) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction between sections of a study with a corpus."""
    if len(set(params.seeds)) < len(params.seeds):
        yield ("seeds",), f"each seed once, found {params.seeds}"
    if any(not 1 <= seed <= MAX_SEED for seed in params.seeds):
        yield ("seeds",), f"seeds are whole numbers from 1 to {MAX_SEED}, found {params.seeds}"
    variants = {model.variant for model in params.models.values()}
    for variant in params.study.attention:
        if variant not in variants and params.study.attention != ["attention"]:
            yield ("study", "attention"), unknown_name(variant, "variant", sorted(variants))
    for name in params.corpora:
        yield from _corpus_contradictions(params, name)
    for name in params.experiments:
        yield from _experiment_contradictions(params, name)
    for name in params.searches:
        yield from search_contradictions(params, name)
    yield from unequal_searches(params)
    for name in params.defaults.presets:
        yield from preset_contradictions(params, name)
    for name, model in params.models.items():
        yield from model_contradictions(params, name, model)
    for name in params.explain.models:
        yield from _explain_contradictions(params, name)
    for name in params.adversaries:
        yield from _adversary_contradictions(params, name)


def _explain_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    key = ("explain", "models", name)
    if name not in params.models:
        yield key, unknown_name(name, "model", params.models)
        return
    model = params.models[name]
    noise = params.explain.models[name].noise
    if noise not in params.corpora:
        yield (*key, "noise"), unknown_name(noise, "corpus", params.corpora)
        return
    experiment = params.experiments.get(model.experiment)
    reads_noise = experiment is None or RECIPES[experiment.task].READS_NOISE
    if reads_noise and KINDS[params.corpora[noise].kind].parallel:
        yield (
            (*key, "noise"),
            f"{noise} has sentence pairs: noise is from a corpus of documents with labels",
        )


def _adversary_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    key, adversary = ("adversaries", name), params.adversaries[name]
    if name == "none":
        yield key, "the name none is taken: it means that no model is explained"
    if name in params.models:
        yield key, "is the name of a model too: messages name both; choose another"
    if adversary.model not in params.models:
        yield (*key, "model"), unknown_name(adversary.model, "model", params.models)
        return
    if adversary.model not in params.explain.models:
        yield (
            (*key, "model"),
            f"{adversary.model} is not in explain.models: what is told of an adversary stands "
            "beside the explanation of its model. Name the model there",
        )
    model = params.models[adversary.model]
    if model.experiment in params.experiments:
        rules = rules_of(params.task(model))
        if reason := rules.adversary_contradiction(params.hyperparameters(adversary.model)):
            yield (*key, "model"), f"{adversary.model} can have no adversary: {reason}"
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


def _corpus_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    corpus = params.corpora[name]
    if corpus.source not in params.sources:
        yield ("corpora", name, "source"), unknown_name(corpus.source, "source", params.sources)
    elif (kind := params.sources[corpus.source].kind) != (
        expected := KINDS[corpus.kind].source.name
    ):
        yield (
            ("corpora", name, "source"),
            f"kind {corpus.kind} is made from a source of kind {expected}, found {kind}",
        )
    if corpus.split.k and len(params.seeds) % corpus.split.k:
        yield (
            ("seeds",),
            (
                f"corpus {name} has {corpus.split.k} folds: the number of seeds must be a "
                f"multiple of {corpus.split.k}, found {len(params.seeds)}"
            ),
        )
    yield from _split_contradictions(params, name)
    yield from _given_split_contradictions(params, name)


def _given_split_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield an error unless exactly one of a column and the keys of the files gives the parts."""
    corpus, kind = params.corpora[name], KINDS[params.corpora[name].kind]
    source = params.sources.get(corpus.source)
    if corpus.split.kind != "given" or "split_column" not in kind.keys or source is None:
        return
    if corpus.split_column and file_parts(source):
        yield (
            ("corpora", name, "split_column"),
            f"the keys of sources.{corpus.source}.paths are parts too: remove split_column, or "
            "name the files file_1, file_2",
        )
    if not corpus.split_column and not file_parts(source):
        files = "" if kind.parallel else ", or a source with `paths` whose keys are train and test"
        yield ("corpora", name, "split"), f"split kind given needs split_column{files}"


def _experiment_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    experiment = params.experiments[name]
    names = RECIPES[experiment.task].METRICS
    if experiment.corpus not in params.corpora:
        yield (
            ("experiments", name, "corpus"),
            unknown_name(experiment.corpus, "corpus", params.corpora),
        )
    if experiment.published and not rules_of(experiment.task).IS_PUBLISHED:
        message = f"the talk has no row of the task {experiment.task}"
        yield ("experiments", name, "published"), message
    elif (row := experiment.published) and row.comparable and _metric(experiment) != names[0]:
        yield (
            ("experiments", name, "published"),
            f"the talk's gain is one of {names[0]}, and {name} is compared by "
            f"{_metric(experiment)}: write comparable: false, and the reason",
        )
    original = params.experiments.get(experiment.suboptimal_of or name)
    if original is not None and original.task != experiment.task:
        yield (
            ("experiments", name, "suboptimal_of"),
            f"{experiment.suboptimal_of} is of the task {original.task}, this of {experiment.task}",
        )
    elif original is not None and _metric(original) != _metric(experiment):
        yield (
            ("experiments", name, "metric"),
            f"{experiment.suboptimal_of} is compared by {_metric(original)}, this by "
            f"{_metric(experiment)}: no change follows from figures of two kinds. Give both one",
        )
    if experiment.suboptimal_of and experiment.suboptimal_of not in params.experiments:
        yield (
            ("experiments", name, "suboptimal_of"),
            unknown_name(experiment.suboptimal_of, "experiment", params.experiments),
        )
    if experiment.metric not in (None, *names):
        yield (
            ("experiments", name, "metric"),
            unknown_name(experiment.metric or "", f"metric of {experiment.task}", names),
        )
    yield from _data_contradictions(params, name, experiment)
    yield from truth_contradictions(params, name)


def _split_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield an error when a split leaves no document to train on, where their number is known."""
    corpus, kind = params.corpora[name], KINDS[params.corpora[name].kind]
    source = params.sources.get(corpus.source)
    sizes = (kind.documents, source.documents if source else None, corpus.sample)
    documents = min(filter(None, sizes), default=0)
    if not documents or corpus.split.kind == "given":
        return
    test = corpus.split.test or 1 / (corpus.split.k or 1)
    tested = test if isinstance(test, int) else max(1, round(test * documents))
    validated = max(1, round(corpus.split.validation * (documents - tested)))
    if tested + validated >= documents or (corpus.split.k or 0) > documents:
        yield (
            ("corpora", name, "split"),
            f"leaves nothing to train on: of {documents:,} documents {tested:,} are for the test, "
            f"{validated:,} for validation",
        )


def _metric(experiment: Experiment) -> str:
    """Return the figure by which the models of an experiment are compared."""
    return experiment.metric or RECIPES[experiment.task].METRICS[0]


def _data_contradictions(
    params: Params, name: str, experiment: Experiment
) -> Iterator[tuple[Key, str]]:
    """Yield an error when a corpus of this kind does not have what the experiment names."""
    corpus = params.corpora.get(experiment.corpus)
    if corpus is None or corpus.source not in params.sources:
        return  # another rule reports this
    kind = KINDS[corpus.kind]
    if params.sources[corpus.source].kind != kind.source.name:
        return
    key, rules = ("experiments", name), rules_of(experiment.task)
    if kind.parallel != rules.READS_PAIRS:
        made_of = "sentence pairs" if kind.parallel else "documents with labels"
        yield (
            (*key, "corpus"),
            f"{experiment.corpus} has {made_of}, and the task is {experiment.task}",
        )
        return
    declared = DeclaredCorpus(
        name=experiment.corpus,
        pairs=kind.parallel,
        has_several=corpus.label_separator is not None,
        labels=tuple(kind.labels or corpus.label_names),
        labels_are_columns=not kind.labels,
        languages=tuple(corpus_languages(corpus, params.sources[corpus.source])),
        optional_languages=tuple(corpus.optional_languages or ()),
    )
    for place, message in rules.corpus_contradictions(experiment.data, declared):
        yield (*key, *place.split(".")), message


def is_valid_configuration(params: Params, model: str, configuration: Configuration) -> bool:
    """Return whether `model` may have these hyperparameters, by their limits and all rules."""
    try:
        resolved = params.resolved(model, configuration)
    except ValidationError:
        return False
    changed = params.models[model].model_copy(update=configuration)
    return not [
        *hyperparameter_contradictions(params.task(changed), resolved),
        *variant_contradictions(params, model, changed),
    ]


def truth_contradictions(params: Params, experiment: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for what the truths of an experiment name, and the study lacks."""
    models = {
        model.variant: name
        for name, model in params.models.items()
        if model.experiment == experiment
    }
    for number, truth in enumerate(params.experiments[experiment].truths):
        key = ("experiments", experiment, "truths", str(number))
        for name, message in _truth_contradictions(params, experiment, models, truth):
            yield (*key, name), message


def _truth_contradictions(
    params: Params, experiment: str, models: dict[str, str], truth: Truth
) -> Iterator[tuple[str, str]]:
    """Yield (name of a field, message) for one truth."""
    if truth.adversary:
        yield from _adversary_truth_contradictions(params, experiment, truth)
        return
    if truth.variant not in models:
        yield "variant", unknown_name(truth.variant or "", f"variant of {experiment}", models)
        return
    model, task = models[truth.variant], params.experiments[experiment].task
    if truth.against:
        yield from _comparison_contradictions(params, task, models, truth)
    if truth.criterion and model not in params.explain.models:
        yield "criterion", f"{model} is not in explain.models, so no criterion judges its weights"
    if truth.figure:
        yield from _figure_contradictions(params, task, model, truth.figure)


def _comparison_contradictions(
    params: Params, task: str, models: dict[str, str], truth: Truth
) -> Iterator[tuple[str, str]]:
    hyperparameters = {variant: params.hyperparameters(name) for variant, name in models.items()}
    roles = assign_roles(hyperparameters, rules_of(task).OPPONENTS, params.study.attention)
    compared = [second for first, second, _ in roles.pairs() if first == truth.variant]
    if truth.against not in compared:
        yield (
            "against",
            f"{truth.variant} is not compared with {truth.against} (docs/statistics.md). It is "
            f"compared with: {', '.join(compared) or 'no other'}",
        )


def _figure_contradictions(
    params: Params, task: str, model: str, figure: str
) -> Iterator[tuple[str, str]]:
    rules = rules_of(task)
    known = (*RECIPES[task].METRICS, *rules.FURTHER_METRICS, *rules.EXPLAINED_METRICS)
    if figure not in known:
        yield "figure", unknown_name(figure, f"figure of {task}", known)
    elif figure in rules.EXPLAINED_METRICS and model not in params.explain.models:
        yield "figure", f"{model} is not in explain.models, where {figure} is measured"


def _adversary_truth_contradictions(
    params: Params, experiment: str, truth: Truth
) -> Iterator[tuple[str, str]]:
    of_experiment = {
        name: each
        for name, each in params.adversaries.items()
        if each.model in params.models and params.models[each.model].experiment == experiment
    }
    if truth.adversary not in of_experiment:
        yield (
            "adversary",
            unknown_name(truth.adversary or "", f"adversary of {experiment}", of_experiment),
        )
    if truth.figure not in ADVERSARY_FIGURES:
        yield "figure", unknown_name(truth.figure or "", "figure of adversaries", ADVERSARY_FIGURES)
