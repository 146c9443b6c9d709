"""The training time of each model of the active study, relative to its experiment's baseline.

`python -m benchmarks.study` in a clone that has the study's tokens and recipes. Each model trains
by its recipe for an epoch on some of the training documents, with one thread. Prints its time over
that of the baseline (or of the first model), and documents a second. The models of an experiment
take turns, so that other load on the machine affects all of them; medians over the rounds.
"""

import argparse
import statistics
from typing import Any

import numpy as np

from benchmarks.workload import Row, print_rows, training_seconds
from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import build_vocabulary
from heed.paths import TOKENS
from heed.recipe import Recipe, read_model_recipe
from heed.study import load
from heed.tasks.classification.learning import ClassificationLearner, make_model
from heed.tokens.arrays import Tokens, load_tokens
from heed.training.machine import keep_memory, make_deterministic, seed_everything

DOCUMENTS, VALIDATION, ROUNDS = 768, 64, 3


def rate(recipe: Recipe[Any, Any], tokens: Tokens, documents: int) -> float:
    """Return documents a second of a training."""
    recipe = recipe.changed({"device": "cpu"})
    h, classes = recipe.hyperparameters, recipe.data.classes
    make_deterministic()
    keep_memory()
    seed_everything(1)
    train_rows = tokens.rows("train", 0)
    rows = np.random.default_rng(0).permutation(train_rows)[: documents + VALIDATION]
    held_out = min(VALIDATION, len(rows) // 4)
    vocabulary = build_vocabulary(tokens, train_rows, h.vocabulary_size, h.lowercase)
    model = make_model(vocabulary, recipe)
    labels = np.arange(len(tokens.offsets) - 1) % len(classes)
    splits = {"train": rows[held_out:], "validation": rows[:held_out]}
    learner = ClassificationLearner(
        model, EncodedCorpus(tokens, vocabulary, h), labels, splits, h, 1, "cpu"
    )
    return learner.items / training_seconds(learner, h, "cpu")


def measure_variants(
    experiment: str, recipes: dict[str, Recipe[Any, Any]], tokens: Tokens, documents: int,
    rounds: int,
) -> list[Row]:  # fmt: skip
    """Return a row for each variant of an experiment."""
    rates: dict[str, list[float]] = {variant: [] for variant in recipes}
    for _ in range(rounds):
        for variant, recipe in recipes.items():
            rates[variant].append(rate(recipe, tokens, documents))
    medians = {variant: statistics.median(values) for variant, values in rates.items()}
    reference = medians.get("last-state", next(iter(medians.values())))
    return [
        Row(
            f"{experiment}: {variant}", f"{reference / median:.2f}x", "",
            f"{median:.0f} documents/s",
        )
        for variant, median in medians.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--documents", type=int, default=DOCUMENTS, help="documents of each corpus to train on"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    params = load()
    rows = []
    for experiment, section in params.experiments.items():
        models = [name for name, model in params.models.items() if model.experiment == experiment]
        recipes = {recipe.variant: recipe for recipe in map(read_model_recipe, models)}
        tokens = load_tokens(TOKENS / section.corpus)
        rows += measure_variants(experiment, recipes, tokens, options.documents, options.rounds)
    print_rows(rows)


if __name__ == "__main__":
    main()
