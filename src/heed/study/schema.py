"""All of params.yaml: its sections by name, and the hyperparameters of a model resolved
from them.
"""

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
from heed.study.suggestions import unknown
from heed.tasks.classification.recipe import Hyperparameters

SINGULAR = {
    "sources": "source",
    "corpora": "corpus",
    "experiments": "experiment",
    "searches": "search",
    "models": "model",
}

Key = tuple[str, ...]  # a place in params.yaml: ("models", NAME, "heads")


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
        """Return entry `name` of `kind` (sources, corpora, experiments, searches, models).

        Raises HeedError: not there.
        """
        entries: dict[str, Section] = getattr(self, kind)
        if name not in entries:
            raise HeedError(f"params.yaml: {kind}: {unknown(name, SINGULAR[kind], entries)}")
        return entries[name]

    def resolved(self, model: str, best: Configuration) -> Hyperparameters:
        """Return the hyperparameters of `model` with a search's winner `best` put in; checked
        again.
        """
        matched = self.models[model].match
        given = dataclasses.asdict(self.hyperparameters(matched)) | best
        if matched != model:
            given |= self.models[model].given()
        return Hyperparameters(**ClassificationDefaults.model_validate(given).model_dump())

    def hyperparameters(self, model: str) -> Hyperparameters:
        """Return the defaults as changed by `model`."""
        return self.given_to(self.models[model])

    def given_to(self, model: Model) -> Hyperparameters:
        """Return the defaults as changed by a model's section, which need not be one of
        `models`.
        """
        return Hyperparameters(**self.defaults.classification.model_dump() | model.given())
