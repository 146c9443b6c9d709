"""A pretrained encoder as a classifier: frozen, with the linear model on its vectors, or tuned.

Tuned is the encoder together with a linear layer on its vectors, which here are not made of length
1, by heed's own training loop: AdamW with weight decay .01, a learning rate that rises over the
first tenth of all steps and falls to 0, gradients of norm 1 at most, and the best epoch on
validation. It has one seed.
"""

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from heed.hyperparameters.pretrained import PRETRAINED, Encoder, Pretrained
from heed.inputs.batches import Batch, EncodedCorpus
from heed.paths import WORK
from heed.pretrained import (
    LoadedEncoder,
    cut,
    find_model,
    load_encoder,
    pooled,
    tap_attention,
)
from heed.progress import Bar, Progress, progress_bar
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.classification.learning import probabilities, read_texts
from heed.tasks.classification.recipe import Data
from heed.tasks.classification.reference_models import (
    SPLITS,
    FittedFold,
    Labels,
    Rows,
    Shares,
    fit_folds,
    linear_head,
)
from heed.terminal import print_line
from heed.tokens.arrays import Tokens
from heed.training import machine
from heed.training.loop import train

SEED = 1


class EncoderClassifier(nn.Module):
    """An encoder and a linear layer on its vectors, drawn from torch's generator."""

    def __init__(self, loaded: LoadedEncoder, classes: int) -> None:
        super().__init__()
        self.loaded = loaded
        self.encoder, self.output = loaded.model, nn.Linear(loaded.facts.size, classes)

    def logits(self, **pieces: torch.Tensor) -> torch.Tensor:
        """Return the logits (texts, classes) of pieces, or of their embeddings."""
        logits: torch.Tensor = self.output(pooled(self.encoder, self.loaded.facts, pieces))
        return logits

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits, (batch, classes)."""
        time = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        mask = (time < batch.lengths[:, None]).long()
        return self.logits(input_ids=batch.ids, attention_mask=mask)


# the encoder as a classifier of the first fold, where it is asked for
Loads = Callable[[], EncoderClassifier]


def fit_frozen(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, vectors: np.ndarray,
    encoder: Encoder, declared: Pretrained,
) -> tuple[Fitted, Loads]:  # fmt: skip
    """Return the predictions of the linear model on the documents' vectors, on each fold."""
    part = task_module(experiment.task, "reference_models")
    fitted, weights = part.fit_pretrained(tokens, data, experiment, vectors)

    def load() -> EncoderClassifier:
        loaded = load_encoder(find_model(encoder), encoder, "cpu")
        head = torch.from_numpy(linear_head(tokens, data, weights))
        model = EncoderClassifier(loaded, len(data.classes)).requires_grad_(False)
        model.output.weight.copy_(head[:, :-1])
        model.output.bias.copy_(head[:, -1])
        return model

    return fitted, load


class EncodedPieces(EncodedCorpus):
    """The documents of a corpus as the pieces of words that an encoder reads."""

    def __init__(self, texts: list[str], loaded: LoadedEncoder) -> None:
        """Cut all documents into pieces."""
        self._pieces = [torch.tensor(ids) for ids in cut(loaded, texts)["input_ids"]]
        self._lengths = np.asarray([len(ids) for ids in self._pieces])
        self._padding = loaded.tokenizer.pad_token_id

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of pieces of each document, (rows,)."""
        return self._lengths[rows]

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the documents `rows` as one batch."""
        pieces = [self._pieces[row] for row in rows.tolist()]
        ids = nn.utils.rnn.pad_sequence(pieces, batch_first=True, padding_value=self._padding)
        return Batch(ids, torch.from_numpy(self.lengths(rows)), rows)


def tune(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, _: np.ndarray, encoder: Encoder,
    declared: Pretrained,
) -> tuple[Fitted, Loads]:  # fmt: skip
    """Return the predictions of the encoder after it was trained on each fold.

    Raises HeedError: no such device, other files than declared, a training that diverged, an
    encoder that is to be explained and has an attention that cannot be changed.
    """
    device, folder = machine.choose_device(declared.device), find_model(encoder)
    if declared.explain:  # the training takes hours, and would be lost
        tap_attention(load_encoder(folder, encoder, "cpu"))
    if device == "cpu":
        print_line(f"{experiment.corpus}: the encoder is tuned on the CPU; a GPU is faster")
    classifiers = list[EncoderClassifier]()
    with progress_bar(f"{PRETRAINED} reference model, tuned") as bar:

        def fit_fold(rows: Rows, _: Labels) -> FittedFold:
            loaded = load_encoder(folder, encoder, device)
            shares, scores, model = _tune(tokens, data, experiment, loaded, declared, rows, bar)
            if not classifiers:  # only that of the first fold is explained
                classifiers.append(model)
            return {PRETRAINED: shares}, scores

        fitted = fit_folds(tokens, data, experiment, {"epochs": declared.epochs}, fit_fold)
    return fitted, lambda: classifiers[0]


def _tune(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, loaded: LoadedEncoder,
    declared: Pretrained, rows: dict[str, np.ndarray], bar: Bar,
) -> tuple[Shares, dict[str, Any], EncoderClassifier]:  # fmt: skip
    """Train on one fold; return the probabilities of its documents, the scores and the model."""
    learning, recipe = (task_module(experiment.task, part) for part in ("learning", "recipe"))
    metrics = recipe.VALIDATION_METRICS
    monitor = experiment.metric if experiment.metric in metrics else metrics[0]
    h = recipe.Hyperparameters(
        epochs=declared.epochs, batch_size=declared.batch_size, weight_decay=0.01, warmup=0.1,
        learning_rate=declared.learning_rate, lr_schedule="linear", max_grad_norm=1.0,
        monitor=monitor,
    )  # fmt: skip
    learner = _make_learner(tokens, data, learning, loaded, h, rows)

    def report(done: Progress) -> None:
        bar.update(done.documents, done.total_documents, f"epoch {done.epoch} of {done.epochs}")

    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as work:
        history, best, kind = train(learner, h, SEED, loaded.device, Path(work), report)
    model, encoded, shares = learner.model, learner.encoded, {}
    for split in SPLITS[1:]:
        batches = encoded.evaluation_batches(rows[split])
        of_split = model, batches, rows[split], loaded.device, learning.activation
        shares[split] = probabilities(*of_split)
    by_epoch = [each[f"validation_{monitor}"] for each in history]
    model = model.eval().cpu()
    model.loaded = model.loaded._replace(device="cpu")
    scores = {"best_epoch": best, "machine_kind": kind, f"validation_{monitor}": by_epoch}
    return shares, scores, model


def _make_learner(
    tokens: Tokens, data: Data, learning: Any, loaded: LoadedEncoder, h: Any,
    rows: dict[str, np.ndarray],
) -> Any:  # fmt: skip
    """Return the learner of the task, with an encoder in place of heed's own network."""
    machine.seed_everything(SEED)
    loaded = loaded._replace(facts=dataclasses.replace(loaded.facts, normalized=False))
    model = EncoderClassifier(loaded, len(data.classes)).to(loaded.device)
    every = np.concatenate([*rows.values()])
    encoded = EncodedPieces(read_texts(tokens, every), loaded)
    labels = learning.LEARNER.read_labels(tokens, data, every)
    return learning.LEARNER(model, encoded, labels, rows, h, SEED, loaded.device)
