"""A translator as a folder for a hub: it translates elsewhere as its study does."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import heed
from heed import export
from heed.estimator import RunClassifier
from heed.files import HeedError


def test_a_translator_keeps_its_beam_and_has_no_onnx_file(runs, tmp_path, monkeypatch):
    texts = pd.read_parquet("data/tokens/pair/documents.parquet")["text_norvic"].head(3).tolist()
    said = export.export_model("pair-attention", 2, tmp_path / "hub")
    assert said.endswith(
        "no model.onnx: a translation is a search, and an ONNX file holds one network."
    )
    here = heed.load_run("pair-attention", 2)
    expected = [here.translate(texts), here.settings]
    assert all(each[0].text for each in expected[0])
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(runs)
    there = heed.load_run("hub")
    assert there.settings.beam == 2 and there.settings.tokenize == "none"
    assert str([there.translate(texts), there.settings]) == str(expected)
    card = Path("hub/README.md").read_text()
    assert "pipeline_tag: translation" in card and 'run.translate(["a text"])' in card
    with pytest.raises(HeedError, match="hub: translates, and has no interface of scikit-learn"):
        RunClassifier("hub")
