"""Links of words: their text, the rule that makes them of attention, and their error rate."""

import numpy as np
import pytest

from heed.files import HeedError
from heed.tasks.translation.evaluation import by_distance, group_edges, link_distances
from heed.tasks.translation.metrics import (
    corpus_counts,
    count,
    diagonal,
    error_rate,
    format_links,
    links_from_weights,
    parse_links,
    precision,
    recall,
    shift,
)


def test_a_line_in_pharaohs_format_is_read_and_written():
    sure, possible = parse_links("0-0 2-1 1?1", "gold.txt:1")
    assert sure == {(0, 0), (2, 1)} and possible == {(0, 0), (2, 1), (1, 1)}
    assert format_links(sure, possible) == "0-0 1?1 2-1"
    assert parse_links(format_links(sure, possible), "gold.txt:1") == (sure, possible)
    assert parse_links("", "gold.txt:2") == (set(), set()) and format_links(set()) == ""


@pytest.mark.parametrize("link", ["0", "0-", "a-1", "0:1", "-1-2", "0--1", "0-1-2", "²-1"])
def test_what_is_no_link_is_refused_with_its_line(link):
    with pytest.raises(HeedError, match=r"gold\.txt:7") as error:
        parse_links(f"0-0 {link}", "gold.txt:7")
    assert repr(link) in str(error.value)


def test_the_error_rate_is_och_and_neys_by_hand():
    sure, possible = {(0, 0), (1, 2)}, {(0, 0), (1, 2), (2, 1)}
    counts = np.asarray(count({(0, 0), (2, 1), (2, 2)}, sure, possible))
    assert counts.tolist() == [3, 2, 1, 2]
    assert error_rate(counts) == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert precision(counts) == pytest.approx(2 / 3) and recall(counts) == pytest.approx(1 / 2)


def test_sure_links_are_possible_even_where_a_file_does_not_repeat_them():
    assert count({(0, 0)}, {(0, 0)}, set()) == (1, 1, 1, 1)


def test_the_error_rate_is_a_ratio_of_sums_and_no_mean_over_sentences():
    short, long = {(0, 0)}, {(i, i) for i in range(9)}
    gold = [(short, short), (long, long), None]
    counts = corpus_counts([set(), long, {(3, 3)}], gold)
    assert error_rate(counts.sum(0)) == pytest.approx(1 - 18 / 19)
    assert error_rate(counts[:2]).mean() == pytest.approx(0.5), "which counts the short one more"


def test_without_links_nothing_is_divided_by_zero():
    counts = np.zeros((2, 3, 4))
    assert not error_rate(counts).any() and not precision(counts).any() and not recall(counts).any()
    nothing_linked = np.asarray([0, 5, 0, 0])
    assert error_rate(nothing_linked) == 1 and recall(nothing_linked) == 0
    assert corpus_counts([], []).shape == (0, 4)


def test_each_target_word_is_linked_to_the_source_word_with_the_largest_weight():
    weights = np.asarray([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]])
    words = np.arange(3), np.arange(2)
    assert links_from_weights(weights, *words) == {(1, 0), (0, 1)}, "the first of equal weights"


def test_weights_are_summed_over_the_pieces_of_a_source_word_and_averaged_over_a_target_words():
    weights = np.asarray([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7], [0.7, 0.3, 0.0]])
    # source words 0 and 1 1, target words 0 0 and 1: the mean of word 0 is (0.25, 0.75)
    links = links_from_weights(weights, np.asarray([0, 1, 1]), np.asarray([0, 0, 1]))
    assert links == {(1, 0), (0, 1)}


def test_the_rows_of_a_decoders_attention_belong_to_the_words_that_they_predict():
    """Off by one, every link is wrong: the control that shifts all links must be bad."""
    gold = {(i, i) for i in range(6)}
    weights = np.eye(6)
    links = links_from_weights(weights, np.arange(6), np.arange(6))
    late = links_from_weights(np.roll(weights, 1, axis=0), np.arange(6), np.arange(6))
    assert links == gold and late == shift(gold, 6)
    rates = [error_rate(np.asarray(count(each, gold, gold))) for each in (links, late)]
    assert rates == [0, 1]


def test_the_shift_moves_every_link_around_the_end_of_the_sentence():
    assert shift({(0, 0), (1, 2)}, 3) == {(0, 1), (1, 0)}
    assert shift(set(), 0) == set()


def test_the_diagonal_links_words_at_the_same_share_of_their_sentences():
    assert diagonal(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal(4, 2) == {(0, 0), (2, 1)}
    assert diagonal(0, 2) == set() and diagonal(2, 0) == set()


def test_links_are_counted_by_how_far_they_reach():
    sure = {(0, 0), (1, 1), (2, 5), (6, 2)}
    gold = [(sure, sure), None]
    distances = link_distances(gold)
    assert sorted(distances) == [0, 0, 3, 4]
    edges = group_edges(distances)
    table = by_distance([{(0, 0), (2, 5)}, {(9, 9)}], gold, edges)
    assert table.to_dict("list") == {"furthest": [0, 3, 4], "links": [2, 1, 1], "found": [1, 1, 0]}
