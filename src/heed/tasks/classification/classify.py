"""Classify a text of a person's with the trained runs of a model."""

import os
import sys
from pathlib import Path

import numpy as np

from heed.files import HeedError
from heed.paths import RUNS
from heed.prediction import load_predictor
from heed.recipe import recipe_of
from heed.tasks.classification.prediction import ClassificationPredictor
from heed.tasks.classification.shown import Reading
from heed.tokens.arrays import Tokens
from heed.tokens.tokenizer import tokenize_text
from heed.training.run import read_run


def read_text(text: str) -> str:
    """Return the text itself, the content of the file it names, or standard input for `-`."""
    if text == "-":
        return sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        is_file = os.path.sep in text or "." in text
        if is_file and Path(text).is_file():
            return Path(text).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # too long for a name, or with a NUL: it is text
        return text
    if len(text.split()) == 1 and Path(text).suffix:  # one word that ends as a file's name does
        print(f"heed: there is no file {text}: taken as the text itself", file=sys.stderr)
    return text


def classify(model: str, text: str) -> str:
    """Return, for people, the runs' mean class probabilities and mean weight of each word.

    Args:
        model: a model with trained runs.
        text: the text, a file with it, or - for standard input.

    Raises:
        HeedError: the model has no trained run, or is no classifier.

    """
    seeds = sorted(int(path.name) for path in (RUNS / model).glob("*") if path.name.isdigit())
    if not seeds:
        trained = ", ".join(sorted(path.name for path in RUNS.glob("*"))) or "none yet"
        raise HeedError(
            f"{RUNS / model}: no trained run. Trained models: {trained}. Another of params.yaml: "
            "heed train MODEL --seed 1"
        )
    runs = [_load(model, seed) for seed in seeds]
    recipe = runs[0].recipe
    cleaned, tokens = tokenize_text(read_text(text), recipe.tokenizer)
    readings = [run.reader(tokens, np.zeros(1, np.int64), texts=[cleaned])(0) for run in runs]
    probability = np.mean([reading.probability for reading in readings], 0)
    lines = [f"{model}: mean of {len(runs)} runs (seeds {', '.join(map(str, seeds))})"]
    lines += [
        f"  {recipe.data.classes[i]:24} {probability[i]:.4f}" for i in np.argsort(-probability)
    ]
    return "\n".join([*lines, *_words(tokens, readings), *_sentences(tokens, readings)])


def _load(model: str, seed: int) -> ClassificationPredictor:
    predictor = load_predictor(read_run(model, seed), "cpu")
    if not isinstance(predictor, ClassificationPredictor):
        raise HeedError(
            f"{model}: is a model of the task {recipe_of(model).task}, and classifies nothing"
        )
    return predictor


def _words(tokens: Tokens, readings: list[Reading]) -> list[str]:
    read, weights = readings[0].read, np.mean([reading.weights for reading in readings], 0)
    head = (
        f"weights over {len(read)} words read of {len(tokens.ids)} (weights are not explanations "
        "by themselves):"
    )
    return [
        head,
        *(
            f"  {tokens.lexicon[tokens.ids[i]]:24} {w:.4f}"
            for i, w in zip(read, weights, strict=True)
        ),
    ]


def _sentences(tokens: Tokens, readings: list[Reading]) -> list[str]:
    """Return a line for each sentence that was read, by models that know sentences."""
    read = readings[0].read
    weights = [reading.sentences for reading in readings if reading.sentences is not None]
    if not weights or not len(read):
        return []
    sentence_of = np.searchsorted(tokens.sentences(0), read, side="right")
    numbers = np.unique(sentence_of)
    lines = ["weights of the sentences read:"]
    for number, weight in zip(numbers, np.mean(weights, 0)[: len(numbers)], strict=True):
        words = " ".join(tokens.lexicon[tokens.ids[i]] for i in read[sentence_of == number])
        lines.append(f"  {words[:60]:60} {weight:.4f}")
    return lines
