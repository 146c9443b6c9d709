"""Batches of sentence pairs: every pair once, an order by the seed alone, bounded padding."""

import dataclasses

import numpy as np
import pytest
import torch

from heed.hyperparameters.translator import Segmentation
from heed.inputs.pairs import EncodedPairs, PairBatch, encode_pairs, make_segmenter
from heed.inputs.vocabulary import BOS, EOS, PADDING, UNKNOWN
from heed.tokens.arrays import ParallelTokens
from heed.tokens.tokenizer import tokenize_sentences


def make_pairs(count: int = 300, longest: int = 40) -> tuple[EncodedPairs, np.ndarray]:
    """Return pairs of random lengths, whose rows are 7, 8, … in another order."""
    generator = np.random.default_rng(1)
    rows = generator.permutation(count) + 7
    sides = (
        [generator.integers(4, 50, generator.integers(1, longest)).astype(np.int32) for _ in rows]
        for _ in range(2)
    )
    return EncodedPairs(rows, *sides), rows


PAIRS, ROWS = make_pairs()


def padded_tokens(batch: PairBatch) -> int:
    return batch.source.numel() + batch.target.numel()


def test_a_batch_has_its_pairs_padded_and_its_targets_between_bos_and_eos():
    source = [np.asarray([4, 5, 6], np.int32), np.asarray([7], np.int32)]
    target = [np.asarray([8], np.int32), np.asarray([9, 10], np.int32)]
    batch = EncodedPairs(np.asarray([3, 12]), source, target).batch(np.asarray([12, 3]))
    assert batch.source.tolist() == [[7, PADDING, PADDING], [4, 5, 6]]
    assert batch.target.tolist() == [[BOS, 9, 10, EOS], [BOS, 8, EOS, PADDING]]
    assert batch.source_lengths.tolist() == [1, 3] and batch.target_lengths.tolist() == [4, 3]
    assert batch.rows.tolist() == [12, 3] and batch.predicted_tokens == 5
    assert batch.source.dtype == batch.target.dtype == torch.int64


@pytest.mark.parametrize("limit", [None, 500, 1])
def test_an_epoch_has_every_pair_once_in_steps_of_the_batch_size(limit):
    steps = list(PAIRS.training_steps(ROWS, 32, seed=1, epoch=0, max_padded_tokens=limit))
    sizes = sorted(sum(len(batch.rows) for batch in step) for step in steps)
    assert sizes == [300 % 32, *[32] * (300 // 32)]
    seen = [row for step in steps for batch in step for row in batch.rows.tolist()]
    assert sorted(seen) == sorted(ROWS.tolist())
    for batch in (batch for step in steps for batch in step):
        assert limit is None or len(batch.rows) == 1 or padded_tokens(batch) <= limit


def test_the_order_depends_on_seed_and_epoch_alone():
    def order(seed: int, epoch: int, limit: int | None = None) -> list[list[int]]:
        steps = PAIRS.training_steps(ROWS, 32, seed, epoch, limit)
        return [[row for batch in step for row in batch.rows.tolist()] for step in steps]

    assert order(1, 0) == order(1, 0) == order(1, 0, limit=400)
    assert order(1, 0) != order(1, 1) and order(1, 0) != order(2, 0)


def test_pairs_that_are_left_out_of_training_are_counted_by_their_first_reason():
    lengths = [(3, 3), (9, 3), (3, 9), (9, 9), (2, 4)]
    source, target = ([np.full(pair[i], 5) for pair in lengths] for i in range(2))
    pairs, rows = EncodedPairs(np.arange(5), source, target), np.arange(5)
    h = Segmentation(max_source_tokens=8, max_target_tokens=8)
    kept, counts = pairs.training_rows(rows, h)
    assert kept.tolist() == [0, 4] and counts == {"long_source": 2, "long_target": 1}


class Forbidden(list):
    """Texts of which a test row may not be read."""

    def __getitem__(self, row):
        assert row < 4, "a test row was read"
        return super().__getitem__(row)


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_only_the_rows_that_are_asked_for_are_encoded(kind):
    texts = Forbidden([f"a b c{i} d" for i in range(6)])
    side = dataclasses.replace(
        tokenize_sentences([*map(str, list.__iter__(texts))], "whitespace"),
        read_texts=lambda: texts,
    )
    ids = np.asarray(side.ids).copy()
    ids[side.offsets[4] :] = 10**6  # looking these up fails
    # type: ignore[arg-type]
    tokens = ParallelTokens(None, None, {"x": dataclasses.replace(side, ids=ids), "y": side})
    segmenter = make_segmenter(side, np.arange(3), 1000, Segmentation(segmentation=kind))
    pairs = encode_pairs(tokens, np.arange(4), ("x", "y"), (segmenter, segmenter))
    assert len(pairs.sources(np.arange(4))) == 4
    source, target = pairs.unknown_shares(np.asarray([3]))
    assert source == target > 0, "c3 is not in the training split"
    assert pairs.unknown_shares(np.arange(3)) == (0.0, 0.0)
    with pytest.raises(KeyError):
        pairs.sources(np.asarray([4]))
    assert UNKNOWN in pairs.targets(np.asarray([3]))[0]
