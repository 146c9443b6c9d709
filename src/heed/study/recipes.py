"""The recipe of a model of a study: its hyperparameters, resolved, and the facts of its corpus."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

from heed.files import HeedError, digest_as_key, write_json, write_text, writing_folder
from heed.hyperparameters import Configuration
from heed.paths import RECIPES, SEARCHES
from heed.recipe import CorpusStatistics, Recipe, read_best, write_prediction, write_recipe
from heed.study.schema import Params
from heed.task import task_module
from heed.tokens.meta import Meta, read_meta


def write_recipes(params: Params, experiment: str, tokens: Path) -> None:
    """Write results/recipe/EXPERIMENT: of each model its recipe, and how it predicts.

    DVC compares digests: train depends on its recipe's digest, score on the digest of all files.
    Folders of searches that the study no longer has are deleted.
    """
    searches, folder = params.searches_of(experiment), SEARCHES / experiment
    for path in folder.glob("*/"):
        if path.name not in searches:
            shutil.rmtree(path)
    write_json(folder / "searches.json", searches)  # DVC keeps no empty folder
    with writing_folder(RECIPES / experiment) as out:
        for name, model in params.models.items():
            if model.experiment == experiment:
                recipe = make_recipe(params, name, folder, tokens)
                write_recipe(path := out / f"{name}.yaml", recipe)
                write_text(out / f"{name}.digest", digest_as_key(path.read_text("utf-8")))
                write_prediction(out / f"{name}.prediction.yaml", params.prediction(name))
        texts = (path.read_text("utf-8") for path in sorted(out.glob("*.yaml")))
        write_text(out / "all_models.digest", digest_as_key(*texts))


def make_recipe(params: Params, name: str, searches: Path, tokens: Path) -> Recipe[Any, Any]:
    """Return the recipe of model `name`; `searches` is the folder of its experiment's searches."""
    winner, best = params.winner(name), {}
    if winner:
        best = read_best(searches / winner, params.models[name].experiment)
    return resolve(params, name, best, read_meta(tokens))


def resolve(params: Params, name: str, best: Configuration, meta: Meta) -> Recipe[Any, Any]:
    """Return the recipe of model `name`, or a trial, with the hyperparameters `best` of a search.

    Raises HeedError: the corpus lacks the label of the experiment, or what hyperparameters need.
    """
    model = params.models[name]
    experiment = params.experiments[model.experiment]
    schema = task_module(experiment.task, "recipe")
    data = schema.resolve_data(
        dataclasses.asdict(experiment.data), meta, f"experiments.{model.experiment}.data"
    )
    hyperparameters = params.hyperparameters(name, best)
    if model.match_parameters_of != name:
        network = task_module(experiment.task, "learning")
        matched = params.hyperparameters(model.match_parameters_of, best)
        sizes = network.sizes(data, meta)
        hyperparameters = network.parameter_matched(hyperparameters, matched, sizes)
    if message := schema.corpus_contradiction(hyperparameters, meta):
        raise HeedError(f"params.yaml: models.{name}: {message}")
    fields = dataclasses.fields(CorpusStatistics)
    return Recipe(
        model=name, experiment=model.experiment, task=experiment.task, variant=model.variant,
        corpus=model.corpus, tokenizer=meta.tokenizer, folds=meta.folds, tokens=meta.digest,
        statistics=CorpusStatistics(**{field.name: getattr(meta, field.name) for field in fields}),
        data=data, hyperparameters=hyperparameters, repeats=meta.repeats,
    )  # fmt: skip
