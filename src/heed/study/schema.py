"""All of params.yaml: its sections, and the hyperparameters of a model resolved from them."""

import dataclasses
from typing import Any

from pydantic import Field

from heed.files import HeedError
from heed.hyperparameters import Configuration
from heed.study.corpora import Corpus, Source
from heed.study.defaults import ClassificationDefaults, Defaults
from heed.study.experiments import Experiment, Study
from heed.study.models import Model
from heed.study.searches import Search
from heed.study.section import Name, Section
from heed.study.suggestions import unknown_name
from heed.tasks.classification.recipe import Hyperparameters

SINGULAR = {
    "sources": "source",
    "corpora": "corpus",
    "experiments": "experiment",
    "searches": "search",
    "models": "model",
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
    experiments: dict[Name, Experiment] = Field(min_length=1)
    searches: dict[Name, Search]
    defaults: Defaults
    models: dict[Name, Model] = Field(min_length=1)

    def section(self, kind: str, name: str) -> Any:
        """Return entry `name` of `kind` (sources, corpora, experiments, searches, models).

        Raises HeedError when there is none.
        """
        entries: dict[str, Section] = getattr(self, kind)
        if name not in entries:
            raise HeedError(f"params.yaml: {kind}: {unknown_name(name, SINGULAR[kind], entries)}")
        return entries[name]

    def resolved(self, model: str, best: Configuration) -> Hyperparameters:
        """Return the hyperparameters of `model` with a search's winner `best` in place.

        Raises pydantic's ValidationError when a value is outside its limits.
        """
        matched = self.models[model].match
        values = dataclasses.asdict(self.hyperparameters(matched)) | best
        if matched != model:
            values |= self.models[model].overrides()
        return Hyperparameters(**ClassificationDefaults.model_validate(values).model_dump())

    def hyperparameters(self, model: str) -> Hyperparameters:
        """Return the hyperparameters of a model of this study, before any search."""
        return self.apply_defaults(self.models[model])

    def apply_defaults(self, model: Model) -> Hyperparameters:
        """Return the hyperparameters of a section of `models`, with the defaults of this study."""
        return Hyperparameters(**self.defaults.classification.model_dump() | model.overrides())
