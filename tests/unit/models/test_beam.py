"""Beam search is exact for its definition, and a translation does not depend on its batch: each row
of the table of bugs of beam search code is a test here."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from heed.inputs.vocabulary import BOS, EOS, PADDING, UNKNOWN
from heed.models import beam as beam_module
from heed.models.beam import Hypothesis, score, search, translate
from heed.models.translator import Decoded, Memory, Translator
from tests.makers import translators
from tests.makers.translators import SOURCE, make_pairs

FORBIDDEN = (PADDING, BOS, UNKNOWN)


def make_model(target: int = 7, decoder: str = "output", scale: float = 3.0, **changes):
    if decoder == "transformer":
        changes |= {"encoder": "transformer", "embedding_dim": 8, "heads": 2}
    return translators.make_model(scale, (SOURCE, target), decoder=decoder, **changes)


def make_sources(seed: int, lengths: list[int]) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.integers(4, SOURCE, length) for length in lengths]


def pad(sources: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    batch = make_pairs([source.tolist() for source in sources], [[4]] * len(sources))
    return batch.source, batch.source_lengths


def log_probabilities(model: Translator, source: np.ndarray, prefixes: list[list[int]]):
    """Return log P of every next token of prefixes of one length, (prefixes, vocabulary)."""
    sources = torch.tensor(source).expand(len(prefixes), -1)
    tokens = torch.tensor([[BOS, *prefix] for prefix in prefixes])
    lengths = torch.tensor([len(source)] * len(tokens))
    decoded = model.decode(tokens, *model.encode(sources, lengths))
    return model.logits(decoded.features[:, -1]).log_softmax(-1).numpy()


def written_out(model, source: np.ndarray, beam: int, alpha: float) -> list[Hypothesis]:
    """Return the candidates of a beam search of one sentence, without any early end, best first.

    With a beam that drops nothing they are all translations, of at most 2 * source + 5 tokens.
    """
    opened, candidates = [((), 0.0)], []
    for size in range(1, 2 * len(source) + 6):
        if not opened:
            break
        extensions = []
        table = log_probabilities(model, source, [list(prefix) for prefix, _ in opened])
        for (prefix, total), row in zip(opened, table, strict=True):
            extensions += [
                ((*prefix, token), total + float(row[token]))
                for token in range(len(row))
                if token not in FORBIDDEN and (token == EOS or size < 2 * len(source) + 5)
            ]
        kept = sorted(extensions, key=lambda extension: -extension[1])[:beam]
        ended = [(list(tokens[:-1]), total) for tokens, total in kept if tokens[-1] == EOS]
        candidates += [Hypothesis(tokens, total / size**alpha, total) for tokens, total in ended]
        opened = [(tokens, total) for tokens, total in kept if tokens[-1] != EOS]
    return sorted(candidates, key=lambda hypothesis: -hypothesis.score)


def assert_same(hypotheses: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [each.tokens for each in hypotheses] == [each.tokens for each in expected]
    for hypothesis, other in zip(hypotheses, expected, strict=True):
        assert hypothesis.score == pytest.approx(other.score, abs=1e-9)
        assert hypothesis.log_probability == pytest.approx(other.log_probability, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("decoder", ["last-state", "output", "input", "transformer"])
@torch.no_grad()
def test_a_beam_that_is_wide_enough_equals_exhaustive_search(decoder, alpha):
    model = make_model(6, decoder)
    sources = make_sources(1, [2, 1])
    translations = search(model, *pad(sources), 600, alpha, n_best=20)
    for source, hypotheses in zip(sources, translations, strict=True):
        assert_same(hypotheses, written_out(model, source, 10**9, alpha)[:20])


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@torch.no_grad()
def test_the_search_is_its_definition_written_out_and_its_early_end_changes_nothing(width, alpha):
    for seed in range(3):
        model = make_model(9, seed=seed, scale=2.0)
        sources = make_sources(seed, [4, 2, 1])
        found = search(model, *pad(sources), width, alpha, width)
        for source, hypotheses in zip(sources, found, strict=True):
            assert_same(hypotheses, written_out(model, source, width, alpha)[:width])


@pytest.mark.parametrize("decoder", ["last-state", "concatenate", "output", "input", "transformer"])
@pytest.mark.parametrize("width", [1, 4])
def test_a_translation_is_the_same_alone_and_in_any_batch(decoder, width):
    model = make_model(25, decoder, decoder_layers=2).float()
    sources = make_sources(3, [1, 7, 4, 4, 2])
    together = search(model, *pad(sources), width, 1.0, n_best=width)
    other = search(model, *pad(sources[::-1]), width, 1.0, n_best=width)[::-1]
    for i, source in enumerate(sources):
        alone = search(model, *pad([source]), width, 1.0, n_best=width)[0]
        for result in (together[i], other[i]):
            assert [h.tokens for h in result] == [h.tokens for h in alone]
            assert np.allclose([h.score for h in result], [h.score for h in alone], atol=1e-5)


def test_translate_keeps_the_order_of_the_sources_whatever_its_batches(monkeypatch):
    model = make_model(25)
    sources = make_sources(4, [3, 8, 1, 0, 5, 8, 2])
    whole = translate(model, sources, 4, 0.8, "cpu", n_best=2)
    monkeypatch.setattr(beam_module, "MAX_HYPOTHESES", 8)
    again = translate(model, sources, 4, 0.8, "cpu", n_best=2)
    for hypotheses, others in zip(whole, again, strict=True):
        assert_same(hypotheses, others)
    for source, hypotheses in zip(sources, whole, strict=True):
        if len(source):
            assert_same(hypotheses, search(model, *pad([source]), 4, 0.8, 2)[0])
    assert whole[3] == [Hypothesis([], 0.0, 0.0)], "an empty source has an empty translation"


def test_each_sentence_has_a_length_limit_of_its_own():
    model = make_model(25)
    with torch.no_grad():
        model.output.bias[EOS] = -1e4
    sources = make_sources(5, [1, 6, 3])
    for source, hypotheses in zip(sources, search(model, *pad(sources), 3, 1.0), strict=True):
        assert len(hypotheses[0].tokens) + 1 == 2 * len(source) + 5
        assert hypotheses[0].log_probability < -1e3, "the end that was forced has its probability"


def test_padding_bos_and_unknown_are_never_produced():
    model = make_model(8)
    with torch.no_grad():
        model.output.bias[list(FORBIDDEN)] = 20.0
    sources = make_sources(6, [5, 2])
    for hypotheses in search(model, *pad(sources), 4, 1.0, n_best=4):
        for hypothesis in hypotheses:
            assert not set(hypothesis.tokens) & {*FORBIDDEN, EOS}
            # they keep their share of the probability
            assert hypothesis.log_probability < -10 * (len(hypothesis.tokens) + 1)


def test_the_n_best_are_sorted_distinct_and_scored_as_forced_translations():
    model = make_model(25, "input", score="additive")
    sources = make_sources(7, [5, 3])
    found = search(model, *pad(sources), 6, 0.6, n_best=6)
    for source, hypotheses in zip(sources, found, strict=True):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True) and len(hypotheses) == 6
        assert len({tuple(hypothesis.tokens) for hypothesis in hypotheses}) == 6
        batch = make_pairs([source.tolist()] * 6, [h.tokens for h in hypotheses], padding=2)
        log_probability, forced = score(model, batch, 0.6)
        assert np.allclose(log_probability, [h.log_probability for h in hypotheses], atol=1e-9)
        assert np.allclose(forced, scores, atol=1e-9)


@pytest.mark.parametrize("columns", [7, 40, 3001])
def test_the_largest_of_a_row_are_those_of_topk(columns):
    torch.manual_seed(columns)
    values = torch.randn(20, columns)
    values[3, 1:] = -math.inf
    found, column = beam_module._largest(values, 5)
    assert torch.equal(found, values.topk(5).values)
    assert torch.equal(values.gather(1, column), found)
    assert all(len(set(row)) == 5 for row in column.tolist())


class MarkovChain(Translator):
    """A translator without a source: the next token depends on the last one alone."""

    def __init__(self, transitions: dict[int, dict[int, float]], vocabulary: int) -> None:
        super().__init__()
        self.output = nn.Linear(vocabulary, vocabulary, bias=False)
        self.output_dropout = nn.Dropout(0.0)
        table = torch.full((vocabulary, vocabulary), -1e9)
        table[:, EOS] = 0.0  # a token without transitions is the last
        for token, following in transitions.items():
            table[token] = -1e9
            for next_token, probability in following.items():
                table[token, next_token] = math.log(probability)
        self.output.weight = nn.Parameter(table.T)

    def embed(self, source):
        return torch.zeros(*source.shape, 1)

    def read(self, embedded, lengths):
        return Memory(embedded, torch.zeros(embedded.shape[:2], dtype=bool)), ()

    def decode(self, tokens, memory, state, weights=None):
        return Decoded(nn.functional.one_hot(tokens, self.output.in_features).float(), None, ())


A = 4
SENTENCE = torch.tensor([[7, 7]]), torch.tensor([2])


def test_a_sentence_that_cannot_be_won_any_more_is_not_extended():
    # Without normalisation log P only falls: once "" is found no beginning with less can win.
    steps = []
    model = MarkovChain({BOS: {EOS: 0.9, A: 0.1}, A: {A: 0.9, EOS: 0.1}}, 6).eval()
    decode = model.decode
    model.decode = lambda *arguments: steps.append(1) or decode(*arguments)
    assert search(model, *SENTENCE, 2, 0.0)[0][0].tokens == [] and len(steps) == 1
    # with a penalty it could: log(.1 * .9 ** 7 * .1) / 9 ** 2 is more than log .9
    assert search(model, *SENTENCE, 2, 2.0)[0][0].tokens == [A] * 8 and len(steps) == 1 + 9


def test_a_search_with_dropout_or_for_more_than_its_beam_is_an_error():
    model = make_model()
    with pytest.raises(ValueError, match="beam of 2 does not find the 3 best"):
        search(model, *SENTENCE, 2, 1.0, n_best=3)
    with pytest.raises(ValueError, match="evaluation mode"):
        search(model.train(), *SENTENCE, 2, 1.0)
