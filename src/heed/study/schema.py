"""All of params.yaml: its sections, the hyperparameters of a model, and what follows by itself.

A line says only what is its own. A model `imdb-self-attention: {experiment: imdb, heads: 4}` has
the corpus of its experiment and the variant self-attention, is not tuned, and matches itself. These
keys are read where they are written, and must say what follows.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Annotated, Any

from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.evaluation.results import FOREIGN
from heed.explanation.sections import UNEXPLAINED, AdversarialAttention, Explain
from heed.files import HeedError
from heed.hyperparameters import MAX_THREADS, Configuration, besides_architecture, required
from heed.hyperparameters import hyperparameter as key
from heed.hyperparameters.pretrained import Encoder, Pretrained
from heed.recipe import Name
from heed.records import FLATTENED, FOLLOWS, Mistake, Types, read_record, unknown_name
from heed.study.experiments import (
    PRESETS,
    RECIPES,
    SECTIONS,
    AnyCorpus,
    AnyExperiment,
    AnySource,
    Search,
    Seeds,
    Study,
    rules_of,
)

MAX_GPUS = 1024
# the control with as many parameters as the model in its `match_parameters_of`
PARAMETER_MATCHED = "parameter-matched"
SINGULAR = {
    "sources": "source", "corpora": "corpus", "experiments": "experiment", "searches": "search",
    "models": "model", "adversarial_attention": "adversarial model", "encoders": "encoder",
    "pretrained": "corpus in `pretrained`",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
    """A model: a variant of an experiment, with the hyperparameters that differ from `defaults`."""

    experiment: str = required("a key of `experiments`")
    variant: Name = key("", "what is compared, where the model is not named EXPERIMENT-VARIANT")
    search: str = key("", "a key of `searches`, whose winner replaces the hyperparameters")
    match_parameters_of: str = key("", "variant parameter-matched: the model to whose parameter "
        "count it is widened")  # fmt: skip
    threads: int = key(0, "cores of its trainings, one seed each; 0: as many as the run can spare",
        ge=0, le=MAX_THREADS)  # fmt: skip
    gpus: int = key(0, "how many of its trainings hold a GPU at the same time, within Snakemake's "
        "`--resources gpu=N`; 0: one, where the machine of `snakemake` has a GPU",
        ge=0, le=MAX_GPUS)  # fmt: skip
    corpus: str = key("", FOLLOWS)
    preset: str = key("", "a named set of hyperparameters (below), which the model's own keys "
        "replace (default: its experiment's)")  # fmt: skip
    overrides: Annotated[Configuration, FLATTENED] = dataclasses.field(default_factory=dict)

    def line(self) -> dict[str, object]:
        """Return the keys and values besides the defaults, as the model's line may have them."""
        own = {
            field.name: value
            for field in dataclasses.fields(self)
            if field.name != "overrides" and (value := getattr(self, field.name)) != field.default
        }
        return self.overrides | own


PRESETS_KEY = key({}, "hyperparameters under a name, for the models that name it")
OF_TASKS = [
    (task, section, key(section(), f"for the models of experiments with task {task}"))
    for task, section in SECTIONS.items()
]
DEFAULTS = dataclasses.make_dataclass(
    "Defaults", [*OF_TASKS, ("presets", dict[Name, Configuration], PRESETS_KEY)], frozen=True
)
DEFAULTS.__doc__ = "The hyperparameters of all models that do not set their own, for each task."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Params:
    """The configuration of one study."""

    study: Study
    seeds: Seeds = required("every model is trained once with each")
    sources: dict[Name, AnySource]
    corpora: dict[Name, AnyCorpus]
    experiments: dict[Name, AnyExperiment]
    searches: dict[Name, Search]
    defaults: Any = required()
    models: dict[Name, Model]
    explain: Explain = UNEXPLAINED
    adversarial_attention: dict[Name, AdversarialAttention] = key({}, "")
    encoders: dict[Name, Encoder] = key({}, "pretrained encoders, by a name of your own")
    pretrained: dict[Name, Pretrained] = key(
        {}, "the corpora on which a pretrained encoder is a reference model"
    )

    def seeds_of(self, experiment: str) -> list[int]:
        """Return the seeds of an experiment's models: its own, or the study's."""
        return self.experiments[experiment].seeds or self.seeds

    def files_of(self, source: str) -> list[str] | None:
        """Return the published files that corpora need of a source; None: all.

        A source that names its `files` has these, whatever its corpora need.
        """
        kinds = (KINDS[corpus.kind] for corpus in self.corpora.values() if corpus.source == source)
        needed = [kind.files for kind in kinds]
        known = sorted({*itertools.chain(*needed)}) if needed and all(needed) else None
        return self.sources[source].files or known

    def experiments_on(self, corpus: str) -> dict[str, Any]:
        """Return the experiments on a corpus."""
        return {name: entry for name, entry in self.experiments.items() if entry.corpus == corpus}

    def explained_by_encoder(self, corpus: str) -> list[str]:
        """Return the experiments that `explain` of the corpus's encoder tests: with one class."""
        experiments = self.experiments_on(corpus)
        return [name for name, entry in experiments.items() if rules_of(entry.task).LABELS == "one"]

    def section(self, kind: str, name: str) -> Any:
        """Return entry `name` of a section. Raises HeedError when there is none."""
        entries = getattr(self, kind)
        if name not in entries:
            raise HeedError(f"params.yaml: {kind}: {unknown_name(name, SINGULAR[kind], entries)}")
        return entries[name]

    def search(self, name: str, model: str = "") -> Search:
        """Return a search, of one of its models, with the metric that decides it.

        That is its own metric, or the first of its task.
        """
        search = self.searches[name]
        first = RECIPES[self.experiments[search.experiment].task].VALIDATION_METRICS[0]
        model = model or search.model
        return dataclasses.replace(search, metric=search.metric or first, model=model)

    def searches_of(self, experiment: str) -> list[str]:
        """Return the searches of an experiment."""
        return [name for name, search in self.searches.items() if search.experiment == experiment]

    def searched_models(self, search: str) -> list[str]:
        """Return the models that a search tries configurations of."""
        section = self.searches[search]
        return [section.model] if section.model else [
            name for name, model in self.models.items()
            if model.match_parameters_of == name and model.experiment == section.experiment
            and model.search == search
        ]  # fmt: skip

    def winner(self, model: str) -> str:
        """Return the folder of a model's winner, below its experiment's folder; empty: none."""
        section = self.models[model]
        if section.search == "none":
            return ""
        is_shared = bool(self.searches[section.search].model)
        return section.search if is_shared else f"{section.search}/{section.match_parameters_of}"

    def tuning(self, model: str) -> str:
        """Return how a model is tuned: equal for models with the same space and the same budget.

        They also agree in all that was not searched, except the architecture. Empty:
        not tuned at all; FOREIGN: by the winner of another model.
        """
        section = self.models[model]
        if section.search == "none":
            return ""
        search = self.search(section.search)
        if section.match_parameters_of != model or search.model not in ("", model):
            return FOREIGN
        h = self.hyperparameters(model)
        rest = besides_architecture(h, {*search.space, "epochs", "monitor"})
        return repr((search.space, search.budget(h), not search.model, rest))

    def presets(self, task: str) -> dict[str, Configuration]:
        """Return the presets that models of `task` may name: heed's own, and all of this study."""
        own = {name: preset.values for name, preset in PRESETS[task].items()}
        return own | self.defaults.presets

    def task(self, model: Model) -> str:
        """Return the task of a model's experiment."""
        return self.experiments[model.experiment].task

    def hyperparameters(self, model: str, best: Configuration | None = None) -> Any:
        """Return a model's hyperparameters with a search's winner. Raises ValueError by limits."""
        section = self.models[model]
        matched = self.models[section.match_parameters_of]
        values = self._values(matched) | (best or {})
        if matched is not section:
            values |= section.overrides
        return read_record(RECIPES[self.task(section)].Hyperparameters, values)

    def prediction(self, model: str) -> Any:
        """Return the settings by which a model's test items are predicted and scored."""
        section = self.models[model]
        experiment = self.experiments[section.experiment]
        values = self._values(self.models[section.match_parameters_of]) | section.overrides
        values |= dataclasses.asdict(experiment.data)
        return read_record(RECIPES[experiment.task].Prediction, values)

    def apply_defaults(self, model: Model) -> Any:
        """Return the hyperparameters of a section of `models` by itself, whatever it matches."""
        return read_record(RECIPES[self.task(model)].Hyperparameters, self._values(model))

    def _values(self, model: Model) -> Configuration:
        task = self.task(model)
        values = dataclasses.asdict(getattr(self.defaults, task))
        return values | self.presets(task).get(model.preset, {}) | model.overrides


AnyParams = Annotated[Params, Types(defaults=DEFAULTS)]
FOLLOWING = ("corpus", "variant", "match_parameters_of", "search")


def add_kinds(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of params.yaml with what follows from the kinds of sources and corpora.

    A source is of the kind that has its name, a corpus of the kind that has the name of its
    source's kind; the tokenizer follows from the kind of corpus.
    """
    sources, corpora = _copy_entries(values, "sources"), _copy_entries(values, "corpora")
    for name in sources.keys() & SOURCE_KINDS:
        sources[name].setdefault("kind", name)
    for corpus in corpora.values():
        kind = sources.get(str(corpus.get("source")), {}).get("kind")
        if (kind := str(corpus.get("kind", kind))) in KINDS:
            corpus |= {"kind": kind, "tokenizer": corpus.get("tokenizer", KINDS[kind].tokenizer)}
    filled = (("sources", sources), ("corpora", corpora))
    return values | {name: values[name] | entries for name, entries in filled if entries}


def _copy_entries(values: dict[str, Any], section: str) -> dict[str, dict[str, Any]]:
    """Return copies of a section's entries, without what is none: the reader reports it."""
    entries = values.get(section)
    entries = entries.items() if isinstance(entries, dict) else ()
    return {name: {**entry} for name, entry in entries if isinstance(entry, dict)}


def follow(params: Params) -> Params:
    """Return a study whose names are all known with every key in its place."""
    models = {name: _follow_model(params, name, model) for name, model in params.models.items()}
    return dataclasses.replace(params, models=models)


def _follow_model(params: Params, name: str, model: Model) -> Model:
    start = f"{model.experiment}-"
    variant = name.removeprefix(start) if name.startswith(start) else model.variant
    experiment, is_matched = params.experiments[model.experiment], variant == PARAMETER_MATCHED
    match = model.match_parameters_of if is_matched else name
    return dataclasses.replace(
        model,
        corpus=experiment.corpus,
        variant=variant,
        preset=model.preset or ("" if is_matched else experiment.preset),
        match_parameters_of=match,
        search=(params.models.get(match, model) if is_matched else model).search or "none",
    )


def contradict(params: Params, filled: Params) -> Iterator[Mistake]:
    """Yield the keys of a study that contradict what follows, or from which it does not follow."""
    for name, model in params.models.items():
        for field in FOLLOWING:
            given, follows = getattr(model, field), getattr(filled.models[name], field)
            if given not in ("", follows):
                message = f"{follows} follows from the rest, found {given}: remove `{field}`"
                yield ("models", name, field), message
    for name, model in filled.models.items():
        if not model.variant:
            start = f"{model.experiment}-"
            message = f"its name does not begin with {start}: name it {start}VARIANT"
            yield ("models", name), f"{message}, or say `variant`"
        elif not model.match_parameters_of:
            message = "parameter-matched is as large as which model? Write match_parameters_of"
            yield ("models", name), f"{message}: MODEL"
