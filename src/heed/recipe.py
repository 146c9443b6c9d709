"""The recipe of a model: everything that determines its training, resolved into one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.files import HeedError, read_json, read_yaml, write_yaml

if TYPE_CHECKING:  # a training reads recipes where pydantic is not installed
    from heed.params import Params


def make_recipe(params: "Params", name: str, search: Path, tokens: Path) -> dict[str, Any]:
    """Return the recipe of model `name`.

    Args:
        params: the study.
        name: a key of `models`.
        search: the folder of the search that tunes it, with best.yaml.
        tokens: the folder of its corpus, with meta.json.

    Raises:
        HeedError: a file is missing; the corpus has no such label.

    """
    meta = read_json(tokens / "meta.json", f"heed tokenize {params.models[name].corpus}")
    return resolve(params, name, read_best(search), meta)


def read_best(search: Path) -> dict[str, Any]:
    """Return the winner in the folder of a search. Raises HeedError when it is missing."""
    return read_yaml(search / "best.yaml", f"heed search {search.name}") or {}


def resolve(params: "Params", name: str, best: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    """Return the recipe of model `name` with the hyperparameters `best` put in, for a corpus with this meta.json.

    A trial of a search and the training with its winner are resolved here alike.

    Raises:
        HeedError: the corpus has no such label.

    """
    from heed.models.classifier import count_parameters  # here: those who only read recipes need no torch

    model = params.models[name]
    label = params.experiments[model.experiment].label
    hyperparameters = params.resolved(name, best)
    matched = params.resolved(model.match, best) if model.match != name else None
    if label not in meta["labels"]:
        known = ", ".join(sorted(meta["labels"]))
        raise HeedError(
            f"params.yaml: experiments.{model.experiment}.label: corpus {meta['corpus']} has no label {label}. Known: {known}"
        )
    classes = meta["labels"][label]
    vocabulary = min(hyperparameters["vocabulary_size"], meta["types"] + 2)
    if matched is not None:
        hyperparameters = widen(
            hyperparameters, count_parameters(vocabulary, len(classes), matched), vocabulary, len(classes)
        )
    return {
        "model": name,
        "experiment": model.experiment,
        "corpus": model.corpus,
        "label": label,
        "variant": model.variant,
        "tokenizer": meta["tokenizer"],
        "classes": classes,
        "folds": meta["folds"],
        "tokens": meta["digest"],
        "data": {key: meta[key] for key in ("kind", "documents", "tokens", "parts", "reduced")},
        "parameters": count_parameters(vocabulary, len(classes), hyperparameters),
        "hyperparameters": hyperparameters,
    }


def widen(hyperparameters: dict[str, Any], parameters: int, vocabulary: int, classes: int) -> dict[str, Any]:
    """Return `hyperparameters` without attention and with the hidden size whose count comes nearest to `parameters`.

    A pooling by attention becomes the mean: the same with uniform weights.
    """
    from heed.models.classifier import count_parameters

    plain = hyperparameters | {"attention": "none"}
    if plain["pooling"] in ("attention", "max-attention"):
        plain["pooling"] = "mean"

    def count(hidden_size: int) -> int:
        return count_parameters(vocabulary, classes, plain | {"hidden_size": hidden_size})

    low, high = 1, 2
    while count(high) < parameters:
        low, high = high, high * 2
    while low < high - 1:  # the count grows with the hidden size
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < parameters else (low, middle)
    return plain | {"hidden_size": min((low, high), key=lambda size: abs(count(size) - parameters))}


def write_recipe(path: str | Path, recipe: dict[str, Any]) -> None:
    """Write the recipe as YAML, keys in order."""
    write_yaml(path, recipe)


def read_recipe(path: str | Path) -> dict[str, Any]:
    """Return the recipe in `path`. Raises HeedError when it is missing or broken."""
    path = Path(path)
    recipe = read_yaml(path, f"heed recipe {path.stem}")
    try:
        recipe["hyperparameters"], recipe["tokens"], recipe["classes"]
    except (TypeError, KeyError) as error:
        raise HeedError(f"{path}: not a recipe ({error}). Run again: heed recipe {path.stem}") from None
    return dict(recipe)
