"""The recipe of a model: everything that determines its training, resolved into one file."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from heed.files import HeedError, read_yaml, reading, write_yaml
from heed.hyperparameters import Configuration
from heed.paths import MAX_NAME, NAME, RECIPES, command_of, prediction_file, recipe_file
from heed.records import OMITTED, Limits, as_json, read_record
from heed.task import task_module
from heed.tokens.meta import NearDuplicates, Rationale, Tokenizer, Vectors

Name = Annotated[
    str,
    Limits(
        pattern=NAME,
        max_length=MAX_NAME,
        expected=f"a name: at most {MAX_NAME} lower-case letters, digits and single '-'",
    ),
]
Data = TypeVar("Data")
Hyperparameters = TypeVar("Hyperparameters", covariant=True)


@dataclasses.dataclass(frozen=True)
class CorpusStatistics:
    """The facts that a report prints of a corpus; `reduced`: it is a split of its source."""

    kind: str
    documents: int
    tokens: int
    splits: dict[str, int]  # documents by split
    reduced: bool
    generated: bool
    near_duplicates: NearDuplicates
    rationale: Rationale | None = None
    vectors: Vectors | None = None


@dataclasses.dataclass(frozen=True)
class Recipe(Generic[Data, Hyperparameters]):
    """Everything that determines a training, except the seed.

    `data` and `hyperparameters` are defined by the task. `tokens` is the digest of the tokenised
    corpus; `folds`, of all repeats together, is 0 for a fixed split.
    """

    model: Name
    experiment: Name
    task: str
    variant: str
    corpus: Name
    tokenizer: Tokenizer
    folds: Annotated[int, {"ge": 0}]
    tokens: str
    statistics: CorpusStatistics
    data: Data
    hyperparameters: Hyperparameters
    repeats: Annotated[int, {"ge": 1}, OMITTED] = 1

    def fold(self, seed: int) -> int:
        """Return the fold that a run with `seed` tests on; 0 without folds."""
        return (seed - 1) % self.folds if self.folds else 0

    def of_first_repeat(self) -> "Recipe[Data, Hyperparameters]":
        """Return this recipe with the folds of the first repeat alone.

        Runs and searches have it: how many repeats follow changes neither.
        """
        return dataclasses.replace(self, folds=self.folds // self.repeats, repeats=1)

    def changed(self, hyperparameters: Configuration) -> "Recipe[Data, Hyperparameters]":
        """Return this recipe with other values of some hyperparameters."""
        values: Any = self.hyperparameters
        values = dataclasses.replace(values, **hyperparameters)
        return dataclasses.replace(self, hyperparameters=values)

    def as_dict(self) -> dict[str, object]:
        """Return the content of the recipe's file."""
        return dict(as_json(self))


def read_best(folder: Path, experiment: str) -> Configuration:
    """Return the winner in a folder of a search. Raises HeedError if best.yaml is missing."""
    return read_yaml(folder / "best.yaml", f"heed recipe {experiment}") or {}


def write_recipe(path: str | Path, recipe: Recipe[Any, Any]) -> None:
    """Write the recipe as YAML, keys in order."""
    write_yaml(path, recipe.as_dict())


def read_recipe(path: str | Path, made_by: str) -> Recipe[Any, Any]:
    """Return the recipe in `path`, which `made_by` writes. Raises HeedError."""
    return parse_recipe(read_yaml(path, made_by), Path(path), made_by)


def read_model_recipe(model: str) -> Recipe[Any, Any]:
    """Return the recipe of a model. Raises HeedError if it is missing or broken, or there are two.

    A study that no longer has an experiment leaves its folder.
    """
    found = [path for path in sorted(RECIPES.glob("*/*.yaml")) if path.name == f"{model}.yaml"]
    if found[1:]:
        raise HeedError(
            f"{found[0]} and {found[1]}: two recipes of {model}. Delete the folder of the "
            "experiment that the study no longer has"
        )
    return read_recipe(recipe_file(model), command_of("recipe", model))


def parse_recipe(values: Any, path: Path, made_by: str) -> Recipe[Any, Any]:
    """Return the recipe from the content of its file, which `made_by` writes. Raises HeedError."""
    try:
        recipe = read_record(Recipe, values, strict=True)
        schema = task_module(recipe.task, "recipe")
        data = read_record(schema.Data, recipe.data, "data", strict=True)
        hyperparameters = read_record(
            schema.Hyperparameters, recipe.hyperparameters, "hyperparameters", strict=True
        )
    except (ValueError, HeedError) as error:
        raise HeedError(
            f"{path}: not a recipe of this heed ({error}). Run again: {made_by}"
        ) from None
    return dataclasses.replace(recipe, data=data, hyperparameters=hyperparameters)


def write_prediction(path: str | Path, prediction: Any) -> None:
    """Write the settings of a prediction, its task's `Prediction`, as YAML."""
    write_yaml(path, dataclasses.asdict(prediction))


def read_prediction(path: Path, task: str, made_by: str) -> Any:
    """Return the task's `Prediction` in a file, which `made_by` writes. Raises HeedError."""
    with reading(path, made_by):
        schema = task_module(task, "recipe").Prediction
        return read_record(schema, read_yaml(path, made_by) or {}, strict=True)


def read_model_prediction(recipe: Recipe[Any, Any]) -> Any:
    """Return the settings of a model's prediction. Raises HeedError."""
    model = recipe.model
    return read_prediction(prediction_file(model), recipe.task, command_of("recipe", model))
