"""The contents of the site are the links of its index pages, under the headings they have there.

An index page is plain Markdown, which GitHub shows too; Sphinx wants a `toctree`. This writes one
for each heading. A page that no index links is a warning of Sphinx. A published report stands below
the page of its study.
"""

import os
import re
from html import unescape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)\.(?:md|ipynb)\)")


def find_pages(markdown: str) -> dict[str, str]:
    """Return the pages that a text links, in order, each with the text of its first link."""
    pages: dict[str, str] = {}
    for title, page in LINK.findall(markdown):
        pages.setdefault(page, title)
    return pages


def make_toctree(entries: list[str], caption: str = "") -> str:
    """Return a hidden toctree, or nothing without entries."""
    option = f":caption: {caption}\n" if caption else ""
    listed = "\n".join(entries)
    return f"\n```{{toctree}}\n:hidden:\n{option}\n{listed}\n```\n" if entries else ""


def add_toctrees(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append toctrees to an index page (an event of Sphinx).

    The first one has a toctree for each of its sections. Others have one, of the pages that the
    first one does not link, in its own folder. Only the title of a published report is read:
    `repository_files` puts the report in the place of the page. Internals are not in the contents.
    """
    first = app.config.root_doc
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".html":
        (title,) = TITLE.findall(source[0])
        source[0] = f"# {unescape(title)}\n"
    elif path.name == "README.md" and path.with_name("index.html").exists():
        source[0] += make_toctree(["The report <index>"])
    elif docname == first:
        sections = re.split(r"^## (.+)$", source[0], flags=re.MULTILINE)
        for caption, text in zip(sections[1::2], sections[2::2], strict=True):
            entries = [f"{title} <{page}>" for page, title in find_pages(text).items()]
            source[0] += make_toctree(entries, caption)
    elif path.name == "index.md":
        linked = find_pages(Path(app.env.doc2path(first)).read_text(encoding="utf-8"))
        known = {os.path.normpath(Path(first).parent / page) for page in linked}
        pages = find_pages(source[0])
        folder = Path(docname).parent
        source[0] += make_toctree(
            [
                page
                for page in pages
                if not page.startswith("../") and os.path.normpath(folder / page) not in known
            ]
        )
    elif path.parent.name == "internals":
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", add_toctrees)
    return {"parallel_read_safe": True}
