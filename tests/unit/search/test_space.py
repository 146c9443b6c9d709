"""The space of a search is checked before Ray starts, and its draws depend on the seed alone."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from heed.files import HeedError
from heed.search.candidates import draw
from heed.search.stage import run_searches
from heed.study import Dimension, parse
from heed.study.rules import is_valid_configuration
from tests.unit.search.makers import STUDY


def any_configuration(configuration) -> bool:
    return True


def test_compared_variants_may_have_the_same_budget():
    other = (
        "  other: {experiment: tiny, model: tiny-last-state, trials: 4, epochs: 3, "
        "scheduler: none, space: {dropout: {uniform: [0, 0.5]}}}\n"
    )
    assert parse(STUDY.replace("defaults:", other + "defaults:"))


def test_the_same_seed_draws_the_same_and_more_trials_begin_with_the_same():
    dimensions = parse(STUDY).searches["hunt"].space
    ten = draw(dimensions, 10, 1000, any_configuration)
    assert draw(dimensions, 10, 1000, any_configuration) == ten
    assert draw(dimensions, 4, 1000, any_configuration) == ten[:4]
    assert draw(dimensions, 10, 1001, any_configuration) != ten
    for configuration in ten:
        assert [*configuration] == ["learning_rate", "hidden_size", "heads"]
        assert 0.001 <= configuration["learning_rate"] <= 0.05
        assert configuration["learning_rate"] == float(f"{configuration['learning_rate']:.4g}")
        assert configuration["hidden_size"] in range(2, 10)
    yaml_and_back = yaml.safe_load(yaml.safe_dump(ten))
    assert yaml_and_back == ten, "best.yaml says what was tried, to the last digit"


def test_every_kind_of_dimension_covers_its_span():
    space = {
        "learning_rate": Dimension(loguniform=[0.001, 1.0]),
        "dropout": Dimension(uniform=[0.0, 0.5]),
        "heads": Dimension(integer=[1, 3]),
    }
    drawn = pd.DataFrame(draw(space, 300, 7, any_configuration))
    assert {*drawn["heads"]} == {1, 2, 3}
    thirds = np.histogram(np.log10(drawn["learning_rate"]), bins=[-3, -2, -1, 0])[0]
    assert thirds.sum() == 300
    assert thirds.min() > 70, "each order of magnitude as often"
    assert np.histogram(drawn["dropout"], bins=5, range=(0, 0.5))[0].min() > 35


def test_heads_always_divide_the_states_and_each_number_of_heads_comes_as_often():
    study = parse(STUDY.replace("choice: [1, 2, 3, 4]", "choice: [1, 7, 8]"))
    space = study.searches["hunt"].space | {"hidden_size": Dimension(integer=[4, 60])}
    drawn = draw(space, 150, 3, lambda c: is_valid_configuration(study, "tiny-self-attention", c))
    assert all(2 * c["hidden_size"] % c["heads"] == 0 for c in drawn)
    counts = [sum(c["heads"] == heads for c in drawn) for heads in (1, 7, 8)]
    assert min(counts) > 30, counts


def test_configurations_are_different_and_a_space_that_has_too_few_is_one_line(study):
    space = {"heads": Dimension(choice=[1, 2]), "batch_size": Dimension(choice=[4, 8])}
    assert len({json.dumps(c) for c in draw(space, 4, 1, any_configuration)}) == 4
    with pytest.raises(HeedError, match=r"too few configurations: 4 found of 5 trials"):
        draw(space, 5, 1, any_configuration)
    text = STUDY.replace("integer: [2, 9]", "choice: [6, 12]")
    text = text.replace("choice: [1, 2, 3, 4]", "choice: [5, 7]")
    message = r"^params.yaml: searches.hunt.space: the space has too few configurations: 0 found"
    with pytest.raises(HeedError, match=message):
        [*run_searches(parse(text), "tiny", Path("data/tokens/tiny"), 1)]
