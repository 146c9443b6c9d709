"""A kind of corpus is declared once, in its publication's module; all else reads the registry."""

import gzip
import json
import tarfile
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heed.corpora import huffpost, published
from heed.corpora.kinds import KINDS, SOURCE_KINDS, read_documents
from heed.corpora.publication import Kind
from heed.study import Corpus, Source, Split
from heed.study.experiments import check_corpus
from tests.makers.federalist import papers

GIVEN, FOLDS = Split(kind="given"), Split(kind="folds", k=5)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)


def row(**values: object) -> str:
    return json.dumps(values) + "\n"


def review(name: str, label: str, *phrases: tuple[int, int]) -> bytes:
    """Return a line of a file of ERASER."""
    evidences = [[{"start_token": start, "end_token": end}] for start, end in phrases]
    return row(annotation_id=name, classification=label, evidences=evidences).encode()


MOVIES = {
    "movies/docs/a.txt": b"plain but\ngood .",
    "movies/docs/b.txt": b"bad",
    "movies/train.jsonl": review("a.txt", "POS", (0, 1)) + review("b.txt", "NEG", (0, 1)),
    "movies/val.jsonl": review("a.txt", "POS", (2, 3), (1, 3), (2, 3), (3, 3)),
    "movies/test.jsonl": b"",
}


def write_archive(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


NAMES = [file.name for file in SOURCE_KINDS["few-shot-01"].files]

ARTICLE = {"category": "ARTS", "headline": "a", "short_description": "b", "date": "2012-01-28"}


def write_raw(folder: Path, source: str) -> Path:
    """Write a few documents in the format of a source."""
    if (make := SOURCE_KINDS[source].make) and source not in ("table", "parallel"):
        make("x", Source(kind=source, documents=70, seed=1), folder)
    if source == "imdb":
        write_archive(folder / published.IMDB_ARCHIVE, {"aclImdb/test/pos/1_9.txt": b""})
    if source == "yelp":
        (folder / published.YELP_COLUMNS).write_bytes(gzip.compress(b'stars,text\n5,"a,\nNA"\n'))
    if source == "movies":
        write_archive(folder / published.MOVIES_ARCHIVE, MOVIES)
    for part in huffpost.PARTS if source == "huffpost" else ():
        pq.write_table(pa.Table.from_pylist([ARTICLE]), folder / part.name)
    files = {
        "letters": dict.fromkeys(
            [published.TRAIN, published.EVAL], row(text="a", author="b", lang="c", file="d")
        ),
        "few-shot-01": dict.fromkeys(NAMES, 2 * row(class_name="arts", sentence="a")),
        "sst-wiki": {
            f"{split}{end}": text
            for split in ("train", "dev", "test")
            for end, text in ((".txt", "1\ta b . c\n"), (".block", "1 1 0 0\n"))
        },
        "federalist": {published.GUTENBERG_FILE: papers()},
        "europarl": dict.fromkeys(["src-train.txt", "tgt-train.txt"], "a &apos;s\n"),
        "table": {"table.csv": "t,l,s,e,i,g\na,b,train,0-1,x,y\n"},
        "parallel": {"table.csv": "x,y,s\na,b,train\n"},
    }
    for name in published.CAPTION_HASHES if source == "multi30k" else ():
        (folder / name).write_bytes(gzip.compress(b"a\n"))
    for name, text in files.get(source, {}).items():
        (folder / name).write_text(text)
    return folder


@every_kind
def test_documents_have_the_labels_groups_splits_and_rationale_that_their_kind_declares(
    kind: Kind, tmp_path: Path
) -> None:
    split = GIVEN if "given" in kind.splits else FOLDS
    columns = {key: key[0] for key in kind.keys if key.endswith("_column")}
    columns |= {"rationale_column": "e"} if "rationale_column" in columns else {}
    if "columns" in kind.keys:
        columns["columns"] = {"de": "x", "en": "y"}
    corpus = Corpus(source="x", kind=kind.name, split=split, **columns)
    raw = write_raw(tmp_path, kind.source.name)
    documents = list(read_documents(corpus, raw))
    assert documents
    for document in documents:
        assert bool(document.split) == ("given" in kind.splits)
        assert bool(document.alignments) == (kind.parallel and kind.generated)
        if kind.parallel:
            assert tuple(document.texts) == (kind.languages or ("de", "en"))
            continue
        assert tuple(document.labels) == (kind.labels or ("l",))
        assert document.group or not kind.grouped
        # the reviews without a cue are what sample-neutral is for; no pair of words does not fit
        without = document.labels in ({"sentiment": "neutral"}, {"pair": "none"})
        assert bool(document.rationale) == (kind.rationale is not None and not without)


@pytest.mark.parametrize(("kind", "keys", "message"), [
    ("news", {"split": GIVEN}, "a corpus of kind news has split kind random or folds, found given"),
    ("letters", {"split": FOLDS}, "a corpus of kind letters has split kind given, found folds"),
    ("imdb", {"split": Split(kind="folds", k=5, grouped=True)},
     "only letters-pieces and federalist have groups"),
    ("imdb", {"label_column": "l", "text_column": "t"}, "label_column and text_column go with kin"),
    ("table", {}, "kind table needs text_column or text_columns, and label_column or label_column"),
    ("table", {"text_column": "t"}, "table needs label_column or label_columns"),
])  # fmt: skip
def test_what_a_kind_does_not_allow_is_an_error_of_params_yaml(kind, keys, message):
    corpus = Corpus(source="x", kind=kind, **({"split": Split(kind="random", test=0.2)} | keys))
    with pytest.raises(ValueError, match=message):
        check_corpus(corpus)
