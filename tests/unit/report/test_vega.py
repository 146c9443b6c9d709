"""The renderer of figures: the same bytes, nothing out of its box, names that a font lacks."""

import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from heed.report.figures import vega
from heed.report.figures.shapes import BOLD, SERIES, Axis, Figure, Look, Panel, line, mark
from heed.report.render import make_figures
from tests.unit.report.conftest import read_study

SMALLEST = 0.9  # of the print that a figure asks for: more to draw than fits would be smaller


def figure(panel: Panel, key: str = "figure") -> Figure:
    return Figure(key, "Title", "What it shows.", (), [panel], (3, 2), alt_text="says")


def drawn(figure: Figure, folder: Path) -> tuple[str, bytes]:
    vega.draw_figures([figure], folder)
    svg = (folder / f"{figure.key}.svg").read_text(encoding="utf-8")
    return svg, (folder / f"{figure.key}.pdf").read_bytes()


LINE = line([0.123456, 1.7], [0.1, 0.2], Look(SERIES[1], "square"), "a")
ROWS = [*LINE, mark("text", 0.5, 0.5, text="bold", wide=BOLD)]
RICH = Panel(ROWS, Axis("x", (0, 2), {0.123456: "0.0032"}), Axis("y"), "class 1.23456")


def test_a_figure_prints_its_words_as_they_are_and_rounds_only_where_things_stand(tmp_path):
    text, _ = drawn(figure(RICH), tmp_path)
    assert ">0.0032</" in text and ">class 1.23456</" in text
    assert not re.search(r'(?:x|y|d|transform)="[^"]*\d\.\d{3,}', text)
    assert text.startswith('<svg role="img" aria-label="Title. says"')
    assert '[stroke="#9a3a00"]{stroke:#ffab7a}' in text, "in dark mode"


def test_a_figure_has_the_same_bytes_in_every_process(tmp_path):
    first = drawn(figure(RICH), tmp_path)
    assert drawn(figure(RICH), tmp_path) == first
    other = tmp_path / "other"
    job = pickle.dumps(([figure(RICH)], other))
    again = "import pickle, sys; from heed.report.figures import vega; vega.draw_figures(*JOB)"
    code = again.replace("JOB", "pickle.load(sys.stdin.buffer)")
    subprocess.run([sys.executable, "-c", code], input=job, check=True)
    assert (other / "figure.pdf").read_bytes() == first[1]
    assert (other / "figure.svg").read_text(encoding="utf-8") == first[0]


def test_every_word_of_a_text_can_be_a_label(tmp_path):
    said = ["if", "else", "datum", "null", "true", "'", "\\", "-1"]
    places = {float(place): word for place, word in enumerate(said)}
    text, _ = drawn(figure(Panel([], Axis(places=places, domain=(0, 7)))), tmp_path)
    assert re.findall(r'text-anchor="middle"[^>]*>([^<]+)</', text) == said


def viewed(svg: str) -> tuple[float, float]:
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found
    return float(found[1]) / vega.POINTS, float(found[2]) / vega.POINTS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample", "talk", "translation"])
def test_no_figure_of_a_report_is_printed_smaller_than_it_asks_for(tmp_path, name):
    results = read_study(name, tmp_path)
    for f in {f.key: f for figures in make_figures(results).values() for f in figures}.values():
        width, height = viewed(vega.fitted(f, {}))
        assert min(f.size[0] / width, f.size[1] / height) > SMALLEST * f.zoom, f.key


NAMES = {
    "Chinese": "爱情", "Thai": "ความรัก", "Devanagari": "प्रेम", "Korean": "사랑",
    "Arabic": "حب كبير", "Hebrew": "אהבה",
    "ancient Greek": "ᾆδε", "a family": "👨\u200d👩\u200d👧",
}  # fmt: skip
PRINTED = {"Greek": "Αγάπη", "Cyrillic": "Радость"}


def draw_names(folder: Path, *names: str) -> tuple[list[str], bytes]:
    ticks = {float(place): name for place, name in enumerate(names)}
    panel = Panel([], Axis(domain=(-1, len(names)), places=ticks), Axis("accuracy"), names[0])
    found = vega.draw_figures([figure(panel, "names")], folder)
    return found.get("names", []), (folder / "names.pdf").read_bytes()


def fonts(pdf: bytes) -> set[bytes]:
    return set(re.findall(rb"/BaseFont /\w+\+([\w-]+)", pdf))


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_the_font_lacks_is_a_number_on_paper_and_itself_on_the_page(tmp_path, name):
    names, pdf = draw_names(tmp_path, name, "good", f"{name} 2")
    assert names == [name, f"{name} 2"] and fonts(pdf) == {b"LiberationSans"}
    assert f">{name}</" in (tmp_path / "names.svg").read_text(encoding="utf-8")
    if shutil.which("pdftotext"):
        command = ["pdftotext", tmp_path / "names.pdf", "-"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert (shown.count("[1]"), shown.count("[2]"), shown.count("good")) == (2, 1, 1)


@pytest.mark.parametrize("name", PRINTED.values(), ids=PRINTED)
def test_a_name_that_the_font_has_is_printed(tmp_path, name):
    names, pdf = draw_names(tmp_path, name, "good")
    assert names == [] and fonts(pdf) == {b"LiberationSans"}
