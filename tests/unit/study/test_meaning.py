"""Controls that nothing is compared with, numbers without a range, texts that nobody sees."""

import re

import pytest
from docs.params import _schema, _titles

from heed.files import HeedError
from heed.records import is_visible, keys_of
from heed.study import parse
from heed.study.experiments import TALK
from tests.conftest import ROOT

SMALL = (ROOT / "tests/studies/small.yaml").read_text()
LECTURES = (ROOT / "workflow/studies/lectures.yaml").read_text()


HALF = (
    "models:\n  translation-half: {experiment: translation, training_share: 0.5, score: dot}\n"
    "  translation-half-last-state: {experiment: translation, training_share: 0.5, "
    "decoder: last-state}\n"
)


@pytest.mark.parametrize(("study", "attention", "title", "control", "message"), [
    (SMALL, "searched, self-attention", "Sample sentiment", "self-attention",
        "no control self-attention"),
    (SMALL, "searched", "Sample sentiment", "average", "no variant of study.attention (searched)"),
    (LECTURES, "attention", "Norvic to Soldan", "half", "half leaves out training items"),
    (LECTURES, "attention-pooling, self-attention, attention", "Norvic to Soldan",
        "last-state", ""),
], ids=["first", "no variant", "part", "right"])  # fmt: skip
def test_a_control_of_no_primary_comparison_is_refused(study, attention, title, control, message):
    separator = ",\n    " if study == SMALL else "\n    "
    text = study.replace(f"title: {title}", f"control: {control}{separator}title: {title}", 1)
    text = text.replace("\nseeds:", f"  attention: [{attention}]\n\nseeds:", 1)
    if study == LECTURES:
        text = text.replace("models:\n", HALF, 1)
    if not message:
        assert parse(text)
        return
    with pytest.raises(HeedError, match=re.escape(message)):
        parse(text)


def test_every_number_of_params_yaml_has_a_range():
    """A number without one would accept 1e-300 or 1e300."""
    for title, kind in _titles().items():
        for name, field in keys_of(kind).items():
            limits = json_schema_of(field)
            for each in limits:
                assert {"minimum", "exclusiveMinimum"} & each.keys(), f"{title}.{name}"
                assert {"maximum", "exclusiveMaximum"} & each.keys(), f"{title}.{name}"


def json_schema_of(field) -> list[dict]:
    schema = _schema(field.declared, field.limits)
    options = [*schema.get("anyOf", [schema])]
    return [each for each in options if each.get("type") in ("number", "integer")]


def test_the_talks_experiments_are_the_rows_of_its_results():
    rows = (ROOT / "data/published/talk_results.csv").read_text().splitlines()[1:]
    assert sorted({row.split(",")[0] for row in rows}) == sorted(TALK)


def test_a_text_is_visible_by_a_letter_or_a_mark():
    for text in ["a", "é", "。", "→", "  x ", "1", "字", "\u200bא"]:
        assert is_visible(text), text
    for text in ["", " \t", "\u200b\u00ad", "\u2800", "\u3164", "\ufeff\u2060"]:
        assert not is_visible(text), text
