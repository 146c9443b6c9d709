"""Figures: what each of them shows is what was measured, and its title is a message."""

import dataclasses
import itertools
import re
import types

import numpy as np
import pandas as pd
import pytest

from heed.evaluation.results import BETTER
from heed.report.figures import curves as of_epochs
from heed.report.figures import shapes, study
from heed.report.figures.compared import compared, published
from heed.report.figures.recency import PLAIN, coloured, importance, recency
from heed.report.figures.scores import cost_figure
from heed.report.figures.shapes import EVERYWHERE, FILES, PAGE, Figure, Panel
from heed.report.figures.study import ladder, learning_curve, study_figure
from heed.report.figures.variants import Drawn, drawn_variants, looks
from heed.report.figures.vega import as_svg
from heed.report.pages import Page
from heed.report.render import Paper, make_figures
from heed.report.results import Results, read_results
from heed.report.words import all_words
from tests.conftest import ROOT
from tests.fixtures.report import made_up, made_up_explanation
from tests.unit.report.conftest import PUBLISHED, read_made_up, read_study

STUDIES = ROOT / "docs/studies"
SENTIMENT = "sample-sentiment"


def marks(panel: Panel, kind: str, **values: object) -> list[dict]:
    """The marks of a kind with these values."""
    expected = {"kind": kind} | values
    return [row for row in panel.rows if {key: row.get(key) for key in expected} == expected]


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The sample study, whose three models of sentiment are explained, with recency."""
    data = made_up.comparison("sample")
    folder = made_up.results(data, tmp_path_factory.mktemp("explained") / "results")
    made_up_explanation.write_explanations(folder, data)
    for model in made_up_explanation.MODELS:
        made_up_explanation.write_recency(folder / "explain" / model, data.seeds)
    return read_results(made_up_explanation.explained_study(), data, PUBLISHED, folder, True)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return read_study("talk", tmp_path_factory.mktemp("talk"))


@pytest.fixture(scope="module")
def translation(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return read_study("translation", tmp_path_factory.mktemp("translation"))


@pytest.mark.parametrize("name", ["explained", "talk", "translation"])
def test_a_title_has_twelve_words_at_most_and_a_file_is_one_figure(name, request):
    made = make_figures(request.getfixturevalue(name))
    figures = [figure for of in made.values() for figure in of]
    assert len({figure.key for figure in figures}) == len(figures)
    for f in figures:
        assert 3 <= len(f.title.split()) <= 12 and "{" not in f.title + f.caption, f.key
        assert f.sources and f.size[1] <= shapes.MAX_HEIGHT * f.zoom + 0.5
    files = {name for (name, _), of in made.items() for figure in of if figure.media == FILES}
    assert files <= {"first_word", "lengths"}
    assert not made.get(("matrices", "news")), "fewer classes than three, or more than twelve"


def test_the_squares_of_a_confusion_matrix_have_room_for_their_percents(talk):
    (figure,) = make_figures(talk)["matrices", "letters-language"]
    for panel in figure.panels:
        assert any(row["kind"] == "text" and int(row["text"]) for row in panel.rows)


def test_models_of_an_experiment_are_told_apart_by_name_and_by_look(translation):
    (experiment,) = translation.experiments
    words, look = experiment.words, looks(experiment)
    assert len({*words.values()}) == len(words) and words["statistical"] == "counting words"
    assert len({(one.colour, one.marker) for one in look.values()}) == len(look)
    attention, colour = all_words()["decoder-attention"], look["attention"].colour
    assert (words["attention"], colour) == (attention.words, shapes.SERIES[attention.colour])


def test_the_best_control_and_the_best_other_variant_are_chosen_on_validation(tmp_path):
    data, params = made_up.comparison("sample"), made_up.study("sample")
    result = data.experiments[SENTIMENT]
    values = {"equal-weights": 0.91, "hybrid": 0.92, "other": 0.3}
    for name in values:
        first = result.models["self-attention"]
        model = first.model.replace("self-attention", name)
        result.models[name] = dataclasses.replace(first, model=model)
        params.models[model] = dataclasses.replace(params.models[first.model], variant=name)
    result.controls.append("equal-weights")
    results = read_made_up(params, data, tmp_path)
    experiment = results.experiments[0]
    for name, value in values.items():
        path = results.evaluation_folder(results.models(experiment)[name]) / "history.csv"
        pd.read_csv(path).assign(validation_accuracy=value).to_csv(path, index=False)
    drawn = drawn_variants(results, experiment)
    assert drawn == ["last-state", "self-attention", "equal-weights", "hybrid"]
    (figure,) = of_epochs.by_length(Drawn(results, experiment, drawn))
    assert "validation split" in figure.caption and "self-attention (other)" in figure.caption


def test_every_seed_is_a_dot_the_best_model_is_above_and_a_corpus_has_one_scale(talk):
    made = make_figures(talk)["models", ""]
    panels = [panel for figure in made for panel in figure.panels]
    assert [figure.key for figure in made] == ["models", "models-2"]
    domains = {}
    for panel, experiment in zip(panels, talk.experiments, strict=True):
        domains.setdefault(experiment.corpus_name, set()).add(panel.x.domain)
        result, words = experiment.result, experiment.words
        known = [*result.models, *result.learned_reference_models]
        known.sort(key=lambda name: -result.score_of(name))
        labels = [label.split("  ")[0] for label in panel.y.places.values()]
        assert labels == [shapes.short_name(words[name]) for name in known]
        for place, name in enumerate(known):
            model = result.models.get(name) or result.reference_models[name]
            runs = [100 * score for score in result.compared_score(model).values]
            dots = [row["x"] for row in marks(panel, "point") if round(row["y"]) == place]
            assert dots == pytest.approx(runs)
        (band,) = marks(panel, "square")
        middle = 100 * result.score_of("self-attention")
        assert band["x"] <= middle <= band["x2"] and band["x2"] - band["x"] <= 2.0001
    assert {*map(len, domains.values())} == {1} and len(domains) < len(panels)


def test_a_run_is_a_line_and_the_epoch_that_was_chosen_a_dot_on_it(explained):
    experiment = explained.experiments[0]
    (figure,) = of_epochs.curves(Drawn(explained, experiment, ["last-state", "self-attention"]))
    (above, _, *below), models = figure.panels, explained.models(experiment)
    assert above.title == "last state" and below[0].y.title == "accuracy"
    for panel, variant in zip(below, ("last-state", "self-attention"), strict=True):
        table = pd.read_csv(explained.evaluation_folder(models[variant]) / "history.csv")
        lines = {(row["name"], row["x"], row["y"]) for row in marks(panel, "line")}
        assert len(lines) == len(table)
        chosen = experiment.result.models[variant].best_epochs
        expected = [
            (epoch, table.query("seed == @seed and epoch == @epoch")["validation_accuracy"].item())
            for seed, epoch in zip(explained.comparison.seeds, chosen, strict=True)
        ]
        assert [(row["x"], row["y"]) for row in marks(panel, "point")] == expected


@pytest.mark.parametrize(("longest", "media"), [(2.9, FILES), (3.0, ("page", "paper"))])
def test_lengths_that_do_not_vary_threefold_are_left_to_a_file(tmp_path, longest, media):
    results = read_study("sample", tmp_path)
    experiment = results.experiments[0]
    path = results.evaluation_folder(results.models(experiment)["self-attention"]) / "lengths.csv"
    table = pd.read_csv(path)
    table.assign(mean_length=[1, 1.5, 2, longest] * 3).to_csv(path, index=False)
    (figure,) = of_epochs.by_length(Drawn(results, experiment, ["self-attention"]))
    assert figure.media == media
    values = (table["right"] / table["documents"]).groupby(table["longest"]).mean()
    (panel,) = figure.panels
    assert [row["y"] for row in marks(panel, "line")] == pytest.approx([*values])


def test_a_study_is_compared_by_kind_of_model_as_it_is_published(explained):
    first, second = compared(explained)
    assert first.roles[:3] == ("last", "mean", "self-attention")
    scores = explained.experiments[0].result.models["average"].summary["accuracy"].values
    assert first.runs["mean"] == pytest.approx([100 * score for score in scores])
    result = explained.experiments[1].result
    verdict = second.verdict("self-attention", "last")
    assert verdict == result.comparisons["self-attention"]["last-state"].verdict
    turned = {"better": "worse", "worse": "better"}
    assert second.verdict("last", "self-attention") == turned.get(verdict, verdict)


def test_the_ladder_has_every_corpus_every_seed_and_every_verdict():
    folders = [STUDIES / name for name in ("imdb", "yelp", "letters")]
    figure = ladder(found := [*itertools.chain(*map(published, folders))])
    scores = pd.concat(pd.read_csv(folder / "results.csv") for folder in folders)
    scores = scores.query("split == 'test' and metric == 'accuracy'")
    means = 100 * scores.groupby(["experiment", "model"])["value"].mean()
    panel, _ = figure.panels
    whole = means.unstack().dropna(subset="last-state")
    gains = whole.sub(whole["last-state"], axis=0).sort_values("attention-pooling", ascending=False)
    assert len(panel.y.places) == len(gains) == 4
    steps = ["last-state", "average", "attention-pooling"]
    for place, name in enumerate(gains.index):
        here = [row for row in marks(panel, "point", y=place) if not row.get("faint")]
        expected = [*gains.loc[name, steps]]
        assert [row["x"] for row in here] == pytest.approx(expected)
        runs = scores.query("experiment == @name and model in @steps")
        assert len(marks(panel, "point", y=place + 0.3)) == len(runs)
        (tick,) = marks(panel, "rule", wide=2.2, y=place - 0.3)
        assert tick["x"] == pytest.approx(gains.loc[name, "linear"])
        band = marks(panel, "square", y=place - 0.3)[0]
        assert (band["x"] + band["x2"]) / 2 == pytest.approx(expected[1])
    better = sum(study.weighing == BETTER for study in found)
    assert len(marks(panel, "rule", wide=5)) == better > 0
    assert figure.title == "Shown to help: reading every word on no corpora, weighing on some"
    svg = as_svg(figure)
    assert 'width="525pt"' in svg, "700 pixels"
    assert not re.search(r"href|url\(|https?://(?!www\.w3\.org)", svg), "no request"


def own_figure(name: str, monkeypatch: pytest.MonkeyPatch) -> Figure | None:
    """The figure of a published study, whose results are its CSV files."""
    monkeypatch.setattr(study, "compared", lambda _: published(STUDIES / name))
    monkeypatch.setattr(study, "recency", lambda _: iter(()))
    return study_figure(types.SimpleNamespace(comparison_sources=()))


def test_the_staircase_has_each_step_of_attention_its_gain_and_every_seed(monkeypatch):
    figure = own_figure("translation", monkeypatch)
    (panel,) = figure.panels
    levels = marks(panel, "rule", wide=2.6)
    assert [round(row["y"], 1) for row in levels] == [23.1, 27.6, 28.8, 33.4, 40.1]
    assert [row["text"] for row in marks(panel, "text")] == ["+4.5", "+1.3", "+4.6", "+6.7"]
    (dashed,) = (row for row in marks(panel, "rule") if row["dash"])
    assert round(dashed["y"], 1) == 34.8 and dashed["end"] == "counting words"
    assert len(marks(panel, "point", faint=True)) == 25
    assert figure.title == "Learned weights add most: 6.7 of 17.0 BLEU points"


def test_the_learning_curve_has_four_lines_by_the_logarithm_of_the_amount(monkeypatch):
    figure = own_figure("amounts", monkeypatch)
    reviews, headlines = figure.panels
    assert (reviews.title, headlines.title, reviews.x.scale) == ("Reviews", "Headlines", "log")
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in marks(headlines, "line"):
        lines.setdefault(row["name"], []).append((row["x"], round(row["y"], 2)))
    assert [*lines] == ["last", "mean", "attention", "linear"]
    assert lines["attention"] == [(1000, 26.91), (4000, 39.23), (16000, 51.46)]
    assert len(marks(headlines, "point", faint=True)) == 3 * 3 * 10
    band = marks(headlines, "band")
    assert [round(row["y2"] - row["y"], 6) for row in band] == [2, 2, 2]
    assert figure.title == "Weighing words helps at most sizes; the linear model leads at all"


def test_other_texts_are_no_amounts_of_the_same_ones():
    found = published(STUDIES / "amounts")
    assert learning_curve(found)
    assert not learning_curve([dataclasses.replace(row, source=row.corpus) for row in found])
    assert {row.source for row in found} == {"imdb, imdb", "few-shot-01, news-headlines"}


def test_a_study_of_one_corpus_has_no_figure_of_its_own_and_of_several_the_ladder(monkeypatch):
    assert own_figure("headlines", monkeypatch) is None
    assert own_figure("talk", monkeypatch).title.startswith("Shown to help: reading")


def test_the_u_has_the_importance_of_each_tenth_and_one_text_by_two_gradients(explained):
    (figure,) = recency(explained)
    made = make_figures(explained)
    assert [one.key for one in made["study", ""]] == [figure.key] == [f"{SENTIMENT}_recency"]
    assert made["recency", ""] == (), "it stands once"
    curve, *texts = figure.panels
    drawn = [found for found in explained.explanations if found.recency is not None]
    for variant, table in importance(drawn).items():
        line = [row["y"] for row in marks(curve, "line", name=variant)]
        assert line == pytest.approx([*table.groupby("x")["value"].mean()])
    assert len({row["name"] for row in marks(curve, "line")}) == len(drawn) == 3
    for text in texts:
        said = [row["text"] for row in marks(text, "text")]
        assert said == made_up_explanation.TEXT.split()
        assert 0.5 < max(row["shade"] for row in marks(text, "square")) <= 0.75
    assert [text.title for text in texts] == ["last state", "self-attention"]
    long = coloured(["word"] * 61, np.linspace(0, 1, 61), "a long text")
    assert len(marks(long, "square")) == 61 and not marks(long, "text")
    kept = [dataclasses.replace(e, publishable=False) for e in explained.experiments]
    hidden = [dataclasses.replace(e, experiment=kept[0]) for e in explained.explanations]
    changed = dataclasses.replace(explained, experiments=kept, explanations=tuple(hidden))
    (figure,) = recency(changed)
    assert len(figure.panels) == 1, "text that may not be published"
    made = make_figures(changed)
    assert {figure.media for figure in made["rankings", ""]} == {PAGE}


def test_costs_have_a_panel_for_each_experiment_with_enough_models(talk):
    costs = [
        types.SimpleNamespace(experiment=e, variant=name, score=e.result.score_of(name), mean=mean)
        for e in talk.experiments for mean, name in enumerate(e.result.models, 1)
    ]  # fmt: skip
    assert not [*cost_figure(talk, costs[:2])], "two points are no picture"
    last = talk.experiments[-1].key
    more = [
        types.SimpleNamespace(**vars(cost) | {"mean": times * cost.mean})
        for cost in costs for times in (3, 9) if cost.experiment.key != last
    ]  # fmt: skip
    (figure,) = cost_figure(talk, costs + more)
    assert len(figure.panels) == len(talk.experiments) - 1
    assert sum(len(marks(panel, "point")) for panel in figure.panels) == 3 * len(more) / 2
    assert all(marks(panel, "rule")[0]["end"] == "linear model" for panel in figure.panels)


def test_a_page_and_a_paper_have_no_figure_that_is_a_file_alone():
    media = {"both": EVERYWHERE, "local": PAGE, "file": FILES}
    made = [Figure(key, "Title", "", (), [], (3, 2), media=media[key]) for key in media]
    figures = {("lengths", "own"): made}
    experiment = types.SimpleNamespace(key="own")
    page = Page({}, figures, image=lambda figure: figure.key, copies=lambda table: {})
    shown = page.figure("lengths", experiment)
    assert re.findall(r'<figure id="figure-(\w+)"', shown) == ["both", "local"]
    printed = Paper(None, {}, figures, {}).figure("lengths", experiment)
    assert "both.pdf" in printed and "local.pdf" not in printed and "file.pdf" not in printed


def test_recency_without_its_ends_and_its_middle_is_not_drawn():
    """Of few documents some tenths have no mean, and a title would compare what is not there."""

    def explained(tenths: list[int]) -> types.SimpleNamespace:
        rows = {"measure": PLAIN, "at": [str(tenth - 1) for tenth in tenths], "mean": 0.1}
        return types.SimpleNamespace(variant="self-attention", recency=pd.DataFrame(rows))

    assert importance([explained([8])]) == {} == importance([explained([1, 2, 9, 10])])
    assert [*importance([explained([1, 5, 6, 10])])["self-attention"]["value"]] == [1, 1, 1, 1]
