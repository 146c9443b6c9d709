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
from heed.study.presets import PRESETS
from heed.study.searches import Search
from heed.study.section import Name, Section
from heed.study.suggestions import unknown_name
from heed.study.tasks import RECIPES

SINGULAR = {
    "sources": "source",
    "corpora": "corpus",
    "experiments": "experiment",
    "searches": "search",
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
    sources: dict[Name, Source] = Field(min_length=1)
    corpora: dict[Name, Corpus] = Field(min_length=1)
    experiments: dict[Name, AnyExperiment] = Field(min_length=1)
    searches: dict[Name, Search]
    defaults: Defaults
    models: dict[Name, Model] = Field(min_length=1)
    explain: Explain = Explain(documents=1.0, models={})
    adversaries: dict[Name, Adversary] = Field({})

    def section(self, kind: str, name: str) -> Any:
        """Return entry `name` of `kind` (sources, corpora, experiments, searches, models).

        Raises HeedError when there is none.
        """
        entries: dict[str, Section] = getattr(self, kind)
        if name not in entries:
            raise HeedError(f"params.yaml: {kind}: {unknown_name(name, SINGULAR[kind], entries)}")
        return entries[name]

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
        section, matched = self.models[model], self.models[self.models[model].match]
        task = self.task(section)
        values = self._values(matched) | best
        if matched is not section:
            values |= section.overrides()
        checked = SECTIONS[task].model_validate(values).model_dump()
        return _read(RECIPES[task].Hyperparameters, checked)

    def prediction(self, model: str) -> Any:
        """Return the settings by which a model's test items are predicted and scored."""
        section = self.models[model]
        experiment = self.experiments[section.experiment]
        values = self._values(section) | experiment.data.model_dump()
        return _read(RECIPES[experiment.task].Prediction, values)

    def hyperparameters(self, model: str) -> Any:
        """Return the hyperparameters of a model of this study, before any search."""
        return self.apply_defaults(self.models[model])

    def apply_defaults(self, model: Model) -> Any:
        """Return the hyperparameters of a section of `models`, with the defaults of this study."""
        return _read(RECIPES[self.task(model)].Hyperparameters, self._values(model))

    def _values(self, model: Model) -> Configuration:
        """Return the defaults of a model's task, replaced by its preset, and this by its own keys.

        The control wide has the preset of the model that it matches.
        """
        values: Configuration = getattr(self.defaults, self.task(model)).model_dump()
        preset = self.models.get(model.match, model).preset
        return values | self.presets(self.task(model)).get(preset, {}) | model.overrides()


def _read(schema: Any, values: Configuration) -> Any:
    """Return the dataclass `schema` from values that hold its fields and others."""
    return schema(**{field.name: values[field.name] for field in dataclasses.fields(schema)})
