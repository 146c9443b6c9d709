"""Links to files of the repository that are no pages lead to these files within the site.

The site has the folders of the repository: a published study is copied as it is, and a source
file that a page links is shown with its lines coloured, at its own path with `.html` after it.
"""

import os
import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx

STUDIES = "docs/studies"
PAGE = re.compile(r'(href="[\w./-]+)\.md(?=["#])')  # a report's link to a page of the site


def get_path(app: Sphinx, docname: str, target: str) -> str:
    """Return the path in the repository that a link of a page names."""
    folder = Path(app.env.doc2path(docname)).parent
    return os.path.relpath(os.path.normpath(folder / target), app.srcdir)


def link_file(app: Sphinx, docname: str, target: str) -> str:
    """Return the address, as a page sees it, of a file or folder of the repository."""
    path = get_path(app, docname, target)
    if (app.srcdir / path).is_dir():
        pages = [name for name in ("README.html", "index.html") if has_page(app, path, name)]
        page = f"{path}/{pages[0] if pages else 'index.html'}"
        if not pages:
            app.env.repository_files.add(path)
    elif path.startswith(f"{STUDIES}/"):
        page = path
    else:
        page = f"{path}.html"
        app.env.repository_files.add(path)
    return os.path.relpath(page, Path(docname).parent)


def has_page(app: Sphinx, folder: str, name: str) -> bool:
    """Return whether the site will have this page of a folder."""
    if name == "README.html":
        return f"{folder}/README" in app.env.found_docs
    return folder.startswith(f"{STUDIES}/") and (app.srcdir / folder / name).is_file()


def resolve_links(app: Sphinx, doctree: nodes.document) -> None:
    """Replace what MyST makes of a link to a file or a folder (an event of Sphinx)."""
    docname = app.env.docname
    folder = Path(app.env.doc2path(docname)).parent
    for node in doctree.findall(addnodes.pending_xref):
        if node.get("refdomain") == "doc" and node["reftarget"] not in app.env.found_docs:
            file = app.srcdir / f"{node['reftarget']}.html"  # a file beside a published report
            node["reftarget"], node["refdomain"] = os.path.relpath(file, folder), None
    for node in [*doctree.findall(addnodes.download_reference), *doctree.findall(is_folder_link)]:
        target = node["reftarget"]
        if target.endswith(".png"):  # Sphinx copies a picture that is linked
            continue
        if (app.srcdir / get_path(app, docname, target)).exists():
            link = nodes.reference("", "", *node.children, refuri=link_file(app, docname, target))
            node.replace_self(link)


def is_folder_link(node: nodes.Node) -> bool:
    """Return whether this is a link to something that MyST takes for no file."""
    return (
        isinstance(node, addnodes.pending_xref)
        and node.get("reftype") == "myst"
        and node.get("refdomain") is None
        and not node["reftarget"].startswith("#")
    )


def make_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield name, content and template of each page for a file (an event of Sphinx)."""
    for path in sorted(app.env.repository_files):
        file = app.srcdir / path
        name = f"{path}/index" if file.is_dir() else path
        body = list_folder(file) if file.is_dir() else show_file(app, file)
        title = escape(path)
        yield name, {"title": title, "body": f"<h1>{title}</h1>\n{body}"}, "page.html"


def list_folder(folder: Path) -> str:
    """Return a folder of a published study as HTML: links to its files."""
    names = sorted(escape(file.name) for file in folder.iterdir() if file.is_file())
    return "<ul>" + "".join(f'<li><a href="{name}">{name}</a></li>' for name in names) + "</ul>"


def show_file(app: Sphinx, file: Path) -> str:
    """Return the text of a file as HTML."""
    try:
        language = get_lexer_for_filename(file.name).aliases[0]
    except ClassNotFound:
        language = "text"
    return app.builder.highlighter.highlight_block(file.read_text(), language)


def copy_studies(app: Sphinx, exception: Exception | None) -> None:
    """Copy the published reports; their links to pages lead to the site's (an event of Sphinx)."""
    if exception is None:
        ignore = shutil.ignore_patterns("*.md")
        shutil.copytree(
            app.srcdir / STUDIES, app.outdir / STUDIES, ignore=ignore, dirs_exist_ok=True
        )
        for report in (app.srcdir / STUDIES).glob("*/index.html"):
            page = PAGE.sub(r"\1.html", report.read_text(encoding="utf-8"))
            copied = app.outdir / report.relative_to(app.srcdir)
            copied.write_text(page, encoding="utf-8")


def prepare(app: Sphinx) -> None:
    """Start without files (an event of Sphinx)."""
    app.env.repository_files = set()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", prepare)
    app.connect("doctree-read", resolve_links, priority=400)  # before downloads are collected
    app.connect("html-collect-pages", make_pages)
    app.connect("build-finished", copy_studies)
    return {"parallel_read_safe": False}
