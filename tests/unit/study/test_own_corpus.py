"""A file becomes a study of one's own by one command (docs/start/own-corpus.md)."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from heed.cli import stages
from heed.cli.commands import make_parser
from heed.corpora.kinds import download, read_documents
from heed.corpora.user_files import content_hash
from heed.files import HeedError, sha256, write_texts
from heed.study import Params, Source, load, own_entries
from heed.study.own_corpus import add_corpus
from heed.study.own_files import CorpusOptions, changed_file_warnings
from heed.study.studies import activate_study, format_studies
from tests.conftest import cases

CASES = cases(__file__)
TABLE = pd.DataFrame({
    "text": [f"{('fine', 'poor')[i % 2]} thing number {i}" for i in range(60)],
    "label": [("good", "bad")[i % 2] for i in range(60)],
    "part": ["train"] * 40 + ["validation"] * 10 + ["test"] * 10,
})  # fmt: skip
VARIANTS = ("last-state", "average", "attention-pooling", "self-attention")
pytestmark = pytest.mark.usefixtures("own_clone")


def add(*files, **options) -> str:
    return add_corpus(CorpusOptions([str(file) for file in files], **options), cores=2)


def add_table(table: pd.DataFrame = TABLE, file: str = "table.csv", **options) -> str:
    table.to_csv(file, index=False)
    return add(file, **options)


def write(name: str, table: pd.DataFrame) -> None:
    table.to_csv(name, index=False, sep="\t" if name.endswith(".tsv") else ",")


def test_a_file_becomes_a_study_with_models_to_compare():
    message = add_table(file="my_reviews.csv", split_column="part")
    params = load("params.yaml")
    assert params.study.name == "my-reviews"
    assert params.study.title == "Does attention help on my-reviews?"
    assert [*params.models] == [f"my-reviews-{variant}" for variant in VARIANTS]
    assert params.study.attention == ["attention-pooling", "self-attention"]
    active, kept = (Path(f).read_text() for f in ("params.yaml", "studies/my-reviews.yaml"))
    assert len(params.seeds) == 10 and "sample" not in active
    assert active.partition("\n")[2] == kept.partition("\n")[2] != ""
    for found in ("60 texts in column 'text'", "2 classes: ", "40 for train, 10 for validation",
                  "4 tokens a text on average", "preset ", "40 trainings (4 models x"):  # fmt: skip
        assert found in message
    stages.download("my-reviews")
    stages.tokenize("my-reviews")
    table = pd.read_parquet("data/tokens/my-reviews/documents.parquet")
    assert table["split"].tolist() == TABLE["part"].tolist()
    assert table["label_label"].tolist() == TABLE["label"].tolist()
    assert [*changed_file_warnings(params)] == []
    with pytest.raises(HeedError, match="is there already"):
        add("my_reviews.csv", split_column="part", study="my-reviews")
    TABLE[1:].to_csv("my_reviews.csv", index=False)
    (warning,) = changed_file_warnings(params)
    assert warning.endswith(f": {sha256('my_reviews.csv')}")


def test_a_file_that_a_desktop_hides_in_a_folder_of_texts_is_no_change(tmp_path):
    (tmp_path / "1.txt").write_text("a text")
    before = content_hash(tmp_path)
    (tmp_path / ".DS_Store").write_text("positions of windows")
    assert content_hash(tmp_path) == before
    (tmp_path / "2.txt").write_text("another")
    assert content_hash(tmp_path) != before


@pytest.mark.parametrize("name", ["2024", "null", "1e5", "0x1f"])
def test_a_name_that_yaml_reads_as_another_type_is_a_name(name):
    add_table(file=f"{name}.csv")
    params = load("params.yaml")
    assert params.study.name == name and [*params.corpora] == [*params.experiments] == [name]


def test_further_corpora_are_added_to_the_active_study():
    title = 'Worth "it": ' + "ja " * 50 + "?"
    add_table(title=title)
    assert 'ja ?"\n' in Path("params.yaml").read_text().partition("title: ")[2], "one line"
    message = add_table(file="more.csv", seeds=5, study="table")
    assert "corpus more is added to the study table" in message
    assert "all models have 5 seeds now" in message and "title is now" not in message
    params = load("params.yaml")
    assert [*params.corpora] == ["table", "more"] and len(params.models) == 2 * len(VARIANTS)
    assert params.study.title == title and params.seeds == [1, 2, 3, 4, 5]
    assert "more" in Path("studies/table.yaml").read_text()
    assert "a new study of your own" in add_table(file="other.csv", study="second")
    assert [*load("params.yaml").corpora] == ["other"]
    _, own = format_studies().split("Your own studies (studies):\n")
    assert [line.strip("* ").split()[0] for line in own.splitlines()] == ["second", "table"]
    activate_study("table", force=False)
    assert [*load("params.yaml").corpora] == ["table", "more"]


def test_the_users_own_edits_stay_when_a_corpus_is_added():
    add_table()
    seeds = str([*range(1, 11)])
    edited = Path("params.yaml").read_text().replace(seeds, "[1, 2]  # two are enough")
    Path("params.yaml").write_text(edited)
    add_table(file="more.csv", study="table")
    assert "seeds: [1, 2]  # two are enough" in Path("studies/table.yaml").read_text()


def test_files_named_by_parts_are_the_users_own_split():
    for split, name in {"train": "train", "validation": "dev", "test": "test"}.items():
        write(f"{name}.tsv", TABLE[TABLE["part"] == split].drop(columns="part"))
    message = add("train.tsv", "dev.tsv", "test.tsv", name="mine")
    assert "train.tsv (train), dev.tsv (validation), test.tsv (test): 60 texts" in message
    assert "40 for train, 10 for validation, 10 for test: as given" in message
    params = load("params.yaml")
    assert [*params.sources["mine"].paths] == ["train", "validation", "test"]
    assert params.corpora["mine"].split.kind == "given"
    message = add("train=train.tsv", "test=dev.tsv", name="other")
    assert "36 for train, 4 for validation, 10 for test: as given" in message
    shutil.copy("train.tsv", "spring.tsv")
    shutil.copy("test.tsv", "autumn.tsv")
    assert "spring.tsv, autumn.tsv: 50 texts" in add("spring.tsv", "autumn.tsv", name="both")
    assert [*load("params.yaml").sources["both"].paths] == ["file_1", "file_2"]


def test_the_name_of_a_corpus_is_that_of_its_file_or_its_folder():
    for folder in ("Film Reviews", "data"):
        Path(folder).mkdir()
        for split in ("train", "test"):
            write(f"{folder}/{split}.csv", TABLE)
            write(f"{folder}/tweets_{split}.csv", TABLE)
    add("Film Reviews/train.csv", "Film Reviews/test.csv")
    add("data/tweets_train.csv", "data/tweets_test.csv", study="film-reviews")
    assert [*load("params.yaml").corpora] == ["film-reviews", "tweets"]
    add_table(file="Größe & Café.v2.csv", study="film-reviews")
    assert [*load("params.yaml").corpora][-1] == "grosse-cafe-v2"
    with pytest.raises(HeedError, match=r"'' is not a name: .* Use --name NAME"):
        shutil.copy("data/train.csv", "train.csv")
        add("train.csv", "test=data/test.csv")


def test_known_names_of_columns_are_found_and_others_are_asked_for():
    table = TABLE.rename(columns={"text": "Review", "label": "Sentiment"})
    message = add_table(table)
    assert "60 texts in column 'Review'" in message and "label in column 'Sentiment'" in message
    assert "as given by column 'part' (--no-split-column: drawn at random)" in message
    table = TABLE.rename(columns={"text": "what was said", "label": "stars"})
    expected = (
        "more.csv: which column has the label? Columns: what was said, stars, part. Run one of "
        "these:\n  heed corpus add more.csv --text-column 'what was said' --label-column stars "
        "--language en --train 20\n  heed corpus add more.csv --text-column 'what was said' "
        "--label-column part --language en --train 20"
    )
    with pytest.raises(HeedError, match=f"^{re.escape(expected)}$"):
        add_table(table, "more.csv", language="en", train=20)


def test_options_become_keys():
    table = TABLE.assign(title="a title", author=[f"by {i % 7}" for i in range(60)], nr=range(60))
    table["mood"] = [("up", "down", "flat")[i % 3] for i in range(60)]
    message = add_table(
        table, "notes.csv", text_column=["title", "text"],
        label_column=["label", "mood"], id_column="nr", group_column="author", language="en",
        metric="macro_f1", test=0.3,
    )  # fmt: skip
    params = load("params.yaml")
    corpus = params.corpora["notes"]
    assert corpus.text_columns == ["title", "text"]
    assert (corpus.label_columns, corpus.id_column) == (["label", "mood"], "nr")
    assert (corpus.group_column, corpus.tokenizer) == ("author", "en")
    split = corpus.split
    assert (split.kind, split.test, split.grouped) == ("random", 0.3, True)
    assert [*params.experiments] == ["notes-label", "notes-mood"]
    assert params.experiments["notes-mood"].title == "notes by mood"
    for model in params.models.values():
        assert params.experiments[model.experiment].metric == "macro_f1"
    assert "label in column 'mood': 3 classes: " in message


def test_separators_are_taken_as_a_shell_passes_them():
    TABLE.to_csv("table.csv", index=False, sep="\t")
    command = ["corpus", "add", "table.csv", "--delimiter", "\\t", "--label-column", "label"]
    given = vars(make_parser().parse_args(command))
    given.pop("function")(**given)
    params = load("params.yaml")
    assert params.sources["table"].delimiter == "\t"
    options = CorpusOptions(["a.csv"], quote="", delimiter="\t")
    printed = add("table.csv", delimiter="\t", quote='"', name="again")
    assert "fields are" not in printed and "quotes" not in printed
    assert options.command() == r"heed corpus add a.csv --delimiter '\t' --quote="


def test_most_texts_are_read_whole_and_very_long_ones_in_part():
    lengths = [20 * (i + 1) for i in range(60)]
    table = TABLE.assign(text=["word " * length for length in lengths])
    message = add_table(table)
    assert "800 tokens of a text are read, from both ends: " in message
    assert load("params.yaml").hyperparameters("table-average").max_tokens == 800
    add_table(file="short.csv")
    assert load("params.yaml").hyperparameters("short-average").max_tokens == 10


def test_texts_of_the_test_part_choose_no_size():
    table = TABLE.copy()
    table.loc[table["part"] == "test", "text"] = "word " * 1000
    assert "4 tokens a text on average" in add_table(table, split_column="part")
    values = load("params.yaml").hyperparameters("table-average")
    assert (values.max_tokens, values.batch_size) == (10, 16)


def test_the_preset_is_that_of_the_texts_that_are_trained_on():
    table = pd.concat([TABLE] * 20, ignore_index=True)
    assert "preset small" in add_table(table)
    assert "preset tiny" in add_table(table, "less.csv", train=500)
    table["text"] = "word " * 200 + table["text"]
    assert "preset long" in add_table(table, "few.csv", train=100)


LONG_TABLE = TABLE.assign(text=[f"{text} {'word ' * 200}" for text in TABLE["text"]])


def test_a_study_of_some_minutes_has_what_fits_and_says_what_it_leaves_out(monkeypatch):
    """Fewer seeds, down to three; then fewer epochs; then fewer texts, down to a hundred."""
    monkeypatch.setattr(own_entries, "STEPS", 1)  # six epochs will do
    table = pd.concat([LONG_TABLE] * 8, ignore_index=True)

    def added(name: str, minutes: float, **given: int) -> tuple[Params, str]:
        message = add_table(table, name, minutes=round(minutes, 4), test=0.2, **given)
        return load(), message

    params, message = added("all.csv", 1000)
    assert len(params.seeds) == 10 and "left out" not in message
    (minutes,) = map(float, re.findall(r"longer ones: about ([\d.]+) minutes", message))
    whole = minutes / 12  # ten seeds and the longer trainings
    params, message = added("five.csv", 7.2 * whole)
    assert len(params.seeds) == 5 and "left out" not in message
    epochs = params.hyperparameters("five-average").epochs
    params, message = added("less.csv", 4.5 * whole)
    fewer = params.hyperparameters("less-average").epochs
    assert fewer < epochs and len(params.seeds) >= 3
    assert f": {epochs - fewer} of the {epochs} epochs\n" in message
    params, message = added("least.csv", 2 * whole)
    trained = params.corpora["least"].split.train
    assert 100 < trained < 346 and len(params.seeds) == 3
    assert f" epochs, {346 - trained} of the 346 texts to train on\n" in message
    for given, texts in (({}, 100), ({"train": 300}, 300)):
        too_few = r"--minutes \d.*: even 3 seeds of \d+ epochs take"
        with pytest.raises(HeedError, match=too_few) as no:
            added("none.csv", 0.1 * whole, **given)
        assert not Path("studies/none.yaml").exists(), "nothing is written"
        command = r"(?m)^  heed corpus add none\.csv .*--minutes (\d+)$"
        (needed,) = re.findall(command, str(no.value))
        params, message = added("none.csv", int(needed), **given)
        assert params.corpora["none"].split.train >= texts
        Path("studies/none.yaml").unlink()


@pytest.mark.parametrize(("column", "names", "options", "kind"), CASES["columns_like_splits"])
def test_a_column_that_is_named_and_filled_like_a_split_is_used(column, names, options, kind):
    cells = [names[0]] * 40 + [names[1]] * 10 + [names[2]] * 10
    message = add_table(TABLE.drop(columns="part").assign(**{column: cells}), **options)
    split = load("params.yaml").corpora["table"].split
    assert split.kind == kind
    said = f"as given by column '{column}' (--no-split-column: drawn at random)" in message
    assert said == (kind == "given")
    told = f"column '{column}' is not used: if it has the splits, --split-column {column}"
    is_doubtful = kind != "given" and not {"no_split_column", "mine"} & {column, *options}
    assert (told in message) == is_doubtful


def test_files_that_are_named_by_splits_are_one_corpus_where_it_is_said():
    write("train.csv", TABLE[:40])
    write("test.csv", TABLE[40:])
    message = add("train.csv", "test.csv", name="mine", no_split_column=True, test=0.2)
    assert "12 for test: drawn at random" in message
    assert [*load("params.yaml").sources["mine"].paths] == ["file_1", "file_2"]


@pytest.mark.parametrize(("tested", "message"), CASES["classes_of_splits"])
def test_train_and_test_have_classes_in_common(tested, message):
    for name, labels in (("train", ("0", "1")), ("test", tested)):
        write(f"{name}.csv", TABLE[["text"]].assign(label=[labels[i % 2] for i in range(60)]))
    if not message:
        assert "as given by the files" in add("train.csv", "test.csv", name="mine")
        return
    with pytest.raises(HeedError, match=re.escape(message)) as error:
        add("train.csv", "test.csv", name="mine")
    assert ("--as-labels" in str(error.value)) == (tested == ["1", "2"])


def test_empty_texts_are_counted_and_a_split_without_text_is_refused():
    rows = [{"Text" if i % 2 else "text": text} for i, text in enumerate(TABLE["text"])]
    lines = [json.dumps(row | {"label": "ab"[i % 3 > 0]}) for i, row in enumerate(rows)]
    Path("mine.jsonl").write_text("\n".join(lines))
    assert "  30 of 60 texts are empty\n" in add("mine.jsonl")
    assert "empty" not in (whole := add_table()) and "texts are in the training" not in whole
    table = TABLE.assign(text=TABLE["text"].where(TABLE["part"] != "test"))
    with pytest.raises(HeedError, match="column 'part': no document of the split test has text"):
        add_table(table)


def test_few_texts_are_tested_in_folds_and_what_they_show_is_said():
    table = pd.concat([TABLE.drop(columns="part")] * 34, ignore_index=True)
    few = table[:1999]
    message = add_table(few, "few.csv")
    split = load("params.yaml").corpora["few"].split
    assert (split.kind, split.k, split.repeats) == ("folds", 5, 2)
    assert "400 for test: in each of 5 folds, which test every text\n  400 test texts" in message
    gain = r"  a gain over the control that is found in 80% of cases is about [\d.]+ po"
    assert re.search(gain, message)
    message = add_table(few, "more.csv", seeds=5)
    assert load("params.yaml").corpora["more"].split.repeats == 1 and "20 trainings" in message
    choice = "3 seeds are not a multiple of 5. Choose: --seeds 5 for all models of the study, or "
    with pytest.raises(HeedError, match=f"{choice}--test"):
        add_table(few, "less.csv", seeds=3)
    add_table(table, "many.csv", seeds=3)
    assert load("params.yaml").corpora["many"].split.kind == "random"
    time = re.search(r"longer ones: about ([\d.]+) minutes", add_table(few, "all.csv"))
    message = add_table(few, "part.csv", minutes=round(0.75 * float(time[1]), 2))
    params = load("params.yaml")
    assert (len(params.seeds), params.corpora["part"].split.repeats) == (5, 1)


def test_quotes_are_those_of_each_file():
    pairs = [*zip(TABLE["text"], TABLE["label"], strict=True)]
    rows = [f"{text},{label}" for text, label in pairs]
    Path("train.csv").write_text("\n".join(["text,label", *rows, '"an open quote,good']))
    quoted = [f'"{text}",{label}' for text, label in pairs]
    Path("test.csv").write_text("\n".join(["text,label", *quoted]))
    with pytest.raises(HeedError, match=r"test\.csv: its texts are in double quotes, and") as no:
        add("train.csv", "test.csv", name="mine")
    assert str(no.value).endswith("\n  heed corpus add train.csv test.csv --name mine --quote=")


def test_an_encoder_that_is_installed_is_a_reference_model(monkeypatch):
    encoder = {"package": "an-encoder", "sha256": "0" * 64}
    monkeypatch.setattr(own_entries, "installed_encoder", lambda: ("small", encoder))
    assert "reference models linear and majority and pretrained" in add_table()
    add_table(file="other.csv", study="table")
    params = load()
    assert [*params.encoders] == ["small"] and [*params.pretrained] == ["table", "other"]
    assert params.pretrained["other"].encoder == "small"


def test_a_class_with_few_rows_is_named():
    table = pd.concat([TABLE] * 10, ignore_index=True)
    table["topic"] = table["label"]
    table.loc[:2, "label"] = "question"
    table.loc[:2, "topic"] = ["order", "order", "thanks"]
    message = add_table(table, label_column=["label", "topic", "part"])
    assert "question (<1%)" in message
    few = "of the classes have fewer than 10 rows"
    assert f"Column 'label': 1 {few} ('question': 3), too few to learn from" in message
    assert f"Column 'topic': 2 {few} ('thanks': 1), too few" in message
    assert message.count("too few to learn from") == 2


@pytest.mark.parametrize(("options", "message"), CASES["refused"])
def test_a_corpus_that_cannot_be_added_is_an_error_and_nothing_is_written(options, message):
    table = TABLE.assign(same="x", none="")
    table["no test"] = ["train"] * 50 + ["validation"] * 10
    table["by class"] = [("train", "test")[i % 2] for i in range(60)]
    for name in ("table", "train", "dev", "more"):
        table.to_csv(f"{name}.csv", index=False)
    Path("empty.txt").touch()
    before = Path("params.yaml").read_text()
    with pytest.raises(HeedError, match=re.escape(message)):
        add_corpus(CorpusOptions(**({"files": ["table.csv"]} | options)), cores=2)
    assert Path("params.yaml").read_text() == before and not Path("studies").exists()


def test_a_column_of_rationale_is_checked_written_and_read():
    table = TABLE.assign(why="0-4")
    with pytest.raises(HeedError, match=r"table.csv:2: column 'why': the span 0-400 goes beyond"):
        add_table(table.assign(why="0-400"), rationale_column="why")
    add_table(table, rationale_column="why")
    stages.download("table")
    for document in read_documents(load("params.yaml").corpora["table"], Path("data/raw/table")):
        ((start, end),) = document.rationale
        assert document.text[start:end] in ("fine", "poor")


@pytest.mark.slow
def test_corpora_added_at_once_are_all_there():
    """Both processes read and write params.yaml; without a lock the second undoes the first."""
    TABLE.to_csv("table.csv", index=False)
    names = ["one", "two"]
    add_table(study="mine")
    command = [sys.executable, "-m", "heed.cli", "corpus", "add", "table.csv"]
    command += ["--study", "mine", "--name"]
    options = {"stderr": subprocess.PIPE, "text": True}
    for process in [subprocess.Popen([*command, name], **options) for name in names]:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert set(names) < set(load("params.yaml").corpora)


@pytest.mark.parametrize("file", ["data/raw/reviews/train.csv", "results/mine.csv"])
def test_a_file_in_a_folder_in_which_heed_deletes_is_refused(file):
    Path(file).parent.mkdir(parents=True)
    with pytest.raises(HeedError, match=r"where heed writes its own files and deletes others\. Mo"):
        add_table(file=file)
    assert not Path("studies").exists()


def test_the_download_refuses_a_file_in_its_own_folder_and_deletes_nothing():
    files = [Path("data/raw/table/mine.csv"), Path("data/raw/table/notes.txt")]
    write_texts(dict.fromkeys(files, "text,label\n"))
    source = Source(kind="table", path=str(files[0]), sha256=sha256(files[0]))
    with pytest.raises(HeedError, match=r"Move it elsewhere, and change sources\.table\.path"):
        download("table", source, Path("data/raw/table"))
    assert all(file.exists() for file in files)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("kind: table, ", "kind: table ", r"^params\.yaml:\d+: not valid YAML"),
    ("{experiment: table, ", "{", r"^params\.yaml:\d+: models\.table-last-state\.experiment: m"),
    ("searches: {}", "searches:", r"^params\.yaml:\d+: searches: expected keys with values"),
])  # fmt: skip
def test_a_mistake_in_the_active_study_is_named_and_nothing_is_changed(old, new, message):
    add_table()
    edited = Path("params.yaml").read_text().replace(old, new, 1)
    Path("params.yaml").write_text(edited)
    with pytest.raises(HeedError, match=message):
        add_table(file="more.csv", study="table")
    assert Path("params.yaml").read_text() == edited
