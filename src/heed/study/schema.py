"""All of params.yaml: its sections, the hyperparameters of a model, and what follows by itself.

A line says only what is its own. A model `imdb-attention: {experiment: imdb, heads: 4}` has the
corpus of its experiment and the variant attention, is not tuned, and matches itself. heed 0.2.0
wrote these keys on every line; they are still read, and must say what follows.
"""

import dataclasses
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, create_model

from heed.files import HeedError
from heed.hyperparameters import MAX_THREADS, Configuration, required
from heed.hyperparameters import hyperparameter as key
from heed.study.corpora import AnyCorpus, AnySource
from heed.study.experiments import AnyExperiment, AnySearch, AnyStudy, Search
from heed.study.section import (
    FOLLOWS,
    OVERRIDES,
    PRESETS,
    RECIPES,
    SECTIONS,
    AnyDefaults,
    Count,
    Name,
    Reads,
    Section,
    fields_of,
    make_section,
    overrides_of,
    reads,
    unknown_name,
    values_of,
)

MAX_GPUS = 1024
# the control with as many parameters as the model in its `match_parameters_of`
PARAMETER_MATCHED = "parameter-matched"
SINGULAR = {
    "sources": "source", "corpora": "corpus", "experiments": "experiment", "searches": "search",
    "later_searches": "search", "models": "model", "adversarial_attention": "adversarial_model",
}  # fmt: skip

Key = tuple[str, ...]  # a key with those above it: ("models", NAME, "heads")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
    """A model: a variant of an experiment, with the hyperparameters that differ from `defaults`."""

    experiment: str = required("a key of `experiments`")
    variant: Name = key(
        "",
        "what is compared: baseline, attention, parameter-matched, or another name; only "
        "where the model is not named EXPERIMENT-VARIANT",
    )
    search: str = key("", "a key of `searches` whose winner replaces the hyperparameters")
    match_parameters_of: str = key(
        "", "of variant parameter-matched: the model to whose parameter count it is widened"
    )
    threads: int = key(
        0,
        "cores of its trainings: so many seeds are trained at the same time; 0: as many as "
        "the run can spare",
        ge=0,
        le=MAX_THREADS,
    )
    gpus: int = key(
        0,
        "GPUs of its trainings, which Snakemake counts: so many seeds are trained at the same "
        "time, each on one",
        ge=0,
        le=MAX_GPUS,
    )
    corpus: str = key("", FOLLOWS)
    preset: str = key(
        "",
        "hyperparameters that this model takes by a name: of heed's presets (below) or of "
        "`defaults.presets`; its own keys replace them",
    )
    overrides: Configuration = dataclasses.field(default_factory=dict)  # its hyperparameters

    def line(self) -> dict[str, object]:
        """Return the keys and values that are no defaults, as the model's line may have them."""
        own = {
            field.name: value
            for field in dataclasses.fields(self)
            if field.name != "overrides" and (value := getattr(self, field.name)) != field.default
        }
        return self.overrides | own


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExplainedModel:
    """A model that `heed explain` tests; its name is a key of `models`."""

    corpus: str = key("", FOLLOWS)
    noise: str = required(
        "the corpus whose words are put beside texts to see whether they disturb the model; "
        "its words must not speak of the label. The model's own corpus is possible where "
        "rationale, which is left out, covers all words that do. A translator does not read it: "
        "name its own corpus",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explain:
    """The models to be explained, and on how many documents; without this section none is."""

    documents: float = required(
        "multiplies the numbers of test documents: 1 is 500 for tests of the weights, 250 for "
        "leave-one-out and adversarial weights, 60 for tests that change the input most",
        gt=0,
        le=100,
    )
    models: dict[Name, ExplainedModel] = required("the models, by name")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdversarialAttention:
    """A copy of a model that is trained on to have other weights, from the weights of each run."""

    model: str = required("the base: a key of `explain.models`, a classifier that learns weights")
    corpus: str = key("", FOLLOWS)
    goal: Literal["differ", "deceive"] = required(
        "differ: weights unlike the base's for the same predictions; deceive: no weight on "
        "rationales",
    )
    strength: float = required(
        "lambda, what the goal counts against the predictions; in trials 0.01 for differ, "
        "0.3 for deceive",
        gt=0,
        le=1000,
    )
    epochs: Count = required("passes over the training split; the last is kept")
    diagnostic_mlps: bool = key(
        True,
        "whether to train networks that read each word alone and weigh it by the weights of "
        "both models: half of an adversarial model's time in the sample study",
    )


MODEL: type[Section] = create_model(
    "Model", __base__=Section, __doc__=Model.__doc__, **OVERRIDES, **fields_of(Model)
)
EXPLAINED, ADVERSARIAL_MODEL = make_section(ExplainedModel), make_section(AdversarialAttention)
EXPLAIN = make_section(
    Explain, models=dict[Name, Annotated[ExplainedModel, reads(EXPLAINED, ExplainedModel)]]
)
AnyModel = Annotated[
    Model, Reads(MODEL, lambda each: values_of(each, Model, overrides=overrides_of(each)))
]
AnyExplain = Annotated[Explain, reads(EXPLAIN, Explain)]
AnyAdversarial = Annotated[AdversarialAttention, reads(ADVERSARIAL_MODEL, AdversarialAttention)]


class Params(Section):
    """The configuration of one study."""

    study: AnyStudy
    seeds: list[int] = Field(
        description="every model is trained once with each", min_length=1, max_length=1000
    )
    sources: dict[Name, AnySource]
    corpora: dict[Name, AnyCorpus]
    experiments: dict[Name, AnyExperiment]
    searches: dict[Name, AnySearch]
    later_searches: dict[Name, AnySearch] = Field(
        {}, description="searches that start from the winner of another, named in `after`"
    )
    defaults: AnyDefaults
    models: dict[Name, AnyModel]
    explain: AnyExplain = Explain(documents=1.0, models={})
    adversarial_attention: dict[Name, AnyAdversarial] = Field({})

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added yet, as in a study that `heed study new` has made."""
        return not (self.sources or self.corpora or self.experiments or self.models)

    def section(self, kind: str, name: str) -> Any:
        """Return entry `name` of `kind` (sources, corpora, experiments, searches, models).

        Raises HeedError when there is none.
        """
        entries = getattr(self, kind)
        if name not in entries:
            raise HeedError(f"params.yaml: {kind}: {unknown_name(name, SINGULAR[kind], entries)}")
        return entries[name]

    def search_key(self, name: str) -> Key:
        """Return the key of a search in params.yaml."""
        return "later_searches" if name in self.later_searches else "searches", name

    def search(self, name: str) -> Search:
        """Return a search with the metric that decides it: its own, or the first of its task."""
        search = self.searches[name]
        first = RECIPES[self.experiments[search.experiment].task].VALIDATION_METRICS[0]
        return dataclasses.replace(search, metric=search.metric or first)

    def presets(self, task: str) -> dict[str, Configuration]:
        """Return the presets that models of `task` may name: heed's own, and all of this study."""
        own = {name: preset.values for name, preset in PRESETS[task].items()}
        return own | self.defaults.presets

    def task(self, model: Model) -> str:
        """Return the task of a model's experiment."""
        return self.experiments[model.experiment].task

    def resolved(self, model: str, best: Configuration) -> Any:
        """Return the hyperparameters of `model` with a search's winner `best` in place.

        Raises pydantic's ValidationError when a value is outside its limits.
        """
        task = self.task(self.models[model])
        checked = SECTIONS[task].model_validate(self._matched_values(model, best)).model_dump()
        return _read(RECIPES[task].Hyperparameters, checked)

    def prediction(self, model: str) -> Any:
        """Return the settings by which a model's test items are predicted and scored."""
        experiment = self.experiments[self.models[model].experiment]
        values = self._matched_values(model, {}) | dataclasses.asdict(experiment.data)
        return _read(RECIPES[experiment.task].Prediction, values)

    def hyperparameters(self, model: str) -> Any:
        """Return the hyperparameters of a model of this study, before any search."""
        schema = RECIPES[self.task(self.models[model])].Hyperparameters
        return _read(schema, self._matched_values(model, {}))

    def apply_defaults(self, model: Model) -> Any:
        """Return the hyperparameters of a section of `models` by itself, whatever it matches."""
        return _read(RECIPES[self.task(model)].Hyperparameters, self._values(model))

    def _matched_values(self, model: str, best: Configuration) -> Configuration:
        """Return the values of a model with a winner `best`, after the model's that it matches."""
        section = self.models[model]
        matched = self.models.get(
            section.match_parameters_of, section
        )  # a rule reports an unknown one
        values = self._values(matched) | best
        return values if matched is section else values | section.overrides

    def _values(self, model: Model) -> Configuration:
        """Return the defaults of a model's task, replaced by its preset, and this by its keys."""
        values = self.defaults.values[self.task(model)]
        preset = self.presets(self.task(model)).get(model.preset, {})
        return values | preset | model.overrides


def _read(schema: Any, values: Configuration) -> Any:
    """Return the dataclass `schema` from values that hold its fields and others."""
    return schema(**{field.name: values[field.name] for field in dataclasses.fields(schema)})


Entry = TypeVar("Entry", Model, Search, ExplainedModel, AdversarialAttention)


@dataclasses.dataclass
class Followed:
    """A study with every key in place.

    `mistakes` are (key, message) of values that contradict what follows. `old` are the entries that
    are written as in heed 0.2.0, with the keys that may go.
    """

    params: Params
    mistakes: list[tuple[Key, str]] = dataclasses.field(default_factory=list)
    old: dict[Key, list[str]] = dataclasses.field(default_factory=dict)

    def fill(self, key: Key, entry: Entry, **follows: str) -> Entry:
        """Return an entry with what follows; note what contradicts it, and what may go."""
        for name, value in follows.items():
            given = getattr(entry, name)
            if given and value and given != value:
                self.mistakes.append(
                    ((*key, name), f"{value} follows from the rest, found {given}: remove `{name}`")
                )
            elif given:
                self.old.setdefault(key, []).append(name)
        changes: Any = {name: value for name, value in follows.items() if value}
        return dataclasses.replace(entry, **changes)


def follow(params: Params) -> Followed:
    """Complete a study whose sections are valid one by one."""
    done = Followed(params)
    corpus = {name: experiment.corpus for name, experiment in params.experiments.items()}
    models = {
        name: _follow_model(done, name, model, corpus.get(model.experiment, ""))
        for name, model in params.models.items()
    }
    for name, model in models.items():
        if model.variant == PARAMETER_MATCHED:  # a rule reports an unknown match
            search_name = models.get(model.match_parameters_of, model).search or "none"
            models[name] = done.fill(("models", name), model, search=search_name)
    of_model = {name: model.corpus for name, model in models.items()}
    explained = {
        name: done.fill(("explain", "models", name), each, corpus=of_model.get(name, ""))
        for name, each in params.explain.models.items()
    }
    done.params = params.model_copy(
        update={
            "models": models,
            "searches": _follow_searches(done, corpus),
            "explain": dataclasses.replace(params.explain, models=explained),
            "adversarial_attention": {
                name: done.fill(
                    ("adversarial_attention", name), each, corpus=of_model.get(each.model, "")
                )
                for name, each in params.adversarial_attention.items()
            },
        }
    )
    return done


def _follow_model(done: Followed, name: str, model: Model, corpus: str) -> Model:
    """Return a model with what follows from its name and its experiment."""
    key, start = ("models", name), f"{model.experiment}-"
    variant = name.removeprefix(start) if name.startswith(start) else model.variant
    if not variant:
        done.mistakes.append(
            (key, f"its name does not begin with {start}: name it {start}VARIANT, or say `variant`")
        )
    follows = {"corpus": corpus, "variant": variant}
    if variant != PARAMETER_MATCHED:
        follows |= {"match_parameters_of": name}
        follows |= {"search": "none"} if model.search in ("", "none") else {}
    elif not model.match_parameters_of:
        done.mistakes.append(
            (
                key,
                "parameter-matched is as large as which model? Write match_parameters_of: MODEL",
            )
        )
    return done.fill(key, model, **follows)


def _follow_searches(done: Followed, corpus: dict[str, str]) -> dict[str, Search]:
    """Return the searches of both sections, with what follows from their experiments."""
    searches = {}
    for section, after in (("searches", "none"), ("later_searches", "")):
        for name, search in getattr(done.params, section).items():
            key = (section, name)
            if name in searches:
                done.mistakes.append((key, "a line of `searches` has this name too"))
            if after and search.after not in ("", after):
                done.mistakes.append(
                    (
                        (*key, "after"),
                        "a search that starts from the winner of another stands in the section "
                        f"`later_searches`: move {name} there",
                    )
                )
                search = dataclasses.replace(search, after="")
            elif not after and search.after in ("", "none"):
                done.mistakes.append((key, "starts from the winner of which search? Write after"))
            follows = {"corpus": corpus.get(search.experiment, "")}
            follows |= {"after": after} if search.after in ("", after) else {}
            searches[name] = done.fill(key, search, **follows)
    return searches
