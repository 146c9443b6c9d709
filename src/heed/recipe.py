"""The recipe of a model: everything that determines its training, resolved into one file."""

from pathlib import Path
from typing import Any

import yaml

from heed.files import HeedError, write_text
from heed.models.classifier import count_parameters


def resolve(
    model: dict[str, Any],
    hyperparameters: dict[str, Any],
    label: str,
    meta: dict[str, Any],
    matched: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the recipe.

    Args:
        model: `name`, `experiment`, `corpus`, `variant`.
        hyperparameters: the model's own, every key.
        label: the label to predict.
        meta: the corpus's meta.json.
        matched: for variant wide, the hyperparameters of the model it is widened to; else None.

    Raises:
        HeedError: the corpus has no such label.

    """
    if label not in meta["labels"]:
        known = ", ".join(sorted(meta["labels"]))
        raise HeedError(
            f"experiments.{model['experiment']}.label: corpus {meta['corpus']} has no label {label}. Known: {known}"
        )
    classes = meta["labels"][label]
    vocabulary = min(hyperparameters["vocabulary_size"], meta["types"] + 2)
    if matched is not None:
        hyperparameters = widen(
            hyperparameters, count_parameters(vocabulary, len(classes), matched), vocabulary, len(classes)
        )
    return {
        "model": model["name"],
        "experiment": model["experiment"],
        "corpus": model["corpus"],
        "label": label,
        "variant": model["variant"],
        "tokenizer": meta["tokenizer"],
        "classes": classes,
        "folds": meta["folds"],
        "tokens": meta["digest"],
        "data": {key: meta[key] for key in ("kind", "documents", "tokens", "parts", "reduced")},
        "parameters": count_parameters(vocabulary, len(classes), hyperparameters),
        "hyperparameters": hyperparameters,
    }


def widen(hyperparameters: dict[str, Any], parameters: int, vocabulary: int, classes: int) -> dict[str, Any]:
    """Return `hyperparameters` without attention and with the hidden size whose count comes nearest to `parameters`."""

    def count(hidden_size: int) -> int:
        return count_parameters(
            vocabulary, classes, hyperparameters | {"attention": "none", "hidden_size": hidden_size}
        )

    low, high = 1, 2
    while count(high) < parameters:
        low, high = high, high * 2
    while low < high - 1:  # the count grows with the hidden size
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < parameters else (low, middle)
    nearest = min((low, high), key=lambda size: abs(count(size) - parameters))
    return hyperparameters | {"attention": "none", "hidden_size": nearest}


def write_recipe(path: str | Path, recipe: dict[str, Any]) -> None:
    """Write the recipe as YAML, keys in order."""
    write_text(path, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))


def read_recipe(path: str | Path) -> dict[str, Any]:
    """Return the recipe in `path`. Raises HeedError when it is missing or broken."""
    path = Path(path)
    try:
        recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
        recipe["hyperparameters"], recipe["tokens"], recipe["classes"]
    except FileNotFoundError:
        raise HeedError(f"{path}: not there. Run: heed recipe {path.stem}") from None
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise HeedError(f"{path}: not a recipe ({reason}). Run again: heed recipe {path.stem}") from None
    return recipe
