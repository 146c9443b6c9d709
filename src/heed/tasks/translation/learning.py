"""The training of a translator: cross entropy of target tokens, validated by it and by BLEU."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from heed.files import HeedError, write_json
from heed.inputs.pairs import EncodedPairs, PairBatch
from heed.inputs.segmentation import Segmenter, encode_pairs, make_segmenter
from heed.models.beam import translate
from heed.models.recurrent import layer_devices
from heed.models.translator import Translator
from heed.models.translators import RecurrentTranslator, make_translator
from heed.recipe import Recipe
from heed.task.interface import Learner
from heed.tasks.translation.recipe import Data, Hyperparameters, Prediction
from heed.tasks.translation.statistics import corpus_bleu
from heed.tokens.arrays import ParallelTokens

SOURCE, TARGET, PAIRS = "source", "target", "pairs.json"  # names of a run's files
SCORING = (
    Prediction()
)  # of BLEU on validation, which selects epochs and says whether a run has converged


class TranslationLearner(Learner):
    """A translator and the sentence pairs that it learns from."""

    model: Translator

    def __init__(
        self,
        model: Translator,
        segmenters: tuple[Segmenter, Segmenter],
        encoded: EncodedPairs,
        references: list[str],
        rows: dict[str, np.ndarray],
        recipe: Recipe[Data, Hyperparameters],
        seed: int,
        device: str,
    ) -> None:
        """Store the arguments; `references` are the raw targets of the validation part."""
        self.model, self.encoded, self.device, self.seed = model, encoded, device, seed
        self.segmenters, self._references = segmenters, references
        self._h = recipe.hyperparameters
        self.train, self.left_out = encoded.training_rows(rows["train"], self._h)
        self.validation = rows["validation"]
        self.items = len(self.train)
        self._unknown = encoded.unknown_shares(rows["train"])

    def steps(self, epoch: int, max_tokens: int | None) -> Iterator[list[PairBatch]]:
        """Yield the batches of each training step; see `EncodedPairs.training_steps`."""
        return self.encoded.training_steps(
            self.train, self._h.batch_size, self.seed, epoch, max_tokens
        )

    def size(self, batch: PairBatch) -> int:
        """Return the number of pairs in a batch."""
        return len(batch.rows)

    def weight(self, batch: PairBatch) -> float:
        """Return the number of target tokens that a batch predicts: the loss is a mean of them."""
        return batch.predicted_tokens

    def loss(self, model: nn.Module, batch: PairBatch) -> torch.Tensor:
        """Return the cross entropy, summed over the predicted tokens.

        With `precision: bfloat16` the network computes in bfloat16; training allows that on a GPU.
        """
        assert isinstance(model, Translator)
        device = torch.device(self.device).type
        with torch.autocast(device, torch.bfloat16, enabled=self._h.precision == "bfloat16"):
            return model.loss(batch.to(self.device), self._h.label_smoothing).float()

    def validate(self, model: nn.Module, every: int = 1) -> dict[str, float]:
        """Return BLEU of greedy translations, and the loss, on every `every`-th validation pair.

        BLEU is sacrebleu's of detokenised translations against raw references, its tokenisation
        13a. The loss is the mean cross entropy of a target token, without label smoothing.
        """
        assert isinstance(model, Translator)
        model.eval()
        rows, total, tokens = self.validation[::every], 0.0, 0
        with torch.inference_mode():
            for batch in self.encoded.evaluation_batches(rows):
                total += float(model.loss(batch.to(self.device)))
                tokens += batch.predicted_tokens
        found = translate(model, self.encoded.sources(rows), 1, 0.0, self.device)
        hypotheses = [
            self.segmenters[1].decode(np.asarray(best[0].tokens, np.int64)) for best in found
        ]
        references = [[reference] for reference in self._references[::every]]
        return {"bleu": corpus_bleu(hypotheses, references, SCORING), "loss": total / tokens}

    def write(self, folder: Path) -> None:
        """Write the units of both languages, and how many pairs were read and left out, and why."""
        for name, segmenter in zip((SOURCE, TARGET), self.segmenters, strict=True):
            segmenter.write(folder, name)
        unknown = dict(zip((SOURCE, TARGET), self._unknown, strict=True))
        facts = {"pairs": self.items, "left_out": self.left_out, "unknown_in_train": unknown}
        write_json(folder / PAIRS, facts)


def make_learner(
    recipe: Recipe[Data, Hyperparameters],
    tokens: ParallelTokens,
    rows: dict[str, np.ndarray],
    seed: int,
    device: str,
) -> TranslationLearner:
    """Return the learner of a training; the caller seeds torch, which initialises the model.

    Only the pairs in `rows` are read.

    Args:
        recipe: the recipe of the training.
        tokens: the recipe's corpus.
        rows: pairs of the train and validation parts.
        seed: determines the order of pairs.
        device: cpu or cuda.

    Raises:
        HeedError: no training pair is within the length caps.

    """
    h, data = recipe.hyperparameters, recipe.data
    rows = rows | {"train": _draw(rows["train"], h.training_share, seed)}
    source, target = (tokens.sides[language] for language in (data.source, data.target))
    sizes = ((source, h.source_vocabulary), (target, h.target_vocabulary))
    first, second = (make_segmenter(side, rows["train"], size, h) for side, size in sizes)
    segmenters = first, second
    read = np.concatenate([rows["train"], rows["validation"]])
    encoded = encode_pairs(tokens, read, (data.source, data.target), segmenters)
    model = make_model(segmenters, h)
    references = target.texts(rows["validation"])
    learner = TranslationLearner(
        _place(model, h, device), segmenters, encoded, references, rows, recipe, seed, device
    )
    if not learner.items:
        limits = f"max_source_tokens {h.max_source_tokens}, max_target_tokens {h.max_target_tokens}"
        if h.max_length_ratio:  # 0: no limit
            limits += f", max_length_ratio {h.max_length_ratio:g}"
        raise HeedError(
            f"model {recipe.model}: no training pair is within {limits}. Raise them in params.yaml"
        )
    return learner


def _draw(rows: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return a share of the rows in their order, at least one; a larger share holds the smaller."""
    if share == 1:
        return rows
    count = max(1, round(share * len(rows)))
    return np.sort(np.random.default_rng(seed).permutation(rows)[:count])


def _place(model: Translator, h: Hyperparameters, device: str) -> Translator:
    """Return the model on its device, or a recurrent one's layers on as many as it asks for."""
    devices = layer_devices(device, h.layer_devices)
    if len(devices) > 1 and isinstance(model, RecurrentTranslator):
        model.place_layers(devices)
        return model
    return model.to(device)


def make_model(segmenters: tuple[Segmenter, Segmenter], h: Hyperparameters) -> Translator:
    """Return the recipe's model, initialised from torch's generator."""
    return make_translator(len(segmenters[0]), len(segmenters[1]), h)
