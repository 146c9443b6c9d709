"""A preset: hyperparameters that a model takes by one name; its own keys replace them."""

import dataclasses
import re

import pytest

from heed import study
from heed.files import HeedError
from heed.study.section import PRESETS, SECTIONS
from heed.tasks.classification.presets import choose_preset, recommend_linear
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
SMALL = PRESETS["classification"]["small"].values
# a preset of the study, and the line of a model that has it
QUICK = SAMPLE.replace(
    "defaults:\n", "defaults:\n  presets:\n    quick: {epochs: 2, dropout: 0.4}\n"
).replace(
    "sample-author-attention: {experiment: sample-author, ",
    "sample-author-attention: {experiment: sample-author, preset: quick, ",
)
LINE_OF_QUICK = QUICK[: QUICK.index("quick:")].count("\n") + 1
WIDE = (
    "  sample-author-parameter-matched: "
    "{experiment: sample-author, match_parameters_of: sample-author-attention}\n"
)


def error_message(text: str) -> str:
    with pytest.raises(HeedError) as caught:
        study.parse(text)
    return str(caught.value)


def test_the_values_are_the_defaults_then_the_presets_then_the_models_own() -> None:
    h = study.parse(QUICK.replace("preset: quick,", "preset: quick, dropout: 0.1,")).hyperparameters
    attention, mean = h("sample-author-attention"), h("sample-author-mean")
    assert (attention.epochs, attention.dropout, attention.hidden_size) == (2, 0.1, 32)
    assert (mean.epochs, mean.dropout) == (6, 0.2)


def test_a_preset_of_heeds_own_is_what_its_values_written_out_are() -> None:
    written_out = ", ".join(f"{key}: {str(value).lower()}" for key, value in SMALL.items())
    by_name, by_keys = (
        study.parse(SAMPLE.replace("attention: multi-head", f"{keys}, attention: multi-head"))
        for keys in ("preset: small", written_out)
    )
    for model in by_name.models:
        assert by_name.resolved(model, {}) == by_keys.resolved(model, {})
    resolved = dataclasses.asdict(by_name.resolved("sample-author-attention", {}))
    assert resolved.items() >= SMALL.items()


def test_the_winner_of_a_search_replaces_the_presets_values() -> None:
    text = SAMPLE.replace(
        "search: sample-author-searched,", "search: sample-author-searched, preset: small,"
    )
    params = study.parse(text)
    assert "learning_rate" in params.searches["sample-author-searched"].space
    resolved = params.resolved("sample-author-searched", {"learning_rate": 0.02})
    assert (resolved.learning_rate, resolved.batch_size) == (0.02, SMALL["batch_size"])


def test_wide_has_the_preset_of_the_model_that_it_matches() -> None:
    params = study.parse(QUICK + WIDE)
    for values in (params.resolved("sample-author-parameter-matched", {}),
                   params.hyperparameters("sample-author-parameter-matched")):  # fmt: skip
        assert (values.epochs, values.dropout) == (2, 0.4)
    assert (
        "sample-author-parameter-matched.preset: variant parameter-matched takes the preset of "
        "sample-author-attention" in (error_message(QUICK + WIDE.replace("}", ", preset: quick}")))
    )


def test_wide_matches_a_model_with_attention_in_its_preset() -> None:
    text = QUICK.replace("{epochs: 2,", "{epochs: 2, pooling: attention,")
    params = study.parse(text + WIDE)  # wide is without attention: a preset of its own would not do
    assert (
        params.resolved("sample-author-parameter-matched", {}).pooling == "attention"
    )  # to be widened


def test_a_preset_may_say_how_is_predicted() -> None:
    text = (ROOT / "workflow/studies/translation.yaml").read_text()
    text = text.replace("defaults:\n", "defaults:\n  presets: {greedy: {beam: 1}}\n")
    name, line = re.search(r"^  ([a-z0-9-]+-attention): (.*)$", text, re.MULTILINE).groups()
    params = study.parse(text.replace(line, line.replace("decoder:", "preset: greedy, decoder:")))
    assert params.models[name].preset == "greedy"
    assert params.prediction(name).beam == 1


@pytest.mark.parametrize(
    ("right", "wrong", "key", "message"),
    [
        ("preset: quick,", "preset: quik,", "models.sample-author-attention.preset",
          "there is no preset of classification quik; did you mean quick? Known: "),
        ("{epochs: 2,", "{epoch: 2,", "defaults.presets.quick.epoch",
         "unknown key; did you mean epochs?"),
        ("{epochs: 2,", "{epochs: 0,", "defaults.presets.quick.epochs", "greater than 0, found 0"),
        ("{epochs: 2,", "{beam: 2,", "defaults.presets.quick.beam",
         "is no hyperparameter of classification. (models.sample-author-attention has this"),
        ("{epochs: 2,", "{encoder: bidirectional,", "defaults.presets.quick.encoder",
         "found 'bidirectional' (models.sample-author-attention has this preset)"),
        ("quick: {", "small: {", "defaults.presets.small",
         "is the name of a preset of heed's own; choose another"),
        ("quick: {", "unused: {word_dropout: 0.1, beam: 2}\n    quick: {",
         "defaults.presets.unused.beam", "is no hyperparameter of classification."),
    ],
)  # fmt: skip
def test_a_mistake_is_a_line_with_file_line_and_a_suggestion(
    right: str, wrong: str, key: str, message: str
) -> None:
    error = error_message(QUICK.replace(right, wrong, 1))
    assert message in error
    line = LINE_OF_QUICK
    if key.startswith("models."):
        line = QUICK[: QUICK.index("preset: quick")].count("\n") + 1
    assert any(each.startswith(f"params.yaml:{line}: {key}: ") for each in error.splitlines())


def test_the_preset_of_another_task_is_named() -> None:
    text = (ROOT / "workflow/studies/translation.yaml").read_text()
    error = error_message(text.replace("decoder:", "preset: small, decoder:", 1))
    assert ".preset: preset small is of classification, and this model of translation" in error


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task in PRESETS for name in PRESETS[task]]
)
def test_every_preset_of_heeds_own_is_valid_and_described(task: str, name: str) -> None:
    preset = PRESETS[task][name]
    assert SECTIONS[task].model_validate(preset.values).model_dump().items() >= (
        preset.values.items()
    )
    assert preset.description


@pytest.mark.parametrize("trained", [1, 300, 10_000, 1_000_000])
@pytest.mark.parametrize("tokens_per_document", [1.0, 40.0, 3000.0])
def test_a_corpus_of_any_shape_has_a_preset(trained: int, tokens_per_document: float) -> None:
    assert choose_preset(trained, tokens_per_document) in PRESETS["classification"]


def test_the_preset_is_chosen_by_length_and_number_of_training_documents() -> None:
    names = {(500, 12.0): "tiny", (720, 12.0): "small", (30_000, 60.0): "small"}
    names |= {(500, 260.0): "long", (30_000, 770.0): "long"}
    for (trained, tokens), name in names.items():
        assert choose_preset(trained, tokens) == name


@pytest.mark.parametrize(
    ("trained", "tokens", "is_recommended"),
    [(500, 260.0, True), (1_600, 770.0, True), (1_500, 265.0, False), (200, 20.0, False)],
)
def test_the_linear_model_is_recommended_for_few_long_texts(
    trained: int, tokens: float, is_recommended: bool
) -> None:
    assert ("linear model is recommended" in recommend_linear(trained, tokens)) == is_recommended
