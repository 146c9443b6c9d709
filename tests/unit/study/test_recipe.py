"""A recipe holds all that determines a training; the seeds of a study."""

import dataclasses
from pathlib import Path

import pytest

from heed import recipe as recipes
from heed.cli.stages import read_seeds
from heed.files import HeedError, write_yaml
from heed.models.size import count_parameters
from heed.study import parse
from heed.study.recipes import make_recipe
from heed.tasks.classification import learning
from heed.tokens.meta import read_meta
from tests.conftest import ROOT, write_meta


@pytest.mark.parametrize(
    "seeds", ["", "seeds: []", "seeds: [0]", "seeds: [true]", "seeds: 1", "seeds: [", "[]"]
)
def test_seeds_that_cannot_be_read_are_one_message(tmp_path, monkeypatch, seeds):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeedError, match=r"params.yaml: not there"):
        read_seeds("it")
    Path("params.yaml").write_text(seeds)
    with pytest.raises(HeedError, match=r"params.yaml: .*`heed study` says"):
        read_seeds("it")


def params(**changes):
    text = (ROOT / "tests/studies/small.yaml").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return parse(text)


@pytest.fixture
def tokenised(tmp_path: Path) -> Path:
    kind = "sample-letters"
    write_meta(tmp_path, corpus=kind, kind=kind, labels={"author": ["a", "b"]})
    (tmp_path / "sample-author-searched").mkdir()
    write_yaml(tmp_path / "sample-author-searched/best.yaml", {})
    return tmp_path


def test_a_recipe_holds_every_hyperparameter_and_a_searchs_winner_replaces_them(tokenised):
    recipe = make_recipe(params(), "sample-author-searched", tokenised, tokenised)
    assert recipe.hyperparameters.heads == 4 and recipe.tokens == "d"
    assert recipe.data.classes == ["a", "b"]
    write_yaml(tokenised / "sample-author-searched/best.yaml", {"learning_rate": 0.123})
    again = make_recipe(params(), "sample-author-searched", tokenised, tokenised)
    assert again.hyperparameters == dataclasses.replace(recipe.hyperparameters, learning_rate=0.123)
    recipes.write_recipe(tokenised / "r.yaml", recipe)
    assert recipes.read_recipe(tokenised / "r.yaml", "heed recipe") == recipe


def test_a_parameter_matched_recipe_has_the_parameter_count_of_the_model_it_matches(tokenised):
    line = "{experiment: sample-author, match_parameters_of: sample-author-self-attention}"
    entry = f"  sample-author-parameter-matched: {line}\n  sample-author-average:"
    study = params(**{"  sample-author-average:": entry})
    names = [f"sample-author-{each}" for each in ("self-attention", "parameter-matched")]
    recipes_ = [make_recipe(study, name, tokenised, tokenised) for name in names]
    attention, matched = (recipe.hyperparameters for recipe in recipes_)
    assert matched.attention == "none" and matched.hidden_size > attention.hidden_size
    sizes = learning.sizes(recipes_[0].data, read_meta(tokenised))
    counts = [count_parameters(lambda h=h: learning.build(h, sizes)) for h in (attention, matched)]
    assert counts[0] == pytest.approx(counts[1], rel=0.02)


def test_a_label_that_the_corpus_lacks_is_named(tokenised):
    of_language = params(**{"{label: author}": "{label: language}"})
    message = r"params.yaml: experiments.sample-author.data.label: .* no label language. Known"
    with pytest.raises(HeedError, match=message):
        make_recipe(of_language, "sample-author-self-attention", tokenised, tokenised)
    with pytest.raises(HeedError, match="heed recipe sample-author"):
        make_recipe(params(), "sample-author-searched", tokenised / "other", tokenised)
