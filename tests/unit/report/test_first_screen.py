"""The first screen: few words and decimals, no names of variables, and no mean of a selection."""

import dataclasses
import re

import pytest

from heed.explanation.test import measured
from heed.report.results import read_results
from heed.report.rows.summary import example, explained_share
from tests.fixtures.report import made_up, made_up_explanation
from tests.fixtures.report.pages import render_to
from tests.unit.report.conftest import PUBLISHED
from tests.unit.report.text import first_screen

pytestmark = pytest.mark.usefixtures("empty_figures")
MOST_WORDS, MOST_DECIMALS = 200, 25
# Names of variants in params.yaml that are no words.
VARIABLES = re.compile(
    r"\((?:average|attention|self-attention)\)|-[a-z]+-attention|\bbaseline\b"
    r"|\b(?:last-state|attention-pooling|equal-weights|average-of-embeddings)\b"
)
EXPERIMENT = "sample-sentiment"


@pytest.mark.parametrize("name", ["sample", "talk", "translation"])
def test_a_first_screen_is_short_and_speaks_in_words(rendered, name):
    text = first_screen((rendered(name) / "index.html").read_text(encoding="utf-8"))
    assert len(text.split()) <= MOST_WORDS, text
    assert len(re.findall(r"\d\.\d", text)) <= MOST_DECIMALS, text
    assert not VARIABLES.search(text), text


def test_its_share_of_weight_is_that_of_the_explained_sample(tmp_path):
    """Documents of the browser are chosen by a rule: no mean or median of theirs is printed."""
    model = f"{EXPERIMENT}-self-attention"
    data = made_up.comparison("sample")
    folder = made_up.results(data, tmp_path / "results")
    made_up_explanation.write_explanations(folder, data, [model])
    params = made_up_explanation.explained_study([model])
    results = read_results(params, data, PUBLISHED, folder, True)
    (explanation,) = results.explanations
    rows = measured(explanation.summary, "adversarial_weights", "rationale_weight")
    share = explained_share(results, explanation.experiment, "self-attention")
    assert share == (pytest.approx(rows["mean"].mean()), rows["documents"].max())
    shown = example(results)
    assert shown and (shown["share"], shown["explained"]) == explained_share(
        results, shown["experiment"], "self-attention"
    )


def test_without_an_explanation_no_share_is_printed(rendered):
    text = first_screen((rendered("sample") / "index.html").read_text(encoding="utf-8"))
    assert "predicted" in text and "of the weight" not in text


def test_a_text_that_may_not_be_published_is_left_out(tmp_path):
    data = made_up.comparison("sample")
    for name, result in data.experiments.items():
        data.experiments[name] = made_up.with_statistics(result, generated=False, kind="imdb")
    folder = made_up.results(data, tmp_path / "results")
    results = read_results(made_up.study("sample"), data, PUBLISHED, folder, False)
    assert example(results) is None


@pytest.mark.parametrize(("known", "said"), [
    ({"looks": [3, 10]}, "This is look 1 of 2, which were declared at 3, 10 seeds"),
    ({"looked": [2]}, "This was looked at before, with 2 seeds, and no plan of looks was declared"),
])  # fmt: skip
def test_several_looks_at_a_study_are_said_first(rendered, tmp_path, known, said):
    data = made_up.comparison("sample")
    method = dataclasses.replace(data.significance, **known)
    data = dataclasses.replace(data, significance=method)
    report = render_to(made_up.study("sample"), data, tmp_path / "report")
    assert said in first_screen((report / "index.html").read_text(encoding="utf-8"))
    assert said in (report / "tables/answer.txt").read_text(encoding="utf-8")
    paper = " ".join((report / "report.tex").read_text(encoding="utf-8").split())
    assert said in paper.partition(r"\end{abstract}")[0]
    assert "look" not in (rendered("sample") / "tables/answer.txt").read_text(encoding="utf-8")
