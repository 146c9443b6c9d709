"""Make the slides of docs/teach: python docs/teach/slides.py, from the tables of docs/studies.

A slide is a figure of published studies below its message, as SVG and as PNG.
"""

import html
import re
import textwrap
from pathlib import Path

import vl_convert

from heed.files import write_text, writing
from heed.report.figures.shapes import Figure
from heed.report.figures.vega import as_svg
from heed.report.forest_plot import OWN, own_figures

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1280, 720  # pixels, of a screen
AGAIN = {"translation"}  # studies that will be run again
NOTE = (
    "These decoders start without the encoder's cell. The fault is mended; with new trainings the "
    "distance to the last state may shrink."
)


def make_slide(figure: Figure, studies: tuple[str, ...]) -> str:
    """Return the slide of a figure as SVG: its message, the figure, and where it is from."""
    inner = re.sub("<style>.*?</style>", "", as_svg(figure))  # a slide is light
    message = _text(figure.title, 66, 34, 46, 54, "#1a1a1a", "bold")
    top = 34 + 46 * len(message)
    place = f'<svg x="40" y="{top}" width="{WIDTH - 80}" height="{HEIGHT - 100 - top}" '
    inner = re.sub('width="[^"]*" height="[^"]*" preserveAspectRatio="[^"]*"', "", inner, count=1)
    source = f"Source: heed, docs/studies ({', '.join(studies)}). Licence: Apache-2.0, free to use."
    lines = [
        *message,
        inner.replace("<svg ", place, 1),
        *_text(NOTE if AGAIN & {*studies} else "", 130, 17, 22, HEIGHT - 72, "#9a3a00"),
        *_text(source, 130, 17, 22, HEIGHT - 18, "#555555"),
    ]
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect width="100%" height="100%" '
        f'fill="#ffffff"/>{"".join(lines)}</svg>\n'
    )


def _text(
    text: str, wide: int, size: int, step: int, top: int, colour: str, weight: str = "normal"
) -> list[str]:
    """Return a text in lines of at most `wide` characters, from `top` down."""
    font = f'font-family="Liberation Sans, Arial" font-size="{size}" font-weight="{weight}"'
    return [
        f'<text x="40" y="{top + step * row}" {font} fill="{colour}">{html.escape(line)}</text>'
        for row, line in enumerate(textwrap.wrap(text, wide))
    ]


def write_slides(folder: Path) -> None:
    """Write each slide as SVG and as PNG into a folder."""
    for figure in own_figures(ROOT / "docs/studies"):
        slide = make_slide(figure, OWN[figure.key][1])
        write_text(folder / f"{figure.key}.svg", slide)
        with writing(folder / f"{figure.key}.png") as temporary:
            temporary.write_bytes(vl_convert.svg_to_png(slide))


if __name__ == "__main__":
    write_slides(Path(__file__).parent)
