"""Blocks as HTML: every value is escaped, and what cannot be seen is named."""

import base64
import hashlib
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import jinja2
from markupsafe import Markup

from heed.report.blocks import PAGE, Block, Figure, Span
from heed.report.language import language, say
from heed.report.renderers.templates import TEMPLATES, kind
from heed.report.renderers.visible import visible

INLINE = 1_000_000  # bytes of SVG in all: more, and the page links the files in figures/
Images = Callable[[Figure], str]


def environment() -> jinja2.Environment:
    """Return what renders HTML: it escapes every value, and shows what cannot be seen."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {"kind": kind, "spans": spans}
    made.globals |= {
        "say": say,
        "language": language(),
        "script": script,
        "policy": policy,
        "PAGE": PAGE,
    }
    return made


def spans(texts: tuple[str | Span, ...]) -> list[Span]:
    """Return texts as spans."""
    return [text if isinstance(text, Span) else Span(text) for text in texts]


def page(blocks: list[Block], image: Images, title: str, warning: str, note: str) -> str:
    """Return the page.

    Args:
        blocks: its sections.
        image: gives the address of a figure's drawing.
        title: of the study.
        warning: such as that all text is generated; or nothing.
        note: the study's own, framed below its title; or nothing.

    """
    template = environment().get_template("index.html.jinja")
    return template.render(blocks=blocks, image=image, title=title, warning=warning, note=note)


def images(figures: list[Figure], folder: Path) -> Images:
    """Return what gives a figure's address: its drawing, or its file where all are large."""
    texts = {
        figure.key: (folder / f"{figure.key}.svg").read_text(encoding="utf-8") for figure in figures
    }
    if sum(map(len, texts.values())) > INLINE:
        return lambda figure: f"figures/{figure.key}.svg"
    safe = " !$()*+,-./;=?@[]_~'"
    return lambda figure: "data:image/svg+xml," + urllib.parse.quote(texts[figure.key], safe=safe)


def script(name: str) -> Markup:
    """Return a script of templates/, which holds nothing that users wrote."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def policy(name: str) -> Markup:
    """Return a page's Content-Security-Policy: no network, no script but the one of this name."""
    digest = base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode()
    return Markup(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self' file:; script-src "
        f"'sha256-{digest}'"
    )
