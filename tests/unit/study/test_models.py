"""A model: what its line says, what follows, its preset."""

import re

import pytest

from heed.cli import commands
from heed.study import parse
from heed.study.experiments import PRESETS, SECTIONS
from heed.study.rules import find_mistakes
from heed.tasks.classification.rules import choose_preset
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
# the same study with keys that follow
OLD = re.sub(
    r"(sample-[a-z]+)-([a-z-]+): \{experiment: (sample-[a-z]+)(?!.*search: )",
    r"\1-\2: {experiment: \3, corpus: CORPUS-\3, variant: \2, search: none, "
    r"match_parameters_of: \1-\2",
    SAMPLE,
)
OLD = OLD.replace("CORPUS-sample-author", "sample-letters").replace("CORPUS-", "")


QUICK = SAMPLE.replace(
    "defaults:\n", "defaults:\n  presets:\n    quick: {epochs: 2, dropout: 0.4}\n"
).replace(
    "sample-author-self-attention: {experiment: sample-author, ",
    "sample-author-self-attention: {experiment: sample-author, preset: quick, ",
)
SMALL = PRESETS["classification"]["small"].values
MATCHED = (
    "  sample-author-parameter-matched: "
    "{experiment: sample-author, match_parameters_of: sample-author-self-attention}\n"
)


def test_kinds_seeds_and_tokenizers_that_follow_need_not_be_written():
    text = (ROOT / "workflow/studies/lectures.yaml").read_text()
    long = text.replace("  place: {kind", "  sample-place: {kind")
    long = long.replace("source: place", "source: sample-place")
    short = long
    for written in (
        "kind: sample-place, ",
        ", seed: 1",
        "kind: random, ",
        ", tokenizer: whitespace",
    ):
        assert written in short
        short = short.replace(written, "")
    # a kind of several, and split kind given, do not follow; its tokenizer is another kind's
    short = short.replace("{kind: given}}", "{kind: given}, tokenizer: whitespace}")
    assert parse(short).corpora == parse(long).corpora
    seeds = {source.seed for source in parse(short).sources.values()}
    assert seeds == {None} and parse(short).sources["sample-place"].kind == "sample-place"


def test_a_study_with_keys_that_follow_is_the_same():
    assert OLD.count("search: none") == 6 and parse(OLD) == parse(SAMPLE)


def test_a_variant_may_be_said_where_the_name_does_not():
    line = "  narrow: {experiment: sample-author, variant: narrow, hidden_size: 8}\n"
    model = parse(SAMPLE + line).models["narrow"]
    assert (model.variant, model.corpus) == ("narrow", "sample-letters")
    assert model.match_parameters_of == "narrow"


def test_a_parameter_matched_model_is_searched_as_the_model_that_it_matches():
    line = MATCHED.replace("sample-author-self-attention", "sample-author-searched")
    matched = parse(SAMPLE + line).models["sample-author-parameter-matched"]
    assert matched.search == "sample-author-searched"


def test_the_values_are_the_defaults_then_the_presets_then_the_models_own():
    h = parse(QUICK.replace("preset: quick,", "preset: quick, dropout: 0.1,")).hyperparameters
    attention, mean = h("sample-author-self-attention"), h("sample-author-average")
    assert (attention.epochs, attention.dropout, attention.hidden_size) == (2, 0.1, 32)
    assert (mean.epochs, mean.dropout) == (6, 0.2)


def test_a_preset_of_heeds_own_is_its_values_written_out():
    written_out = ", ".join(f"{key}: {str(value).lower()}" for key, value in SMALL.items())
    by_name, by_keys = (
        parse(SAMPLE.replace("attention: multi-head", f"{keys}, attention: multi-head"))
        for keys in ("preset: small", written_out)
    )
    for model in by_name.models:
        assert by_name.hyperparameters(model) == by_keys.hyperparameters(model)
    resolved = vars(by_name.hyperparameters("sample-author-self-attention"))
    assert resolved.items() >= SMALL.items()


def test_an_experiments_preset_is_that_of_its_models_that_name_none():
    text = QUICK.replace("    quick: {", "    slow: {epochs: 9}\n    quick: {")
    params = parse(text.replace("data: {label: author}", "data: {label: author}, preset: slow"))
    epochs = {name: params.hyperparameters(name).epochs for name in params.models}
    assert epochs.pop("sample-author-self-attention") == 2
    slow = {name for name, number in epochs.items() if number == 9}
    assert slow == {name for name in epochs if name.startswith("sample-author")} != set()


def test_the_winner_of_a_search_replaces_the_presets_values():
    search = "search: sample-author-searched,"
    params = parse(SAMPLE.replace(search, f"{search} preset: small,"))
    resolved = params.hyperparameters("sample-author-searched", {"learning_rate": 0.02})
    assert (resolved.learning_rate, resolved.batch_size) == (0.02, SMALL["batch_size"])


def test_a_parameter_matched_model_has_the_preset_of_the_model_that_it_matches():
    params = parse(QUICK.replace("{epochs: 2,", "{epochs: 2, pooling: attention,") + MATCHED)
    values = params.hyperparameters("sample-author-parameter-matched")
    assert (values.epochs, values.dropout, values.pooling) == (2, 0.4, "attention")
    assert values == params.hyperparameters("sample-author-self-attention")
    assert params.hyperparameters("sample-author-parameter-matched", {"epochs": 3}).epochs == 3


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task in PRESETS for name in PRESETS[task]]
)
def test_every_preset_of_heeds_own_is_valid_and_described(task, name):
    preset = PRESETS[task][name]
    assert not find_mistakes(SECTIONS[task], preset.values) and preset.description


@pytest.mark.parametrize(("trained", "tokens", "name"), [
    (1, 1.0, "tiny"), (719, 150.0, "tiny"), (720, 12.0, "small"), (9_999, 60.0, "small"),
    (10_000, 60.0, "large"), (500, 260.0, "long"), (10_000, 151.0, "large-long"),
])  # fmt: skip
def test_a_preset_is_chosen_by_length_and_number_of_training_documents(trained, tokens, name):
    assert choose_preset(trained, tokens) == name


def test_files_may_stand_before_and_after_an_option():
    parse_arguments = commands.make_parser().parse_args
    files = ["corpus", "add", "a.csv", "--name", "x", "b.csv"]
    assert parse_arguments(files).files == ["a.csv", "b.csv"]
    with pytest.raises(SystemExit):
        parse_arguments([*files, "--nmae", "x"])
