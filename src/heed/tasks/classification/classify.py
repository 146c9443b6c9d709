"""Classify a given text with the trained runs of a model."""

import numpy as np

from heed.files import HeedError
from heed.prediction import load_predictor
from heed.tasks.classification.prediction import ClassificationPredictor
from heed.tasks.classification.token_weights import WeightedDocument
from heed.tasks.texts import read_text, trained_seeds
from heed.tokens.arrays import Tokens
from heed.tokens.tokenizer import tokenize_in_memory
from heed.training.run import read_runs


def classify(model: str, text: str) -> str:
    """Return lines with the class probabilities and the weight of each word, means over runs.

    Args:
        model: a model with trained runs.
        text: the text, the name of a file with it, or - for standard input.

    Raises:
        HeedError: the model has no trained run, or is not a classifier.

    """
    runs = load_classifiers(model)
    seeds = trained_seeds(model)
    recipe = runs[0].recipe
    cleaned, tokens = tokenize_in_memory([read_text(text)], recipe.tokenizer)
    documents = [run.reader(tokens, np.zeros(1, np.int64), texts=cleaned)(0) for run in runs]
    probability = np.mean([document.probability for document in documents], 0)
    lines = [f"{model}: mean of {len(runs)} runs (seeds {', '.join(map(str, seeds))})"]
    if recipe.task != "classification":
        lines.append("any number of labels, each predicted by itself:")
    lines += [
        f"  {recipe.data.classes[i]:24} {probability[i]:.4f}" for i in np.argsort(-probability)
    ]
    branch = recipe.hyperparameters.linear_branch
    if branch != "none":
        lines.append(
            f"the linear branch ({branch}) contributes to these probabilities too: what it adds is "
            "in no word's weight"
        )
    return "\n".join(
        [*lines, *_format_words(tokens, documents), *_format_sentences(tokens, documents)]
    )


def load_classifiers(model: str) -> list[ClassificationPredictor]:
    """Return the trained runs of a model, in the order of their seeds, on the CPU.

    Raises HeedError: the model has no trained run, is not a classifier, or its runs were made with
    different recipes.
    """
    predictors = []
    for run in read_runs(model, trained_seeds(model)):
        predictor = load_predictor(run, "cpu")
        if not isinstance(predictor, ClassificationPredictor):
            raise HeedError(f"{model}: is a model of the task {run.recipe.task}, not a classifier")
        predictors.append(predictor)
    return predictors


def _format_words(tokens: Tokens, documents: list[WeightedDocument]) -> list[str]:
    """Return a line for each word that was read, with its mean weight over runs."""
    positions = documents[0].positions
    weights = np.mean([document.weights for document in documents], 0)
    head = (
        f"weights over {len(positions)} words read of {len(tokens.ids)} (weights are not "
        "explanations by themselves):"
    )
    return [
        head,
        *(
            f"  {tokens.lexicon[tokens.ids[position]]:24} {weight:.4f}"
            for position, weight in zip(positions, weights, strict=True)
        ),
    ]


def _format_sentences(tokens: Tokens, documents: list[WeightedDocument]) -> list[str]:
    """Return a line for each sentence that was read; none for models that are not hierarchical."""
    positions = documents[0].positions
    weights = [
        document.sentence_weights for document in documents if document.sentence_weights is not None
    ]
    if not weights or not len(positions):
        return []
    sentences = np.searchsorted(tokens.sentences(0), positions, side="right")
    numbers = np.unique(sentences)
    lines = ["weights of the sentences read:"]
    for number, weight in zip(numbers, np.mean(weights, 0)[: len(numbers)], strict=True):
        in_sentence = positions[sentences == number]
        words = " ".join(tokens.lexicon[tokens.ids[position]] for position in in_sentence)
        lines.append(f"  {words[:60]:60} {weight:.4f}")
    return lines
