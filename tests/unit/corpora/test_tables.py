"""Tables of users: several files, parts, ids, groups, several labels and texts, a smaller train."""

import dataclasses
import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from heed.corpora.kinds import download
from heed.corpora.table import KIND
from heed.files import HeedError, sha256
from heed.records import read_section
from heed.study import Corpus, Source, Split
from heed.study.experiments import AnyCorpus
from heed.tokens.corpus import tokenize
from tests.conftest import cases
from tests.makers.tables import read_files

CASES = cases(__file__)
RANDOM = Split(kind="random", test=0.25, validation=0.2)
GIVEN = Split(kind="given")


def table_corpus(**keys):
    given = {"text_column": "text", "label_column": "label", "split": RANDOM} | keys
    given = {key: value for key, value in given.items() if value is not None}
    return Corpus(source="mine", kind=KIND.name, **given)


def write(folder: Path, **tables: str) -> dict[str, Path]:
    """Write CSV files, and return their paths by name; `|` stands for the end of a line."""
    paths = {name: folder / f"{name}.csv" for name in tables}
    for name, text in tables.items():
        paths[name].write_text(text.replace("|", "\n"), encoding="utf-8")
    return paths


def frame(count: int) -> pd.DataFrame:
    """Return a table of documents: two classes in three to one, and authors with four each."""
    rows = [
        {"text": f"text number {i}", "label": "common" if i % 4 else "rare",
         "tone": "loud" if i % 2 else "low", "author": f"author {i // 4}", "key": f"doc-{i:03}"}
        for i in range(count)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def make(tmp_path: Path, table: pd.DataFrame, corpus: Corpus) -> tuple[pd.DataFrame, dict]:
    """Tokenise a table; return documents.parquet and meta.json."""
    (tmp_path / "raw").mkdir()
    table.to_csv(tmp_path / "raw/table.csv", index=False)
    tokenize("mine", corpus, tmp_path / "raw", tmp_path / "mine", 1)
    meta = json.loads((tmp_path / "mine/meta.json").read_text())
    return pd.read_parquet(tmp_path / "mine/documents.parquet"), meta


def test_files_named_after_parts_are_a_split(tmp_path):
    paths = write(
        tmp_path, train_1="text,label|a,x|b,y", train_2="label,text|x,c", dev="text,label|d,x",
        test="text,label|e,y",
    )  # fmt: skip
    source = Source(
        kind=KIND.source.name,
        paths={key: str(path) for key, path in paths.items()},
        hashes={key: sha256(path) for key, path in paths.items()},
    )
    download("mine", source, tmp_path / "raw")
    names = {path.name for path in (tmp_path / "raw").iterdir()}
    assert names == {*(f"{key}.parquet" for key in paths), "SHA256SUMS"}
    documents = list(KIND.read(tmp_path / "raw", table_corpus(split=GIVEN)))
    assert [(each.id, each.text, each.split) for each in documents] == [
        ("dev/row/1", "d", "validation"), ("test/row/1", "e", "test"),
        ("train_1/row/1", "a", "train"), ("train_1/row/2", "b", "train"),
        ("train_2/row/1", "c", "train"),
    ]  # fmt: skip
    (tmp_path / "raw/train_2.parquet").rename(tmp_path / "raw/train_10.parquet")
    write(tmp_path / "raw", train_9="text,label|f,x")
    whole = list(KIND.read(tmp_path / "raw", table_corpus()))
    assert [each.text for each in whole] == list("deabfc"), "numbers in names count"
    assert not any(each.split for each in whole)


@pytest.mark.parametrize(("files", "message"), [
    ({"train": "text,label|a,x", "test": "text|b"}, "test.csv: there is no column 'label'"),
    ({"train": "text,label|a,x", "test": "text,label|b,y,z"}, "test.csv:2: expected 2 fields"),
])  # fmt: skip
def test_each_of_several_files_is_checked(tmp_path, files, message):
    with pytest.raises(HeedError, match=message):
        read_files(write(tmp_path, **files), table_corpus(split=GIVEN))


def test_a_column_of_parts_understands_the_names_that_people_use(tmp_path):
    names = ["train", "Training", "DEV", "valid", "val", "validation", "development", "TEST ",
             "testing"]  # fmt: skip
    rows = "".join(f"|a,x,{name}" for name in names)
    files = write(tmp_path, table=f"text,label,part{rows}")
    corpus = table_corpus(split=GIVEN, split_column="part")
    splits = [document.split for document in read_files(files, corpus)]
    assert splits == ["train"] * 2 + ["validation"] * 5 + ["test"] * 2


@pytest.mark.parametrize(("row", "keys", "message"), CASES["cells"])
def test_a_cell_that_does_not_fit_is_named_with_line_and_column(tmp_path, row, keys, message):
    first = "train" if keys == {} else "1"
    files = write(tmp_path, table=f"text,label,part|a,x,{first}|b,y,{row}")
    corpus = table_corpus(**(keys or {"split": GIVEN, "split_column": "part"}))
    with pytest.raises(HeedError, match=f"table.csv:3: column 'part': .*{message}"):
        read_files(files, corpus)


def test_an_id_of_another_file_is_an_error(tmp_path):
    files = write(tmp_path, a="text,label,key|s,x,1|t,y,2", b="text,label,key|u,x,3|v,y, 1")
    with pytest.raises(HeedError, match=r"b.csv:3: column 'key': an earlier row has the id '1'"):
        read_files(files, table_corpus(id_column="key"))


@pytest.mark.parametrize("split", [
    RANDOM, Split(kind="random", test=12), Split(kind="folds", k=4),
], ids=["share", "number", "folds"])  # fmt: skip
def test_a_column_of_groups_keeps_their_documents_in_one_part(tmp_path, split):
    grouped = dataclasses.replace(split, grouped=True)
    corpus = table_corpus(group_column="author", split=grouped)
    table, meta = make(tmp_path, frame(48), corpus)
    assert table["group"].tolist() == frame(48)["author"].tolist()
    for column in (name for name in table if name.startswith("split")):
        assert (table.groupby("group")[column].nunique() == 1).all()
        assert (table[column] == "test").sum() == 12, "a quarter of twelve groups"
    assert meta["splits"]["validation"] > 0


def test_a_grouped_split_of_one_group_is_an_error(tmp_path):
    split = dataclasses.replace(RANDOM, grouped=True)
    table = frame(8).assign(author="one")
    with pytest.raises(HeedError, match=r"corpus mine: .*grouped: 8 documents of 1 group"):
        make(tmp_path, table, table_corpus(group_column="author", split=split))


def test_several_columns_are_several_labels_of_documents_with_ids(tmp_path):
    corpus = table_corpus(label_column=None, label_columns=["label", "tone"], id_column="key")
    table, meta = make(tmp_path, frame(48), corpus)
    assert table["id"].tolist() == frame(48)["key"].tolist()
    assert meta["labels"] == {"label": ["common", "rare"], "tone": ["loud", "low"]}
    assert table["label_tone"].tolist() == frame(48)["tone"].tolist()
    test = table[table["split"] == "test"]
    strata = Counter(zip(test["label_label"], test["label_tone"], strict=True))
    assert strata == {("rare", "low"): 3, ("common", "low"): 3, ("common", "loud"): 6}


def test_texts_of_several_columns_are_joined(tmp_path):
    files = write(tmp_path, table="second,label,first|b,x,a|c,y,|,x,")
    columns = {"text_column": None, "text_columns": ["first", "second"]}
    read = read_files(files, table_corpus(**columns))
    assert [document.text for document in read] == ["a b", " c", ""]


def test_train_alone_is_made_smaller_with_the_proportions_of_its_labels(tmp_path):
    split = {"kind": "random", "test": 20, "validation": 0.25}
    whole, meta = make(tmp_path, frame(100), table_corpus(split=Split(**split)))
    assert (meta["splits"], meta["left_out"], meta["reduced"]) == (
        {"train": 60, "validation": 20, "test": 20}, 0, False,
    )  # fmt: skip
    (tmp_path / "reduced").mkdir()
    corpus = table_corpus(split=Split(**split, train=20))
    table, meta = make(tmp_path / "reduced", frame(100), corpus)
    assert (meta["splits"], meta["documents"], meta["left_out"], meta["reduced"]) == (
        {"train": 20, "validation": 20, "test": 20}, 60, 40, True,
    )  # fmt: skip
    assert Counter(table["label_label"][table["split"] == "train"]) == {"common": 15, "rare": 5}
    for split_name in ("validation", "test"):
        splits = [each.loc[each["split"] == split_name, "id"].tolist() for each in (whole, table)]
        assert splits[0] == splits[1]
    assert set(table["id"]) < set(whole["id"])


def test_train_is_made_smaller_after_duplicates_are_dropped(tmp_path, capsys):
    documents = frame(60).assign(part=["train"] * 40 + ["validation"] * 10 + ["test"] * 10)
    documents.loc[:9, "text"] = documents["text"][59]
    split = Split(kind="given", train=15)
    corpus = table_corpus(split=split, split_column="part", drop_duplicates=True)
    _, meta = make(tmp_path, documents, corpus)
    assert meta["splits"] == {"train": 15, "validation": 10, "test": 10}
    assert meta["duplicates"]["dropped"] == 10 and meta["left_out"] == 15
    assert "mine: 15 training documents are left out (split.train" in capsys.readouterr().out


def test_a_train_that_is_small_enough_already_stays_as_it_is(tmp_path):
    _, meta = make(tmp_path, frame(40), table_corpus(split=Split(kind="random", test=8, train=32)))
    assert meta["left_out"] == 0 and meta["documents"] == 40 and not meta["reduced"]


@pytest.mark.parametrize(("keys", "message"), [
    ({"text_columns": ["a"]}, "use text_column or text_columns, not both"),
    ({"label_columns": ["a", "a"], "label_column": None}, "each name once, found twice: a"),
    ({"label_columns": ["text"], "label_column": None}, "each column once, found text, text"),
    ({"text_columns": ["a", "b"], "text_column": None, "rationale_column": "e"},
     "rationale_column counts the characters of one text"),
    ({"split": Split(kind="random", test=0.2, grouped=True)}, "a table with a group_column"),
    ({"tokenizer": "th"}, "in place of another of spaCy's, which needs a package"),
    ({"split_column": "part"}, "split_column needs split kind given"),
    ({"split": Split(kind="folds", k=5, train=9)}, "for kind folds, which tests every document"),
    ({"split": Split(kind="given", grouped=True)}, "`grouped` is only for kinds random and folds"),
])  # fmt: skip
def test_keys_of_a_table_that_contradict_each_other_are_errors(keys, message):
    with pytest.raises(ValueError, match=message):
        read_section(AnyCorpus, dataclasses.asdict(table_corpus(**keys)))
