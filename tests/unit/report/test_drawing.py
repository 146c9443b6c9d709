"""The style of figures."""

import re

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
