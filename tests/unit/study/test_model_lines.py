"""A line of params.yaml says what is its own; `heed model add` writes one, and the rest follows."""

import re
from pathlib import Path

import pytest

from heed import cli
from heed.cli import commands
from heed.files import HeedError
from heed.study import load, parse
from heed.study.reader import describe_old_form, use_todays_names
from heed.study.section import PRESETS
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
HEAD, MODELS = SAMPLE.split("\nmodels:\n")
PARAMS = Path("params.yaml")
# the same study as heed 0.2.0 wrote it
OLD = re.sub(
    r"(sample-[a-z]+)-([a-z]+): \{experiment: (sample-[a-z]+)(?!.*search: )",
    r"\1-\2: {experiment: \3, corpus: CORPUS-\3, variant: \2, search: none, "
    r"match_parameters_of: \1-\2",
    SAMPLE,
)
OLD = OLD.replace("CORPUS-sample-author", "sample-letters").replace("CORPUS-", "")
OLD = OLD.replace(
    "model: sample-author-searched\n", "\\g<0>    after: none\n    corpus: sample-letters\n"
)
OLD = OLD.replace("\\g<0>", "model: sample-author-searched\n")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PARAMS.write_text(SAMPLE)
    return tmp_path


# --- what follows ---------------------------------------------------------------------------------


def test_a_study_of_an_earlier_heed_is_the_same_and_one_message_shows_the_new_form(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert OLD.count("search: none") == 6 and "after: none" in OLD
    assert parse(OLD) == parse(SAMPLE)
    commands.check()
    assert "follow" not in capsys.readouterr().out
    PARAMS.write_text(OLD)
    commands.check()
    first, line, last = capsys.readouterr().out.splitlines()
    assert first.startswith("params.yaml: 7 entries have keys that follow from the rest")
    assert line.strip() in SAMPLE and "no mistake" in last


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/studies/*/params.yaml")), ids=str)
def test_a_study_of_0_2_0_is_refused_with_todays_names_and_heed_study_writes_them(
    path: Path, clone: Path
) -> None:
    old = path.read_text()
    with pytest.raises(HeedError, match=r"^params.yaml:\d+: heed 0.2.0 had other names: ") as error:
        parse(old)
    (message,) = str(error.value).splitlines()
    names = {old: new for new, old in re.findall(r"([\w-]+) \(was ([\w-]+)\)", message)}
    text, said = use_todays_names(old, path)
    assert said.count("(was ") == len(names) > 0 and use_todays_names(text, path) == (text, "")
    assert parse(text).models and describe_old_form(text)
    changed = [line for line in text.splitlines() if line not in old.splitlines()]
    assert changed and all(any(new in line for new in names.values()) for line in changed)
    assert len(text.splitlines()) == len(old.splitlines())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds:", "? [a, b]\n: c\nseeds:", r"keys should be strings, found \('a', 'b'\)"),
        ("metric: accuracy, at_least", "figure: accuracy, at_least",
         r"^params.yaml:\d+: heed 0.2.0 had other names: metric \(was figure\)\. "),
    ],
)  # fmt: skip
def test_odd_keys_and_a_study_renamed_by_half_are_one_message(
    old: str, new: str, message: str
) -> None:
    text = (ROOT / "params.yaml").read_text()
    with pytest.raises(HeedError, match=message) as error:
        parse(text.replace(old, new, 1))
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("corpus: sample-sentiment, variant", "corpus: sample-letters, variant",
         "models.sample-sentiment-baseline.corpus: sample-sentiment follows from the rest, found "
         "sample-letters: remove `corpus`"),
        ("variant: mean", "variant: maen", "variant: mean follows from the rest, found maen"),
        ("match_parameters_of: sample-author-mean", "match_parameters_of: sample-author-baseline",
         "sample-author-mean follows from the rest, found sample-author-baseline: remove "
         "`match_parameters_of`"),
        ("    after: none", "    after: other", "stands in the section `later_searches`: move "),
    ],
)  # fmt: skip
def test_a_value_that_contradicts_what_follows_is_refused(old: str, new: str, message: str) -> None:
    text = OLD.replace(old, new, 1)
    number = 1 + next(
        i for i, (a, b) in enumerate(zip(OLD.split("\n"), text.split("\n"), strict=True)) if a != b
    )
    with pytest.raises(HeedError) as caught:
        parse(text)
    (error,) = str(caught.value).splitlines()
    assert error.startswith(f"params.yaml:{number}: ") and message in error


def test_a_variant_may_be_said_where_the_name_does_not_and_no_two_models_have_it() -> None:
    line = "  narrow: {experiment: sample-author, VARIANT, hidden_size: 8}\n"
    text = SAMPLE + line.replace("VARIANT", "variant: narrow")
    model = parse(text).models["narrow"]
    assert (model.variant, model.corpus, model.match_parameters_of) == (
        "narrow",
        "sample-letters",
        "narrow",
    )
    for given, message in (
        ("variant: mean", "models.narrow: sample-author-mean is the variant mean of sample-author"),
        ("pooling: mean", "narrow: its name does not begin with sample-author-: name it"),
    ):
        with pytest.raises(HeedError, match=message):
            parse(SAMPLE + line.replace("VARIANT", given))


def test_wide_is_tuned_as_the_model_that_it_matches() -> None:
    line = (
        "  sample-author-parameter-matched: "
        "{experiment: sample-author, match_parameters_of: sample-author-searched}\n"
    )
    assert (
        parse(SAMPLE + line).models["sample-author-parameter-matched"].search
        == "sample-author-searched"
    )
    for key, message in (
        ("gpus: 0", "parameter-matched is as large as which model"),
        ("match_parameters_of: sample-author-searched, search: none", r"remove `search`"),
    ):
        with pytest.raises(HeedError, match=message):
            parse(
                SAMPLE
                + (f"  sample-author-parameter-matched: {{experiment: sample-author, {key}}}\n")
            )


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ("after: hnt", r"later_searches.second.after: there is no search hnt"),
        ("trials: 2", r"later_searches.second: starts from the winner of which search\? Write"),
        ("after: second", "searches wait for each other: second after second"),
    ],
)
def test_a_later_search_names_the_one_before_it(after: str, message: str) -> None:
    line = f"experiment: sample-author, model: sample-author-searched, trials: 0, {after}"
    line = line.replace("trials: 0, trials", "trials")
    with pytest.raises(HeedError, match=message):
        parse(SAMPLE.replace("defaults:", f"later_searches:\n  second: {{{line}}}\ndefaults:", 1))


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


def test_wide_and_presets_are_added(clone: Path) -> None:
    commands.model_add("sample-author", "small", ["preset=small", "pooling=mean"], "")
    commands.model_add(
        "sample-author", "parameter-matched", ["match_parameters_of=sample-author-searched"], ""
    )
    params = load()
    epochs = PRESETS["classification"]["small"].values["epochs"]
    assert params.hyperparameters("sample-author-small").epochs == epochs != 6
    assert (
        params.models["sample-author-parameter-matched"].match_parameters_of
        == "sample-author-searched"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample-autor", "x"], "there is no experiment sample-autor; did you mean sample-author?"),
        (["sample-author", "mean"], "models.sample-author-mean is there already: edit its line"),
        (["sample-author", "X"], "'sample-author-X' is no name: lower-case letters"),
        (["sample-author", "linear"], "linear is the name of a reference model"),
        (["sample-author", "x", "heds=4"], "x.heds: unknown key; did you mean heads?"),
        (["sample-author", "x", "heads"], "'heads': expected key=value, such as heads=4"),
        (["sample-author", "x", "heads=four"], "valid integer, found 'four'"),
        (["sample-author", "x", "heads=[4]"], ": one value, such as 4, 0.5, true or"),
        (["sample-author", "x", "heads={"], ": one value, such as 4, 0.5, true or"),
        (["sample-author", "x", "variant=y"], "variant follows from EXPERIMENT and VARIANT"),
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
    commands.model_add("sample-author", "x", [], "")
    added = PARAMS.read_text().removeprefix(text)
    assert added.startswith("  sample-author-x: {experiment: sample-author}")
    commands.model_remove("sample-author-mean")
    assert "sample-author-mean" not in PARAMS.read_text()
    assert "\n\n  # of the next\n  sample-author-attention: " in PARAMS.read_text()


def test_models_within_one_line_are_left_to_the_editor(clone: Path) -> None:
    inner = "".join(f"{line.strip()}, " for line in MODELS.splitlines())
    PARAMS.write_text(f"{HEAD}\nmodels: {{{inner}}}\n")
    with pytest.raises(HeedError, match=r"begins within a line\. Give each model a line"):
        commands.model_add("sample-author", "x", [], "")


def test_the_documented_commands_work_on_the_study_that_they_name(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = (ROOT / "workflow/studies/imdb.yaml").read_text()
    PARAMS.write_text(reviews)
    text = (ROOT / "docs/params.md").read_text().split("## Writing a model")[1]
    commands = text.split("```")[1].strip().splitlines()
    for command in commands:
        monkeypatch.setattr("sys.argv", command.split())
        cli.main()
    models = load().models
    added = {*models} - {*parse(reviews).models}
    assert added == {"imdb-attention-8", "suboptimal-parameter-matched"}
    model = models["imdb-attention-8"]
    assert (model.overrides["heads"], model.preset) == (8, "long")


@pytest.mark.parametrize(
    "arguments",
    ["heads=8 lr=2 --like mean", "--like mean heads=8 lr=2", "heads=8 --like mean lr=2"],
)
def test_settings_may_stand_before_and_after_an_option(arguments: str) -> None:
    parse_arguments = commands.make_parser().parse_args
    given = parse_arguments(["model", "add", "letters", "x", *arguments.split()])
    assert (given.variant, given.settings, given.like) == ("x", ["heads=8", "lr=2"], "mean")
    files = ["corpus", "add", "a.csv", "--name", "x", "b.csv"]
    assert parse_arguments(files).files == ["a.csv", "b.csv"]
    with pytest.raises(SystemExit):
        parse_arguments([*files, "--nmae", "x"])
