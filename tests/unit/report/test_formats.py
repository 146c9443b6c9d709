"""Words that a number chooses."""

from heed.report.formats import format_count, pluralize


def test_a_count_chooses_singular_or_plural():
    texts = ("{count} seed ({seeds}).", "{count} seeds ({seeds}).")
    assert pluralize(*texts, 1, seeds="7") == "1 seed (7)."
    assert pluralize(*texts, 2, seeds="7, 8") == "2 seeds (7, 8)."
    assert format_count(1234567) == "1,234,567"
