"""Numbers are rounded as by hand, the same on the page, on paper, in CSV and in metrics.json."""

import pytest

from heed.evaluation.results import format_significant, round_half_up
from heed.report.formats import (
    POINTS,
    PROBABILITY,
    decimals,
    format_count,
    format_interval,
    format_number,
    format_p,
    format_points,
    pluralize,
)
from heed.report.pages import Page
from heed.report.tables import Cell, Row, Table, TableColumn, csv_table
from heed.report.typesetting import table as in_latex


@pytest.mark.parametrize(("value", "digits", "rounded"), [
    (0.125, 2, 0.13),  # format and round: 0.12, the even neighbour
    (0.285, 2, 0.29),  # its binary value is a little less
    (2.675, 2, 2.68),
    (-0.125, 2, -0.13),
    (0.1249, 2, 0.12),
    (100 * (0.99285 - 0.98), 2, 1.29),  # 1.2849999999999984 by the error of floats
    (12.5, 0, 13.0),
    (1e300, 2, 1e300),
    (float("inf"), 2, float("inf")),
])  # fmt: skip
def test_a_half_is_rounded_away_from_zero(value, digits, rounded):
    assert round_half_up(value, digits) == rounded


def test_a_rounded_zero_has_no_sign():
    assert [format_points(value) for value in (-0.001, 0.004, 0.0, -0.0, -0.005)] == [
        "0.00", "0.00", "0.00", "0.00", "−0.01"
    ]  # fmt: skip
    assert [POINTS.plain(value) for value in (-0.001, 0.004, -0.005)] == ["0.00", "0.00", "-0.01"]
    assert format_interval((-0.002, 0.34)) == "0.00 to +0.34"
    assert format_number(-0.00001) == "0.0000" and decimals(2).plain(-0.001) == "0.00"


def test_p_is_rounded_half_up_with_three_decimals_and_in_csv_with_three_digits():
    assert [format_p(p) for p in (0.125, 0.0125, 0.0005, 0.99951)] == [
        "0.125", "0.013", "< 0.001", "1.000"
    ]  # fmt: skip
    assert [PROBABILITY.plain(p) for p in (0.125, 0.0125, 0.012345, 0.00012345, 0.0)] == [
        "0.125", "0.0125", "0.0123", "0.000123", "0"
    ]  # fmt: skip
    assert format_significant(0.125, 2) == "0.13" and format_significant(1.0, 3) == "1"


def test_page_paper_and_csv_have_the_same_digits():
    columns = (
        TableColumn("name", "Name"), TableColumn("gain_pp", "Gain", POINTS),
        TableColumn("zero_pp", "Zero", POINTS), TableColumn("share", "Share", decimals(2)),
    )  # fmt: skip
    values = ("one", -0.285, -0.001, 0.125)
    cells = (Cell(v, c.format.printed(v)) for c, v in zip(columns, values, strict=True))
    table = Table("made-up", "", columns, (Row(tuple(cells)),))
    assert csv_table(table) == "name,gain_pp,zero_pp,share\none,-0.29,0.00,0.13\n"
    page = Page({("scores", ""): [table]}, {}, str, lambda _: {}).table("scores")
    assert all(f"<td>{text}</td>" in page for text in ("−0.29", "0.00", "0.13"))
    assert r"one & -0.29 & 0.00 & 0.13 \\" in in_latex(table)


def test_a_count_chooses_singular_or_plural():
    texts = ("{count} seed ({seeds}).", "{count} seeds ({seeds}).")
    assert pluralize(*texts, 1, seeds="7") == "1 seed (7)."
    assert pluralize(*texts, 2, seeds="7, 8") == "2 seeds (7, 8)."
    assert format_count(1234567) == "1,234,567"
