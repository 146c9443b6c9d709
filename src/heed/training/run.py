"""A run: one recipe trained with one seed, the files it leaves, and their use."""

import dataclasses
import functools
import platform
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from heed.files import HeedError, check, read_json, write_json, write_text, writing_folder
from heed.models.classifier import Classifier, LinearBranch
from heed.predictions import prediction_table
from heed.recipe import read_recipe
from heed.text.batches import Encoded
from heed.text.tfidf import HashedTfIdf
from heed.text.tokens import Tokens, load_tokens
from heed.text.vocabulary import Vocabulary, build_vocabulary
from heed.training import checkpoint
from heed.training.allocator import keep_memory
from heed.training.determinism import make_deterministic, seed_everything
from heed.training.device import device as choose_device
from heed.training.loop import Progress, Task, probabilities, train

TRAIN, TOKENS, RECIPES, TIMING = (
    Path("results/train"),
    Path("data/tokens"),
    Path("results/recipe"),
    Path("results/timing"),
)


@dataclasses.dataclass(frozen=True)
class Run:
    """A trained run, ready to predict. `info` is run.json."""

    model: Classifier
    vocabulary: Vocabulary
    info: dict[str, Any]

    @property
    def classes(self) -> list[str]:
        """The classes, in the order of the probabilities."""
        return list(self.info["recipe"]["classes"])

    def predict(self, text: str, tokens: Tokens) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the class probabilities of a text, which of its tokens were read, one weight each, and one a sentence.

        Args:
            text: cleaned as a corpus is.
            tokens: the text as a corpus of one document.

        Returns:
            (classes,), (words read,) twice, and (sentences read,) or None for a model that knows no sentences. Tokens are
            counted from 0, those beyond the length cap are not read. A text without words has defined probabilities and no
            weights.

        """
        h = self.info["recipe"]["hyperparameters"]
        linear = None
        if self.model.branch is not None:
            idf = self.model.branch.idf.numpy()
            linear = HashedTfIdf(h.linear_branch, h.branch_buckets, idf).transform([text])
        encoded = Encoded(tokens, self.vocabulary, h, linear)
        row = np.zeros(1, np.int64)
        positions, there = encoded.positions(row)
        batch = encoded.batch(row)
        self.model.eval()
        with torch.inference_mode():
            probability = torch.softmax(self.model(batch).float(), -1)[0].numpy()
            weights = self.model.token_weights(batch)[0].float().numpy()
            of_sentences = self.model.sentence_weights(batch)
        return (
            probability,
            positions[there],
            weights[there[0]],
            None if of_sentences is None else of_sentences[0].float().numpy(),
        )


@dataclasses.dataclass(frozen=True)
class Trained:
    """A training that ended, in memory: the model has the weights of its best epoch. `history`: docs/contracts.md."""

    model: Classifier
    encoded: Encoded
    vocabulary: Vocabulary
    rows: dict[str, np.ndarray]
    labels: np.ndarray
    device: str
    history: list[dict[str, float]]
    best_epoch: int


def train_run(name: str, seed: int, tell: Callable[[Progress], None]) -> dict[str, Any]:
    """Train model `name` with `seed`: results/train/NAME/SEED/, and its times in results/timing/. Returns run.json.

    Raises:
        HeedError: no recipe; no tokens; tokens that are not the recipe's; an empty part; bfloat16 without a GPU.

    """
    recipe = read_recipe(RECIPES / f"{name}.yaml")
    tokens = load_tokens(TOKENS / recipe["corpus"])
    work = checkpoint.folder(recipe, seed)
    started = time.perf_counter() - checkpoint.begin(work)
    it = train_model(recipe, tokens, seed, tell, work)
    info = {
        "seed": seed,
        "fold": fold_of(recipe, seed),
        "best_epoch": it.best_epoch,
        "parameters": sum(p.numel() for p in it.model.parameters()),
        "vocabulary_size": len(it.vocabulary),
        "documents": {part: len(documents) for part, documents in it.rows.items()},
        "recipe": recipe,
    }
    with writing_folder(TRAIN / name / str(seed), sealed=True) as out:
        checkpoint.write_tensors(out / "model.safetensors", it.model.state_dict())
        write_text(out / "vocabulary.txt", "".join(f"{word}\n" for word in it.vocabulary.words))
        pd.DataFrame(it.history).to_csv(out / "history.csv", index=False, lineterminator="\n")
        _predictions(it.model, it.encoded, tokens, it.rows, it.labels, recipe, it.device).to_parquet(
            out / "predictions.parquet", index=False
        )
        write_json(out / "run.json", info)
    shutil.rmtree(work, ignore_errors=True)
    _write_timing(name, seed, it.device, time.perf_counter() - started)
    return info


def fold_of(recipe: dict[str, Any], seed: int) -> int:
    """Return the fold that a run with `seed` tests on; 0 without folds."""
    return (seed - 1) % recipe["folds"] if recipe["folds"] else 0


def train_model(
    recipe: dict[str, Any], tokens: Tokens, seed: int, tell: Callable[[Progress], None], work: Path, glances: int = 1
) -> Trained:
    """Train by `recipe` with `seed`, and write nothing but checkpoints into `work`: what a run and a trial share.

    Raises:
        HeedError: tokens that are not the recipe's; an empty part; bfloat16 without a GPU.

    """
    name, h = recipe["model"], recipe["hyperparameters"]
    if tokens.meta["digest"] != recipe["tokens"]:
        raise HeedError(
            f"{tokens.path}: these tokens are not the recipe's (digest {tokens.meta['digest'][:12]}, "
            f"results/recipe/{name}.yaml says {recipe['tokens'][:12]}). Run: heed recipe {name}"
        )
    device = choose_device(h.device)
    if device == "cpu" and h.precision == "bfloat16":
        raise HeedError(
            f"results/recipe/{name}.yaml: precision: bfloat16 needs a GPU, and this training is on the CPU. Set precision: float32"
        )
    make_deterministic(h.threads)
    keep_memory()
    fold = fold_of(recipe, seed)
    rows = {part: tokens.rows(part, fold) for part in ("train", "validation", "test")}
    for part, documents in rows.items():
        if not len(documents):
            raise HeedError(
                f"{tokens.path}: no document is in the {part} part (fold {fold}). Mend `split` in params.yaml"
            )
    vocabulary = build_vocabulary(tokens, rows["train"], h.vocabulary_size, h.lowercase)
    labels = _class_indices(tokens, recipe)
    seed_everything(seed)
    model = Classifier(len(vocabulary), len(recipe["classes"]), h)
    linear = _linear_features(model.branch, tokens, rows["train"], h) if model.branch else None
    model = model.to(device)
    encoded = Encoded(tokens, vocabulary, h, linear)
    task = Task(encoded, labels, recipe["classes"], rows["train"], rows["validation"])
    history, best_epoch = train(model, task, h, seed, device, work, tell, glances)
    return Trained(model, encoded, vocabulary, rows, labels, device, history, best_epoch)


def _linear_features(
    branch: LinearBranch, tokens: Tokens, train: np.ndarray, h: dict[str, Any]
) -> scipy.sparse.csr_matrix:
    """Return the TF-IDF features of all documents, fitted on the rows `train`; the branch keeps their idf."""
    texts = tokens.documents(["text"])["text"].to_numpy()
    features = HashedTfIdf(h.linear_branch, h.branch_buckets)
    features.fit(list(texts[train]))
    branch.idf.copy_(torch.from_numpy(features.idf))
    return features.transform(list(texts))


def _class_indices(tokens: Tokens, recipe: dict[str, Any]) -> np.ndarray:
    column = f"label_{recipe['label']}"
    place = {name: i for i, name in enumerate(recipe["classes"])}
    return np.asarray([place[name] for name in tokens.documents([column])[column]], np.int64)


def _predictions(
    model: Classifier,
    encoded: Encoded,
    tokens: Tokens,
    rows: dict[str, np.ndarray],
    labels: np.ndarray,
    recipe: dict[str, Any],
    device: str,
) -> pd.DataFrame:
    ids, classes = tokens.documents(["id"])["id"].to_numpy(), np.asarray(recipe["classes"])
    frames = []
    for part in ("validation", "test"):
        at = rows[part]
        found = probabilities(model, encoded.evaluation(at), at, device)
        frames.append(prediction_table(ids[at], part, classes[labels[at]], found, recipe["classes"]))
    return pd.concat(frames, ignore_index=True)


def _write_timing(name: str, seed: int, device: str, seconds: float) -> None:
    """Note what this training took: for people, read by no stage."""
    what = {"seconds": round(seconds, 2), "device": device, "host": platform.node(), "torch": torch.__version__}
    write_json(TIMING / "train" / name / f"{seed}.json", what | {"ended": time.strftime("%Y-%m-%dT%H:%M:%S%z")})


@functools.cache
def _load(path: Path) -> Run:
    command = f"heed train {path.parent.name} --seed {path.name}"
    check(path, command)
    info = read_json(path / "run.json", command)
    recipe = info["recipe"]
    try:
        words = tuple((path / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1])
        model = Classifier(info["vocabulary_size"], len(recipe["classes"]), recipe["hyperparameters"])
        model.load_state_dict(load_file(path / "model.safetensors"))
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise HeedError(f"{path}: not a whole run ({reason}). Run again: {command}") from None
    return Run(model.eval(), Vocabulary(words, recipe["hyperparameters"]["lowercase"]), info)


def load_run(path: str | Path) -> Run:
    """Return the run in folder `path`. Raises HeedError when it is missing or not whole."""
    return _load(Path(path).resolve())
