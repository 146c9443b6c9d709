"""Whole reports as text: their words and numbers are read here, and tested word by word nowhere.

The numbers of the made-up studies are in tests/fixtures/report; what the code chooses to say in
other situations has tests of its own.
"""

import html
import re
from pathlib import Path

import pytest

from tests.fixtures.report import made_up_translation

HIDDEN = re.compile(r"<(script|style|template|svg)\b.*?</\1>|<head>.*?</head>", re.DOTALL)
LINE = re.compile(r"</?(?:p|h\d|li|tr|figure|figcaption|details|summary|section|div|dt|dd|table)\b")


def words_of(page: str) -> str:
    """The words of a page, its paragraphs and rows on lines of their own, drawings by their alt."""
    text = re.sub(r'<img [^>]*?alt="([^"]*)"[^>]*>', r"<p>[\1]</p>", HIDDEN.sub("", page))
    text = re.sub(r"</t[dh]>", " | ", LINE.sub(r"\n\g<0>", re.sub(r"\s+", " ", text)))
    text = html.unescape(re.sub(r"<[^>]*>", "", text))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def tables_of(report: Path, pattern: str) -> str:
    """Tables of a report as CSV."""
    texts = {path.name: path.read_text() for path in sorted((report / "tables").glob(pattern))}
    return "\n".join(f"{name}\n{text}" for name, text in texts.items())


def stable(text: str) -> str:
    """Without hashes of files and versions of packages."""
    return re.sub(r"\b[0-9a-f]{32}\b", "MD5", re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", text))


@pytest.mark.parametrize("name", ["sample", "talk", "translation"])
def test_a_report_says_what_it_said(rendered, snapshot, name):
    translation = made_up_translation.study(), made_up_translation.comparison()
    report = rendered(name, *(translation if name == "translation" else ()))
    page = (report / "index.html").read_text(encoding="utf-8")
    tables = tables_of(report, "[st][ua]*.csv" if name == "talk" else "*.csv")  # of the talk few
    snapshot(name, stable(f"{words_of(page)}\n{tables}"))
    if name == "sample":
        snapshot("paper", stable((report / "report.tex").read_text(encoding="utf-8")))
