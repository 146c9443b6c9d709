"""Where a model is right: counts by class, by length and by certainty, with numbers written
here.
"""

import re

import numpy as np
import pandas as pd
import pytest

from heed.evaluation.tested import evaluate
from heed.report.figures import drawing
from heed.tasks.classification.evaluation import by_length, calibration, confusion, length_edges
from heed.tasks.classification.figures import expected_calibration_error
from tests.conftest import train_and_predict


def test_confusions_are_counted_and_pairs_that_do_not_occur_have_no_row():
    table = confusion(pd.DataFrame({"label": list("aabb"), "predicted": list("abbb")}))
    assert table.values.tolist() == [["a", "a", 1], ["a", "b", 1], ["b", "b", 2]]


def test_length_groups_are_of_the_whole_corpus_and_every_document_is_in_one():
    lengths = np.arange(1, 81)
    edges = length_edges(lengths)
    assert edges.tolist() == [11, 21, 31, 41, 51, 61, 71, 80]
    found = by_length(lengths[:25] % 2 == 0, lengths[:25], edges)
    assert found["longest"].tolist() == [11, 21, 31] and found["documents"].tolist() == [11, 10, 4]
    assert found["right"].tolist() == [5, 5, 2]
    assert found["mean_length"].tolist() == [6.0, 16.5, 23.5]


def test_texts_of_one_length_are_one_group():
    assert length_edges(np.full(50, 7)).tolist() == [7]


def test_calibration_has_the_certainty_of_one_in_the_last_step():
    found = calibration(np.array([True, False, True, True]), np.array([1.0, 0.95, 0.5, 0.59]))
    assert found[["low", "documents", "right"]].to_numpy().tolist() == [[0.5, 2, 2], [0.9, 2, 1]]
    assert found["probability"].tolist() == pytest.approx([0.545, 0.975])


def test_the_expected_calibration_error_is_guo_et_als():
    """Two steps of 2 documents: |1 - 0.545| and |0.5 - 0.975|, each half of all; seeds are added
    up, not averaged.
    """
    table = calibration(np.array([True, False, True, True]), np.array([1.0, 0.95, 0.5, 0.59]))
    assert expected_calibration_error(table) == pytest.approx(0.5 * 0.455 + 0.5 * 0.475)
    assert expected_calibration_error(pd.concat([table, table])) == pytest.approx(0.465)


def test_evaluate_writes_them_for_every_seed_and_they_add_up_to_the_test_part(workplace):
    train_and_predict(seeds=(1, 2))
    folder = workplace / "results/evaluate/tiny-attention"
    summary = evaluate("tiny-attention", [1, 2])
    for name in ("confusion", "lengths", "calibration"):
        table = pd.read_csv(folder / f"{name}.csv")
        assert table.groupby("seed")["documents"].sum().tolist() == [12, 12]
        if "right" in table:
            assert (table.groupby("seed")["right"].sum() / 12).tolist() == pytest.approx(
                summary["accuracy"].tolist()
            )
    history = pd.read_csv(folder / "history.csv")
    assert history.groupby("seed")["epoch"].max().tolist() == [3, 3]


def test_a_figure_prints_its_words_as_they_are_and_rounds_only_where_things_stand(tmp_path):
    def on(metric):
        axes = metric.subplots()
        axes.set_xticks([0.123456], ["0.0032"])
        axes.plot([0.123456, 0.7], [0.1, 0.2])
        axes.set_title("class 1.23456")

    drawing.draw(tmp_path / "figure", "says", (3, 2), on)
    text = (tmp_path / "figure.svg").read_text()
    assert ">0.0032</" in text and ">class 1.23456</" in text
    assert not re.search(r'(?:x|y|d|transform)="[^"]*\d\.\d{4,}', text)


def test_every_series_of_a_figure_can_be_told_from_the_others():
    looks = [(drawing.colour(place), drawing.marker(place)) for place in range(36)]
    assert len(set(looks)) == 36 and drawing.marker(0) != drawing.marker(1)
