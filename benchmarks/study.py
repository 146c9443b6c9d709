"""What attention costs in time, in the active study: each model by its own recipe on its own
tokens.

`python -m benchmarks.study` in a clone that has the study's tokens and recipes. Prints each model's
time over that of its experiment's baseline (or first model) and documents a second, of an epoch on
a part of the training documents, one thread. All models of an experiment take turns, so what else
the machine does falls on all; medians over the rounds. Models with a linear branch are left out:
what they cost more is that branch.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workload import Row, show
from heed.inputs.batches import EncodedCorpus
from heed.inputs.vocabulary import build_vocabulary
from heed.paths import TOKENS
from heed.recipe import Recipe, read_model_recipe
from heed.study import load
from heed.tasks.classification.learning import ClassificationLearner, make_model
from heed.tokens.arrays import Tokens, load_tokens
from heed.training.allocator import keep_memory
from heed.training.determinism import make_deterministic, seed_everything
from heed.training.loop import train

DOCUMENTS, VALIDATION, ROUNDS = 768, 64, 3


def rate(recipe: Recipe[Any, Any], tokens: Tokens, documents: int) -> float:
    """Return documents a second of the second epoch: in the first, memory is touched for the first
    time.
    """
    recipe = recipe.changed({"epochs": 2, "device": "cpu", "threads": 1})
    h, classes = recipe.hyperparameters, recipe.data.classes
    make_deterministic(1)
    keep_memory()
    seed_everything(1)
    own = tokens.rows("train", 0)
    rows = np.random.default_rng(0).permutation(own)[: documents + VALIDATION]
    aside = min(VALIDATION, len(rows) // 4)
    vocabulary = build_vocabulary(tokens, own, h.vocabulary_size, h.lowercase)
    model = make_model(vocabulary, recipe)
    labels = np.arange(len(tokens.offsets) - 1) % len(classes)
    parts = {"train": rows[aside:], "validation": rows[:aside]}
    learner = ClassificationLearner(
        model, EncodedCorpus(tokens, vocabulary, h), labels, parts, h, 1, "cpu"
    )
    seen: list[float] = []
    with tempfile.TemporaryDirectory() as work:
        train(learner, h, 1, "cpu", Path(work), lambda progress: seen.append(progress.seconds))
    return learner.items / seen[-2]


def measured(
    experiment: str,
    recipes: dict[str, Recipe[Any, Any]],
    tokens: Tokens,
    documents: int,
    rounds: int,
) -> list[Row]:
    """Return a row for each variant of an experiment."""
    rates: dict[str, list[float]] = {variant: [] for variant in recipes}
    for _ in range(rounds):
        for variant, recipe in recipes.items():
            rates[variant].append(rate(recipe, tokens, documents))
    found = {variant: statistics.median(of) for variant, of in rates.items()}
    against = "baseline" if "baseline" in found else next(iter(found))
    return [
        Row(
            f"{experiment}: {variant}", f"{found[against] / own:.2f}x", "", f"{own:.0f} documents/s"
        )
        for variant, own in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--documents", type=int, default=DOCUMENTS, help="of each corpus, to train on"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    params = load()
    rows = []
    for experiment, section in params.experiments.items():
        models = [name for name, model in params.models.items() if model.experiment == experiment]
        recipes = {recipe.variant: recipe for recipe in map(read_model_recipe, models)}
        plain = {
            variant: it
            for variant, it in recipes.items()
            if it.hyperparameters.linear_branch == "none"
        }
        rows += measured(
            experiment, plain, load_tokens(TOKENS / section.corpus), given.documents, given.rounds
        )
    show(rows)


if __name__ == "__main__":
    main()
