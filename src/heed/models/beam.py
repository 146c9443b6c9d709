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
from heed.models.translator import Places, State, Translator

MAX_HYPOTHESES = 640  # that `translate` extends at once: with 320 it is slower, with 1280 no faster
GROUP = 8  # columns of which `_largest` takes one maximum


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A translation that a search has found: vocabulary indices without BOS and EOS.

    score: log_probability (natural, with EOS) / (number of tokens with EOS) ** length penalty
    """

    tokens: list[int]
    score: float
    log_probability: float


@dataclasses.dataclass
class _Open:
    """The open hypotheses of all sentences, in order of their sentences: (hypotheses, …) each.

    tokens: with BOS. state: of the decoder, before it has read the last token.
    """

    sentence: Tensor
    tokens: Tensor
    log_p: Tensor
    state: State


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
    limits = 2 * lengths + 5  # tokens of a translation, EOS included
    memory, state = model.encode(source, lengths)
    batch = len(source)
    start = torch.full((batch, 1), BOS, device=source.device)
    hypotheses = _Open(
        torch.arange(batch, device=source.device), start, memory.states.new_zeros(batch), state
    )
    candidates = _Candidates(batch, n_best, length_penalty)
    of_sentences = hypotheses.sentence.new_empty(0)
    while len(hypotheses.sentence):
        if not torch.equal(of_sentences, hypotheses.sentence):
            of_sentences = hypotheses.sentence
            places = Places(of_sentences)
            shared = places.sentences if model.reads_places else of_sentences
            selected = memory.select(shared, places if model.reads_places else None)
        decoded = model.decode(hypotheses.tokens[:, -1:], selected, hypotheses.state)
        logits = model.logits(decoded.features[:, 0])
        is_last = limits[of_sentences] == hypotheses.tokens.shape[1]
        best = _best_extensions(logits, hypotheses.log_p, is_last, places, beam)
        hypotheses.state = decoded.state
        hypotheses = _end(hypotheses, *best, candidates, limits)
    return candidates.hypotheses


def _best_extensions(
    logits: Tensor, log_p: Tensor, is_last: Tensor, places: Places, beam: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the `beam` best extensions of each sentence's open hypotheses, ended ones included.

    Of each, (extensions,): the hypothesis that it extends, its last token, and its log P.
    """
    best, token = _best_tokens(logits, is_last, beam)  # hypotheses x tokens
    width = best.shape[1]
    # one row a sentence: place in the beam x tokens
    table = places.spread(log_p[:, None] + best, -math.inf).flatten(1)
    index = places.spread(torch.arange(len(log_p), device=log_p.device))
    total, cell = table.topk(min(beam, table.shape[1]))
    exists = total > -math.inf
    origin = index.gather(1, cell // width)[exists]
    return origin, token[origin, (cell % width)[exists]], total[exists]


def _best_tokens(logits: Tensor, is_last: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return log P, -inf of all but EOS where `is_last`, and index of the best, (rows, count)."""
    log_p = logits.log_softmax(-1)
    log_p[:, [PADDING, BOS, UNKNOWN]] = -math.inf
    if is_last.any():
        only_end = torch.full_like(log_p[is_last], -math.inf)
        only_end[:, EOS] = log_p[is_last, EOS]
        log_p[is_last] = only_end
    return _largest(log_p, min(count, log_p.shape[1]))


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest values of each row, and their columns: topk, 3 times as fast.

    They are among the columns of the `count` largest maxima of GROUP columns each.
    """
    rows, columns = values.shape
    groups = columns // GROUP
    if groups <= count:
        return values.topk(count)
    grouped = values[:, : groups * GROUP].unflatten(1, (GROUP, groups))
    _, group = grouped.amax(1).topk(count)
    steps = torch.arange(0, groups * GROUP, groups, device=values.device)
    column = (group[..., None] + steps).flatten(1)
    rest = torch.arange(groups * GROUP, columns, device=values.device).expand(rows, -1)
    column = torch.cat([column, rest], 1)
    best, place = values.gather(1, column).topk(count)
    return best, column.gather(1, place)


def _end(
    hypotheses: _Open, origin: Tensor, token: Tensor, log_p: Tensor, candidates: _Candidates,
    limits: Tensor,
) -> _Open:  # fmt: skip
    """Add extensions that end to the candidates; return those that are still worth extending."""
    sentence, ended = hypotheses.sentence[origin], token == EOS
    found = sentence[ended], hypotheses.tokens[origin[ended], 1:], log_p[ended]
    for hypothesis in zip(*(tensor.tolist() for tensor in found), strict=True):
        candidates.add(*hypothesis)
    worst = log_p.new_tensor(candidates.worst)
    bound = log_p / limits[sentence] ** candidates.length_penalty
    can_win = ~ended & (bound > worst[sentence])
    # a sentence goes on with all of its hypotheses, so that the early end changes no result
    goes_on = torch.zeros(len(worst), dtype=torch.bool, device=worst.device)
    goes_on[sentence[can_win]] = True
    kept = ~ended & goes_on[sentence]
    origin = origin[kept]
    return _Open(
        sentence[kept], torch.cat([hypotheses.tokens[origin], token[kept, None]], 1), log_p[kept],
        tuple(tensor[origin.to(tensor.device)] for tensor in hypotheses.state),
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
    """Return log_probability and score (see `Hypothesis`) of the targets of a batch, (batch,)."""
    memory, state = model.encode(batch.source, batch.source_lengths)
    decoded = model.decode(batch.target[:, :-1], memory, state)
    log_p = model.logits(decoded.features).log_softmax(-1)
    target = batch.target[:, 1:]
    of_tokens = log_p.gather(-1, target[..., None]).squeeze(-1)
    total = of_tokens.masked_fill(target == PADDING, 0.0).sum(1)
    return total, total / (batch.target_lengths - 1) ** length_penalty
