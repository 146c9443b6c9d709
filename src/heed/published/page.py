"""The page of a published study: one file that holds its figures, opens from disk, asks for none.

It is the page of the report, without the texts that its tables offer to copy, and without links to
files that are not published.
"""

import re
import urllib.parse
from collections.abc import Collection
from pathlib import Path

MAX_BYTES = 1_000_000
# Figures of these kinds are left out, a kind at a time, while the page is larger.
LEFT_OUT = ("confusion", "calibration", "curves", "lengths")
COPIES = re.compile(r'<template data-format="[^"]*">.*?</template>', re.DOTALL)
FILES = re.compile(r"This (?:table|figure) alone: (?:<a [^>]*>\w+</a>(?:, )?)+\. ?")
IMAGE = re.compile(r'src="(?:data:image/svg\+xml,|(figures/))([^"]*)"')
LINK = re.compile(r'(<li>)?<a [^>]*?href="([^"#][^"]*)"[^>]*>(.*?)</a>(</li>\n?)?')
FIGURE = r'<figure id="figure-[^"]*_{}(?:-all)?".*?<figcaption[^>]*>(.*?)</figcaption>.*?</figure>'
# What an image of a page need not say: the page has its text, and the rest is SVG's default.
NEEDLESS = re.compile(
    r' (?:aria-label="[^"]*"|role="img"|version="1.1"|xmlns:xlink="[^"]*"|opacity="1"'
    r'|stroke-dasharray=""|font-weight="normal"|text-anchor="start")'
    r'|<path d="M0,0h[\d.]+v[\d.]+h-[\d.]+Z"/>|<g/>'
)
FONT = re.compile(r' font-family="[^"]*"')
SAFE = ' !"$()*+,-./:;<=>?@[]^_`{|}~'  # in an attribute between single quotes


def one_page(page: str, report: Path, files: Collection[str]) -> str:
    """Return the page of a report as one file.

    `report` is the folder of the report, for figures that its page does not hold, and `files` are
    those beside the published page, which it may link.
    """

    def image(match: re.Match[str]) -> str:
        svg = urllib.parse.unquote(match[2])
        if match[1]:
            svg = (report / match[1] / svg).read_text(encoding="utf-8")
        return f"src='data:image/svg+xml,{urllib.parse.quote(_small(svg), safe=SAFE)}'"

    def link(match: re.Match[str]) -> str:
        if match[2] in files:
            return match[0]
        is_item = match[1] and match[4]
        return "" if is_item else f"{match[1] or ''}{match[3]}{match[4] or ''}"

    page = FILES.sub("", COPIES.sub("", page)).replace(">Files and source<", ">Source<")
    page = LINK.sub(link, page.replace("How to read it; files and source", "How to read it"))
    page = IMAGE.sub(image, page)
    for kind in LEFT_OUT:
        if len(page.encode()) > MAX_BYTES:
            left_out = r'<p class="small">\1: left out, for the size of this page</p>'
            page = re.sub(FIGURE.format(kind), left_out, page, flags=re.DOTALL)
    return page


def _small(svg: str) -> str:
    """Return a figure that looks the same, in fewer bytes."""
    svg = NEEDLESS.sub("", svg)
    if len(fonts := {*FONT.findall(svg)}) == 1:
        svg = FONT.sub("", svg).replace("<svg", f"<svg{fonts.pop()}", 1)
    return svg
