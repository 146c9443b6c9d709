"""The formulas of parameter counts give what the built models have."""

import dataclasses
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from heed.hyperparameters.classifier import Architecture
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.models.classifier import Classifier
from heed.models.parameters import count_classifier, count_translator, score
from heed.models.scores import SCORES
from heed.models.size import shapes_alone
from heed.models.translators import make_translator
from heed.study import load
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.classification.rules import contradictions
from heed.tasks.translation.recipe import Hyperparameters as TranslatorHyperparameters
from heed.tasks.translation.rules import contradictions as translator_contradictions
from tests.conftest import ROOT

STUDIES = sorted((ROOT / "workflow/studies").glob("*.yaml"))
SIZES = {
    "embedding_dim": st.integers(1, 9), "hidden_size": st.integers(1, 9),
    "linear_size": st.integers(1, 9), "feed_forward_size": st.integers(1, 9),
    "heads": st.integers(1, 3), "encoder_layers": st.integers(1, 3),
    "decoder_layers": st.integers(1, 3), "max_tokens": st.integers(1, 9),
    "max_source_tokens": st.integers(1, 9), "bigram_buckets": st.integers(0, 9),
    "character_buckets": st.integers(0, 9), "branch_buckets": st.integers(1, 9),
}  # fmt: skip


def count_built(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def build_classifier(vocabulary: int, classes: int, h: Architecture) -> nn.Module:
    with shapes_alone():
        return Classifier(vocabulary, classes, h)


def build_translator(source: int, target: int, h: TranslatorArchitecture) -> nn.Module:
    with shapes_alone():
        return make_translator(source, target, h)


def drawn(kind: type, **fixed: st.SearchStrategy) -> st.SearchStrategy[Any]:
    """Hyperparameters of `kind`: every choice and small sizes, the others at their defaults."""
    fields = {}
    for name, declared in get_type_hints(kind).items():
        if name in SIZES:
            fields[name] = SIZES[name]
        elif declared is bool:
            fields[name] = st.booleans()
        elif get_args(declared):
            fields[name] = st.sampled_from(get_args(declared))
    return st.builds(kind, **fields | fixed)


@settings(max_examples=100, deadline=None)
@given(drawn(Hyperparameters), st.integers(3, 9), st.integers(2, 4))
def test_the_formula_of_a_classifier_counts_what_is_built(h, vocabulary, classes):
    if not [*contradictions(h)]:
        built = count_built(build_classifier(vocabulary, classes, h))
        assert count_classifier(vocabulary, classes, h) == built


@settings(max_examples=100, deadline=None)
@given(drawn(TranslatorHyperparameters), st.booleans(), st.integers(5, 9), st.integers(5, 9))
def test_the_formula_of_a_translator_counts_what_is_built(h, is_transformer, source, target):
    if is_transformer:  # both or neither: else most that are drawn contradict themselves
        h = dataclasses.replace(h, encoder="transformer", decoder="transformer")
    if not [*translator_contradictions(h)]:
        assert count_translator(source, target, h) == count_built(
            build_translator(source, target, h)
        )


@pytest.mark.parametrize("name", SCORES)
def test_a_score_between_vectors_of_two_sizes(name):
    sizes = (4, 4) if "dot" in name else (4, 3)
    assert score(name, *sizes, 7) == count_built(SCORES[name](*sizes, 7))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_model_of_every_study_is_counted_as_it_is_built(path: Path):
    params = load(path)
    for name, model in params.models.items():
        h = params.hyperparameters(name)
        if params.task(model) == "classification":
            count, built = count_classifier, build_classifier
        else:
            count, built = count_translator, build_translator
        assert count(400, 30, h) == count_built(built(400, 30, h)), name
