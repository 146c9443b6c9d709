"""The document browser shows texts, the weight of each word, and the weight on rationale."""

import dataclasses
import html
import re

import numpy as np
import pandas as pd
import pytest

from heed.annotations import RationaleKind
from heed.files import HeedError
from heed.recipe import CorpusStatistics
from heed.report.browser import WeightShare, describe_weights, read_browser
from heed.tasks.classification.recipe import Hyperparameters
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import render_to


def write_document(folder, text: str, words: list[tuple[str, float, int, float, bool]]) -> None:
    """Write one document; words are (word, weight, sentence, sentence_weight, rationale)."""
    folder.mkdir(parents=True)
    rows, start = [], 0
    for i, (word, weight, sentence, sentence_weight, rationale) in enumerate(words):
        start = text.index(word, start)
        rows.append(
            {"id": "d", "token": i, "start": start, "end": start + len(word), "weight": weight,
             "sentence": sentence, "sentence_weight": sentence_weight, "rationale": rationale}
        )  # fmt: skip
        start += len(word)
    document = {"id": "d", "text": text, "label": "a", "predicted": "b", "probability": 0.6,
                "rule": "wrong, short, least certain"}  # fmt: skip
    pd.DataFrame([document]).to_parquet(folder / "documents.parquet")
    pd.DataFrame(rows).to_parquet(folder / "weights.parquet")


TEXT = "A fine film.\nTruly the middle is long, and not all is read here"
WORDS = [("A", 0.1, 0, 0.75, False), ("fine", 0.5, 0, 0.75, True), ("film", 0.15, 0, 0.75, False),
         ("Truly", 0.01, 1, 0.25, False), ("read", 0.08, 2, 0.1, False)]  # fmt: skip


def test_the_text_is_whole_and_shaded_by_weight(tmp_path):
    write_document(tmp_path / "m", TEXT, WORDS)
    page = read_browser(tmp_path / "m", {})
    (document,) = page.documents
    assert [round(sentence.weight, 2) for sentence in document.sentences] == [0.75, 0.25, 0.1]
    assert document.sentences[0].shade == 1 and document.sentences[1].shade == pytest.approx(1 / 3)
    pieces = [piece for sentence in document.sentences for piece in sentence.pieces]
    assert "".join(piece.text for piece in pieces) == "A fine film […] Truly […] read"
    shades = {piece.text: piece.shade for piece in pieces}
    assert shades["film"] == pytest.approx(0.3 * shades["fine"]) and shades["Truly"] is None
    assert [piece.text for piece in pieces if piece.rationale] == ["fine"]
    assert document.unread == "here" and not document.right
    assert document.heaviest[0] == ("fine", 0.5) and len(document.heaviest) == 5
    assert page.rationale == WeightShare(0.5, 0.2, 1) and page.sentences


def test_without_planted_rationale_there_is_no_share_of_it(tmp_path):
    write_document(tmp_path / "m", TEXT, [(w, x, s, np.nan, False) for w, x, s, _, _ in WORDS])
    page = read_browser(tmp_path / "m", {})
    assert page.rationale is None and not page.sentences
    with pytest.raises(HeedError, match=r"not there\. Run: heed score none"):
        read_browser(tmp_path / "none", {})


def test_only_models_with_weights_of_their_own_have_a_page():
    transformer = {"encoder": "transformer"}
    with_page = [{"attention": "multi-head", "heads": 2}, {"pooling": "attention"}]
    with_page += [{"pooling": "max"}, transformer | {"pooling": "attention"}]
    without = [{"pooling": "last"}, {"pooling": "mean"}, transformer | {"pooling": "mean"}]
    without.append({"attention": "uniform", "pooling": "mean"})
    assert all(Hyperparameters(**changes).chooses_weights for changes in with_page)
    assert not any(Hyperparameters(**changes).chooses_weights for changes in without)
    assert "learned query" in describe_weights(Hyperparameters(pooling="attention"))
    text = describe_weights(Hyperparameters(encoder="transformer", pooling="mean"))
    assert "attention that is not part of these weights" in text


PLANTED = "the words that decide the label, planted when heed generated the text"
MARKED = "the words that people marked as the reason for the label"


def with_rationale(statistics: CorpusStatistics, kind: RationaleKind) -> CorpusStatistics:
    return dataclasses.replace(
        statistics, rationale=dataclasses.replace(statistics.rationale, kind=kind)
    )


def test_pages_are_linked_escaped_and_have_their_caution(tmp_path):
    params, data = made_up.study("sample"), made_up.comparison("sample")
    result = data.experiments["sample-author"]
    statistics = with_rationale(result.corpus.statistics, "human")
    corpus = dataclasses.replace(result.corpus, statistics=statistics)
    data.experiments["sample-author"] = dataclasses.replace(result, corpus=corpus)
    into = render_to(params, data, tmp_path / "reports")
    index = (into / "index.html").read_text()
    assert f"Rationale: {PLANTED}." in index and f"Rationale: {MARKED}." in index
    names = re.findall(r'href="(documents/[^"]+)"', index)
    assert names and sorted(names) == sorted(
        f"documents/{path.name}" for path in (into / "documents").iterdir()
    )
    for name in names:
        text = (into / name).read_text()
        assert "Weights are not explanations by themselves" in text and "GENERATED" in text.upper()
        assert "<b>Bold" not in text and html.escape("<b>Bold</b>") in text and "\u202e" not in text
        rationale = MARKED if "author" in name else PLANTED
        assert re.search(rf"{rationale}. [\d.]+% of the weight stands on it", text)
        anchor = re.search(r'href="\.\./index\.html#([^"]+)"', text)[1]
        assert f'id="{anchor}"' in index


def test_the_predictions_of_each_model_over_the_seeds_are_counted(tmp_path):
    for variant, answers in (("baseline", "aab"), ("attention", "bbb")):
        write_document(tmp_path / variant, TEXT, WORDS)
        rows = [
            {"seed": seed, "id": "d", "split": "test", "label": "a", "predicted": p}
            for seed, p in enumerate(answers, 1)
        ]
        pd.DataFrame(rows).to_parquet(tmp_path / variant / "predictions.parquet")
    (document,) = read_browser(
        tmp_path / "attention", {name: tmp_path / name for name in ("baseline", "attention")}
    ).documents
    assert [(each.variant, each.classes, each.right) for each in document.predictions] == [
        ("baseline", [("a", 2), ("b", 1)], "sometimes"),
        ("attention", [("b", 3)], "never"),
    ]
