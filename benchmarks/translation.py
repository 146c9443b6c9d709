"""Target tokens a second of recurrent translators against the common tutorial's loop; beam search.

The tutorial: github.com/bentrevett/pytorch-seq2seq, notebook 3, as at commit b3cd54c. Random ids,
with lengths drawn like Multi30k's. One thread; times are this thread's processor time, since
machines are shared. Each training has a process of its own, with the same settings of the
allocator, and all are made in turns; the tutorial's has default Adam.
"""

import dataclasses
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.workload import Row, launch, numbers, print_rows
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import EncodedPairs, PairBatch
from heed.inputs.vocabulary import PADDING, SPECIAL_OF_PAIRS
from heed.models.beam import translate
from heed.models.translator import Translator
from heed.models.translators import RecurrentTranslator
from heed.training.machine import bfloat16_instructions, keep_memory, make_deterministic

WORDS = (7859, 5979)  # words of Multi30k's German and English training split that occur twice
PIECES = 3000
PAIRS, ROUNDS, TURNS = 2560, 3, 2
SETTINGS = TranslatorArchitecture(embedding_dim=256, hidden_size=256, dropout=0.3)
Loss = Callable[[PairBatch], torch.Tensor]


def multi30k_lengths(pairs: int, seed: int = 0) -> np.ndarray:
    """Draw lengths of source and target (pairs, 2) like those of Multi30k's training split.

    Both are log-normal, with the mean and standard deviation of the logarithms of German and
    English lengths in words, and their correlation.
    """
    mean, std, correlation = np.array([2.468, 2.521]), np.array([0.324, 0.295]), 0.852
    covariance = np.outer(std, std) * np.array([[1, correlation], [correlation, 1]])
    logarithms = np.random.default_rng(seed).multivariate_normal(mean, covariance, pairs)
    return np.clip(np.exp(logarithms).round(), 2, 44).astype(np.int64)


def random_pairs(pairs: int, vocabularies: tuple[int, int], seed: int = 0) -> EncodedPairs:
    """Return sentence pairs of random ids."""
    generator, first = np.random.default_rng(seed), len(SPECIAL_OF_PAIRS)
    sizes = zip(vocabularies, multi30k_lengths(pairs, seed).T, strict=True)
    sides = ([generator.integers(first, most, n) for n in lengths] for most, lengths in sizes)
    return EncodedPairs(np.arange(pairs), *sides)


def batches(encoded: EncodedPairs, pairs: int, size: int, by_length: bool) -> Iterator[PairBatch]:
    """Yield batches in random order, of pairs of similar length if asked."""
    if by_length:
        yield from (batch for (batch,) in encoded.training_steps(np.arange(pairs), size, 1, 1))
        return
    order = np.random.default_rng(1).permutation(pairs)
    yield from (encoded.batch(order[start : start + size]) for start in range(0, pairs, size))


class Tutorial(nn.Module):
    """The tutorial's model: it reads padding, and computes logits of padding.

    A bidirectional GRU over padding, additive attention without a mask, a step of a GRU and of the
    output layer for each target word, which reads the state, the context and the embedding; teacher
    forcing is drawn for each word.
    """

    def __init__(self, vocabularies: tuple[int, int], size: int = 256) -> None:
        super().__init__()
        self.source, self.target = (nn.Embedding(vocabulary, size) for vocabulary in vocabularies)
        self.encoder = nn.GRU(size, size, bidirectional=True)
        self.first_state = nn.Linear(2 * size, size)
        self.attention = nn.Linear(3 * size, size)
        self.score = nn.Linear(size, 1, bias=False)
        self.decoder = nn.GRU(3 * size, size)
        self.output = nn.Linear(4 * size, vocabularies[1])
        self.dropout = nn.Dropout(0.5)

    def loss(self, batch: PairBatch) -> torch.Tensor:
        """Return the mean cross entropy of the target tokens."""
        source, target = batch.source.T, batch.target.T  # time x batch
        states, last = self.encoder(self.dropout(self.source(source)))
        state = torch.tanh(self.first_state(torch.cat([last[-2], last[-1]], 1)))
        values = states.transpose(0, 1)
        logits = torch.zeros(*target.shape, self.output.out_features)
        token = target[0]
        for t in range(1, len(target)):
            embedded = self.dropout(self.target(token[None]))
            query = state[:, None].repeat(1, len(states), 1)
            energy = torch.tanh(self.attention(torch.cat([query, values], 2)))
            weights = self.score(energy).squeeze(2).softmax(1)
            context = torch.bmm(weights[:, None], values).transpose(0, 1)
            output, state = self.decoder(torch.cat([embedded, context], 2), state[None])
            state = state[0]
            logits[t] = self.output(torch.cat([output[0], context[0], embedded[0]], 1))
            token = target[t] if torch.rand(()) < 0.5 else logits[t].argmax(1)
        return F.cross_entropy(logits[1:].flatten(0, 1), target[1:].flatten(), ignore_index=PADDING)


class Training:
    """A model in training: `rate` measures target tokens a second over some steps."""

    def __init__(
        self, model: nn.Module, loss: Loss, size: int, by_length: bool, steps: int, fused: bool
    ) -> None:
        self.model, self.loss, self.steps = model, loss, steps
        self.batches = batches(random_pairs(PAIRS, WORDS), PAIRS, size, by_length)
        self.optimizer = torch.optim.Adam(model.parameters(), fused=fused)

    def step(self, batch: PairBatch) -> None:
        loss = self.loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    def rate(self) -> float:
        """Return target tokens a second over all steps but the first."""
        tokens, started = 0, 0.0
        for step in range(self.steps + 1):
            batch = next(self.batches)
            if step == 1:
                tokens, started = 0, time.thread_time()
            self.step(batch)
            tokens += batch.predicted_tokens
        return tokens / (time.thread_time() - started)


def tutorial(by_length: bool) -> Training:
    keep_memory()
    torch.manual_seed(0)
    model = Tutorial(WORDS)
    return Training(model, model.loss, 128, by_length, 8, fused=False)


def heed(precision: str = "float32", **changes: str | bool) -> Training:
    make_deterministic()
    keep_memory()
    torch.manual_seed(0)
    model = RecurrentTranslator(*WORDS, dataclasses.replace(SETTINGS, **changes))

    def loss(batch: PairBatch) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            return model.loss(batch) / batch.predicted_tokens

    return Training(model, loss, 64, True, 36, fused=True)


TUTORIAL, SORTED = "tutorial's loop", "tutorial's loop sorted by length"
TRAININGS: dict[str, Callable[[], Training]] = {
    TUTORIAL: lambda: tutorial(False), SORTED: lambda: tutorial(True),
    "last-state": lambda: heed(decoder="last-state"), "output, general": lambda: heed(),
    "output, general, tied readout": lambda: heed(tied_readout=True),
    "input, additive": lambda: heed(decoder="input", score="additive"),
}  # fmt: skip
if bfloat16_instructions():
    TRAININGS |= {
        "output, general, bfloat16": lambda: heed("bfloat16"),
        "output, general, tied readout, bfloat16": lambda: heed("bfloat16", tied_readout=True),
        "input, additive, bfloat16": lambda: heed("bfloat16", decoder="input", score="additive"),
    }


def training_rows() -> list[Row]:
    """Return the rows of training speed."""
    measured: dict[str, list[float]] = {name: [] for name in TRAININGS}
    for _ in range(TURNS):
        for name, found in measured.items():
            found += numbers(launch("benchmarks.translation", name))
    rates = {name: statistics.mean(found) for name, found in measured.items()}
    targets = {"output, general": (">= 9x", ">= 3x"), "input, additive": (">= 7x", "")}
    rows = []
    for name in list(TRAININGS)[2:]:
        for loop, target in zip((TUTORIAL, SORTED), targets.get(name, ("", "")), strict=True):
            note = f"{rates[name]:.0f} target tokens/s, {rates[loop]:.0f} there"
            metric = f"{name}: training against the {loop}"
            rows.append(Row(metric, f"{rates[name] / rates[loop]:.1f}x", target, note))
    return rows


NOUNS, VARIANTS = 40, 2  # words of the generated sentences; translations of each, equally likely


def ambiguous_pairs(pairs: int, seed: int) -> EncodedPairs:
    """Return pairs whose target is the source word by word, each in one of its variants."""
    generator, first = np.random.default_rng(seed), len(SPECIAL_OF_PAIRS)
    words = [generator.integers(0, NOUNS, size) for size, _ in multi30k_lengths(pairs, seed)]
    targets = [first + VARIANTS * w + generator.integers(0, VARIANTS, len(w)) for w in words]
    return EncodedPairs(np.arange(pairs), [first + w for w in words], targets)


def trained_translator(steps: int) -> Translator:
    """Return a translator that has learnt `ambiguous_pairs`.

    Each word has log P of about -0.7, as in a trained model, and many hypotheses are as good: the
    search lasts as long as one of sentences.
    """
    torch.manual_seed(0)
    h = dataclasses.replace(SETTINGS, tied_readout=True, dropout=0.0)
    model = RecurrentTranslator(PIECES, PIECES, h)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3, fused=True)
    pairs = 32 * steps
    for step, batch in enumerate(batches(ambiguous_pairs(pairs, 1), pairs, 32, by_length=True)):
        loss = model.loss(batch) / batch.predicted_tokens
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * (1 - step / steps)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def search_row(steps: int = 500, sentences: int = 500) -> Row:
    """Return the row of beam search."""
    model = trained_translator(steps)
    sources = ambiguous_pairs(sentences, 2).sources(np.arange(sentences))
    seconds = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        translations = translate(model, sources, 5, 1.0, "cpu")
        seconds.append(time.thread_time() - started)
    lengths = [len(hypotheses[0].tokens) for hypotheses in translations]
    right = sum(
        len(source) == len(hypotheses[0].tokens)
        and bool(((np.array(hypotheses[0].tokens) - 4) // VARIANTS == source - 4).all())
        for source, hypotheses in zip(sources, translations, strict=True)
    )
    score = statistics.mean(hypotheses[0].score for hypotheses in translations)
    return Row(
        f"beam 5, E = H = 256, {PIECES} pieces: sentences/s",
        f"{sentences / statistics.median(seconds):.0f}",
        ">= 150",
        f"{statistics.mean(lengths):.1f} tokens a translation, log P {score:.2f} a token, "
        f"{right / sentences:.0%} right",
    )


def main() -> None:
    torch.set_num_threads(1)
    if len(sys.argv) > 1 and sys.argv[1] in TRAININGS:
        print(TRAININGS[sys.argv[1]]().rate())
        return
    make_deterministic()
    keep_memory()
    print_rows([*training_rows(), search_row()])


if __name__ == "__main__":
    main()
