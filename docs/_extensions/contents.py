"""The contents of the site are the links of its index pages, under the headings that they have there.

An index page is plain Markdown, which GitHub shows too; Sphinx wants a `toctree`. This writes one
for each heading. A page that no index links is a warning of Sphinx.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"\]\(([^)#:]+)\.(?:md|ipynb)\)")


def make_toctrees(markdown: str, captions: bool) -> str:
    """Return a hidden toctree for each `##` section of a page, with the pages that it links."""
    sections = re.split(r"^## (.+)$", markdown, flags=re.MULTILINE)
    named = [("", sections[0]), *zip(sections[1::2], sections[2::2], strict=True)]
    trees = []
    for title, text in named:
        pages = list(dict.fromkeys(LINK.findall(text)))
        caption = f":caption: {title}\n" if title and captions else ""
        if pages:
            trees.append(
                "\n```{toctree}\n:hidden:\n" + caption + "\n".join(["", *pages]) + "\n```\n"
            )
    return "".join(trees)


def add_toctrees(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append the toctrees to an index page (an event of Sphinx)."""
    if Path(docname).name == "index":
        source[0] += make_toctrees(source[0], captions=docname == app.config.root_doc)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", add_toctrees)
    return {"parallel_read_safe": True}
