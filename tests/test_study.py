"""One study is active, and edited params are not overwritten."""

import re
import shutil
from pathlib import Path

import pytest

from heed import study
from heed.files import HeedError
from heed.study.studies import activate_study, list_studies
from tests.conftest import ROOT


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "workflow/studies", tmp_path / "workflow/studies")
    shutil.copy(tmp_path / "workflow/studies/sample.yaml", tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_sample_study_is_what_params_yaml_holds_as_committed() -> None:
    active, sample = (
        (ROOT / path).read_text() for path in ("params.yaml", "workflow/studies/sample.yaml")
    )
    if "name: sample" not in active:
        pytest.skip("another study is active in this clone")
    assert active.split("\n")[1:] == sample.split("\n")[1:], (
        "all but the line with the path of the schema"
    )


def test_every_study_is_listed_and_the_active_one_is_marked(clone: Path) -> None:
    listed = list_studies()
    assert sorted(study.name for study in listed) == [
        "explanation", "explanation-imdb", "explanation-sample", "federalist", "headlines", "imdb",
        "letters", "sample", "scores", "strong-headlines", "strong-imdb", "strong-letters", "talk",
        "translation", "translation-control", "translation-sample",
    ]  # fmt: skip
    assert [study.name for study in listed if study.is_active] == ["sample"]


def test_activating_a_study_validates_it_and_returns_its_cost(clone: Path) -> None:
    message = activate_study("talk", force=False)
    assert "talk is active now" in message
    assert "60 trainings" in message
    assert study.load().study.name == "talk"
    assert (
        (clone / "params.yaml")
        .read_text()
        .startswith("# yaml-language-server: $schema=docs/params.schema.json\n")
    )
    assert activate_study("talk", force=False).startswith("talk is active already")
    activate_study("sample", force=False)  # nothing was edited: no --force
    assert sorted(path.name for path in clone.iterdir()) == [".heed", "params.yaml", "workflow"]


def test_hand_edits_are_not_overwritten_without_force(clone: Path) -> None:
    edited = re.sub(r"epochs: \d+", "epochs: 99", (clone / "params.yaml").read_text())
    (clone / "params.yaml").write_text(edited)
    with pytest.raises(HeedError, match=r"params.yaml: edited by hand.*heed study talk --force"):
        activate_study("talk", force=False)
    assert (clone / "params.yaml").read_text() == edited
    activate_study("talk", force=True)
    assert study.load().study.name == "talk"


def test_params_yaml_that_is_missing_is_made(clone: Path) -> None:
    (clone / "params.yaml").unlink()
    activate_study("sample", force=False)
    assert study.load().study.name == "sample"


def test_an_unknown_or_wrong_study_is_an_error_and_changes_nothing(clone: Path) -> None:
    before = (clone / "params.yaml").read_text()
    with pytest.raises(
        HeedError,
        match=r"no such study. Known: explanation-imdb, .*, headlines, imdb, letters, sample, ",
    ):
        activate_study("tlak", force=False)
    (clone / "workflow/studies/talk.yaml").write_text(re.sub(r"epochs: \d+", "epochs: -1", before))
    with pytest.raises(
        HeedError, match=r"workflow/studies/talk.yaml:\d+: defaults.classification.epochs"
    ):
        activate_study("talk", force=True)
    assert (clone / "params.yaml").read_text() == before
