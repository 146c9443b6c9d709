"""The words of a page, as a reader reads them."""

import html
import re

HIDDEN = re.compile(
    r"<(script|style|template)\b.*?</\1>|<head>.*?</head>|<img src='[^']*' alt=\"[^\"]*\"[^>]*>"
    r'|<th scope="row" class="again">.*?</th>',
    re.DOTALL,
)
LINE = re.compile(r"</?(?:p|h\d|li|tr|figure|details|summary|section|div|dt|dd|table)\b")


def words_of(page: str) -> str:
    """The words of a page, its paragraphs and rows on lines of their own, without drawings."""
    text = re.sub(r'<a class="permalink".*?</a>', "", HIDDEN.sub("", page))
    text = re.sub(r"</t[dh]>", " | ", LINE.sub(r"\n\g<0>", re.sub(r"\s+", " ", text)))
    text = html.unescape(re.sub(r"<[^>]*>", "", text))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def first_screen(page: str) -> str:
    """The words of the first screen, without the names of files."""
    found = page.partition('<section class="first"')[2].partition("</section>")[0]
    assert found
    text = re.sub(r'<div class="tools">.*?</div>|<details.*?</details>', "", found, flags=re.S)
    return words_of(f"<section{text}").replace("|", "")
