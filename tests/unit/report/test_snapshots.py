"""Two whole pages as text: whoever changes the words of a template reads them here."""

import re

import pytest

from tests.unit.report.text import words_of


def stable(text: str) -> str:
    """Without hashes of files and versions of packages."""
    return re.sub(r"\b[0-9a-f]{32}\b", "MD5", re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", text))


@pytest.mark.parametrize("name", ["sample", "translation"])
def test_a_page_says_what_it_said(rendered, snapshot, name):
    page = (rendered(name) / "index.html").read_text(encoding="utf-8")
    snapshot(name, stable(words_of(page)))
