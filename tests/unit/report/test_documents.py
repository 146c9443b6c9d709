"""The document browser: whole texts, the weight of each word, escapes, and no statistics."""

import dataclasses
import html
import re

import numpy as np
import pandas as pd
import pytest

from heed.files import HeedError
from heed.report.browser import Legend, read_browser
from heed.report.pages import environment
from heed.tasks.classification.recipe import Hyperparameters
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import render_to

TEXT = "A fine film.\nTruly the middle is long, and not all is read here"
# word, weight, sentence, sentence_weight, rationale
WORDS = [("A", 0.1, 0, 0.75, False), ("fine", 0.5, 0, 0.75, True), ("film", 0.15, 0, 0.75, False),
         ("Truly", 0.01, 1, 0.25, False), ("read", 0.08, 2, 0.1, False)]  # fmt: skip


def write_document(folder, words=WORDS) -> None:
    """Write the document of a model, and its predictions by three seeds."""
    folder.mkdir(parents=True)
    columns = ["word", "weight", "sentence", "sentence_weight", "rationale"]
    table = pd.DataFrame(words, columns=columns)
    starts = [TEXT.index(word) for word in table.pop("word")]
    ends = [start + len(word) for start, (word, *_) in zip(starts, words, strict=True)]
    table.assign(id="d", start=starts, end=ends).to_parquet(folder / "weights.parquet")
    document = {"id": "d", "text": TEXT, "label": "a", "predicted": "b", "probability": 0.6}
    pd.DataFrame([document | {"rule": "wrong"}]).to_parquet(folder / "documents.parquet")
    rows = pd.DataFrame({"seed": [1, 2, 3], "id": "d", "split": "test", "label": "a"})
    rows.assign(predicted=list("aab")).to_parquet(folder / "predictions.parquet")


def test_the_text_is_whole_and_shaded_by_weight(tmp_path):
    write_document(tmp_path / "m")
    page = read_browser(tmp_path / "m", {"average": tmp_path / "m"})
    (document,) = page.documents
    assert [round(sentence.weight, 2) for sentence in document.sentences] == [0.75, 0.25, 0.1]
    pieces = [piece for sentence in document.sentences for piece in sentence.pieces]
    assert "".join(piece.text for piece in pieces) == "A fine film […] Truly […] read"
    shades = {piece.text: piece.shade for piece in pieces}
    assert shades["film"] == pytest.approx(0.3 * shades["fine"]) and shades["Truly"] is None
    assert [piece.text for piece in pieces if piece.rationale] == ["fine"]
    assert document.unread == "here" and not document.right
    assert document.heaviest[0] == ("fine", 0.5) and page.legend == Legend(True, True)
    (counted,) = document.predictions
    assert (counted["classes"], counted["right"]) == ([("a", 2), ("b", 1)], "sometimes")


def test_a_missing_file_is_one_message_and_the_legend_has_what_there_is(tmp_path):
    write_document(tmp_path / "m", [(w, x, s, np.nan, False) for w, x, s, *_ in WORDS])
    assert read_browser(tmp_path / "m", {}).legend == Legend(False, False)
    with pytest.raises(HeedError, match=r"not there\. Run: heed score place"):
        read_browser(tmp_path / "place/none", {})


def test_only_models_with_weights_of_their_own_have_a_page():
    transformer = {"encoder": "transformer"}
    with_page = [{"attention": "multi-head", "heads": 2}, {"pooling": "attention"}]
    with_page += [{"pooling": "max"}, transformer | {"pooling": "attention"}]
    without = [{"pooling": "last"}, {"pooling": "mean"}, transformer | {"pooling": "mean"}]
    without.append({"attention": "uniform", "pooling": "mean"})
    assert all(Hyperparameters(**changes).chooses_weights for changes in with_page)
    assert not any(Hyperparameters(**changes).chooses_weights for changes in without)
    module = environment().get_template("weights.html.jinja").module
    text = module.weights(Hyperparameters(encoder="transformer", pooling="mean"))
    assert "attention that is not part of these weights" in text


@pytest.mark.usefixtures("empty_figures")
def test_pages_are_linked_escaped_and_say_nothing_of_all_texts(tmp_path):
    params, data = made_up.study("sample"), made_up.comparison("sample")
    result = data.experiments["sample-author"]
    marked = dataclasses.replace(result.corpus.statistics.rationale, kind="human")
    data.experiments["sample-author"] = made_up.with_statistics(result, rationale=marked)
    into = render_to(params, data, tmp_path / "reports")
    index = (into / "index.html").read_text()
    names = re.findall(r'href="(documents/[^"]+)"', index)
    written = (f"documents/{path.name}" for path in (into / "documents").iterdir())
    assert names and sorted(names) == sorted(written)
    for name in names:
        text = (into / name).read_text()
        assert "Weights are not explanations by themselves" in text and "generated text" in text
        assert "<b>Bold" not in text and html.escape("<b>Bold</b>") in text and "\u202e" not in text
        people = "the words that people marked as the reason for the label"
        heed = "the words that decide the label, planted when heed generated the text"
        assert f"underlined:</strong> {people if 'author' in name else heed}.</p>" in text
        assert "%" not in re.sub(r"<(style|script).*?</\1>", "", text, flags=re.DOTALL)
        said = re.search(r'<p class="small said">(.*?)</p>', text)[1]
        assert "<b>last state</b>" in said and "last-state" not in said, "names in words"
        anchor = re.search(r'href="\.\./index\.html#([^"]+)"', text)[1]
        assert f'id="{anchor}"' in index
