"""The configurations that a search may try, and what its trials share."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heed.digests import digest_value, loaded_modules, versions
from heed.files import HeedError
from heed.hyperparameters import Configuration, Value
from heed.paths import WORK
from heed.recipe import Recipe
from heed.study import Dimension, Params, Search, rules
from heed.study.recipes import resolve
from heed.study.rules import search_space
from heed.task import import_stage_modules, task_module
from heed.tokens.meta import read_meta

STARTS = "starts.jsonl"  # of a trial, in its folder
DRAWS = 1000  # of one configuration, before the space is said to have too few
DIGITS = 4  # significant digits of a real number: best.yaml has exactly the value of the trial
WHERE_TRIALS_RUN = ("concurrent", "cpu")  # keys that change no trial
Space = Mapping[str, Dimension]


@dataclasses.dataclass(frozen=True)
class TrialSetup:
    """The part of a search that its trials share, sent to every worker. Paths are absolute."""

    recipe: Recipe[Any, Any]
    tokens: Path
    work: Path
    search: Search

    def trial_folder(self, number: int) -> Path:
        """Return the folder of trial `number`, with its checkpoint, starts and reports."""
        return self.work / "trials" / f"{number:04}"


def make_setup(params: Params, name: str, tokens: Path, model: str = "") -> TrialSetup:
    """Return what the trials of a search share, of one of its models.

    Its work folder depends on space, recipe, seed, code and version of torch; not on where and how
    long trials run.
    """
    search = params.search(name, model)
    epochs = search.epochs or params.hyperparameters(search.model).epochs
    meta = read_meta(tokens)
    fixed = {"epochs": epochs, "monitor": search.metric}
    recipe = resolve(params, search.model, fixed, meta).of_first_repeat()
    contradiction = task_module(recipe.task, "recipe").corpus_contradiction
    for value in getattr(search.space.get("vectors"), "values", ()):
        if message := contradiction(recipe.changed({"vectors": value}).hyperparameters, meta):
            raise HeedError(f"params.yaml: searches.{name}.space.vectors: {message}")
    section = dataclasses.asdict(search)
    section = {key: value for key, value in section.items() if key not in WHERE_TRIALS_RUN}
    import_stage_modules(recipe.task, "search")
    # named, not imported: it imports ray, which must come after the environment of ray_running
    code = [loaded_modules("heed.search.trials"), versions(["torch"])]
    work = WORK / f"search-{digest_value([recipe.as_dict(), section, code])[:16]}"
    return TrialSetup(recipe, tokens.resolve(), work.resolve(), search)


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The configurations that a search tries for a model, in their order."""

    drawn: list[Configuration]
    own: Configuration | None  # the model's own, the first; None where one is searched for all


def find_candidates(params: Params, name: str, setup: TrialSetup) -> Candidates:
    """Return what a search may try for a model. Raises HeedError: its space has too little."""
    model, declared = setup.recipe.model, params.searches[name]
    space, own = search_space(params, name, model), None
    if not declared.model:
        own = {key: getattr(setup.recipe.hyperparameters, key) for key in space}

    def is_valid(configuration: Configuration) -> bool:
        return configuration != own and rules.is_valid_configuration(params, model, configuration)

    try:
        drawn = draw(space, declared.trials - (own is not None), declared.seed, is_valid)
    except HeedError as error:
        of_model = "" if declared.model else f"{model}: "
        raise HeedError(f"params.yaml: searches.{name}.space: {of_model}{error}") from None
    return Candidates(drawn if own is None else [own, *drawn], own)


def draw(
    space: Space, trials: int, seed: int, is_valid: Callable[[Configuration], bool]
) -> list[Configuration]:
    """Return `trials` different, valid configurations, drawn by the seed of the search.

    More trials with the same seed begin with the same ones. HeedError where the space has too few.
    """
    configurations: list[Configuration] = []
    for number in range(trials):
        generator = np.random.default_rng((seed, number))
        for candidate in itertools.islice(_draw_candidates(space, generator), DRAWS):
            if candidate not in configurations and is_valid(candidate):
                configurations.append(candidate)
                break
        else:
            raise HeedError(
                f"the space has too few configurations: {number} found of {trials} trials after "
                f"{DRAWS} draws. Ask for fewer `trials`, or widen `space` (heads must divide the "
                "size of the states)"
            )
    return configurations


def _draw_candidates(space: Space, generator: np.random.Generator) -> Iterator[Configuration]:
    # `heads` is kept for 50, so that numbers that divide few sizes are drawn as often as others
    for attempt in itertools.count():
        if attempt % 50 == 0:
            kept = {key: _draw_value(space[key], generator) for key in space if key == "heads"}
        yield {
            key: kept[key] if key in kept else _draw_value(space[key], generator) for key in space
        }


def _draw_value(dimension: Dimension, generator: np.random.Generator) -> Value:
    values = dimension.values
    if dimension.kind == "choice":
        return values[int(generator.integers(len(values)))]
    if dimension.kind == "integer":
        return int(generator.integers(values[0], values[1], endpoint=True))
    low, high = values
    if dimension.kind == "uniform":
        value = float(generator.uniform(low, high))
    else:
        value = math.exp(generator.uniform(math.log(low), math.log(high)))
    return min(max(float(f"{value:.{DIGITS}g}"), low), high)
