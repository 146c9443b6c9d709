"""All of params.yaml: its sections, and the hyperparameters of a model resolved from them."""

import dataclasses
from typing import Any

from pydantic import Field

from heed.files import HeedError
from heed.hyperparameters import Configuration
from heed.study.adversaries import Adversary
from heed.study.corpora import Corpus, Source
from heed.study.defaults import SECTIONS, Defaults
from heed.study.experiments import AnyExperiment, Study
from heed.study.explain import Explain
from heed.study.models import Model
from heed.study.searches import Search
from heed.study.section import Name, Section
from heed.study.suggestions import unknown_name
from heed.study.tasks import PRESETS, RECIPES

SINGULAR = {
    "sources": "source",
    "corpora": "corpus",
    "experiments": "experiment",
    "searches": "search",
    "later_searches": "search",
    "models": "model",
    "adversaries": "adversary",
}

Key = tuple[str, ...]  # a key with those above it: ("models", NAME, "heads")


class Params(Section):
    """The configuration of one study."""

    study: Study
    seeds: list[int] = Field(
        description="every model is trained once with each", min_length=1, max_length=1000
    )
    sources: dict[Name, Source]
    corpora: dict[Name, Corpus]
    experiments: dict[Name, AnyExperiment]
    searches: dict[Name, Search]
    later_searches: dict[Name, Search] = Field(
        {}, description="searches that start from the winner of another, named in `after`"
    )
    defaults: Defaults
    models: dict[Name, Model]
    explain: Explain = Explain(documents=1.0, models={})
    adversaries: dict[Name, Adversary] = Field({})

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added yet, as in a study that `heed study new` has made."""
        return not (self.sources or self.corpora or self.experiments or self.models)

    def section(self, kind: str, name: str) -> Any:
        """Return entry `name` of `kind` (sources, corpora, experiments, searches, models).

        Raises HeedError when there is none.
        """
        entries: dict[str, Section] = getattr(self, kind)
        if name not in entries:
            raise HeedError(f"params.yaml: {kind}: {unknown_name(name, SINGULAR[kind], entries)}")
        return entries[name]

    def search_key(self, name: str) -> Key:
        """Return the key of a search in params.yaml."""
        return "later_searches" if name in self.later_searches else "searches", name

    def search(self, name: str) -> Search:
        """Return a search with the figure that decides it: its own, or the first of its task."""
        search = self.searches[name]
        first = RECIPES[self.experiments[search.experiment].task].FIGURES[0]
        return search.model_copy(update={"metric": search.metric or first})

    def presets(self, task: str) -> dict[str, Configuration]:
        """Return the presets that models of `task` may name: heed's own, and all of this study."""
        own = {name: preset.values for name, preset in PRESETS[task].items()}
        return own | {name: values.overrides() for name, values in self.defaults.presets.items()}

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
        values = self._matched_values(model, {}) | experiment.data.model_dump()
        return _read(RECIPES[experiment.task].Prediction, values)

    def hyperparameters(self, model: str) -> Any:
        """Return the hyperparameters of a model of this study, before any search."""
        schema = RECIPES[self.task(self.models[model])].Hyperparameters
        return _read(schema, self._matched_values(model, {}))

    def apply_defaults(self, model: Model) -> Any:
        """Return the hyperparameters of a section of `models` by itself, whatever it matches."""
        return _read(RECIPES[self.task(model)].Hyperparameters, self._values(model))

    def _matched_values(self, model: str, best: Configuration) -> Configuration:
        """Return the values of a model with a winner `best`; wide has those of its match first."""
        section = self.models[model]
        matched = self.models.get(section.match, section)  # a rule reports an unknown one
        values = self._values(matched) | best
        return values if matched is section else values | section.overrides()

    def _values(self, model: Model) -> Configuration:
        """Return the defaults of a model's task, replaced by its preset, and this by its keys."""
        values: Configuration = getattr(self.defaults, self.task(model)).model_dump()
        preset = self.presets(self.task(model)).get(model.preset, {})
        return values | preset | model.overrides()


def _read(schema: Any, values: Configuration) -> Any:
    """Return the dataclass `schema` from values that hold its fields and others."""
    return schema(**{field.name: values[field.name] for field in dataclasses.fields(schema)})
