"""One study is active, edited params are not overwritten, and the cost is estimated in advance."""

import os
import re
import shutil
from pathlib import Path

import pytest

from heed import study
from heed.files import HeedError
from heed.study.cost import estimate_cost, format_cost
from heed.study.studies import activate_study, format_studies, list_studies, make_study
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
    assert {study.name: study.is_active for study in list_studies()} == {
        "desk": False,
        "explanation": False,
        "explanation-sample": False,
        "sample": True,
        "scores": False,
        "strong": False,
        "strong-letters": False,
        "talk": False,
        "translation": False,
        "translation-sample": False,
    }


def test_activating_a_study_validates_it_and_returns_its_cost(clone: Path) -> None:
    message = activate_study("talk", force=False)
    assert "talk is active now" in message
    assert "60 runs" in message
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
        match=r"no such study. Known: desk, explanation-sample, explanation, sample, scores, str",
    ):
        activate_study("tlak", force=False)
    (clone / "workflow/studies/talk.yaml").write_text(re.sub(r"epochs: \d+", "epochs: -1", before))
    with pytest.raises(
        HeedError, match=r"workflow/studies/talk.yaml:\d+: defaults.classification.epochs"
    ):
        activate_study("talk", force=True)
    assert (clone / "params.yaml").read_text() == before


def test_the_plan_counts_stages_and_runs_as_dvc_does(clone: Path) -> None:
    cost = estimate_cost(study.load())
    assert (cost.stages, cost.runs) == (1 + 1 + 1 + 2 + 2 + 7 + 21 + 7 + 2 + 7 + 2, 21)
    text = format_cost(study.load())
    assert "file systems without reflink" in text
    assert "7 of 7 models train for fewer than 10 epochs without patience" in text


def test_twice_the_seeds_are_twice_the_trainings_and_a_cap_makes_them_cheaper(clone: Path) -> None:
    text = (clone / "workflow/studies/talk.yaml").read_text()
    five_seeds, two_seeds = (
        study.parse(text),
        study.parse(text.replace("[1, 2, 3, 4, 5]", "[1, 2]")),
    )
    assert 2.3 < estimate_cost(five_seeds).core_hours / estimate_cost(two_seeds).core_hours < 2.6
    assert (
        estimate_cost(study.parse(text.replace("max_tokens: 1000", "max_tokens: 50"))).core_hours
        < estimate_cost(five_seeds).core_hours / 2
    )


def test_explanations_and_the_training_part_alone_are_in_the_cost(clone: Path) -> None:
    text = (clone / "workflow/studies/explanation.yaml").read_text()
    cost = estimate_cost(study.parse(text))
    assert cost.core_hours < 4, "the study is for an afternoon"
    alone = estimate_cost(study.parse(text[: text.index("\n# differ:")]))
    plain = estimate_cost(study.parse(text[: text.index("\nexplain:")]))
    assert (cost.stages - alone.stages, alone.stages - plain.stages) == (4, 15)
    assert (alone.core_hours - plain.core_hours) * 3600 == pytest.approx(15 * (3 * 60 + 8))
    assert 0.1 < cost.core_hours - alone.core_hours < 0.5
    drawn = text.replace(
        "tokenizer: en, split: {kind: given,", "tokenizer: en, split: {kind: random, test: 0.5,"
    )
    assert drawn != text and estimate_cost(study.parse(drawn)).core_hours > 1.3 * cost.core_hours


def test_each_layer_of_a_transformer_has_its_part_in_the_cost(clone: Path) -> None:
    text = (clone / "params.yaml").read_text()

    def core_hours(layers: int) -> float:
        encoder = f"encoder: transformer, encoder_layers: {layers}, heads: 4"
        changed = text.replace("attention: multi-head, heads: 4", encoder)
        return estimate_cost(study.parse(changed)).core_hours

    one, two, four = (core_hours(layers) for layers in (1, 2, 4))
    assert two > one and four - two == pytest.approx(2 * (two - one))


def test_the_cost_names_corpora_of_unknown_size(clone: Path) -> None:
    text = (clone / "params.yaml").read_text()
    table = f"sample: {{kind: table, path: x.csv, sha256: {'a' * 64}}}"
    text = re.sub(r"sample: \{kind: sample, [^}]*\}", table, text)
    text = text.replace("kind: sample-sentiment,", "kind: table, text_column: t, label_column: l,")
    text = text.replace("kind: sample-letters,", "kind: table, text_column: t, label_column: l,")
    text = re.sub(r"\{label: \w+\}", "{label: l}", text)
    assert "without sample-sentiment, sample-letters" in format_cost(study.parse(text))


def activated(name: str, force: bool = False) -> str:
    """Activate a study and return the first lines of the message, without its cost."""
    return activate_study(name, force).partition("\nDoes attention help")[0]


def test_a_study_of_ones_own_is_made_listed_and_kept_with_its_edits(clone: Path) -> None:
    sample = (clone / "params.yaml").read_text()
    message = make_study("mine", 'Is it "worth" it: yes?')
    assert message.startswith("studies/mine.yaml: a new study of your own, which is active now.")
    assert message.endswith("has no corpus yet. Add one: heed corpus add FILE")
    assert study.load(may_be_empty=True).study.title == 'Is it "worth" it: yes?'
    assert "* mine               Is it" in format_studies()
    assert make_study("second", "").count("\n") == 1, "nothing was edited: nothing is saved"
    activate_study("mine", force=False)
    edited = (clone / "params.yaml").read_text().replace("[1, 2, 3]", "[1, 2]  # two")
    (clone / "params.yaml").write_text(edited)
    assert "studies/mine.yaml: the edits of params.yaml are saved here." in activated("sample")
    assert (clone / "params.yaml").read_text().split("\n")[1:] == sample.split("\n")[1:]
    assert "mine is active now" in activated("mine")
    assert (clone / "params.yaml").read_text() == edited
    assert activated("mine").startswith("mine is active already.")
    assert [each.name for each in list_studies() if each.is_own] == ["mine", "second"]


def test_an_empty_study_says_in_one_line_how_a_corpus_is_added(clone: Path) -> None:
    make_study("mine", "")
    message = "params.yaml:12: corpora: study mine has no corpus yet. Add one: heed corpus add FILE"
    with pytest.raises(HeedError, match=f"^{re.escape(message)}$"):
        study.load()


def test_of_two_edits_of_a_study_neither_is_lost_without_force(clone: Path) -> None:
    make_study("mine", "")
    params, own = clone / "params.yaml", clone / "studies/mine.yaml"
    params.write_text(params.read_text().replace("[1, 2, 3]", "[1, 2]"))
    os.utime(params, (1, 1))  # the file of the study is the newer one
    for name in ("mine", "sample"):
        with pytest.raises(HeedError, match=r"studies/mine.yaml: was changed after params.yaml"):
            activate_study(name, force=False)
    assert "[1, 2]" in params.read_text() and "[1, 2, 3]" in own.read_text()
    activate_study("mine", force=True)
    assert "[1, 2, 3]" in params.read_text()


NOT_FREE = [
    ("", "is no name of a study"),
    ("My Study", "is no name of a study"),
    ("new", "'new' is no name of a study"),
    ("desk", "desk is a study of heed's"),
    ("mine", "studies/mine.yaml: is there already"),
]


@pytest.mark.parametrize(("name", "message"), NOT_FREE)
def test_a_name_that_is_taken_or_wrong_is_refused(clone: Path, name: str, message: str) -> None:
    make_study("mine", "")
    with pytest.raises(HeedError, match=message):
        make_study(name, "")


def test_a_file_must_not_take_the_place_of_a_study_of_ones_own(clone: Path) -> None:
    make_study("mine", "")
    text = (clone / "workflow/studies/sample.yaml").read_text()
    (clone / "elsewhere.yaml").write_text(text.replace("name: sample", "name: mine"))
    with pytest.raises(HeedError, match="mine is a study of your own"):
        activate_study("elsewhere.yaml", force=True)
    (clone / "studies/other.yaml").write_text(text)
    with pytest.raises(HeedError, match=r"other.yaml: study.name: expected other, .* found sample"):
        activate_study("other", force=True)
    (clone / "studies/desk.yaml").write_text(text)
    with pytest.raises(HeedError, match=r"studies/desk.yaml: heed has a study of this name too"):
        activate_study("desk", force=True)


def test_a_study_with_a_mistake_is_listed_and_its_edits_are_saved(clone: Path) -> None:
    make_study("mine", "")
    params = clone / "params.yaml"
    params.write_text(params.read_text().replace("searches: {}", "searchs: {}"))
    assert "the edits of params.yaml are saved here" in activated("sample")
    assert "mine               (has a mistake: heed study mine says where)" in format_studies()
    with pytest.raises(HeedError, match=r"studies/mine.yaml:\d+: searchs: unknown key"):
        activate_study("mine", force=False)
