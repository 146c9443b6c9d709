"""The report's chapter on what the weights explain: its tables, its texts, and whose text."""

import dataclasses
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

from heed.evaluation.results import Comparison
from heed.files import HeedError, write_checksums
from heed.hyperparameters.pretrained import Pretrained
from heed.report.explanations import _read_encoder, is_planted
from heed.report.figures.heatmaps import document_rankings
from heed.report.figures.shapes import EVERYWHERE, PAGE
from heed.report.render import render
from heed.report.results import Results, read_results
from heed.report.rows.explanation import papers_text
from heed.report.tables import build_tables
from tests.fixtures.report import made_up
from tests.fixtures.report import made_up_explanation as fixture
from tests.fixtures.report.made_up_explanation import MODELS, SENTIMENT, explained_study
from tests.unit.report.conftest import PUBLISHED, csv_rows, page_of

pytestmark = pytest.mark.usefixtures("empty_figures")

DECLARED = {"differ": f"{SENTIMENT}-self-attention"}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return made_up.comparison("sample")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, comparison: Comparison) -> Path:
    """The results of a study that explains three models: one has no weights."""
    folder = made_up.results(comparison, tmp_path_factory.mktemp("made-up") / "results")
    fixture.write_explanations(folder, comparison)
    fixture.write_recency(folder / "explain" / MODELS[0], comparison.seeds)
    table = fixture.adversarial_model_table(comparison.seeds, divergence=0.65)
    fixture.write_adversarial_model(folder / "adversarial_attention/differ", table)
    return folder


@pytest.fixture(scope="module")
def results(comparison: Comparison, folder: Path) -> Results:
    return read(comparison, folder)


def read(comparison: Comparison, folder: Path, with_documents: bool = True, **settings) -> Results:
    params = explained_study(**{"adversarial_attention": DECLARED} | settings)
    return read_results(params, comparison, PUBLISHED, folder, with_documents)


def test_a_paper_is_printed_beside_ours_where_the_corpus_is_its_own(results):
    explained = results.explanations[0]
    assert "print:" not in papers_text(results, [explained], "correlation")
    result = made_up.with_statistics(explained.experiment.result, kind="imdb")
    experiment = dataclasses.replace(explained.experiment, result=result)
    explained = dataclasses.replace(explained, experiment=experiment)
    text = papers_text(results, [explained], "correlation")
    assert "Maini et al. 2020" in papers_text(results, [explained], "recency")
    assert text.startswith(
        "Jain & Wallace 2019 print: average+tanh 0.675/0.576/0.639, lstm+tanh 0.437/0.341/0.517. "
        "Ours read at most 400 tokens of a text; the mean length is 100."
    )


def test_gold_links_of_generated_translations_are_planted(comparison):
    (result, *_) = made_up.comparison("translation").experiments.values()
    assert result.corpus.statistics.rationale is None
    for generated in (True, False):
        changed = made_up.with_statistics(result, generated=generated)
        assert is_planted(changed) == generated
    assert is_planted(comparison.experiments[SENTIMENT])


def test_text_that_may_not_be_published_is_on_the_local_page_alone(results):
    (figure,) = document_rankings(results)
    assert figure.media == EVERYWHERE
    real = [dataclasses.replace(each, publishable=False) for each in results.experiments]
    local = dataclasses.replace(results, experiments=real)
    explained = [dataclasses.replace(each, experiment=real[0]) for each in results.explanations]
    local = dataclasses.replace(local, explanations=tuple(explained))
    (figure,) = document_rankings(local)
    assert figure.media == PAGE
    assert not [*document_rankings(dataclasses.replace(local, with_documents=False))]
    (translated, *_) = made_up.comparison("translation").experiments.values()
    sentences = dataclasses.replace(results.experiments[0].measure, task="translation")
    own = dataclasses.replace(results.experiments[0], result=translated, measure=sentences)
    explained = [dataclasses.replace(each, experiment=own) for each in results.explanations]
    assert not [*document_rankings(dataclasses.replace(results, explanations=tuple(explained)))]


def test_a_model_that_the_study_does_not_explain_is_left_out(comparison, folder):
    left = read(comparison, folder, explained=MODELS[:1], adversarial_attention={})
    assert [each.model for each in left.explanations] == [MODELS[0]]
    (row,) = csv_rows(left, "explanation_criteria")
    assert row["variant"] == "self-attention" and "undefined" in row.values()
    assert build_tables(left)["explanation_trained", ""] == []


def test_a_changed_file_is_refused(comparison, tmp_path, folder):
    shutil.copytree(folder, tmp_path / "results")
    with (tmp_path / "results/explain" / MODELS[0] / "summary.csv").open("a") as file:
        file.write("x\n")
    with pytest.raises(HeedError, match=f"heed explain {MODELS[0]}"):
        read(comparison, tmp_path / "results")


def test_the_page_and_the_paper_have_the_chapter(comparison, folder, tmp_path):
    params = explained_study(adversarial_attention=DECLARED)
    render(params, comparison, PUBLISHED, folder, tmp_path)
    assert "replacing them \\cite{pruthi,deyoung}" in (tmp_path / "report.tex").read_text()
    documents = next((tmp_path / "documents").glob(f"{SENTIMENT}-self-attention.html")).read_text()
    assert 'href="../index.html#explanation"' in documents
    table = pd.read_csv(tmp_path / "tables/explanation_all-means.csv")
    assert set(table["seed"]) == {*params.seeds} and table["mean"].notna().all()
    assert 'id="explanation"' in (tmp_path / "index.html").read_text()


def test_a_report_loads_no_torch():
    parts = "heed.report.render, heed.tasks.classification.report, heed.tasks.translation.report"
    code = f"import sys, {parts}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.fixture
def with_encoder(comparison: Comparison, folder: Path, tmp_path: Path) -> Results:
    """The results of a study that also tests the attention of its corpus's encoder."""
    copied = Path(shutil.copytree(folder, tmp_path / "results"))
    params = explained_study()
    corpus = params.experiments[SENTIMENT].corpus
    readings = copied / f"explain/{corpus}.pretrained"
    for reading in ("all-layers", "last-layer", "rollout"):
        fixture.write_explanation(readings / SENTIMENT / reading, [1], ["negative", "positive"])
    write_checksums(readings)
    declared = Pretrained(encoder="minilm", explain=8)
    params = dataclasses.replace(params, pretrained={corpus: declared})
    return read_results(params, comparison, PUBLISHED, copied, True)


def test_an_encoders_readings_stand_below_the_models_of_the_study(with_encoder, tmp_path):
    readings = [f"pretrained {name}" for name in ("all-layers", "last-layer", "rollout")]
    rows = {row["variant"]: row for row in csv_rows(with_encoder, "explanation_criteria")}
    assert [*rows] == ["last-state", "average", "self-attention", *readings]
    assert rows["pretrained rollout"]["gain_pp"] == "", "it has no control"
    assert "rollout, Abnar and Zuidema 2020" in page_of(with_encoder, tmp_path / "with")
    assert "Abnar" not in page_of(of_encoder(with_encoder, False), tmp_path / "without")
    encoder_alone = page_of(of_encoder(with_encoder, True), tmp_path / "encoder")
    assert "heed explain tests what they explain." in encoder_alone


def test_an_experiment_whose_encoder_is_not_tested_yet_names_the_command(tmp_path: Path):
    params = explained_study()
    corpus = params.experiments[SENTIMENT].corpus
    (tmp_path / f"explain/{corpus}.pretrained").mkdir(parents=True)
    declared = {corpus: Pretrained(encoder="minilm", explain=8)}
    params = dataclasses.replace(params, pretrained=declared)
    with pytest.raises(HeedError, match=f"{SENTIMENT}: not there. Run: heed pretrained {corpus}"):
        [*_read_encoder(params, types.SimpleNamespace(key=SENTIMENT), tmp_path)]


def of_encoder(results: Results, are_of_encoder: bool) -> Results:
    """The results with the explanations of the encoder alone, or of all but it."""
    kept = [each for each in results.explanations if each.is_of_encoder == are_of_encoder]
    return dataclasses.replace(results, explanations=tuple(kept))
