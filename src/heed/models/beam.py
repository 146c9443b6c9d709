"""Beam search for translations, and the score of given ones.

A hypothesis is ranked by log P / n ** alpha, with n its number of tokens, EOS included, and alpha
the length penalty. PADDING, BOS and UNKNOWN are never produced; they keep their probability. Each
step extends every open hypothesis by every token, and keeps the `beam` best by log P: those that
end are candidates (Sutskever et al. 2014, arxiv.org/abs/1409.3215, section 3.2). A sentence ends
when none is open, or log P / limit ** alpha of the open ones, which only falls, cannot win.
"""

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor, nn

from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import BOS, EOS, PADDING, UNKNOWN
from heed.models.translator import Memory, State, Translator

MAX_HYPOTHESES = 640  # that `translate` extends at once: with 320 it is slower, with 1280 no faster


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A translation that a search has found: vocabulary indices without BOS and EOS.

    score: log_probability (natural, with EOS) / (number of tokens with EOS) ** length penalty
    """

    tokens: list[int]
    score: float
    log_probability: float


def length_limit(lengths: Tensor) -> Tensor:
    """Return the largest number of tokens of a translation, EOS included, by source length."""
    return 2 * lengths + 5


@dataclasses.dataclass
class _Open:
    """The open hypotheses of all sentences, in order of their sentences: (hypotheses, …) each.

    tokens: with BOS. state: of the decoder, before it has read the last token.
    """

    sentence: Tensor
    tokens: Tensor
    log_p: Tensor
    state: State

    def place_in_beam(self) -> Tensor:
        first = torch.searchsorted(self.sentence, self.sentence)
        return torch.arange(len(first), device=first.device) - first

    def extended(self, origin: Tensor, token: Tensor, log_p: Tensor, state: State) -> "_Open":
        tokens = torch.cat([self.tokens[origin], token[:, None]], 1)
        selected = tuple(tensor[origin.to(tensor.device)] for tensor in state)
        return _Open(self.sentence[origin], tokens, log_p, selected)


class _Candidates:
    def __init__(self, sentences: int, n_best: int, length_penalty: float) -> None:
        self.n_best, self.length_penalty = n_best, length_penalty
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.worst = [-math.inf] * sentences  # score that a new hypothesis has to exceed

    def add(self, sentence: int, tokens: list[int], log_p: float) -> None:
        """Keep a hypothesis if it is among the `n_best`; of equal ones the first added stays."""
        score = log_p / (len(tokens) + 1) ** self.length_penalty
        kept = self.hypotheses[sentence]
        kept.append(Hypothesis(tokens, score, log_p))
        kept.sort(key=lambda hypothesis: -hypothesis.score)
        del kept[self.n_best :]
        if len(kept) == self.n_best:
            self.worst[sentence] = kept[-1].score


@torch.no_grad()
def search(
    model: Translator, source: Tensor, lengths: Tensor, beam: int, length_penalty: float,
    n_best: int = 1,
) -> list[list[Hypothesis]]:  # fmt: skip
    """Return the `n_best` translations of each sentence, best first; fewer if fewer were found.

    `source` are vocabulary indices (batch, source time), of lengths (batch,) from 1. Each step
    keeps `beam` hypotheses; `length_penalty` is alpha. Raises ValueError: the model is in training
    mode, whose dropout would be part of the result, or n_best exceeds beam.
    """
    if model.training:
        raise ValueError("a search needs a model in evaluation mode: call model.eval() before it")
    if n_best > beam:
        raise ValueError(f"a beam of {beam} does not find the {n_best} best translations")
    limits = length_limit(lengths)
    memory, state = model.encode(source, lengths)
    batch = len(source)
    start = torch.full((batch, 1), BOS, device=source.device)
    hypotheses = _Open(
        torch.arange(batch, device=source.device), start, memory.states.new_zeros(batch), state
    )
    candidates = _Candidates(batch, n_best, length_penalty)
    selected, of_sentences = memory, hypotheses.sentence
    while len(hypotheses.sentence):
        if not torch.equal(of_sentences, hypotheses.sentence):
            of_sentences = hypotheses.sentence
            selected = memory.select(of_sentences)
        extended = _step(model, hypotheses, selected, limits, beam)
        hypotheses = _end(extended, candidates, limits)
    return candidates.hypotheses


def _step(model: Translator, hypotheses: _Open, memory: Memory, limits: Tensor, beam: int) -> _Open:
    """Return the `beam` best extensions of each sentence's open hypotheses, ended ones included."""
    decoded = model.decode(hypotheses.tokens[:, -1:], memory, hypotheses.state)
    is_last = limits[hypotheses.sentence] == hypotheses.tokens.shape[1]
    log_p, token = _best_tokens(model.logits(decoded.features[:, 0]), is_last, beam)
    total = hypotheses.log_p[:, None] + log_p  # hypotheses x tokens
    # one row a sentence: place in the beam x tokens
    sentences, row = torch.unique_consecutive(hypotheses.sentence, return_inverse=True)
    place, width = hypotheses.place_in_beam(), total.shape[1]
    table = total.new_full((len(sentences), int(place.max()) + 1, width), -math.inf)
    table[row, place] = total
    index = torch.full(table.shape[:2], -1, device=row.device)
    index[row, place] = torch.arange(len(row), device=row.device)
    best, cell = table.flatten(1).topk(min(beam, table[0].numel()))
    exists = best > -math.inf
    origin = index.gather(1, cell // width)[exists]
    return hypotheses.extended(
        origin, token[origin, (cell % width)[exists]], best[exists], decoded.state
    )


def _best_tokens(logits: Tensor, is_last: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return log P, -inf of all but EOS where `is_last`, and index of the best, (rows, count)."""
    normaliser = logits.logsumexp(-1, keepdim=True)
    logits[:, [PADDING, BOS, UNKNOWN]] = -math.inf
    if is_last.any():
        only_end = torch.full_like(logits[is_last], -math.inf)
        only_end[:, EOS] = logits[is_last, EOS]
        logits[is_last] = only_end
    best, token = logits.topk(min(count, logits.shape[1]))
    return best - normaliser, token


def _end(extended: _Open, candidates: _Candidates, limits: Tensor) -> _Open:
    """Add the ended hypotheses to the candidates; return those that are still worth extending."""
    ended = extended.tokens[:, -1] == EOS
    found = extended.sentence[ended], extended.tokens[ended, 1:-1], extended.log_p[ended]
    for hypothesis in zip(*(each.tolist() for each in found), strict=True):
        candidates.add(*hypothesis)
    worst = extended.log_p.new_tensor(candidates.worst)
    bound = extended.log_p / limits[extended.sentence] ** candidates.length_penalty
    can_win = ~ended & (bound > worst[extended.sentence])
    # a sentence goes on with all of its hypotheses, so that the early end changes no result
    goes_on = torch.zeros(len(worst), dtype=torch.bool, device=worst.device)
    goes_on[extended.sentence[can_win]] = True
    kept = ~ended & goes_on[extended.sentence]
    return _Open(
        extended.sentence[kept], extended.tokens[kept], extended.log_p[kept],
        tuple(tensor[kept.to(tensor.device)] for tensor in extended.state),
    )  # fmt: skip


def translate(
    model: Translator, sources: list[np.ndarray], beam: int, length_penalty: float, device: str,
    n_best: int = 1,
) -> list[list[Hypothesis]]:  # fmt: skip
    """Return the `n_best` translations of each source, in the order of `sources`; as `search`.

    A source without tokens has one translation, which has none either, with probability 1.
    """
    results = [[Hypothesis([], 0.0, 0.0)] for _ in sources]
    order = sorted(
        (row for row in range(len(sources)) if len(sources[row])), key=lambda row: len(sources[row])
    )
    size = max(1, MAX_HYPOTHESES // beam)
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        tokens = [torch.from_numpy(np.asarray(sources[row], np.int64)) for row in rows]
        source = nn.utils.rnn.pad_sequence(tokens, batch_first=True, padding_value=PADDING)
        lengths = torch.tensor([*map(len, tokens)], device=device)
        found = search(model, source.to(device), lengths, beam, length_penalty, n_best)
        for row, hypotheses in zip(rows, found, strict=True):
            results[row] = hypotheses
    return results


@torch.no_grad()
def score(model: Translator, batch: PairBatch, length_penalty: float) -> tuple[Tensor, Tensor]:
    """Return log_probability and score, as of `Hypothesis`, of the targets of a batch, (batch,)."""
    memory, state = model.encode(batch.source, batch.source_lengths)
    decoded = model.decode(batch.target[:, :-1], memory, state)
    log_p = model.logits(decoded.features).log_softmax(-1)
    target = batch.target[:, 1:]
    of_tokens = log_p.gather(-1, target[..., None]).squeeze(-1)
    total = of_tokens.masked_fill(target == PADDING, 0.0).sum(1)
    return total, total / (batch.target_lengths - 1) ** length_penalty
