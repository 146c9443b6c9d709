"""A translation in the report: BLEU between 0 and 100, its differences in BLEU points."""

import csv
import dataclasses
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from heed.report.blocks import EVERYWHERE, PAGE, Figure, Group, Phrase, Span, Table, walk_blocks
from heed.report.html import csv_table
from heed.tasks.translation.sentences import (
    alignments,
    count_wrong,
    first_alignment,
    mark_wrong,
    read_sentences,
)

from heed.evaluation.comparison import RESULTS_COLUMNS
from heed.evaluation.results import Comparison
from heed.files import HeedError
from heed.paths import MODEL_PREDICTION
from heed.recipe import write_prediction
from heed.report.figures.variants import looks
from heed.report.measures import Measure
from heed.report.render import render
from heed.report.results import Results
from heed.tasks.translation import figures
from heed.tasks.translation import report as translation
from heed.tasks.translation.recipe import Prediction
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report import made_up_translation as fixture
from tests.fixtures.report.pages import Page, render_to, rows
from tests.reports import without_times
from tests.unit.report import conftest
from tests.unit.report.conftest import PUBLISHED

pytestmark = pytest.mark.usefixtures("empty_figures")

TABLE = "sample-translation_translation.csv"


def read_made_up(folder: Path, data: Comparison | None = None) -> Results:
    """The made-up results as the chapters get them."""
    return conftest.read_made_up(fixture.study(), data or fixture.comparison(), folder)


def table_of(results: Results) -> Table:
    """The table of a translation's models."""
    blocks = translation.chapter(results, results.experiments[0])
    return next(each for each in blocks if isinstance(each, Table))


def lines_of(figure: Figure) -> dict[str, list[tuple[float, float]]]:
    """The points of each line of a figure, by its name."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in figure.panels[0][0].rows:
        if row["kind"] == "line":
            found.setdefault(row["name"], []).append((row["x"], row["y"]))
    return found


@pytest.fixture(scope="module")
def report(rendered) -> Path:
    """The report of the made-up study."""
    return rendered("translation", fixture.study(), fixture.comparison())


def test_without_gold_links_there_is_no_alignment_error_and_no_figure_of_distances(tmp_path):
    results = read_made_up(tmp_path, fixture.comparison(has_gold=False))
    (experiment,) = results.experiments
    assert figures.by_distance(results, experiment, ["attention"]) == []
    assert read_sentences(results, experiment)[0].gold is None
    text = io.StringIO(csv_table(table_of(results)))
    lines = {row["variant"]: row for row in csv.DictReader(text)}
    assert lines["attention"]["ibm1_agreement"] == "70.00" and "aer" not in lines["attention"]
    assert lines["baseline"]["ibm1_agreement"] == "", "no attention, no links"


def test_models_that_are_scored_otherwise_have_a_note_of_their_own(tmp_path):
    results = read_made_up(tmp_path)
    settings = Prediction(tokenize="none", references=["en2", "en3"])
    for variant, counts in (("attention", (3, 3, 3)), ("input", (3, None, None))):
        model = f"{fixture.EXPERIMENT}-{variant}"
        write_prediction(results.folder / "predict" / model / MODEL_PREDICTION, settings)
        path = results.evaluation_folder(model) / "summary.csv"
        pd.read_csv(path).assign(references=counts).to_csv(path, index=False)
    notes = [str(Phrase(note)) for note in table_of(results).notes]
    assert len(notes) == 4, "three ways of scoring, below what the small lines are"
    for variant, text in (("attention", "nrefs:3|"), ("input", "nrefs:var|")):
        (note,) = (each for each in notes if each.startswith(f"{variant}: "))
        assert "Further references: en2, en3; the best match counts." in note and text in note
    (others,) = (note for note in notes if note.startswith("baseline, half-baseline, half, capped"))
    assert "nrefs:1|" in others and "references" not in others.replace("nrefs", "")


def test_models_with_less_data_or_a_cap_are_drawn_with_those_that_read_all(tmp_path):
    results = read_made_up(tmp_path)
    (experiment,) = results.experiments
    (shares,) = figures.by_share(results, experiment)
    (caps,) = figures.by_cap(results, experiment)
    lines, look = lines_of(shares), looks(results)
    assert [x for x, _ in lines["baseline"]] == [0.5, 1.0]
    rows = [row for row in shares.panels[0][0].rows if row["kind"] == "line"]
    for name in ("baseline", "attention"):
        colours = {row["colour"] for row in rows if row["name"] == name}
        assert colours == {look[name].colour}, "as in the other figures"
    expected = [42, 100 * np.mean([0.61, 0.63, 0.64])]
    assert np.allclose([y for _, y in lines["attention"]], expected)
    assert {"capped", "attention"} <= lines_of(caps).keys() and "baseline" not in lines_of(caps)
    assert "15 words" in caps.caption


def test_heat_maps_show_two_models_side_by_side_with_sure_and_possible_gold_links(tmp_path):
    results = read_made_up(tmp_path)
    (experiment,) = results.experiments
    (sentence,) = read_sentences(results, experiment)
    assert set(sentence.weights) == {"attention", "input", "half", "capped"}
    assert sentence.weights["attention"].shape == (4, 5)
    assert np.allclose(sentence.weights["attention"].sum(1), 1)
    (figure,) = alignments(results, experiment, [sentence])
    (panels,) = figure.panels
    assert [panel.x.title for panel in panels] == ["attention", "input"]
    outlines = {
        (round(row["x"] + 0.42), round(row["y"] + 0.42)): row["dash"]
        for row in panels[0].rows
        if row["kind"] == "square" and row["fill"] == "transparent"
    }
    assert set(outlines) == {(0, 0), (1, 1), (2, 2), (4, 3)}
    assert outlines[0, 0] == [] != outlines[4, 3]


@pytest.mark.parametrize(
    ("hypothesis", "reference", "wrong"),
    [
        ("the the the", "the cat", ["the", "the"]),
        ("The cat.", "the cat.", ["The"]),
        ("a house !", "a house.", ["!"]),
        ("", "a house", []),
        ("grün ist es", "es ist grün", []),
    ],
)
def test_wrong_words_are_those_that_the_reference_does_not_have_so_often(
    hypothesis, reference, wrong
):
    phrase = mark_wrong(hypothesis, reference)
    assert [each.text for each in phrase.texts if isinstance(each, Span)] == wrong
    assert str(phrase) == hypothesis and count_wrong(phrase) == len(wrong)


def test_paper_goes_with_an_edition_so_it_has_no_sentence_that_heed_did_not_generate(tmp_path):
    results = read_made_up(tmp_path, fixture.comparison(generated=False))
    blocks = [*walk_blocks(translation.chapter(results, results.experiments[0]))]
    media = {each.key: each.media for each in blocks if isinstance(each, Table)}
    assert media["sample-translation_examples"] == (PAGE,)
    maps = [each for each in blocks if "alignment-1" in str(getattr(each, "key", ""))]
    groups = [each for each in blocks if isinstance(each, Group) and maps[0] in each.blocks]
    assert [each.media for each in groups] == [(PAGE,)]


@pytest.mark.parametrize("has_gold", [True, False])
@pytest.mark.parametrize("publishable", [True, False])
def test_the_first_alignment_names_gold_links_if_any_and_is_everywhere_if_it_may(
    tmp_path, has_gold, publishable
):
    data = fixture.comparison(generated=False, has_gold=has_gold)
    results = read_made_up(tmp_path, data)
    experiment = dataclasses.replace(results.experiments[0], publishable=publishable)
    (figure,) = first_alignment(results, experiment)
    assert ("Outlined: gold links." in figure.caption) == has_gold
    assert figure.media == (EVERYWHERE if publishable else (PAGE,))


@pytest.mark.parametrize("generated", [True, False])
def test_what_is_published_has_sentences_only_where_heed_generated_them(tmp_path, generated):
    data = fixture.comparison(generated=generated)
    results, into = made_up.results(data, tmp_path / "results"), tmp_path / "reports"
    outcome = render(fixture.study(), data, PUBLISHED, results, into, with_documents=False)
    words = ("das Haus", "grün", "house is", "green")
    texts = {
        path.relative_to(into).as_posix(): path.read_text(encoding="utf-8")
        for path in into.rglob("*")
        if path.is_file()
    }
    found = {word for word in words for text in texts.values() if word in text}
    assert bool(found) == generated, found
    assert any("alignment-" in name for name in texts) == generated
    assert any("examples" in name for name in texts) == generated
    answer = " ".join(outcome.answer)
    assert "beats translation from the last state (baseline), BLEU" in answer
    assert "statistical translation" in answer and "not tuned alike" not in answer
    assert "percentage points" not in answer and "p.p." not in answer


def test_a_study_with_both_tasks_has_a_table_for_each_unit_and_one_chart(tmp_path):
    params = fixture.with_translation(made_up.study("sample"))
    sample = made_up.comparison("sample")
    del sample.experiments["sample-sentiment"]
    data = fixture.joined(sample, fixture.comparison())
    into = render_to(params, data, tmp_path / "reports")
    names = {path.name for path in (into / "tables").iterdir()}
    assert {"summary.csv", "summary_translation.csv"} <= names
    charts = {path.name for path in (into / "figures").glob("models*.svg")}
    assert charts == {"models.svg"}
    accuracy = rows(into / "tables/summary.csv")
    assert fixture.EXPERIMENT not in {row["experiment"] for row in accuracy}
    (bleu,) = rows(into / "tables/summary_translation.csv")
    assert bleu["baseline"] == "21.00" and bleu["statistical"] == "50.00"
    curves = pd.read_csv(into / "plots/curves.csv")
    columns = ["validation", "validation_accuracy", "validation_bleu"]
    counts = curves.groupby("metric")[columns].count().to_dict("index")
    assert counts.keys() == {"accuracy", "bleu"}
    for name, count in counts.items():
        assert count["validation"] == count[f"validation_{name}"] == sum(curves["metric"] == name)
    assert curves["validation"].notna().all(), "dvc plots draws every model of both tasks"
    page = Page(into / "index.html")
    assert "experiment-sample-translation" in page.ids and "experiment-sample-author" in page.ids


def test_the_plots_of_a_translation_alone_have_the_columns_that_dvc_draws(report):
    heads = {
        path.stem: path.read_text().splitlines()[0].split(",")
        for path in (report / "plots").iterdir()
    }
    heads["results"] = [*RESULTS_COLUMNS]  # of `heed compare`
    for plot in yaml.safe_load((ROOT / "dvc.yaml").read_text())["plots"]:
        ((path, drawn),) = plot.items()
        template = (ROOT / f".dvc/plots/{drawn['template']}.json").read_text()
        named = {drawn["x"], drawn["y"], *re.findall(r'"field": "(\w+)"', template)} - {"rev"}
        assert len(named) > 3 and named <= set(heads[Path(path).stem])
    assert heads["confusion"] == ["actual", "predicted", "documents", "model", "share"]
    assert {"difference_pp", "compared"} <= set(heads["comparisons"])


@pytest.mark.parametrize(
    ("device", "minutes", "meaning"),
    [("cpu", 2.5, "the CPU time of a training"), ("cuda", 10, "a training on a GPU took")],
)
def test_core_minutes_say_which_time_they_are(tmp_path, device, minutes, meaning):
    results = read_made_up(tmp_path)
    for each in results.models(results.experiments[0]).values():
        fixture.write_times(each, [1, 2, 3], results.folder, device=device)
    table = table_of(results)
    assert table.rows[1].cells[-1].value == minutes and meaning in table.meanings(PAGE)


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
    changed = {
        path.relative_to(report).as_posix()
        for path in report.rglob("*")
        if path.is_file() and path.read_bytes() != (into / path.relative_to(report)).read_bytes()
    }
    table = "tables/sample-translation_translation.csv"  # on paper it has no times
    costs = {"tables/cost.csv", "tables/cost.tex"}  # and its figure, but the fixture draws none
    assert changed == {"index.html", table, *costs}


def test_convergence_is_said_in_the_unit_of_the_validation_part():
    """A translation is validated by BLEU, whatever decides its test split."""
    for metric, unit in (("chrf", "0.2 BLEU points"), ("bleu", "0.2 BLEU points")):
        assert Measure("translation", metric).of_validation.limit(0.2) == unit
    assert Measure("classification", "macro_f1").of_validation.limit(0.2) == "0.2 p.p."
