"""People write of a model what differs; `heed format` and `heed model add` write what follows."""

import re
from pathlib import Path

import pytest

from heed import cli
from heed.cli import commands, parser
from heed.files import HeedError
from heed.study import load, parse
from heed.study.editing.formatting import format_text
from heed.study.following import find_following
from heed.study.syntax import read_yaml
from heed.tasks.classification.presets import PRESETS
from tests.conftest import ROOT

STUDIES = sorted((ROOT / "workflow/studies").glob("*.yaml"))
LETTERS = (ROOT / "workflow/studies/letters.yaml").read_text()
REVIEWS = (ROOT / "workflow/studies/imdb.yaml").read_text()
SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
HEAD, MODELS = SAMPLE.split("\nmodels:\n")
PARAMS = Path("params.yaml")
FOLLOWING = re.compile(r"(experiment|corpus|variant|tuned_by|match): [a-z0-9-]+(, |(?=\}))")


def format_models(models: str, head: str = HEAD) -> tuple[str, list[str]]:
    """Return the models of a sample study as they are formatted, and the changes."""
    text, params, changes = format_text(f"{head}\nmodels:\n{models}", PARAMS)
    assert text.startswith(f"{head}\nmodels:\n")
    assert parse(text) == params
    return text.removeprefix(f"{head}\nmodels:\n"), changes


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PARAMS.write_text(SAMPLE)
    return tmp_path


# --- heed format ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_studies_of_heed_are_formatted(path: Path) -> None:
    text = path.read_text()
    assert format_text(text, path) == (text, parse(text), [])


def test_what_follows_may_be_left_out_and_formatting_a_formatted_file_changes_nothing() -> None:
    """All but the search that tunes a model."""
    lines, left_out = [], 0
    for line in LETTERS.split("\nmodels:\n")[1].splitlines():
        keep = {"tuned_by"} if "searched" in line else set()
        for match in FOLLOWING.finditer(line):
            if match[1] not in keep:
                line = line.replace(match[0], "", 1)
                left_out += 1
        lines.append(line.replace(", }", "}"))
    head = LETTERS.split("\nmodels:\n")[0]
    short = f"{head}\nmodels:\n" + "".join(f"{line}\n" for line in lines)
    text, _, changes = format_text(short, PARAMS)
    assert text == LETTERS
    assert (left_out, len(changes)) == (72, 15)
    assert format_text(text, PARAMS)[2] == []


def test_a_model_in_any_form_becomes_a_line_and_keeps_its_comments() -> None:
    models, changes = format_models(
        "  # of the whole study\n"
        "  sample-sentiment-baseline: # the last state\n"
        "    # no attention\n"
        "    pooling: last # as is usual\n"
        "    variant: baseline   # behind the last key\n"
        "\n"
        "  # the next\n"
        "  sample-sentiment-mean:\n"
        '  sample-author-attention: {attention: "multi-head",\n'
        "    heads: 4, # four\n"
        "    learning_rate: 1e-2}\n"
        "  sample-author-searched: {tuned_by: sample-author-searched, heads: 2,  "
        "attention: multi-head}  # in one line\n"
    )
    sentiment = "experiment: sample-sentiment, corpus: sample-sentiment, variant"
    author = "experiment: sample-author, corpus: sample-letters, variant"
    assert models == (
        "  # of the whole study\n"
        "  # the last state\n"
        "  # no attention\n"
        "  # as is usual\n"
        f"  sample-sentiment-baseline: {{{sentiment}: baseline, tuned_by: none, match: "
        "sample-sentiment-baseline, pooling: last}   # behind the last key\n"
        "\n"
        "  # the next\n"
        f"  sample-sentiment-mean: {{{sentiment}: mean, tuned_by: none, match: "
        "sample-sentiment-mean}\n"
        "  # four\n"
        f"  sample-author-attention: {{{author}: attention, tuned_by: none, match: "
        'sample-author-attention, attention: "multi-head", heads: 4, learning_rate: 1e-2}\n'
        f"  sample-author-searched: {{{author}: searched, tuned_by: sample-author-searched, match: "
        "sample-author-searched, heads: 2, attention: multi-head}  # in one line\n"
    )
    assert len(changes) == 4
    assert changes[0] == (
        "  models.sample-sentiment-baseline: added experiment: sample-sentiment, "
        "corpus: sample-sentiment, tuned_by: none, match: sample-sentiment-baseline"
    )


def test_the_order_of_hyperparameters_is_the_authors_and_that_of_the_other_keys_is_fixed() -> None:
    wrong = MODELS.replace(
        "{experiment: sample-author, corpus: sample-letters, variant: attention, tuned_by: none, "
        "match: sample-author-attention, attention: multi-head, heads: 4}",
        "{heads: 4, preset: small, attention: multi-head, gpus: 0, match: sample-author-attention,"
        "  variant: attention, tuned_by: none, corpus: sample-letters, experiment: sample-author}",
    )
    models, changes = format_models(wrong)
    assert changes == ["  models.sample-author-attention: order and spaces"]
    assert (
        "match: sample-author-attention, gpus: 0, preset: small, heads: 4, attention: multi-head}"
        in models
    )


def test_wide_matches_the_studys_first_variant_with_attention() -> None:
    models, _ = format_models(f"{MODELS}  sample-author-wide: {{variant: wide}}\n")
    assert models.endswith("variant: wide, tuned_by: none, match: sample-author-attention}\n")
    head = HEAD.replace("study:\n", "study:\n  attention: [searched, attention]\n")
    models, _ = format_models(f"{MODELS}  sample-author-wide:\n", head)
    search = "tuned_by: sample-author-searched"  # that of the model in match
    assert models.endswith(f"variant: wide, {search}, match: sample-author-searched}}\n")


def test_what_follows_for_searches_explanations_and_adversaries_is_written_too() -> None:
    path = ROOT / "workflow/studies/explanation-sample.yaml"
    text = path.read_text()
    short = re.sub(r"\{corpus: [a-z-]+, (?=noise)", "{", text)
    short = re.sub(r"(\{model: [a-z-]+), corpus: [a-z-]+", r"\1", short)
    with_corpus = re.sub(r"\{model: ([a-z-]+), corpus: ([a-z-]+)", r"{corpus: \2, model: \1", text)
    assert format_text(short, path)[0] == with_corpus
    short = SAMPLE
    for line in ("corpus: sample-letters", "experiment: sample-author", "after: none"):
        short = short.replace(f"    {line}\n", "", 1)
    formatted, params, _ = format_text(short, PARAMS)
    assert params == parse(SAMPLE) == parse(formatted)


ALIASES = SAMPLE.replace("sample-author-mean: {", "sample-author-mean: {<<: {epochs: 2}, ").replace(
    "dropout: 0.2", "dropout: &dropout 0.2"
)


def test_entries_with_anchors_and_merges_stay_as_they_are() -> None:
    assert format_text(ALIASES, PARAMS)[0] == ALIASES
    short = ALIASES.replace("corpus: sample-letters, variant: mean,", "variant: mean,")
    assert short != ALIASES
    text, params, _ = format_text(short, PARAMS)
    assert "sample-author-mean: {corpus: sample-letters, <<: {epochs: 2}, " in text
    assert params == parse(ALIASES) == parse(text)


def test_models_with_an_anchor_that_lack_keys_need_an_edit_by_hand(clone: Path) -> None:
    anchored = "  sample-author-a: &a {pooling: mean}\n  sample-author-b: *a\n"
    PARAMS.write_text(SAMPLE + anchored)
    with pytest.raises(HeedError, match=r"^params.yaml: its anchors and aliases .* by hand$"):
        commands.format_study(PARAMS)
    assert PARAMS.read_text() == SAMPLE + anchored


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("letters-mean: {pooling: mean}",
         "models.letters-mean: a model is named EXPERIMENT-VARIANT, and there is no experiment "
         "letters. Known: sample-sentiment, sample-author"),
        ("sample-autor-mean:",
         "models.sample-autor-mean: a model is named EXPERIMENT-VARIANT, and there is no "
         "experiment sample-autor; did you mean sample-author?"),
        ("sample-author-long-mean: {epochs: 3}",
         "its name begins with the experiments sample-author and sample-author-long: write which "
         "one it is, as experiment: sample-author-long"),
        ("sample-author-x: {variant: y}", "EXPERIMENT-VARIANT, and its variant is y"),
        ("sample-author-x: {experiment: sample-sentiment}",
         "a model is named EXPERIMENT-VARIANT, and its experiment is sample-sentiment"),
        ("sample-author-long-wide: {experiment: sample-author-long}",
         "wide is as large as which model? Write match: MODEL"),
        ("sample-author-x: {heds: 4}", "models.sample-author-x.heds: unknown key; did you mean"),
        ("sample-author-x: {attention: multi-head, heads: 5}", "5 heads do not divide 64"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place_and_nothing_is_written(
    clone: Path, line: str, message: str
) -> None:
    long = HEAD.replace(
        "\n# A small search",
        "  sample-author-long: {task: classification, corpus: sample-letters, "
        "data: {label: author}, title: Long}\n\n# A small search",
    )
    text = f"{long}\nmodels:\n{MODELS}  {line}\n"
    PARAMS.write_text(text)
    with pytest.raises(HeedError) as caught:
        commands.format_study(PARAMS)
    (error,) = str(caught.value).splitlines()
    assert error.startswith(f"params.yaml:{text.count(chr(10))}: models.")
    assert message in error
    assert PARAMS.read_text() == text


@pytest.mark.parametrize("line", ["sample-author-x: {heads: 4}", "sample-author-x:"])
def test_heed_check_names_the_command_for_a_short_line(clone: Path, line: str) -> None:
    PARAMS.write_text(f"{SAMPLE}  {line}\n")
    with pytest.raises(HeedError, match=r"^params.yaml:\d+: models.sample-author-x: .*") as caught:
        commands.check()
    (error,) = str(caught.value).splitlines()
    assert error.endswith("To write what follows: heed format")
    commands.format_study(PARAMS)
    commands.check()


def test_the_command_says_what_it_changed_and_writes_nothing_if_nothing_changes(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    PARAMS.write_text(f"{SAMPLE}  sample-author-x: {{epochs: 2}}\n")
    commands.format_study(PARAMS)
    printed = capsys.readouterr().out
    assert printed.startswith("params.yaml: 1 change\n  models.sample-author-x: added experiment: ")
    before = PARAMS.stat()
    commands.format_study(PARAMS)
    assert capsys.readouterr().out == "params.yaml: no change\n"
    assert PARAMS.stat().st_ino == before.st_ino
    with pytest.raises(HeedError, match=r"nosuch\.yaml: not there"):
        commands.format_study(Path("nosuch.yaml"))


def test_nothing_follows_from_values_of_another_form() -> None:
    """The schema reports these, with their lines."""
    for text in ("models: 1\n", "models: {a-b: 1, 2: {}}\nexperiments: [a]\nstudy: x\n"):
        assert find_following(read_yaml(text, PARAMS)[1]) == ({}, [])


# --- heed model add, heed model remove ------------------------------------------------------------


def test_a_model_is_added_behind_those_of_its_experiment(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.model_add("sample-sentiment", "pooling", ["pooling=attention", "dropout=1e-1"], "")
    line = (
        "sample-sentiment-pooling: {experiment: sample-sentiment, corpus: sample-sentiment, "
        "variant: pooling, tuned_by: none, match: sample-sentiment-pooling, pooling: attention, "
        "dropout: 0.1}"
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
    commands.model_add("sample-sentiment", "eight", ["tuned_by=none"], "sample-author-searched-8")
    models = load().models
    assert models["sample-author-searched-8"].tuned_by == "sample-author-searched"
    for name in ("sample-author-searched-8", "sample-sentiment-eight"):
        assert models[name].overrides() == {"attention": "multi-head", "heads": 8}
        assert models[name].match == name


def test_wide_and_presets_are_added(clone: Path) -> None:
    commands.model_add("sample-author", "small", ["preset=small", "pooling=mean"], "")
    commands.model_add("sample-author", "wide", ["match=sample-author-searched"], "")
    params = load()
    epochs = PRESETS["small"].values["epochs"]
    assert params.hyperparameters("sample-author-small").epochs == epochs != 6
    assert params.models["sample-author-wide"].match == "sample-author-searched"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample-autor", "x"], "there is no experiment sample-autor; did you mean sample-author?"),
        (["sample-author", "mean"], "models.sample-author-mean is there already: edit its line"),
        (["sample-author", "X"], "'sample-author-X' is no name: lower-case letters"),
        (["sample-author", "linear"], "linear is the name of an opponent"),
        (["sample-author", "x", "heds=4"], "x.heds: unknown key; did you mean heads?"),
        (["sample-author", "x", "heads"], "'heads': expected key=value, such as heads=4"),
        (["sample-author", "x", "heads=four"], "valid integer, found 'four'"),
        (["sample-author", "x", "heads=[4]"], "expected one value, such as 4, 0.5, true or"),
        (["sample-author", "x", "heads={"], "expected one value, such as 4, 0.5, true or"),
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
        "sample-author-mean: {experiment: sample-author, corpus: sample-letters, variant: mean, "
        "tuned_by: none, match: sample-author-mean}",
        "sample-author-mean:\n    experiment: sample-author\n    corpus: sample-letters\n"
        "    variant: mean\n    tuned_by: none\n    match: sample-author-mean # itself\n"
        "\n  # of the next",
    )
    text = f"{HEAD}\nmodels:\n{block}"
    PARAMS.write_text(text.rstrip("\n"))  # the last line without an end
    commands.model_add("sample-author", "x", [], "")
    added = PARAMS.read_text().removeprefix(text)
    assert added.startswith("  sample-author-x: {experiment: sample-author, ")
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
    PARAMS.write_text(REVIEWS)
    text = (ROOT / "docs/params.md").read_text().split("## Writing a model")[1]
    commands = text.split("```")[1].strip().splitlines()
    for command in commands:
        monkeypatch.setattr("sys.argv", command.split())
        cli.main()
    models = load().models
    added = {*models} - {*parse(REVIEWS).models}
    assert added == {"imdb-attention-8", "suboptimal-wide"}
    assert (models["imdb-attention-8"].heads, models["imdb-attention-8"].preset) == (8, "long")


@pytest.mark.parametrize(
    "arguments",
    ["heads=8 lr=2 --like mean", "--like mean heads=8 lr=2", "heads=8 --like mean lr=2"],
)
def test_settings_may_stand_before_and_after_an_option(arguments: str) -> None:
    parse_arguments = parser.make_parser().parse_args
    given = parse_arguments(["model", "add", "letters", "x", *arguments.split()])
    assert (given.variant, given.settings, given.like) == ("x", ["heads=8", "lr=2"], "mean")
    files = ["corpus", "add", "a.csv", "--name", "x", "b.csv"]
    assert parse_arguments(files).files == ["a.csv", "b.csv"]
    with pytest.raises(SystemExit):
        parse_arguments([*files, "--nmae", "x"])
