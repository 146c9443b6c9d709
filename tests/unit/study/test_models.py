"""A model: what its line says, what follows, its preset; `heed model add` writes a line."""

import re
from pathlib import Path

import pytest

from heed import cli
from heed.cli import commands
from heed.files import HeedError
from heed.study import load, parse
from heed.study.model_rules import find_mistakes
from heed.study.section import PRESETS, SECTIONS
from heed.tasks.classification.presets import choose_preset
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
HEAD, MODELS = SAMPLE.split("\nmodels:\n")
PARAMS = Path("params.yaml")
# the same study with keys that follow
OLD = re.sub(
    r"(sample-[a-z]+)-([a-z]+): \{experiment: (sample-[a-z]+)(?!.*search: )",
    r"\1-\2: {experiment: \3, corpus: CORPUS-\3, variant: \2, search: none, "
    r"match_parameters_of: \1-\2",
    SAMPLE,
)
OLD = OLD.replace("CORPUS-sample-author", "sample-letters").replace("CORPUS-", "")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PARAMS.write_text(SAMPLE)
    return tmp_path


QUICK = SAMPLE.replace(
    "defaults:\n", "defaults:\n  presets:\n    quick: {epochs: 2, dropout: 0.4}\n"
).replace(
    "sample-author-attention: {experiment: sample-author, ",
    "sample-author-attention: {experiment: sample-author, preset: quick, ",
)
SMALL = PRESETS["classification"]["small"].values
MATCHED = (
    "  sample-author-parameter-matched: "
    "{experiment: sample-author, match_parameters_of: sample-author-attention}\n"
)


def error_message(text: str) -> str:
    with pytest.raises(HeedError) as caught:
        parse(text)
    (line,) = str(caught.value).splitlines()
    return line


# --- what follows ---------------------------------------------------------------------------------


def test_a_study_with_keys_that_follow_is_the_same() -> None:
    assert OLD.count("search: none") == 6
    assert parse(OLD) == parse(SAMPLE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("corpus: sample-sentiment, variant", "corpus: sample-letters, variant",
         "models.sample-sentiment-baseline.corpus: sample-sentiment follows from the rest, found "
         "sample-letters: remove `corpus`"),
        ("variant: mean", "variant: maen", "variant: mean follows from the rest, found maen"),
        ("match_parameters_of: sample-author-mean", "match_parameters_of: sample-author-baseline",
         "sample-author-mean follows from the rest, found sample-author-baseline: remove "),
    ],
)  # fmt: skip
def test_a_value_that_contradicts_what_follows_is_refused(old: str, new: str, message: str) -> None:
    assert message in error_message(OLD.replace(old, new, 1))


def test_a_variant_may_be_said_where_the_name_does_not_and_no_two_models_have_it() -> None:
    line = "  narrow: {experiment: sample-author, VARIANT, hidden_size: 8}\n"
    model = parse(SAMPLE + line.replace("VARIANT", "variant: narrow")).models["narrow"]
    assert (model.variant, model.corpus) == ("narrow", "sample-letters")
    assert model.match_parameters_of == "narrow"
    with pytest.raises(HeedError, match="narrow: sample-author-mean is the variant mean of sample"):
        parse(SAMPLE + line.replace("VARIANT", "variant: mean"))
    message = error_message(SAMPLE + line.replace("VARIANT", "pooling: mean"))
    assert "narrow: its name does not begin with sample-author-: name it" in message


def test_a_parameter_matched_model_is_searched_as_the_model_that_it_matches() -> None:
    line = MATCHED.replace("sample-author-attention", "sample-author-searched")
    matched = parse(SAMPLE + line).models["sample-author-parameter-matched"]
    assert matched.search == "sample-author-searched"
    assert "remove `search`" in error_message(SAMPLE + line.replace("}", ", search: none}"))
    without = line.replace("match_parameters_of: sample-author-searched", "gpus: 0")
    assert "parameter-matched is as large as which model" in error_message(SAMPLE + without)


# --- presets --------------------------------------------------------------------------------------


def test_the_values_are_the_defaults_then_the_presets_then_the_models_own() -> None:
    h = parse(QUICK.replace("preset: quick,", "preset: quick, dropout: 0.1,")).hyperparameters
    attention, mean = h("sample-author-attention"), h("sample-author-mean")
    assert (attention.epochs, attention.dropout, attention.hidden_size) == (2, 0.1, 32)
    assert (mean.epochs, mean.dropout) == (6, 0.2)


def test_a_preset_of_heeds_own_is_its_values_written_out() -> None:
    written_out = ", ".join(f"{key}: {str(value).lower()}" for key, value in SMALL.items())
    by_name, by_keys = (
        parse(SAMPLE.replace("attention: multi-head", f"{keys}, attention: multi-head"))
        for keys in ("preset: small", written_out)
    )
    for model in by_name.models:
        assert by_name.resolved(model, {}) == by_keys.resolved(model, {})
    resolved = vars(by_name.resolved("sample-author-attention", {}))
    assert resolved.items() >= SMALL.items()


def test_the_winner_of_a_search_replaces_the_presets_values() -> None:
    search = "search: sample-author-searched,"
    params = parse(SAMPLE.replace(search, f"{search} preset: small,"))
    resolved = params.resolved("sample-author-searched", {"learning_rate": 0.02})
    assert (resolved.learning_rate, resolved.batch_size) == (0.02, SMALL["batch_size"])


def test_a_parameter_matched_model_has_the_preset_of_the_model_that_it_matches() -> None:
    params = parse(QUICK.replace("{epochs: 2,", "{epochs: 2, pooling: attention,") + MATCHED)
    values = params.resolved("sample-author-parameter-matched", {})
    assert (values.epochs, values.dropout, values.pooling) == (2, 0.4, "attention")


@pytest.mark.parametrize(
    ("right", "wrong", "key", "message"),
    [
        ("preset: quick,", "preset: quik,", "models.sample-author-attention.preset",
         "there is no preset of classification quik; did you mean quick? Known: "),
        ("{epochs: 2,", "{epoch: 2,", "defaults.presets.quick.epoch", "did you mean epochs?"),
        ("{epochs: 2,", "{epochs: 0,", "defaults.presets.quick.epochs", "found 0"),
        ("{epochs: 2,", "{beam: 2,", "defaults.presets.quick.beam", "unknown key"),
        ("{epochs: 2,", "{encoder: bidirectional,", "defaults.presets.quick.encoder",
         "found 'bidirectional'"),
        ("quick: {", "unused: {word_dropout: 0.1, beam: 2}\n    quick: {",
         "defaults.presets.unused.beam", "unknown key"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_preset_is_a_line(right: str, wrong: str, key: str, message: str) -> None:
    text = QUICK.replace(right, wrong, 1)
    error = error_message(text)
    line = text[: text.index(wrong)].count("\n") + 1
    assert error.startswith(f"params.yaml:{line}: {key}: ") and message in error


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task in PRESETS for name in PRESETS[task]]
)
def test_every_preset_of_heeds_own_is_valid_and_described(task: str, name: str) -> None:
    preset = PRESETS[task][name]
    assert not find_mistakes(SECTIONS[task], preset.values)
    assert preset.description


@pytest.mark.parametrize(
    ("trained", "tokens", "name"),
    [
        (1, 1.0, "tiny"), (719, 150.0, "tiny"), (720, 12.0, "small"), (9_999, 60.0, "small"),
        (10_000, 60.0, "large"), (500, 260.0, "long"), (10_000, 151.0, "large-long"),
    ],
)  # fmt: skip
def test_a_preset_is_chosen_by_length_and_number_of_training_documents(
    trained: int, tokens: float, name: str
) -> None:
    assert choose_preset(trained, tokens) == name


# --- heed model add, heed model remove ------------------------------------------------------------


def test_a_model_is_added_behind_those_of_its_experiment(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.model_add("sample-sentiment", "pooling", ["pooling=attention", "dropout=1e-1"], "")
    line = (
        "sample-sentiment-pooling: {experiment: sample-sentiment, pooling: attention, dropout: 0.1}"
    )
    text = PARAMS.read_text()
    number = text[: text.index(line)].count("\n") + 1
    assert capsys.readouterr().out == f"params.yaml:{number}: added {line}\n"
    assert text.splitlines()[number - 2].startswith("  sample-sentiment-attention: ")
    assert text.replace(f"  {line}\n", "") == SAMPLE
    commands.model_remove("sample-sentiment-pooling")
    assert PARAMS.read_text() == SAMPLE


def test_a_model_like_another_has_its_keys_and_settings_replace_them(clone: Path) -> None:
    commands.model_add("sample-author", "searched-8", ["heads=8"], "searched")
    commands.model_add("sample-sentiment", "eight", ["search=none"], "sample-author-searched-8")
    models = load().models
    assert models["sample-author-searched-8"].search == "sample-author-searched"
    for name in ("sample-author-searched-8", "sample-sentiment-eight"):
        assert models[name].overrides == {"attention": "multi-head", "heads": 8}
        assert models[name].match_parameters_of == name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample-autor", "x"], "there is no experiment sample-autor; did you mean sample-author?"),
        (["sample-author", "mean"], "models.sample-author-mean is there already: edit its line"),
        (["sample-author", "X"], "'sample-author-X' is no name: lower-case letters"),
        (["sample-author", "linear"], "linear is the name of a reference model"),
        (["sample-author", "x", "heds=4"], "x.heds: unknown key; did you mean heads?"),
        (["sample-author", "x", "heads"], "'heads': expected key=value, such as heads=4"),
        (["sample-author", "x", "heads=four"], "expected a whole number, "),
        (["sample-author", "x", "heads=[4]"], "one value, such as 4, 0.5, true or"),
        (["sample-author", "x", "variant=y"], "which follow from EXPERIMENT and VARIANT"),
        (["sample-author", "x", "--like", "atention"], "--like: there is no variant or model "
         "atention; did you mean attention? Known: baseline, mean, attention, searched"),
        (["sample-author", "x", "attention=multi-head", "heads=5"], "5 heads do not divide 64"),
    ],
)  # fmt: skip
def test_a_model_that_would_be_wrong_is_one_line_and_nothing_is_written(
    clone: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["heed", "model", "add", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    (error,) = str(caught.value.code).splitlines()
    assert message in error
    assert PARAMS.read_text() == SAMPLE


def test_a_model_that_others_name_is_not_removed(clone: Path) -> None:
    number = SAMPLE[: SAMPLE.index("    model: sample-author-searched")].count("\n") + 1
    with pytest.raises(HeedError, match=rf"^params.yaml:{number}: searches.*there is no model"):
        commands.model_remove("sample-author-searched")
    with pytest.raises(HeedError, match="there is no model sample-author-max; did you mean"):
        commands.model_remove("sample-author-max")
    assert PARAMS.read_text() == SAMPLE


def test_models_in_blocks_are_followed_by_a_line_and_removed_with_their_keys(clone: Path) -> None:
    block = MODELS.replace(
        "sample-author-mean: {experiment: sample-author}",
        "sample-author-mean:\n    experiment: sample-author\n    pooling: mean # all states\n"
        "\n  # of the next",
    )
    text = f"{HEAD}\nmodels:\n{block}"
    PARAMS.write_text(text.rstrip("\n"))  # the last line without an end
    commands.model_add("sample-author", "x", ["pooling=max"], "")
    added = PARAMS.read_text().removeprefix(text)
    assert added.startswith("  sample-author-x: {experiment: sample-author, pooling: max}")
    commands.model_remove("sample-author-mean")
    assert "sample-author-mean" not in PARAMS.read_text()
    assert "\n\n  # of the next\n  sample-author-attention: " in PARAMS.read_text()


def test_models_within_one_line_are_left_to_the_editor(clone: Path) -> None:
    inner = "".join(f"{line.strip()}, " for line in MODELS.splitlines())
    PARAMS.write_text(f"{HEAD}\nmodels: {{{inner}}}\n")
    with pytest.raises(HeedError, match=r"begins within a line\. Give each model a line"):
        commands.model_add("sample-author", "x", [], "")
