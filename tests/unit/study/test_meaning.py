"""Settings of params.yaml without a meaning are refused: each with its key, and what it may be."""

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
TABLE = re.sub(
    r"kind: sample-(sentiment|letters),",
    "kind: table, text_column: t, label_column: l,",
    re.sub(r"sample: \{kind: sample, [^}]*\}", "sample: {kind: table, FILE}", SMALL),
)
TABLE = re.sub(r"\{label: \w+\}", "{label: l}", TABLE)
TABLE = TABLE.replace("FILE", f"path: x.csv, sha256: {'a' * 64}")
D, E, S = "defaults.classification", "experiments.rank", "searches.sample-author-searched"
RESULTS = "experiments.rank.expected_results"
HOLDS = "    title: Few voices among many decide\n    expected_results:\n"
BETTER = "      - {claim: C, variant: attention, against: baseline, verdict: better}\n"
WEIGHT = "      - {claim: C, variant: attention, metric: rationale_weight, "


def mistakes(text: str) -> list[str]:
    with pytest.raises(HeedError) as caught:
        parse(text)
    return str(caught.value).splitlines()


NUMBERS = [
    ("learning_rate", "1e-300", "a number, at least 1e-08, at most 10, found 1e-300"),
    ("learning_rate", "100000000", "at most 10, found 100000000"),
    ("ema_decay", ".999999999999", "a number, 0 or at least 0.001, at most 0.99999, found 0.99999"),
    ("warmup", ".9999999", "a number, 0 or at least 1e-06, at most 0.95, found 0.9999999"),
    ("weight_decay", "1e300", "at most 10, found 1e+300"),
    ("max_grad_norm", "1e-300", "0 or at least 1e-06, at most 1000000, found 1e-300"),
    ("embedding_std", "1e300", "at least 1e-06, at most 100, found 1e+300"),
    ("character_buckets", "100000000", "at most 16777216, found 100000000"),
]


@pytest.mark.parametrize(("key", "value", "message"), NUMBERS)
def test_a_hyperparameter_without_a_meaning_is_told_its_range(key, value, message):
    text = re.sub(rf"\n    {key}: .*", "", SMALL)
    text = text.replace("  classification:\n", f"  classification:\n    {key}: {value}\n")
    (line,) = mistakes(text)
    assert f": {D}.{key}: expected" in line and message in line


CASES = [
    (SMALL, "documents: 1600", "documents: 100000000", "sources.sample.documents",
     "above 0, at most 1000000, found 100000000"),
    (SMALL, "test: 0.25", "test: 1.0e-300", "corpora.sample-sentiment.split", "from 0.0001 to"),
    (SMALL, "study:\n", "study:\n  equivalence_margin: 100\n", "study.equivalence_margin",
     "at least 0.01, at most 20, found 100"),
    (SMALL, "study:\n", "study:\n  attention: [attention, attention]\n", "study.attention",
     "each name once, found twice: attention"),
    (SMALL, "study:\n", "study:\n  attention: [attention, baseline]\n", "study.attention",
     "baseline is what the others are compared with"),
    (SMALL, "title: Does", 'title: "\\u2800\\u3164 "\n#', "study.title", "with a visible sign"),
    (SMALL, "source: sample,", 'source: "",', "corpora.sample-sentiment.source", "visible sign"),
    (SMALL, "sample-author-mean: {experiment: sample-author}",
     "sample-author-mean: {experiment: sample-author}\n"
     "  sample-author-other: {experiment: sample-author}",
     "models.sample-author-other", "has the settings of sample-author-mean: nothing but the name"),
    (SMALL, "sample-author-mean: {experiment: sample-author}",
     "sample-author-mean: {experiment: sample-author}\n"
     "  sample-author-other: {experiment: sample-author, feed_forward_size: 64}",
     "models.sample-author-other", "has the settings of sample-author-mean: nothing but the name"),
    (SMALL, "kind: sample-letters,", "kind: sample-letters, tokenizers: {en: en},",
     "corpora.sample-letters.tokenizers", "there is no language en. Known: none"),
    (LECTURES, "kind: sample-translation-short,",
     "kind: sample-translation-short, optional_languages: [soldan, solden],",
     "corpora.translation.optional_languages", "did you mean soldan? Known: norvic, soldan"),
    (SMALL, "choice: [16, 24, 32]", "choice: [16, 24, 24.0]", f"{S}.space.hidden_size",
     "names a value twice"),
    (SMALL, "{label: author}", '{label: author}, published: {experiment: imbd, comparable: true}',
     "experiments.sample-author.published.experiment", "one of imdb, imdb-suboptimal, "),
    (SMALL, "{label: author}",
     '{label: author}, published: {experiment: imdb, comparable: false, reason: " "}',
     "experiments.sample-author.published.reason", "with a visible sign, found ' '"),
    (TABLE, "path: x.csv,", "path: x.csv, header: [t, k],", "corpora.sample-sentiment.label_column",
     "there is no column in `header` of source sample l"),
    (TABLE, "path: x.csv,", "path: x.csv, delimiter: ';', quote: ';',", "sources.sample",
     "the same character, ';'"),
    (TABLE, "path: x.csv,", "path: ' ',", "sources.sample.path", "with a visible sign"),
    (LECTURES, HOLDS, HOLDS + WEIGHT + "at_least: 0.6, at_most: 0.5}\n", f"{RESULTS}.0",
     "at_least 0.6 is above at_most 0.5"),
    (LECTURES, HOLDS, HOLDS + WEIGHT + "at_least: 1.01}\n", f"{RESULTS}.0.at_least", "at most 1, "),
    (LECTURES, HOLDS, HOLDS + WEIGHT + "at_most: 1}\n", f"{RESULTS}.0.at_most", "below 1, found 1"),
    (LECTURES, HOLDS, HOLDS + BETTER.replace("baseline", "baselin"), f"{RESULTS}.0.against",
     "did you mean baseline?"),
    (LECTURES, "    title: Few voices", "    control: uniform\n    title: Few voices",
     "experiments.rank.control", "there is no control uniform"),
    (LECTURES, "    title: Few voices", "    control: attention\n    title: Few voices",
     "experiments.rank.control", "there is no control attention"),
    (LECTURES, HOLDS, HOLDS + BETTER.replace("C,", '" ",'), f"{RESULTS}.0.claim", "visible sign"),
    (LECTURES, "variant: attention, metric: aer", "variant: attention, metric: rationale_weight",
     "experiments.translation.expected_results.2.metric", "there is no metric of translation rat"),
    (LECTURES, "adversarial_attention:\n",
     "adversarial_attention:\n  twin: {model: topic-attention, goal: deceive, strength: 0.3, "
     "epochs: 4, diagnostic_mlps: false}\n",
     "adversarial_attention.deceive", "has the settings of twin: nothing but the name differs"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("study", "right", "wrong", "key", "message"), CASES, ids=[f"{c[2][-40:]}" for c in CASES]
)
def test_a_setting_without_a_meaning_is_refused(study, right, wrong, key, message):
    assert right in study
    lines = mistakes(study.replace(right, wrong, 1))
    assert any(f": {key}: " in line and message in line for line in lines), lines


HALF = (
    "models:\n  translation-half: {experiment: translation, training_share: 0.5, score: dot}\n"
    "  translation-half-baseline: {experiment: translation, training_share: 0.5, "
    "decoder: last-state}\n"
)


@pytest.mark.parametrize(("study", "attention", "title", "control", "message"), [
    (SMALL, "searched, attention", "Sample sentiment", "attention", "no control attention"),
    (SMALL, "searched", "Sample sentiment", "mean", "no variant of study.attention (searched)"),
    (LECTURES, "attention", "Norvic to Soldan", "half", "half leaves out training items"),
    (LECTURES, "attention", "Norvic to Soldan", "baseline", ""),
], ids=["first", "no variant", "part", "right"])  # fmt: skip
def test_a_control_that_no_primary_comparison_has_is_refused(
    study, attention, title, control, message
):
    separator = ",\n    " if study == SMALL else "\n    "
    text = study.replace(f"title: {title}", f"control: {control}{separator}title: {title}", 1)
    text = text.replace("\nseeds:", f"  attention: [{attention}]\n\nseeds:", 1)
    if study == LECTURES:
        text = text.replace("models:\n", HALF, 1)
    lines = mistakes(text) if message else []
    assert parse(text) if not message else [line for line in lines if message in line], lines


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


@pytest.mark.parametrize("text", ["a", "é", "。", "→", "  x ", "1", "字", "\u200bא"])
def test_a_text_with_a_letter_or_a_mark_is_visible(text):
    assert is_visible(text)


@pytest.mark.parametrize("text", ["", " \t", "\u200b\u00ad", "\u2800", "\u3164", "\ufeff\u2060"])
def test_blanks_and_invisible_signs_are_not_visible(text):
    assert not is_visible(text)
