"""Classify a text with the trained runs of a model."""

import os
import sys
from pathlib import Path

import numpy as np

from heed.files import HeedError
from heed.text.tokenizer import tokenize_text
from heed.training.run import TRAIN, load_run


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


def predict(model: str, text: str) -> str:
    """Return, for people, the runs' mean class probabilities and mean weight of each word.

    Raises:
        HeedError: the model has no trained run.

    """
    folders = sorted(
        (path for path in (TRAIN / model).glob("*") if path.name.isdigit()), key=lambda path: int(path.name)
    )
    if not folders:
        trained = ", ".join(sorted(path.name for path in TRAIN.glob("*"))) or "none yet"
        raise HeedError(
            f"{TRAIN / model}: no trained run. Trained models: {trained}. Another of params.yaml: heed train MODEL --seed 1"
        )
    runs = [load_run(folder) for folder in folders]
    cleaned, tokens = tokenize_text(read_text(text), runs[0].info["recipe"]["tokenizer"])
    outputs = [run.predict(cleaned, tokens) for run in runs]
    probability = np.mean([output[0] for output in outputs], 0)
    read, weights = outputs[0][1], np.mean([output[2] for output in outputs], 0)
    lines = [f"{model}: mean of {len(runs)} runs (seeds {', '.join(path.name for path in folders)})"]
    lines += [f"  {runs[0].classes[i]:24} {probability[i]:.4f}" for i in np.argsort(-probability)]
    lines.append(
        f"weights over {len(read)} words read of {len(tokens.ids)} (weights are not explanations by themselves):"
    )
    lines += [f"  {tokens.lexicon[tokens.ids[i]]:24} {weight:.4f}" for i, weight in zip(read, weights, strict=True)]
    of_sentences = [output[3] for output in outputs if output[3] is not None]
    if of_sentences and len(read):
        lines.append("weights of the sentences read:")
        numbers = np.searchsorted(tokens.sentences(0), read, side="right")
        for i, weight in enumerate(np.mean(of_sentences, 0)[: len(np.unique(numbers))]):
            words = [tokens.lexicon[tokens.ids[at]] for at in read[numbers == np.unique(numbers)[i]]]
            lines.append(f"  {' '.join(words)[:60]:60} {weight:.4f}")
    return "\n".join(lines)
