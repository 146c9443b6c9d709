"""The style of figures."""

import re
import shutil
import subprocess

import pytest

from heed.report.figures import drawing


def test_a_figure_prints_its_words_as_they_are_and_rounds_only_where_things_stand(tmp_path):
    def on(figure):
        axes = figure.subplots()
        axes.set_xticks([0.123456], ["0.0032"])
        axes.plot([0.123456, 0.7], [0.1, 0.2])
        axes.set_title("class 1.23456")

    drawing.draw(tmp_path / "figure", "says", (3, 2), on)
    text = (tmp_path / "figure.svg").read_text()
    assert ">0.0032</" in text and ">class 1.23456</" in text
    assert not re.search(r'(?:x|y|d|transform)="[^"]*\d\.\d{4,}', text)


def test_every_series_of_a_figure_can_be_told_from_the_others():
    looks = [(drawing.colour(place), drawing.marker(place)) for place in range(36)]
    assert len(set(looks)) == 36 and drawing.marker(0) != drawing.marker(1)


NAMES = {
    "Chinese": "爱情", "Thai": "ความรัก", "Devanagari": "प्रेम", "Korean": "사랑",
    "a family": "👨\u200d👩\u200d👧",
}  # fmt: skip
SHAPED = {"Greek": "Αγάπη", "Cyrillic": "Радость", "Arabic": "حب كبير", "Hebrew": "אהבה"}


def draw_names(folder, *names):
    def on(figure):
        axes = figure.subplots()
        axes.set_xticks(range(len(names)), names)
        axes.set_title(names[0])
        axes.set_ylabel("accuracy")

    found = drawing.draw(folder / "names", "says", (3, 2), on)
    return found, (folder / "names.pdf").read_bytes()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_the_font_lacks_is_a_number_on_paper_and_itself_on_the_page(tmp_path, name):
    names, pdf = draw_names(tmp_path, name, "good", f"{name} 2")
    assert names == [name, f"{name} 2"]
    assert f">{name}</" in (tmp_path / "names.svg").read_text(encoding="utf-8")
    assert b"LastResort" not in pdf, "the font of empty boxes"
    if shutil.which("pdftotext"):
        command = ["pdftotext", tmp_path / "names.pdf", "-"]
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert (words.count("[1]"), words.count("[2]"), words.count("good")) == (2, 1, 1)


@pytest.mark.parametrize("name", SHAPED.values(), ids=SHAPED)
def test_a_name_that_the_font_has_is_printed(tmp_path, name):
    names, pdf = draw_names(tmp_path, name, "good")
    assert names == [] and b"LastResort" not in pdf
