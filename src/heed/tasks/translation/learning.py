"""The network of a translation and its training, validated by the loss and by BLEU."""

import dataclasses
import functools
from pathlib import Path

import numpy as np
import torch
from torch import nn

from heed.files import HeedError, write_json
from heed.hyperparameters import CorpusSizes
from heed.inputs.pairs import PairBatch, Segmenter, encode_pairs, make_segmenter
from heed.inputs.vocabulary import PADDING, SPECIAL_OF_PAIRS
from heed.models.beam import translate
from heed.models.size import match_parameters
from heed.models.translator import Translator
from heed.models.translators import make_translator
from heed.recipe import Recipe
from heed.task.interface import Learner
from heed.tasks.translation.metrics import corpus_bleu
from heed.tasks.translation.recipe import Data, Hyperparameters, Prediction
from heed.tokens.arrays import ParallelTokens
from heed.tokens.meta import Meta

SOURCE, TARGET, PAIRS = "source", "target", "pairs.json"  # names of a run's files
# of BLEU on validation, which selects epochs and says whether a run has converged
SCORING = Prediction()


def sizes(data: Data, meta: Meta) -> CorpusSizes:
    """Return the sizes of a corpus that the shapes of a network depend on."""
    source, target = (meta.languages[language].types for language in (data.source, data.target))
    return CorpusSizes((source, target))


def build(h: Hyperparameters, sizes: CorpusSizes) -> Translator:
    """Return an untrained translator, whose vocabularies are as large as they may be."""
    return make_translator(*_vocabularies(h, sizes), h)


def _vocabularies(h: Hyperparameters, sizes: CorpusSizes) -> tuple[int, int]:
    source, target = h.source_vocabulary, h.target_vocabulary
    if h.segmentation == "words":
        source = min(source, sizes.types[0] + len(SPECIAL_OF_PAIRS))
        target = min(target, sizes.types[1] + len(SPECIAL_OF_PAIRS))
    return source, target


def parameter_matched(
    h: Hyperparameters, matched: Hyperparameters, sizes: CorpusSizes
) -> Hyperparameters:
    """Return the same network without attention, as large as a network with attention."""

    def by_size(half: int) -> Hyperparameters:  # each direction has half of the hidden size
        return dataclasses.replace(h, decoder="last-state", hidden_size=2 * half)

    return match_parameters(by_size, functools.partial(build, sizes=sizes), matched)


def random_batch(h: Hyperparameters, sizes: CorpusSizes, lengths: list[int]) -> PairBatch:
    """Return random pairs of these lengths, on which the speed of a network is measured."""
    first, of_source = len(SPECIAL_OF_PAIRS), torch.tensor(lengths)
    source, target = (
        torch.randint(first, max(size, first + 1), (len(lengths), max(lengths) + end))
        for end, size in enumerate(_vocabularies(h, sizes))  # a target has one token more
    )
    target[torch.arange(target.shape[1]) > of_source[:, None]] = PADDING
    return PairBatch(source, of_source, target, of_source + 1, np.arange(len(lengths)))


def loss(model: Translator, batch: PairBatch) -> torch.Tensor:
    """Return the cross entropy, summed over the predicted tokens."""
    return model.loss(batch)


class TranslationLearner(Learner):
    """A translator and the sentence pairs that it learns from."""

    model: Translator

    def __init__(
        self, recipe: Recipe[Data, Hyperparameters], tokens: ParallelTokens,
        rows: dict[str, np.ndarray], seed: int, device: str,
    ) -> None:  # fmt: skip
        """Read the pairs in `rows` alone. Raises HeedError: none is within the length caps."""
        h, data, train = recipe.hyperparameters, recipe.data, rows["train"]
        if h.training_share < 1:
            train = draw_share(train, h.training_share, seed)
        source, target = (tokens.sides[language] for language in (data.source, data.target))
        self.segmenters = (
            make_segmenter(source, train, h.source_vocabulary, h),
            make_segmenter(target, train, h.target_vocabulary, h),
        )
        self.device, self.seed, self._h = device, seed, h
        self.validation = rows["validation"]
        read = np.concatenate([train, self.validation])
        self.encoded = encode_pairs(tokens, read, (data.source, data.target), self.segmenters)
        self.train, self.left_out = self.encoded.training_rows(train, h)
        self.items = len(self.train)
        if not self.items:
            raise HeedError(
                f"model {recipe.model}: no training pair is within max_source_tokens "
                f"{h.max_source_tokens} and max_target_tokens {h.max_target_tokens}. Raise them in "
                "params.yaml"
            )
        self._references = tokens.references(data.target, self.validation)
        self._unknown = self.encoded.unknown_shares(train)
        self.model = make_model(self.segmenters, h).to(device)

    def weight(self, batch: PairBatch) -> float:
        """Return the number of target tokens that a batch predicts: the loss is a mean of them."""
        return batch.predicted_tokens

    def loss(self, model: nn.Module, batch: PairBatch) -> torch.Tensor:
        """Return the cross entropy, summed over the predicted tokens."""
        assert isinstance(model, Translator)
        with self.autocast():
            return model.loss(batch.to(self.device), self._h.label_smoothing)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return BLEU of greedy translations, and the loss, on the validation pairs."""
        assert isinstance(model, Translator)
        model.eval()
        rows, total, tokens = self.validation, 0.0, 0
        with torch.inference_mode():
            for batch in self.encoded.evaluation_batches(rows):
                total += float(model.loss(batch.to(self.device)))
                tokens += batch.predicted_tokens
        found = translate(model, self.encoded.sources(rows), 1, 0.0, self.device)
        target = self.segmenters[1]
        hypotheses = [target.decode(np.asarray(best[0].tokens, np.int64)) for best in found]
        bleu = corpus_bleu(hypotheses, self._references, SCORING)
        return {"bleu": bleu, "loss": total / tokens}

    def write(self, folder: Path) -> None:
        """Write the units of both languages, and how many pairs were read and left out, and why."""
        for name, segmenter in zip((SOURCE, TARGET), self.segmenters, strict=True):
            segmenter.write(folder, name)
        unknown = dict(zip((SOURCE, TARGET), self._unknown, strict=True))
        statistics = {"pairs": self.items, "left_out": self.left_out, "unknown_in_train": unknown}
        write_json(folder / PAIRS, statistics)


make_learner = TranslationLearner  # the caller seeds torch, which initialises the model


def draw_share(rows: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return a share of the rows in their order, at least one; a larger share holds the smaller."""
    count = max(1, round(share * len(rows)))
    return np.sort(np.random.default_rng(seed).permutation(rows)[:count])


def make_model(segmenters: tuple[Segmenter, Segmenter], h: Hyperparameters) -> Translator:
    """Return the recipe's model, initialised from torch's generator."""
    return make_translator(len(segmenters[0]), len(segmenters[1]), h)
