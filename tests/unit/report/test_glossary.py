"""The glossary says of every variant what its hyperparameters are, and the citation is ours."""

import dataclasses
import re

import pytest
from ruamel.yaml import YAML

from heed import __version__ as VERSION
from heed.hyperparameters.translator import ATTENTION_DECODERS
from heed.report.rows.glossary import networks
from heed.report.words import describe_network
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as Translator
from tests.conftest import ROOT, cases
from tests.unit.report.conftest import read_study

CASES = cases(__file__)


@pytest.fixture
def results(tmp_path):
    return read_study("sample", tmp_path)


@pytest.mark.parametrize(("changes", "words"), CASES["classifiers"])
def test_a_classifier_is_described_by_its_hyperparameters(changes, words):
    text = describe_network(dataclasses.replace(Hyperparameters(), **changes))
    assert all(word in text for word in words) and text.endswith(".")
    has_attention = changes.get("attention", "none") in ("multi-head", "single-head")
    assert ("self-attention" in text.replace("layer of self-attention", "")) == has_attention


def test_a_translator_is_said_to_attend_where_its_decoder_does():
    for decoder in ("last-state", "concatenate", *ATTENTION_DECODERS):
        text = describe_network(dataclasses.replace(Translator(), decoder=decoder))
        assert ("attention" in text) == (decoder in ATTENTION_DECODERS), text


def test_a_name_of_two_networks_has_an_entry_for_each(results):
    name, result = next(iter(results.comparison.experiments.items()))
    model = result.models["self-attention"]
    other = dataclasses.replace(model.hyperparameters, attention="none", pooling="max")
    result.models["self-attention"] = dataclasses.replace(model, hyperparameters=other)
    first, second = (each for each in networks(results) if each["variant"] == "self-attention")
    assert first["experiments"] == [results.params.experiments[name].title]
    assert (first["words"], second["words"]) == ("maximum of states", "self-attention")
    assert "maximum of the states" in first["description"]
    assert "self-attention" in second["description"]


def test_the_citation_is_that_of_citation_cff(rendered):
    declared = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    page, paper = ((rendered("sample") / f).read_text() for f in ("index.html", "report.tex"))
    entry = re.search(r"@software\{[^<]*", page)[0]
    title, author, year = declared["title"], declared["authors"][0]["name"], "2026"
    assert f"{{{{{title}}}}}" in entry and f"{{{{{author}}}}}" in entry and f"{{{year}}}" in entry
    assert declared["version"] == VERSION and f"{{{VERSION}}}" in entry
    assert str(declared.get("date-released", year))[:4] == year  # without a date: not released yet
    assert "{Study sample" in entry and entry.count("{") == entry.count("}")
    assert f"{author} ({year}). {title} Software, version {VERSION}." in paper
