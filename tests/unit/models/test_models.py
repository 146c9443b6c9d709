"""The models are the field's own mathematics: each row of STYLE.md's bug table that concerns them
is a test here."""

import csv
import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from heed import hyperparameters as described
from heed import study
from heed.hyperparameters import CorpusSizes
from heed.inputs.batches import character_ngrams
from heed.models.classifier import Classifier
from heed.models.encoder import Encoder
from heed.models.recurrent import Bidirectional, padding_mask
from heed.models.scores import SCORES
from heed.models.size import count_parameters
from heed.tasks.classification import learning
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.classification.rules import contradictions
from tests.conftest import HYPERPARAMETERS, ROOT
from tests.makers.classifiers import make, make_batch, random_texts
from tests.makers.translators import read_packed

POOLINGS = ["last", "mean", "max", "attention"]


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_a_bidirectional_layer_equals_the_packed_one(lengths, seed):
    torch.manual_seed(seed)
    layer = Bidirectional(4, 3).double()
    inputs = torch.randn(len(lengths), max(lengths) + 2, 4, dtype=torch.float64)
    size = torch.tensor(lengths)
    token_mask = ~padding_mask(size, inputs.shape[1])
    found, (expected, _) = layer(inputs, size), read_packed([layer], inputs, size)
    assert torch.allclose(found[token_mask], expected[token_mask], atol=1e-12)
    if len(lengths) < 3 and max(lengths) < 4:
        inputs, token_mask = (
            inputs[:, : max(lengths)].requires_grad_(),
            token_mask[:, : max(lengths)],
        )
        assert torch.autograd.gradcheck(lambda x: layer(x, size)[token_mask], inputs)


NGRAMS, TRANSFORMER = {"character_buckets": 11}, {"encoder": "transformer"}
VARIANTS = [
    *(
        {"attention": attention, "pooling": pooling, "skip": skip}
        for attention in ("none", "multi-head", "single-head", "uniform")
        for pooling in POOLINGS
        for skip in (False, True)
    ),
    *({"attention": "none", "pooling": "attention", "score": score} for score in SCORES),
    {"attention": "none", "pooling": "mean", "encoder": "embeddings", **NGRAMS},
    {"attention": "multi-head", "heads": 2, "pooling": "max", **NGRAMS},
    TRANSFORMER | {"attention": "none", "pooling": "mean", "heads": 2},
    TRANSFORMER | {"attention": "none", "pooling": "attention", "heads": 4},
    TRANSFORMER | {"attention": "multi-head", "pooling": "max", "heads": 2},
]


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=5), padding=st.integers(0, 3),
    variant=st.sampled_from(VARIANTS), dtype=st.sampled_from([torch.float32, torch.float64]),
)  # fmt: skip
def test_logits_are_the_same_alone_and_in_any_padded_batch(lengths, padding, variant, dtype):
    variant = variant | ({"heads": 2} if variant.get("skip") else {})
    model = make(**variant).to(dtype)
    h = replace(HYPERPARAMETERS, **variant)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    texts = random_texts(lengths)
    with torch.no_grad():
        batch = model(make_batch(texts, None, padding, h))
        assert batch.isfinite().all()
        turned = model(make_batch(texts[::-1], None, padding, h)).flip(0)
        assert torch.allclose(turned, batch, atol=tolerance)
        for i, text in enumerate(texts):
            alone = model(make_batch([text], None, 0, h))[0]
            assert torch.allclose(alone, batch[i], atol=tolerance)


def count(vocabulary: int, classes: int, h: Hyperparameters) -> int:
    return count_parameters(lambda: Classifier(vocabulary, classes, h))


def test_the_embedding_of_padding_stays_zero_in_training():
    model = make().train()
    model(make_batch([[5, 6], [7, 8, 9, 4]])).sum().backward()
    table = model.network.embedding.word
    assert (table.weight.grad[0] == 0).all() and (table.weight[0] == 0).all()
    assert (table.weight.grad != 0).any()


def test_a_dropped_word_is_an_unknown_one_without_its_ngrams():
    h = replace(HYPERPARAMETERS, **NGRAMS, word_dropout=0.999999, embedding_dropout=0.0)
    torch.manual_seed(0)
    embedding = Classifier(30, 4, h).network.embedding.train()
    embedded = embedding(make_batch([[5, 6, 7], [8]], h=h))
    assert torch.equal(embedded[0], embedding.word.weight[1].expand(3, -1))
    assert (embedded[1, 1:] == 0).all()


def test_ngrams_are_added_to_the_word():
    h = replace(HYPERPARAMETERS, **NGRAMS, embedding_dropout=0.0)
    torch.manual_seed(0)
    embedding = Classifier(30, 4, h).network.embedding.eval()
    batch = make_batch([[5, 6]], h=h)
    characters = character_ngrams([f"w{i}" for i in range(30)], 11)
    for position, word in enumerate((5, 6)):
        rows = characters.ids[characters.offsets[word] : characters.offsets[word + 1]]
        expected = embedding.word.weight[word] + embedding.character.weight[rows].mean(0)
        assert torch.allclose(embedding(batch)[0, position], expected, atol=1e-6)


SIZES = [(3, 2), (2, 3), (2, 9), (4, 4)]  # of the states of one direction, and of the embeddings


def pieces_of(encoder: Encoder, text: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the states of each direction of a text alone, and its embeddings: (time, size)."""
    forwards, backwards = encoder.lstm.children()
    back = backwards(text.flip(0)[None])[0][0].flip(0)
    return {"forward": forwards(text[None])[0][0], "backward": back, "embedding": text}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling_takes_each_piece_of_the_states_from_where_it_is(pooling, skip, sizes):
    """The pieces are forward states, backward states, and with `skip` embeddings."""
    hidden, embedding = sizes
    h = replace(HYPERPARAMETERS, pooling=pooling, skip=skip, hidden_size=hidden, attention="none")
    torch.manual_seed(0)
    encoder = Encoder(embedding, h).eval()
    inputs, lengths = torch.randn(4, 6, embedding), torch.tensor([4, 1, 6, 0])
    padding = padding_mask(lengths, 6)
    with torch.no_grad():
        found, weights = encoder(inputs, lengths), encoder.token_weights(inputs, lengths)
        assert found.shape == (4, encoder.size) == (4, 2 * hidden + skip * embedding)
        assert (found[3] == 0).all() and (weights[padding] == 0).all()
        for vector, text, length, w in zip(found, inputs, lengths[:3], weights, strict=False):
            pieces, w = pieces_of(encoder, text[:length]), w[:length]
            parts = [*pieces.values()] if skip else [pieces["forward"], pieces["backward"]]
            expected = w @ torch.cat(parts, -1)
            if pooling == "last":
                ends = [pieces["forward"][-1], pieces["backward"][0]]
                expected = torch.cat([*ends, text[:length].mean(0)] if skip else ends)
                of_ends = F.one_hot(torch.tensor([length - 1, 0]), int(length)).sum(0) * hidden
                of_mean = embedding / length if skip else 0
                assert torch.allclose(w, (of_ends + of_mean) / encoder.size)
            if pooling == "max":
                expected = torch.cat(parts, -1).amax(0)
            assert torch.allclose(vector, expected, atol=1e-6)
            assert torch.isclose(w.sum(), torch.tensor(1.0))


CLASSES = {
    "letters-language": 6, "letters-author": 7, "imdb": 2, "imdb-suboptimal": 2, "news": 34,
    "news-big": 34,
}  # fmt: skip


def test_the_twelve_models_have_the_talks_parameter_counts_and_hyperparameters():
    talk = study.load(ROOT / "workflow/studies/talk.yaml")
    with (ROOT / "data/published/talk_results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    for row in rows:
        name = f"{row['experiment']}-{row['variant']}"
        h = talk.hyperparameters(name)
        same = ("epochs", "batch_size", "learning_rate", "embedding_dim", "vocabulary_size")
        keys = {key: getattr(h, key) for key in (*same, "linear_size", "dropout")}
        heads = h.heads if h.attention != "none" else 0
        keys |= {"lstm_hidden": h.hidden_size, "heads": heads}
        assert {key: float(row[key]) for key in keys} == keys, name
        millions = count(30000, CLASSES[row["experiment"]], h) / 1e6
        # One figure cannot be met to the digit: letters-author-last-state has 4.96, which the talk
        # prints as 4.9.
        assert abs(millions - float(row["parameters_million"])) <= 0.07, name
        is_exact = round(millions, 1) == float(row["parameters_million"])
        assert is_exact or name == "letters-author-last-state"


def widened(h: Hyperparameters) -> Hyperparameters:
    """The control that is as large as `h`, for 1,000 words and five classes."""
    return learning.parameter_matched(h, h, CorpusSizes((998,), 5))


@pytest.mark.parametrize("changes", [
    *({"hidden_size": size} for size in (8, 55, 256)), {"pooling": "attention"},
    {"attention": "single-head", "score": "general"},
    {"attention": "none", "pooling": "attention", "hierarchical": True},
])  # fmt: skip
def test_wide_is_without_any_attention_and_as_large_as_what_it_matches(changes):
    settings = {"vocabulary_size": 1000, "hidden_size": 40, "heads": 2}
    h = replace(HYPERPARAMETERS, **settings | changes)
    wide = widened(h)
    assert wide.attention == "none" and wide.pooling in ("mean", "last")
    assert wide.hierarchical == h.hierarchical and wide.hidden_size >= h.hidden_size
    target, size = count(1000, 5, h), count(1000, 5, wide)
    step = count(1000, 5, replace(wide, hidden_size=wide.hidden_size + 1)) - size
    assert abs(size - target) <= step / 2 + 1 and np.isclose(size / target, 1, atol=0.05)


def test_uniform_differs_from_attention_in_its_weights_alone():
    learned, uniform = make(attention="multi-head"), make(attention="uniform")
    uniform.load_state_dict(learned.state_dict())
    batch = make_batch([[5, 6, 7, 8]])
    same = replace(HYPERPARAMETERS, attention="uniform")
    assert count(30, 4, HYPERPARAMETERS) == count(30, 4, same)
    with torch.no_grad():
        assert not torch.allclose(learned(batch), uniform(batch))
        for model in (learned, uniform):
            for parameter in model.network.encoder.attention.query.parameters():
                parameter.zero_()
        assert torch.allclose(learned(batch), uniform(batch), atol=1e-6), "equal scores"


def test_every_part_that_is_described_can_be_built():
    assert {*SCORES, "diagonal"} == {*described.SCORES, *described.FIXED_SCORES}
    for encoder, attention, pooling in itertools.product(
        described.ENCODERS, described.ATTENTIONS, described.POOLINGS
    ):
        h = replace(HYPERPARAMETERS, encoder=encoder, attention=attention, pooling=pooling, heads=2)
        if not [*contradictions(h)]:
            assert make(**vars(h)) is not None
