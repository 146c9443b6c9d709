"""The schema of params.yaml, and its only reader.

docs/params.md and docs/params.schema.json are generated from here (`heed schema`).
"""

import contextlib
import dataclasses
import difflib
import math
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from heed.corpora.kinds import KINDS, SOURCE_KINDS
from heed.corpora.publication import SplitKind
from heed.files import HeedError, write_text
from heed.hyperparameters import ATTENTION_POOLINGS, Configuration, Value
from heed.tasks.classification.recipe import FIGURES, Hyperparameters

PARAMS = Path("params.yaml")
SINGULAR = {
    "sources": "source",
    "corpora": "corpus",
    "experiments": "experiment",
    "searches": "search",
    "models": "model",
}
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Name = Annotated[str, Field(pattern=NAME, description="lower-case letters, digits and single '-'")]
Positive = Annotated[int, Field(gt=0)]
NAMES = tuple(field.name for field in dataclasses.fields(Hyperparameters))


class Section(BaseModel):
    """A part of params.yaml: unknown keys are errors, numbers are not made from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Study(Section):
    """What this study is called, and what a reader must know before the numbers."""

    name: Name = Field(description="short name, as in workflow/studies/NAME.yaml")
    title: str = Field(description="title of the report")
    language: Literal["en", "de"] = Field("en", description="the report's words, in HTML and LaTeX: English or German")
    note: str = Field(
        "", description="said at the top of the report: generated, reduced or substituted corpora must be named here"
    )


# What the modules of corpora/ declare, and nothing else.
if TYPE_CHECKING:
    KindOfSource = str
    KindOfCorpus = str
else:
    KindOfSource = Literal[tuple(SOURCE_KINDS)]
    KindOfCorpus = Literal[tuple(KINDS)]


class Source(Section):
    """Files as published."""

    kind: KindOfSource = Field(
        description="which publication: each has its URLs and hashes in src/heed/corpora/; `table` is a file of your own"
    )
    files: list[str] | None = Field(
        None, description="only these of the publication's files (default: all)", min_length=1
    )
    documents: Positive | None = Field(None, description="kind sample: how many documents each generated corpus has")
    seed: int | None = Field(None, description="kind sample: the generator's seed")
    path: str | None = Field(None, description="kind table: the file, .csv, .jsonl or .parquet")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="kinds sample and table: hash of the file"
    )

    @model_validator(mode="after")
    def _own_keys(self) -> "Source":
        kind = SOURCE_KINDS[self.kind]
        given = {key for key in ("files", "documents", "seed", "path", "sha256") if getattr(self, key) is not None}
        if missing := {*kind.needs} - given:
            raise ValueError(f"a source of kind {self.kind} needs {_and(missing)}")
        if extra := given - {*kind.needs, *kind.takes}:
            raise ValueError(f"a source of kind {self.kind} does not take {_and(extra)}")
        return self


class Split(Section):
    """Which documents train, which validate, which test. All draws are seeded by `seed`."""

    kind: SplitKind = Field(
        description="given: the source's own split; random: drawn; folds: seed s tests on fold (s - 1) mod k"
    )
    test: float | int | None = Field(
        None, description="kind random: the test part, as a share (< 1) or a number of documents", gt=0
    )
    k: Annotated[int, Field(ge=2, le=100)] | None = Field(None, description="kind folds: how many")
    validation: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.1, description="share of the training documents kept for validation"
    )
    stratify: bool = Field(True, description="keep the label proportions in every part")
    grouped: bool = Field(False, description="kind folds: documents of one group (a letter) never stand in two folds")
    seed: int = Field(1234, description="seed of the draw, the same for every run of the study")

    @model_validator(mode="after")
    def _own_keys(self) -> "Split":
        if (self.kind == "random") != (self.test is not None):
            raise ValueError("`test` goes with kind random, and kind random needs it")
        if isinstance(self.test, float) and self.test >= 1:
            raise ValueError(f"`test` is a share below 1 or a whole number of documents, found {self.test}")
        if (self.kind == "folds") != (self.k is not None):
            raise ValueError("`k` goes with kind folds, and kind folds needs it")
        if self.grouped and self.kind != "folds":
            raise ValueError("`grouped` goes with kind folds")
        return self


class Corpus(Section):
    """Documents with labels and splits, made from a source."""

    source: str = Field(description="a key of `sources`")
    kind: KindOfCorpus = Field(description="the rules that make documents from the files; see docs/corpora.md")
    split: Split
    tokenizer: Literal["xx", "en", "de", "whitespace"] = Field(
        "xx",
        description="a blank spaCy tokenizer, one a corpus whatever the document's language; `whitespace`: tokenised already",
    )
    max_characters: Positive = Field(1_000_000, description="longer documents are cut here, and counted in meta.json")
    drop_duplicates: bool = Field(
        False, description="drop training documents whose text stands in the test or validation part too"
    )
    sample: Positive | None = Field(
        None, description="keep only this many documents, drawn at random: a reduced corpus, named so in the report"
    )
    text_column: str | None = Field(None, description="kind table: the column with the text")
    label_column: str | None = Field(None, description="kind table: the column with the label")
    split_column: str | None = Field(
        None, description="kind table: the column with train, validation or test, for split kind given"
    )

    @model_validator(mode="after")
    def _own_keys(self) -> "Corpus":
        kind, split = KINDS[self.kind], self.split
        columns = {key for key in ("text_column", "label_column", "split_column") if getattr(self, key)}
        if missing := [key for key in kind.needs if key not in columns]:
            raise ValueError(f"a corpus of kind {kind.name} needs {' and '.join(missing)}")
        if "split_column" in kind.takes and (split.kind == "given") != (self.split_column is not None):
            raise ValueError("split kind given needs split_column, and split_column needs split kind given")
        if extra := columns - {*kind.needs, *kind.takes}:
            takers = [other.name for other in KINDS.values() if extra & {*other.needs, *other.takes}]
            raise ValueError(f"{_and(extra)} go with kind {' and '.join(takers)}")
        ways = " or ".join(kind.splits)
        if split.kind not in kind.splits and split.kind == "given":
            raise ValueError(f"corpus kind {kind.name} comes without a split of its own: use {ways}")
        if split.kind not in kind.splits:
            raise ValueError(f"corpus kind {kind.name} is used with its published files: split kind must be {ways}")
        if split.grouped and not kind.grouped:
            raise ValueError(f"only {' and '.join(other.name for other in KINDS.values() if other.grouped)} has groups")
        return self


class Published(Section):
    """The row of data/published/ that this experiment stands beside."""

    experiment: str = Field(description="the talk's experiment")
    comparable: bool = Field(description="true only for the talk's own corpus, split sizes and hyperparameters")
    reason: str = Field("", description="why it is not comparable; printed beside the figures")

    @model_validator(mode="after")
    def _reason(self) -> "Published":
        if not self.comparable and not self.reason:
            raise ValueError("a published row that is not comparable needs a reason")
        return self


class ClassificationData(Section):
    """What a classification predicts."""

    label: str = Field(description="which of the corpus's labels")


class Experiment(Section):
    """A row of the comparison: a corpus, and what is to be learned from it."""

    task: Literal["classification"] = Field(description="what is learned: its models, figures and opponents")
    corpus: str = Field(description="a key of `corpora`")
    data: ClassificationData = Field(description="what the task reads of the corpus")
    title: str = Field(description="heading in the report")
    published: Published | None = Field(None, description="the talk's row to print beside ours")
    suboptimal_of: str | None = Field(
        None, description="the experiment whose hyperparameters this one deliberately spoils"
    )
    opponent_features: Literal["words", "characters", "both"] = Field(
        "both", description="TF-IDF features of the linear opponent"
    )


def _schema_of(declared: type) -> dict[str, Any]:
    """Return, for each field of a dataclass of hyperparameters, its type with its limits, and its default and meaning."""
    hints, schema = get_type_hints(declared), {}
    for field in dataclasses.fields(declared):
        about = field.metadata
        limited = Annotated[hints[field.name], Field(**about["limits"])] if about["limits"] else hints[field.name]
        schema[field.name] = (limited, Field(field.default, description=about["description"]))
    return schema


# The schema of the hyperparameters of each task, made from its dataclass: written in one place.
if TYPE_CHECKING:

    class ClassificationDefaults(Section):
        """The hyperparameters of a classification."""

        def __getattr__(self, key: str) -> Any: ...

else:
    ClassificationDefaults = create_model(
        "ClassificationDefaults", __base__=Section, __doc__=Hyperparameters.__doc__, **_schema_of(Hyperparameters)
    )


class Defaults(Section):
    """The hyperparameters that a model has where it says nothing else, for each task."""

    classification: ClassificationDefaults = Field(description="of models whose experiment is a classification")


def _optional(field: FieldInfo) -> Any:
    """Return the field's type with its limits, or None."""
    limits = tuple(field.metadata)
    return (Annotated[(field.annotation, *limits)] if limits else field.annotation) | None  # type: ignore[operator]


# Every hyperparameter once more, optional: written in one place, so that the two can never differ.
if TYPE_CHECKING:

    class _Overrides(Section):
        def __getattr__(self, key: str) -> Any: ...

else:
    _Overrides = create_model(
        "_Overrides",
        __base__=Section,
        **{key: (_optional(field), None) for key, field in ClassificationDefaults.model_fields.items()},
    )


class Model(_Overrides):
    """A model: a variant of an experiment, with the hyperparameters that differ from `defaults`."""

    experiment: str = Field(description="a key of `experiments`")
    corpus: str = Field(description="the experiment's corpus again (dvc.yaml reads it here)")
    variant: Name = Field(
        description="what is compared: baseline, attention, or another name; wide is the capacity control"
    )
    tuned_by: str = Field(description="a key of `searches` whose winner replaces the hyperparameters, or none")
    match: str = Field(
        description="the model itself; for variant wide the model whose parameter count it is widened to"
    )
    gpu: Annotated[int, Field(ge=0)] = Field(0, description="GPUs that Snakemake counts for one training")

    def given(self) -> Configuration:
        """Return the hyperparameters that this model sets itself."""
        return {key: value for key in NAMES if (value := getattr(self, key)) is not None}


class Dimension(Section):
    """How one hyperparameter is drawn: exactly one of these."""

    uniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: any number between, each as likely"
    )
    loguniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: any number between, each order of magnitude as likely"
    )
    integer: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: any whole number, both ends included"
    )
    choice: Annotated[list[bool | int | float | str], Field(min_length=2)] | None = Field(
        None, description="one of these"
    )

    @model_validator(mode="after")
    def _one(self) -> "Dimension":
        given = [kind for kind in Dimension.model_fields if getattr(self, kind) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"takes exactly one of uniform, loguniform, integer, choice; found {found}")
        values = getattr(self, given[0])
        if given[0] == "choice":
            if len({(type(value), value) for value in values}) < len(values):
                raise ValueError(f"choice names a value twice: {values}")
        elif values[0] >= values[1]:
            raise ValueError(f"{given[0]} goes from a smaller to a larger number, found {values}")
        elif given[0] == "loguniform" and values[0] <= 0:
            raise ValueError(f"loguniform needs numbers above 0, found {values}")
        return self

    @property
    def kind(self) -> str:
        """`uniform`, `loguniform`, `integer` or `choice`."""
        return next(kind for kind in Dimension.model_fields if getattr(self, kind) is not None)

    @property
    def values(self) -> list[Any]:
        """Both ends of the span, or all choices."""
        return list(getattr(self, self.kind))


# The talk searched two groups. It does not name its spans; these hold every value that it chose (a test).
GROUPS = {
    "group-1": {
        "batch_size": Dimension(choice=[32, 64, 128]),
        "learning_rate": Dimension(loguniform=[0.0001, 0.01]),
        "vocabulary_size": Dimension(choice=[10000, 20000, 30000]),
    },
    "group-2": {
        "embedding_dim": Dimension(integer=[50, 200]),
        "hidden_size": Dimension(integer=[50, 350]),
        "linear_size": Dimension(integer=[50, 300]),
        "dropout": Dimension(uniform=[0.1, 0.6]),
        "heads": Dimension(choice=[1, 2, 4, 8]),
    },
}
NOT_SEARCHED = {
    "epochs": "the search's own `epochs` is the most, and the winner's best epoch is kept",
    "select": "the search's `metric` selects the epoch",
    "patience": "the scheduler stops what does badly",
    "device": "it belongs to the machine",
    "threads": "it belongs to the machine",
    "precision": "it belongs to the machine",
}


class Search(Section):
    """A hyperparameter search over one model. With trials 0 the hyperparameters stay as given."""

    corpus: str = Field(description="the experiment's corpus again (dvc.yaml reads it here)")
    experiment: str = Field(description="the model's experiment again (dvc.yaml reads it here)")
    model: str = Field(
        description="the key of `models` whose hyperparameters are searched; others may name the winner in `tuned_by`"
    )
    after: str = Field(description="the search whose winner this one starts from (groups searched in turn), or none")
    trials: Annotated[int, Field(ge=0)] = Field(
        0, description="how many configurations to try; 0 hands on what params.yaml gives"
    )
    groups: list[Literal["group-1", "group-2"]] = Field(
        [],
        description="the talk's spaces: group-1 (batch size, learning rate, vocabulary size), group-2 (sizes, dropout, heads)",
    )
    space: dict[str, Dimension] = Field({}, description="hyperparameter → how it is drawn; goes before `groups`")
    metric: Literal[FIGURES] = Field(  # type: ignore[valid-type]
        FIGURES[0], description="the validation figure that is searched for, and that selects the epoch"
    )
    epochs: Positive | None = Field(None, description="epochs of a trial, at most; none: the model's own")
    minutes: Annotated[float, Field(gt=0)] | None = Field(
        None, description="no trial starts or goes on after this wall time; then the result depends on the machine"
    )
    seed: Positive = Field(1000, description="of the draw and of every trial's training; never one of `seeds`")
    sampler: Literal["random", "tpe"] = Field(
        "random",
        description="random: all drawn beforehand; tpe: Optuna's, which learns from the trials that have ended",
    )
    scheduler: Literal["asha", "none"] = Field(
        "asha",
        description="asha: stops what does badly early (Li et al. 2020); none: every trial runs to its end, reproducible",
    )
    reports: Positive = Field(
        1,
        description="asha: times an epoch that it hears of a trial: at the end of all validation documents, before that of every `reports`-th of them",
    )
    grace_period: Annotated[float, Field(gt=0)] = Field(
        1.0, description="asha: epochs that every trial gets, 0.25 with `reports: 4` or 8, for instance"
    )
    reduction_factor: Annotated[int, Field(ge=2)] = Field(
        3, description="asha: one trial in this many goes on at each rung"
    )
    concurrent: Annotated[int, Field(ge=0)] = Field(
        0, description="trials at once, at most; 0: as many as there is room for"
    )
    cpu: Annotated[float, Field(gt=0)] = Field(1.0, description="cores of a trial, for placing it")
    gpu: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="part of a GPU that a trial takes; 0.25: four share a card"
    )
    retries: Annotated[int, Field(ge=0)] = Field(
        3, description="times that a trial which died (a machine was lost) is started again"
    )
    address: str = Field(
        "local", description="local: this machine alone; else a Ray cluster's address (docs/cluster.md)"
    )

    def dimensions(self, h: Hyperparameters) -> dict[str, Dimension]:
        """Return the whole space for a model with hyperparameters `h`: the groups, then `space`.

        A group's `heads` goes where `h` has no heads to divide.
        """
        found = {key: dimension for group in self.groups for key, dimension in GROUPS[group].items()}
        if h.attention not in ("multi-head", "uniform"):
            found.pop("heads", None)
        return found | self.space

    @property
    def places(self) -> tuple[int, int]:
        """(cores, GPUs) of this machine that the trials can use at once; a cluster's search is one waiting process."""
        if self.address != "local" or not self.trials:
            return 1, 0
        at_once = min(self.trials, self.concurrent or self.trials)
        return max(1, math.ceil(at_once * self.cpu)), math.ceil(self.gpu)

    def budget(self, h: Hyperparameters) -> dict[str, Value | None]:
        """Return what compared variants must have alike; `h` are those of the search's model."""
        keys = ("trials", "minutes", "metric", "sampler", "scheduler", "reports", "grace_period", "reduction_factor")
        return {"epochs": self.epochs or h.epochs} | {key: getattr(self, key) for key in keys}


class Params(Section):
    """Everything one study asks for."""

    study: Study
    seeds: list[int] = Field(description="every model is trained once with each", min_length=1)
    sources: dict[Name, Source] = Field(min_length=1)
    corpora: dict[Name, Corpus] = Field(min_length=1)
    experiments: dict[Name, Experiment] = Field(min_length=1)
    searches: dict[Name, Search]
    defaults: Defaults
    models: dict[Name, Model] = Field(min_length=1)

    def section(self, kind: str, name: str) -> Any:
        """Return entry `name` of `kind` (sources, corpora, experiments, searches, models). Raises HeedError: not there."""
        entries: dict[str, Section] = getattr(self, kind)
        if name not in entries:
            raise HeedError(f"params.yaml: {kind}: {_unknown(name, SINGULAR[kind], entries)}")
        return entries[name]

    def resolved(self, model: str, best: Configuration) -> Hyperparameters:
        """Return the hyperparameters of `model` with a search's winner `best` put in; checked again."""
        matched = self.models[model].match
        given = dataclasses.asdict(self.hyperparameters(matched)) | best
        if matched != model:
            given |= self.models[model].given()
        return Hyperparameters(**ClassificationDefaults.model_validate(given).model_dump())

    def hyperparameters(self, model: str) -> Hyperparameters:
        """Return the defaults as changed by `model`."""
        return _given_to(self, self.models[model])

    def fits(self, model: str, best: Configuration) -> bool:
        """Return whether `model` may have the hyperparameters `best`: each in its limits, none against another."""
        try:
            resolved = self.resolved(model, best)
        except ValidationError:
            return False
        changed = self.models[model].model_copy(update=best)
        found = [*_hyperparameter_contradictions(resolved), *_variant_contradictions(self, model, changed)]
        return not found


def _and(keys: set[str]) -> str:
    return " and ".join(sorted(keys))


def _contradictions(params: Params) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (key, complaint) for what no single section can see."""
    if len(set(params.seeds)) < len(params.seeds):
        yield ("seeds",), f"each seed once, found {params.seeds}"
    if any(seed < 1 for seed in params.seeds):
        yield ("seeds",), f"seeds are whole numbers from 1, found {params.seeds}"
    for name, corpus in params.corpora.items():
        if corpus.source not in params.sources:
            yield ("corpora", name, "source"), _unknown(corpus.source, "source", params.sources)
        elif (kind := params.sources[corpus.source].kind) != (made_from := KINDS[corpus.kind].source.name):
            yield (
                ("corpora", name, "source"),
                f"corpus kind {corpus.kind} is made from a source of kind {made_from}, found {kind}",
            )
        if corpus.split.k and len(params.seeds) % corpus.split.k:
            yield (
                ("seeds",),
                f"corpus {name} has {corpus.split.k} folds: the number of seeds must be a multiple of {corpus.split.k}, found {len(params.seeds)}",
            )
    for name, experiment in params.experiments.items():
        if experiment.corpus not in params.corpora:
            yield ("experiments", name, "corpus"), _unknown(experiment.corpus, "corpus", params.corpora)
        if experiment.suboptimal_of and experiment.suboptimal_of not in params.experiments:
            yield (
                ("experiments", name, "suboptimal_of"),
                _unknown(experiment.suboptimal_of, "experiment", params.experiments),
            )
        yield from _data_contradictions(params, name, experiment)
    for name in params.searches:
        yield from _search_contradictions(params, name)
    yield from _unequal_searches(params)
    for name, model in params.models.items():
        yield from _model_contradictions(params, name, model)


def _data_contradictions(params: Params, name: str, experiment: Experiment) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what an experiment asks of a corpus whose kind does not have it; a table's columns are known when it is read."""
    corpus = params.corpora.get(experiment.corpus)
    if corpus is None or corpus.source not in params.sources:
        return  # said of the experiment, or of the corpus
    kind, label = KINDS[corpus.kind], experiment.data.label
    if params.sources[corpus.source].kind == kind.source.name and kind.labels and label not in kind.labels:
        yield (
            ("experiments", name, "data", "label"),
            f"corpus {experiment.corpus} has no label {label}{_near(label, kind.labels)} Known: {', '.join(kind.labels)}",
        )


def _model_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[tuple[str, ...], str]]:
    key = ("models", name)
    if model.experiment not in params.experiments:
        yield (*key, "experiment"), _unknown(model.experiment, "experiment", params.experiments)
        return
    if name != f"{model.experiment}-{model.variant}":
        yield key, f"a model is named EXPERIMENT-VARIANT: expected {model.experiment}-{model.variant}, found {name}"
    if model.corpus != (expected := params.experiments[model.experiment].corpus) and expected in params.corpora:
        yield (*key, "corpus"), f"experiment {model.experiment} uses corpus {expected}, found {model.corpus}"
    if model.tuned_by not in {*params.searches, "none"}:
        yield (*key, "tuned_by"), _unknown(model.tuned_by, "search", {**params.searches, "none": None})
    if model.match not in params.models:
        yield (*key, "match"), _unknown(model.match, "model", params.models)
        return
    settings = params.hyperparameters(name)
    for keys, complaint in _hyperparameter_contradictions(settings):
        at = next((name for name in keys if getattr(model, name) is not None), keys[0])
        yield (*key, at), complaint
    if name == f"{model.experiment}-{model.variant}":  # else the variant may be what is wrong, and that is said
        yield from _variant_contradictions(params, name, model)


def _variant_contradictions(params: Params, name: str, model: Model) -> Iterator[tuple[tuple[str, ...], str]]:
    key, settings, matched = ("models", name), _given_to(params, model), params.models[model.match]
    if model.variant in ("linear", "majority"):
        yield (*key, "variant"), f"{model.variant} is the name of an opponent; choose another"
    attends = settings.attention not in ("none", "uniform") or settings.pooling in ATTENTION_POOLINGS
    given = "attention" if model.attention else "pooling"
    if model.variant == "baseline" and (attends or settings.attention != "none"):
        yield (*key, given), f"variant baseline is without attention, found {getattr(settings, given)}"
    if model.variant == "attention" and not attends:
        yield (
            (*key, "variant"),
            f"variant attention needs attention (multi-head, single-head) or a pooling with attention, found attention: {settings.attention}, pooling: {settings.pooling}",
        )
    if model.variant == "wide":
        if model.match == name or matched.experiment != model.experiment:
            yield (
                (*key, "match"),
                f"variant wide names the model of the same experiment that it is as large as, found {model.match}",
            )
        if more := sorted(set(model.given()) - {"pooling"}):
            yield (
                (*key, more[0]),
                f"variant wide takes every hyperparameter but pooling from {model.match}; take {', '.join(more)} away",
            )
        if params.hyperparameters(model.match).encoder != "bilstm":
            yield (*key, "match"), f"variant wide widens a BiLSTM, and {model.match} has none"
        if settings.pooling in ATTENTION_POOLINGS:
            yield (*key, "pooling"), f"variant wide is without attention, found {settings.pooling}"
        if model.tuned_by != matched.tuned_by:
            yield (*key, "tuned_by"), f"must be that of {model.match}: {matched.tuned_by}"
    elif model.match != name:
        yield (*key, "match"), f"only variant wide matches another model; expected {name}, found {model.match}"


def _given_to(params: Params, model: Model) -> Hyperparameters:
    return Hyperparameters(**params.defaults.classification.model_dump() | model.given())


def _search_contradictions(params: Params, name: str) -> Iterator[tuple[tuple[str, ...], str]]:
    key, search = ("searches", name), params.searches[name]
    if name == "none":
        yield key, "the name none is taken: it stands for no search"
    if search.model not in params.models:
        yield (*key, "model"), _unknown(search.model, "model", params.models)
        return
    model = params.models[search.model]
    for what in ("experiment", "corpus"):
        if (found := getattr(search, what)) != (expected := getattr(model, what)):
            yield (*key, what), f"model {search.model} has {what} {expected}, found {found}"
    if model.experiment not in params.experiments:
        return  # said of the model
    if model.match != search.model:
        yield (*key, "model"), f"{search.model} takes its hyperparameters from {model.match}: search that one"
    yield from _after_contradictions(params, name)
    if search.seed in params.seeds:
        yield (
            (*key, "seed"),
            f"the study's seeds are {params.seeds}: a search with one of them would have chosen for that run; found {search.seed}",
        )
    h = params.hyperparameters(search.model)
    most = search.epochs or h.epochs
    if search.scheduler == "asha" and search.grace_period > most:
        yield (*key, "grace_period"), f"at most the epochs of a trial, {most}, found {search.grace_period:g}"
    if search.scheduler == "asha" and (search.grace_period * search.reports) % 1:
        yield (
            (*key, "grace_period"),
            f"a multiple of 1/reports of an epoch, 1/{search.reports}, found {search.grace_period:g}",
        )
    if h.device == "cuda" and not search.gpu:
        yield (
            (*key, "gpu"),
            f"{search.model} has device: cuda, and its trials have no gpu. Say gpu: 1, or a part of one",
        )
    if search.trials and not search.dimensions(h):
        yield (*key, "space"), "there is nothing to search: name `groups`, or hyperparameters in `space`"
    for hyperparameter, dimension in search.space.items():
        for what in _dimension_complaints(params, model, hyperparameter, dimension):
            yield (*key, "space", hyperparameter), what


def _after_contradictions(params: Params, name: str) -> Iterator[tuple[tuple[str, ...], str]]:
    at, search = ("searches", name, "after"), params.searches[name]
    if search.after == "none":
        return
    if search.after not in params.searches:
        yield at, _unknown(search.after, "search", {**params.searches, "none": None})
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


def _dimension_complaints(params: Params, model: Model, key: str, dimension: Dimension) -> Iterator[str]:
    """Yield what is wrong with one hyperparameter of a space."""
    if key not in NAMES:
        near = _near(key, NAMES)
        yield f"unknown hyperparameter{near} Allowed: {', '.join(k for k in NAMES if k not in NOT_SEARCHED)}"
        return
    if key in NOT_SEARCHED:
        yield f"is not searched: {NOT_SEARCHED[key]}"
        return
    given = _given_to(params, model)
    if key == "heads" and given.attention not in ("multi-head", "uniform"):
        yield f"does nothing here: model {model.match} has attention: {given.attention}"
    if dimension.kind == "integer" and isinstance(getattr(given, key), float):
        yield "takes numbers with a fraction: say uniform or loguniform"
    if dimension.kind in ("uniform", "loguniform") and not isinstance(getattr(given, key), float):
        yield f"{dimension.kind} draws numbers with a fraction, and it takes none: say integer or choice"
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
            yield from (f"{value}: {what}" for _, what in _variant_contradictions(params, model.match, changed))


def _unequal_searches(params: Params) -> Iterator[tuple[tuple[str, ...], str]]:
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
                    f"compared variants get the same budget: {value} here, {theirs[key]} in search {other} of experiment {search.experiment}",
                )


def _hyperparameter_contradictions(h: Hyperparameters) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (the keys that contradict each other, complaint)."""
    if h.attention in ("multi-head", "uniform") and h.state_size % h.heads:
        yield (
            ("heads", "hidden_size", "skip", "encoder", "attention"),
            f"heads must divide the size of the states: {h.heads} heads do not divide {h.state_size} (twice the hidden size; with skip the embeddings too)",
        )
    if h.encoder == "none" and h.linear_branch == "none":
        yield ("encoder", "linear_branch"), "encoder none leaves the linear branch alone, and linear_branch is none"
    if h.encoder == "none" and (h.attention != "none" or h.pooling in ATTENTION_POOLINGS or h.hierarchical):
        yield (
            ("encoder",),
            "encoder none has no states to attend to: attention none, a pooling without it, not hierarchical",
        )
    if h.pooling == "last" and h.encoder == "embeddings":
        yield ("pooling", "encoder"), "pooling last takes the BiLSTM's last states, and encoder embeddings has none"
    if h.pooling == "last" and h.skip:
        yield ("skip", "pooling"), "pooling last takes the BiLSTM's last states: it does not go with skip"
    if h.patience and h.select == "last":
        yield ("patience", "select"), "patience waits for a better epoch, and select: last knows none"


def _near(word: str, known: Any) -> str:
    near = _nearest(word, known)
    return f"; did you mean {near}?" if near else "."


def _nearest(word: str, known: Any) -> str:
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)), "")


def _unknown(found: str, what: str, known: Any) -> str:
    return f"there is no {what} {found}{_near(found, known)} Known: {', '.join(known)}"


def load(path: str | Path = PARAMS) -> Params:
    """Return the params in `path`, checked.

    Raises:
        HeedError: one line a mistake: file, line, key, what was found, what is allowed.

    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise HeedError(
            f"{path}: not there. Run heed in the top folder of a clone, or `heed study sample` to make one."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HeedError(f"{path}: cannot be read: {error}") from None
    return parse(text, path)


@contextlib.contextmanager
def editing(path: Path) -> Iterator[tuple[Params, Any]]:
    """Yield the params in `path`, checked, and the same as a tree to be changed, with its comments.

    What came of it is checked too before it takes the place of `path`. Raises HeedError as `load` does.
    """
    params = load(path)
    yaml = YAML()
    yaml.width = 10_000
    yaml.preserve_quotes = True
    tree = yaml.load(path.read_text(encoding="utf-8"))
    yield params, tree
    out = StringIO()
    yaml.dump(tree, out)
    parse(out.getvalue(), path)
    write_text(path, out.getvalue())


def parse(text: str, path: str | Path = PARAMS) -> Params:
    """Return the params in the YAML `text`; `path` is for messages. Raises HeedError as `load` does."""
    for number, written in enumerate(text.splitlines(), 1):
        if written.startswith("<<<<<<< "):
            raise HeedError(
                f"{path}:{number}: a merge conflict: keep one side, and delete the lines <<<<<<<, ======= and >>>>>>>"
            )
    yaml = YAML(typ="safe", pure=True)  # YAML 1.2 and the parser that DVC uses: both must read the same values
    try:
        tree = yaml.compose(StringIO(text))
        values = yaml.load(StringIO(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        raise HeedError(f"{path}:{mark.line + 1 if mark else 1}: not valid YAML: {problem}") from None
    except (YAMLError, ValueError, AttributeError, TypeError) as error:  # a ReaderError knows no line, but its position
        line = 1 + text[: getattr(error, "position", 0)].count("\n")
        raise HeedError(f"{path}:{line}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise HeedError(f"{path}:1: expected sections (study, seeds, sources, ...), found {type(values).__name__}")
    try:
        params = Params.model_validate(values)
    except ValidationError as error:
        mistakes = error.errors()
        unknown = [item["loc"] for item in mistakes if item["type"] == "extra_forbidden"]
        said = {key for loc in unknown for key in _meant(loc)}
        single = [item for item in mistakes if item["type"] != "missing" or item["loc"] not in said]
        raise HeedError("\n".join(_complaint(path, tree, item) for item in single)) from None
    if found := list(_contradictions(params)):
        raise HeedError("\n".join(f"{path}:{_line(tree, key)}: {'.'.join(key)}: {what}" for key, what in found))
    return params


def _complaint(path: str | Path, tree: Node, item: Any) -> str:
    key = tuple(part for part in item["loc"] if part != "[key]")
    where, kind, found = f"{path}:{_line(tree, key)}: {'.'.join(map(str, key))}", item["type"], item["input"]
    if kind == "extra_forbidden":
        if now := _renamed(key):
            return f"{where}: is now {now}"
        fields = _fields(key[:-1])
        return f"{where}: unknown key{_near(str(key[-1]), fields)} Allowed: {', '.join(fields)}"
    if kind == "missing":
        return f"{where}: missing, and it has no default"
    message = str(item["ctx"]["error"]) if kind == "value_error" else item["msg"][0].lower() + item["msg"][1:]
    if kind == "string_pattern_mismatch" and "a-z0-9]+(" in item["msg"]:
        message = "names have lower-case letters, digits and single '-'"
    short = repr(found) if not isinstance(found, dict | list) or len(repr(found)) < 60 else type(found).__name__
    return f"{where}: {message}" + ("" if kind == "value_error" else f", found {short}")


def _renamed(key: tuple[Any, ...]) -> str:
    """Return where a key of an earlier heed stands now, or nothing."""
    if key[0] == "defaults" and len(key) == 2 and key[1] in NAMES:
        return f"defaults.classification.{key[1]}: the hyperparameters of each task stand under its name"
    if key[0] == "experiments" and key[2:] == ("label",):
        return f"experiments.{key[1]}.data.label, beside task: classification"
    return ""


def _meant(key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the keys that an unknown one probably stands for: where they are missing, one complaint is enough."""
    above = key[:-1]
    if _renamed(key):
        return [(*above, now) for now in ("classification", "task", "data")]
    return [(*above, _nearest(str(key[-1]), _fields(above)))]


def _fields(key: tuple[Any, ...]) -> list[str]:
    """Return the names allowed below `key`."""
    sections: dict[str, type[BaseModel]] = {"study": Study, "defaults": Defaults, "classification": ClassificationDefaults, "data": ClassificationData, "sources": Source, "corpora": Corpus, "experiments": Experiment,
                "searches": Search, "models": Model, "split": Split, "published": Published, "space": Dimension}  # fmt: skip
    section: Any = Params
    for depth, part in enumerate(key):
        if depth != 1 or key[0] not in SINGULAR:  # else a name that the user chose, such as `data`
            section = sections.get(str(part), section)
    return list(section.model_fields)


def _line(tree: Node, key: tuple[Any, ...]) -> int:
    """Return the line of `key` in the YAML tree, or of the nearest section above it."""
    node, line = tree, 1
    for part in key:
        if isinstance(node, MappingNode):
            pair = next(((k, v) for k, v in node.value if isinstance(k, ScalarNode) and k.value == str(part)), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of params.yaml, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "heed params.yaml",
        **Params.model_json_schema(),
    }


def reference() -> str:
    """Return docs/params.md: every key with its type, default and meaning."""
    out = StringIO()
    out.write("# params.yaml\n\nGenerated from `src/heed/params.py` by `heed schema`; a test fails when it drifts.\n")
    out.write("Add `# yaml-language-server: $schema=docs/params.schema.json` at the top for completion in editors.\n")
    titles: dict[Any, str] = {
        Study: "study", Source: "sources.NAME", Corpus: "corpora.NAME", Split: "corpora.NAME.split", Experiment: "experiments.NAME", ClassificationData: "experiments.NAME.data (task classification)",
        Published: "experiments.NAME.published", Search: "searches.NAME", Dimension: "searches.NAME.space.HYPERPARAMETER", ClassificationDefaults: "defaults.classification", Model: "models.NAME",
    }  # fmt: skip
    out.write("\n`seeds`: a list of whole numbers from 1; every model is trained once with each.\n")
    for section, title in titles.items():
        out.write(
            f"\n## {title}\n\n{(section.__doc__ or '').strip()}\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
        )
        for key, field in section.model_fields.items():
            if section is Model and key in NAMES:
                continue
            schema = section.model_json_schema()["properties"][key]
            default = (
                "required"
                if field.is_required()
                else ""
                if field.default is None
                else f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"
            )
            out.write(f"| `{key}` | {_type(schema)} | {default} | {field.description or ''} |\n")
        if section is Model:
            out.write("\nand any key of `defaults` of its task, for this model alone.\n")
    return out.getvalue()


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"] if part.get("type") != "null")
    if "$ref" in schema:
        return "section"
    bounds = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    limits = " ".join(f"{sign} {schema[key]}" for key, sign in bounds.items() if key in schema)
    return f"{schema.get('type', 'section')} {limits}".strip()


def is_name(text: str) -> bool:
    """Return whether `text` can name a source, corpus, experiment or model."""
    return bool(re.fullmatch(NAME, text))
