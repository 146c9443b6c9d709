"""The sections `explain` and `adversarial_attention` of params.yaml, in a study and in stages."""

from pathlib import Path

import pytest

from heed.explanation.stage import read_explain
from heed.files import HeedError
from heed.study import parse
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
ENTRY = "sample-sentiment-attention: {noise: sample-letters}"
EXPLAIN = f"""
explain:
  documents: 1
  models:
    {ENTRY}
    sample-sentiment-mean: {{noise: sample-letters}}
    sample-sentiment-baseline: {{noise: sample-letters}}
"""
MODEL = "model: sample-sentiment-attention"
LIAR = f"""
adversarial_attention:
  liar: {{{MODEL}, goal: differ, strength: 1, epochs: 1}}
"""


def test_the_sections_are_read():
    params = parse(f"{SAMPLE}{EXPLAIN}{LIAR}")
    assert len(params.explain.models) == 3 and params.adversarial_attention["liar"].strength == 1
    params = parse(SAMPLE)
    assert params.explain.models == params.adversarial_attention == {}


@pytest.mark.parametrize(("old", "new", "message"), [
    ("  documents: 1\n", "", "explain.documents: missing"),
    ("documents: 1", "documents: 0", "explain.documents: "),
    ("    sample-sentiment-mean:", "    sample-mean:", "explain.models.sample-mean: "),
    ("{noise: sample-letters}", "{}", "attention.noise: missing"),
    ("noise: sample-letters", "noise: sample-leters", "there is no corpus sample-leters; did"),
    ("liar", "sample-sentiment-attention", "is the name of a model too"),
    ("liar", "Liar", "lower-case letters"),
    (MODEL, "model: sample-attention", ".liar.model: there is no model sample-attention"),
    (MODEL, "model: sample-sentiment-mean", "pooling: mean gives every word the same weight"),
    (MODEL, "model: sample-sentiment-baseline", "pooling last is no weighted sum"),
    (f"    {ENTRY}\n", "", "attention is not in explain.models: "),
    ("goal: differ", "goal: lie", ".liar.goal: "),
    ("strength: 1", "strength: 0", ".liar.strength: "),
    ("epochs: 1", "epoch: 1", "unknown key; did you mean epochs? Allowed: model, goal"),
])  # fmt: skip
def test_a_mistake_is_one_line(old, new, message):
    sections = f"{EXPLAIN}{LIAR}"
    assert old in sections
    with pytest.raises(HeedError) as caught:
        parse(SAMPLE + sections.replace(old, new, 1))
    assert message in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_sentence_pairs_are_no_noise():
    pairs = "{source: two, kind: sample-translation, split: {kind: given}}"
    text = SAMPLE.replace(
        "sources:\n", "sources:\n  two: {kind: sample-translation, documents: 140, seed: 3}\n"
    ).replace("corpora:\n", f"corpora:\n  pairs: {pairs}\n")
    with pytest.raises(HeedError, match=r"attention\.noise: pairs has sentence pairs"):
        parse(text + EXPLAIN.replace("noise: sample-letters", "noise: pairs"))


def test_models_of_any_task_are_explained_and_classifiers_alone_have_adversarial_models():
    text = (ROOT / "workflow/studies/translation-sample.yaml").read_text()
    params = parse(text)
    name = next(iter(params.explain.models))
    liar = LIAR.replace(MODEL, f"model: {name}")
    with pytest.raises(HeedError, match="adversarial models are of classifications"):
        parse(text + liar)


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
    assert [each.noise for each in read_explain().models.values()] == ["b"] * ("noise" in text)
