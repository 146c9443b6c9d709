"""The contents of the site are the links of its index pages, under the headings they have there.

An index page is plain Markdown, which GitHub shows too; Sphinx wants a `toctree`. This writes one
for each heading. A page that no index links is a warning of Sphinx.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)\.(?:md|ipynb)\)")


def make_toctree(markdown: str, caption: str = "") -> str:
    """Return a hidden toctree with the pages that a text links.

    Under a caption they are named as the text names them, else by their own titles.
    """
    pages: dict[str, str] = {}
    for title, page in LINK.findall(markdown):
        pages.setdefault(page, f"{title} <{page}>" if caption else page)
    if not pages:
        return ""
    option = f":caption: {caption}\n" if caption else ""
    listed = "\n".join(pages.values())
    return f"\n```{{toctree}}\n:hidden:\n{option}\n{listed}\n```\n"


def add_toctrees(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append toctrees to an index page (an event of Sphinx)."""
    if docname == app.config.root_doc:  # a toctree for each of its sections
        sections = re.split(r"^## (.+)$", source[0], flags=re.MULTILINE)
        named = zip(sections[1::2], sections[2::2], strict=True)
        source[0] += "".join(make_toctree(text, title) for title, text in named)
    elif Path(docname).name == "index":
        source[0] += make_toctree(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", add_toctrees)
    return {"parallel_read_safe": True}
