"""The sections `explain` and `adversarial_attention` of params.yaml, in a study and in stages."""

from pathlib import Path

import pytest

from heed.explanation.stage import read_explain
from heed.files import HeedError
from heed.study import parse
from tests.conftest import ROOT

STUDIES = ROOT / "tests/studies"
SAMPLE, EXPLAINED = (
    (STUDIES / name).read_text() for name in ("small.yaml", "parts/explained.yaml")
)
EXPLAIN, LIAR = EXPLAINED.split("adversarial_attention:")


def test_the_sections_are_read():
    params = parse(SAMPLE + EXPLAINED)
    assert len(params.explain.models) == 3 and params.adversarial_attention["liar"].strength == 1
    params = parse(SAMPLE)
    assert params.explain.models == params.adversarial_attention == {}


def test_sentence_pairs_are_no_noise():
    two = "two: {kind: sample-translation, documents: 140, seed: 3}"
    pairs = "pairs: {source: two, kind: sample-translation, split: {kind: given}}"
    text = SAMPLE.replace("sources:\n", f"sources:\n  {two}\n")
    text = text.replace("corpora:\n", f"corpora:\n  {pairs}\n")
    with pytest.raises(HeedError, match=r"attention\.noise: pairs has sentence pairs"):
        parse(text + EXPLAIN.replace("noise: sample-letters", "noise: pairs"))


def test_models_of_any_task_are_explained_and_classifiers_alone_have_adversarial_models():
    text = (ROOT / "workflow/studies/translation-sample.yaml").read_text()
    params = parse(text)
    name = next(iter(params.explain.models))
    liar = LIAR.replace("model: sample-sentiment-self-attention", f"model: {name}")
    with pytest.raises(HeedError, match="adversarial models are of classifications"):
        parse(f"{text}adversarial_attention:{liar}")


@pytest.mark.parametrize(("text", "scale"), [
    ("study: {name: x}", 1.0),
    ("", 1.0),
    # a number in YAML 1.2, as heed study has it
    ("explain: {documents: 1e-1, models: {m: {noise: b}}}", 0.1),
])  # fmt: skip
def test_a_stage_reads_its_section(text, scale, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_explain().documents == 1
    Path("params.yaml").write_text(text)
    assert read_explain().documents == scale
    assert [model.noise for model in read_explain().models.values()] == ["b"] * ("noise" in text)
