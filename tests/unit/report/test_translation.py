"""A translation in the report: BLEU between 0 and 100, its differences in BLEU points."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from heed.evaluation.comparison import RESULTS_COLUMNS
from heed.evaluation.results import Comparison
from heed.files import HeedError
from heed.paths import MODEL_PREDICTION
from heed.recipe import write_prediction
from heed.report.figures.translation import alignments, by_share, read_sentences
from heed.report.figures.variants import Drawn
from heed.report.measures import Measure
from heed.report.render import render
from heed.report.results import Results
from heed.report.rows.translation import count_wrong, settings
from heed.tasks.translation.recipe import Prediction
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report import made_up_translation as fixture
from tests.fixtures.report.pages import Page, render_to, rows
from tests.reports import without_times
from tests.unit.report import conftest
from tests.unit.report.conftest import PUBLISHED, csv_rows, tables_of

pytestmark = pytest.mark.usefixtures("empty_figures")


def read_made_up(folder: Path, data: Comparison | None = None) -> Results:
    """The made-up results as the chapters get them."""
    return conftest.read_made_up(fixture.study(), data or fixture.comparison(), folder)


@pytest.fixture(scope="module")
def report(rendered) -> Path:
    """The report of the made-up study."""
    return rendered("translation")


def test_without_gold_links_there_is_no_alignment_error(tmp_path):
    results = read_made_up(tmp_path, fixture.comparison(has_gold=False))
    (experiment,) = results.experiments
    assert read_sentences(results, experiment)[0].gold is None
    lines = {row["variant"]: row for row in csv_rows(results, "translation", fixture.EXPERIMENT)}
    assert lines["attention"]["ibm1_agreement"] == "70.00" and "aer" not in lines["attention"]
    assert lines["last-state"]["ibm1_agreement"] == "", "no attention, no links"


def test_models_that_are_scored_otherwise_are_told_apart(tmp_path):
    results = read_made_up(tmp_path)
    (experiment,) = results.experiments
    model = f"{fixture.EXPERIMENT}-attention"
    path = results.prediction_folder(model) / MODEL_PREDICTION
    write_prediction(path, Prediction(tokenize="13a"))
    found = {tuple(names): key for key, names in settings(results, experiment).items()}
    words = experiment.words
    *_, bleu, _ = found.pop((words["attention"],))
    assert "nrefs:1|" in bleu and "tok:13a|" in bleu
    ((names, (*_, bleu, _)),) = found.items()
    assert words["last-state"] in names and "tok:none|" in bleu


def test_models_with_less_data_are_drawn_with_those_that_read_all(tmp_path):
    results = read_made_up(tmp_path)
    (figure,) = by_share(Drawn(results, results.experiments[0], []))
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in figure.panels[0].rows:
        if row["kind"] == "line":
            lines.setdefault(row["name"], []).append((row["x"], row["y"]))
    assert [x for x, _ in lines["last-state"]] == [0.5, 1.0]
    expected = [42, 100 * np.mean([0.61, 0.63, 0.64])]
    assert np.allclose([y for _, y in lines["attention"]], expected)


def test_heat_maps_show_two_models_and_sure_and_possible_gold_links(tmp_path, monkeypatch):
    results = read_made_up(tmp_path)
    (experiment,) = results.experiments
    (sentence,) = read_sentences(results, experiment)
    assert set(sentence.weights) == {"attention", "input", "half", "capped"}
    assert sentence.weights["attention"].shape == (4, 5)
    assert np.allclose(sentence.weights["attention"].sum(1), 1)
    (figure,) = alignments(Drawn(results, experiment, []))
    titles = [experiment.words[name] for name in ("attention", "input")]
    assert [panel.title for panel in figure.panels] == titles
    squares = [row for row in figure.panels[0].rows if row["kind"] == "square"]
    squares = [row for row in squares if row["fill"] == "transparent"]
    outlines = {(round(r["x"] + 0.42), round(r["y"] + 0.42)): r["dash"] for r in squares}
    assert set(outlines) == {(0, 0), (1, 1), (2, 2), (4, 3)}
    assert outlines[0, 0] == () != outlines[4, 3]
    monkeypatch.setattr(f"{alignments.__module__}.read_sentences", lambda *_: [sentence] * 2)
    first, second = alignments(Drawn(results, experiment, []))
    assert len(first.sources) == 2 and first.sources == second.sources


@pytest.mark.parametrize(("hypothesis", "reference", "wrong"), [
    ("the the the", "the cat", 2), ("The cat.", "the cat.", 1), ("a house !", "a house.", 1),
    ("", "a house", 0), ("grün ist es", "es ist grün", 0),
])  # fmt: skip
def test_wrong_words_are_more_often_than_in_the_reference(hypothesis, reference, wrong):
    assert count_wrong(hypothesis, reference) == wrong


@pytest.mark.parametrize("generated", [True, False])
def test_what_is_published_has_sentences_only_where_heed_generated_them(tmp_path, generated):
    data = fixture.comparison(generated=generated)
    results, into = made_up.results(data, tmp_path / "results"), tmp_path / "reports"
    outcome = render(fixture.study(), data, PUBLISHED, results, into, with_documents=False)
    words = ("das Haus", "grün", "house is", "green")
    files = {str(path.relative_to(into)): path for path in into.rglob("*") if path.is_file()}
    texts = [path.read_text("utf-8") for path in files.values()]
    found = {word for word in words for text in texts if word in text}
    assert bool(found) == generated, found
    assert any("alignment-" in name for name in files) == generated
    assert any("examples" in name for name in files) == generated
    answer = " ".join(outcome.answer)
    assert "BLEU" in answer and "percentage points" not in answer and "p.p." not in answer


@pytest.mark.parametrize("generated", [True, False])
def test_a_paper_has_sentences_only_where_heed_generated_them(tmp_path, generated):
    """It goes with an edition, whatever the page on this machine has."""
    data = fixture.comparison(generated=generated)
    into = render_to(fixture.study(), data, tmp_path / "reports")
    assert "das Haus" in (into / "index.html").read_text()
    paper = (into / "report.tex").read_text()
    assert bool(re.search(r"Haus|grün|alignment-\d|figures/alignment", paper)) == generated


def test_a_study_with_both_tasks_has_curves_that_dvc_draws_of_both(tmp_path):
    params, sample = fixture.with_translation(made_up.study("sample")), made_up.comparison("sample")
    del sample.experiments["sample-sentiment"]
    into = render_to(params, fixture.joined(sample, fixture.comparison()), tmp_path / "reports")
    accuracy = {row["experiment"] for row in rows(into / "tables/summary.csv")}
    assert accuracy and fixture.EXPERIMENT not in accuracy
    (bleu,) = rows(into / "tables/summary_translation.csv")
    assert bleu["baseline"] == "21.00" and bleu["statistical"] == "50.00"
    curves = pd.read_csv(into / "plots/curves.csv")
    counts = curves.groupby("metric")[["validation_accuracy", "validation_bleu"]].count()
    assert {*counts.index} == {"accuracy", "bleu"} and curves["validation"].notna().all()
    for name, count in counts.iterrows():
        assert count[f"validation_{name}"] == sum(curves["metric"] == name)
    ids = Page(into / "index.html").ids
    assert {"experiment-sample-translation", "experiment-sample-author"} <= {*ids}


def test_the_plots_of_a_translation_alone_have_the_columns_that_dvc_draws(report):
    plots = {path.stem: path.read_text() for path in (report / "plots").iterdir()}
    heads = {name: text.splitlines()[0].split(",") for name, text in plots.items()}
    heads["results"] = [*RESULTS_COLUMNS]  # of `heed compare`
    for plot in yaml.safe_load((ROOT / "dvc.yaml").read_text())["plots"]:
        ((path, drawn),) = plot.items()
        template = (ROOT / f".dvc/plots/{drawn['template']}.json").read_text()
        named = {drawn["x"], drawn["y"], *re.findall(r'"field": "(\w+)"', template)} - {"rev"}
        assert len(named) > 3 and named <= set(heads[Path(path).stem])


@pytest.mark.parametrize(("device", "minutes"), [("cpu", 2.5), ("cuda", 10)])
def test_core_minutes_are_cpu_time_or_the_time_on_a_gpu(tmp_path, device, minutes):
    results = read_made_up(tmp_path)
    for model in results.models(results.experiments[0]).values():
        fixture.write_times(model, [1, 2, 3], results.folder, device=device)
    (table,) = tables_of(results, "translation", fixture.EXPERIMENT)
    assert table.rows[1].cells[-1].value == minutes


def test_a_broken_time_is_one_message(tmp_path):
    model, results = "sample-translation-attention", read_made_up(tmp_path)
    fixture.write_times(model, [1], results.folder, device=2)
    message = rf"device.*Run again: heed train {model} --seeds"
    with pytest.raises(HeedError, match=message):
        results.training_times(model)
    (results.folder / "timing/train" / model / "1.json").unlink()
    with pytest.raises(HeedError, match=rf"1\.json: not there\. Run: heed train {model} --seeds 1"):
        results.training_times(model)


def test_a_training_that_is_repeated_changes_the_times_and_nothing_else(tmp_path, report):
    into = tmp_path / "reports"
    results = made_up.results(fixture.comparison(), tmp_path / "results")
    fixture.write_times("sample-translation-half", [1, 2, 3], results, cpu_seconds=987.0)
    render(fixture.study(), fixture.comparison(), PUBLISHED, results, into)
    assert without_times(into) == without_times(report)


def test_convergence_is_said_in_the_unit_of_the_validation_part():
    """A translation is validated by BLEU, whatever decides its test split."""
    for metric, unit in (("chrf", "0.2 BLEU points"), ("bleu", "0.2 BLEU points")):
        assert Measure("translation", metric).of_validation.limit(0.2) == unit
    assert Measure("classification", "macro_f1").of_validation.limit(0.2) == "0.2 p.p."
