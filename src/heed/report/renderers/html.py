"""Blocks as HTML: every value is escaped, and invisible characters are replaced."""

import base64
import functools
import hashlib
import re
import urllib.parse
from collections.abc import Callable, Iterable
from pathlib import Path

import jinja2
from markupsafe import Markup

from heed.report.blocks import PAGE, Block, Figure, Span, Table, Term, walk_blocks
from heed.report.language import current_language, say
from heed.report.renderers.escape import TEMPLATES, kind, visible

MAX_INLINE = 1_000_000  # bytes of all SVGs; with more, the page links the files in figures/
LONG_NOTE = 20  # words
SENTENCE_END = re.compile(r"(?<=\w{3}[.!?])\s+")  # the end of e.g. is none
ImageAddress = Callable[[Figure], str]
TableCopies = Callable[[Table], dict[str, str]]
Link = tuple[str, str, str]


def environment() -> jinja2.Environment:
    """Return the jinja environment for HTML, which escapes every value."""
    return _environment(current_language())


@functools.cache
def _environment(language: str) -> jinja2.Environment:
    """Return the environment of a language, once: it keeps its templates compiled.

    To compile a template takes longer than to fill it in, and every table has its file.
    """
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    jinja.filters |= {"kind": kind, "spans": spans}
    jinja.globals |= {
        "say": say,
        "language": language,
        "script": script,
        "policy": policy,
        "PAGE": PAGE,
    }
    return jinja


def spans(texts: tuple[str | Span, ...]) -> list[Span]:
    """Return texts as spans."""
    return [text if isinstance(text, Span) else Span(text) for text in texts]


def page(
    blocks: list[Block],
    image: ImageAddress,
    title: str,
    warning: str,
    note: str,
    copies: TableCopies = lambda _: {},
    links: Iterable[Link] = (),
    citation: str = "",
) -> str:
    """Return the page.

    Args:
        blocks: its sections.
        image: returns the address of a figure's image.
        title: of the study.
        warning: such as that all text is generated; or empty.
        note: of the study, framed below its title; or empty. Of a long one the page shows the
            first sentence, and the others on demand.
        copies: returns a table as texts to copy, by the name of the format.
        links: to files next to the page: the text, the address or nothing, and a command or
            another explanation.
        citation: in BibTeX.

    """
    template = environment().get_template("index.html.jinja")
    terms = [block for block in walk_blocks(blocks) if isinstance(block, Term)]
    first, more = split_note(note)
    return template.render(
        blocks=blocks,
        image=image,
        copies=copies,
        hints={f"#{term.key}": str(term) for term in terms},
        title=title,
        warning=warning,
        note=first,
        more=more,
        links=links,
        citation=citation,
    )


def split_note(note: str) -> tuple[str, str]:
    """Return the first sentence of a long note, and the others; all of a short one, and nothing."""
    if len(note.split()) <= LONG_NOTE:
        return note, ""
    first, *others = SENTENCE_END.split(note, maxsplit=1)
    return first, "".join(others)


def image_addresses(figures: list[Figure], folder: Path) -> ImageAddress:
    """Return a function from a figure to its address: its SVG, or its file if all are too large."""
    texts = {
        figure.key: (folder / f"{figure.key}.svg").read_text(encoding="utf-8") for figure in figures
    }
    if sum(map(len, texts.values())) > MAX_INLINE:
        return lambda figure: f"figures/{figure.key}.svg"
    safe = " !$()*+,-./;=?@[]_~'"
    return lambda figure: "data:image/svg+xml," + urllib.parse.quote(texts[figure.key], safe=safe)


def script(name: str) -> Markup:
    """Return a script of templates/, not escaped: it has no text of users."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def policy(name: str = "") -> Markup:
    """Return a page's Content-Security-Policy: no network, and no script but the one named."""
    source = "'none'"
    if name:
        digest = base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode()
        source = f"'sha256-{digest}'"
    return Markup(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self' file:; script-src "
        f"{source}"
    )
