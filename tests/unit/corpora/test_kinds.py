"""A kind of corpus is declared once, in its publication's module; all else reads the registry."""

import ast
import dataclasses
import gzip
import importlib
import json
import pkgutil
import re
import tarfile
import typing
from io import BytesIO
from pathlib import Path

import pytest

import heed.corpora
from heed.corpora import huffpost, published
from heed.corpora.declared import SplitKind
from heed.corpora.kinds import KINDS, PUBLICATIONS, SOURCE_KINDS, read_documents
from heed.corpora.publication import Kind, SourceKind
from heed.paths import is_name
from heed.study import Corpus, Source, Split
from heed.study.corpora import check_corpus
from tests.conftest import ROOT
from tests.makers.federalist import papers

SOURCE = ROOT / "src/heed"
GIVEN, FOLDS = Split(kind="given"), Split(kind="folds", k=5)
SPLITS = typing.get_args(SplitKind)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
every_source = pytest.mark.parametrize(
    "source", SOURCE_KINDS.values(), ids=lambda source: source.name
)


@every_kind
def test_the_declaration_of_a_kind_is_complete_and_consistent(kind: Kind) -> None:
    assert is_name(kind.name)
    assert kind.splits and set(kind.splits) <= set(SPLITS)
    assert "folds" in kind.splits or not kind.grouped, "groups are kept together by folds"
    assert kind.keys <= {field.name for field in dataclasses.fields(Corpus)}
    assert kind.parallel or not kind.languages
    if kind.parallel:
        assert not kind.labels
        assert bool(kind.languages) != ("columns" in kind.optional_keys), (
            "languages are fixed, or the user names their columns or files"
        )
    else:
        assert bool(kind.labels) != ("label_column" in kind.keys), (
            "labels are fixed, or the user names their columns"
        )


@every_source
def test_a_source_has_published_files_or_makes_its_own(source: SourceKind) -> None:
    assert is_name(source.name)
    assert bool(source.files) != bool(source.make)
    assert ("files" in source.optional_keys) == bool(source.files)
    keys = {*source.required_keys, *sum(source.alternative_keys, ()), *source.optional_keys}
    assert keys <= {field.name for field in dataclasses.fields(Source)}
    assert source.size or not source.files


def test_no_name_is_taken_twice_and_no_publication_is_left_out() -> None:
    assert len(KINDS) == sum(len(module.KINDS) for module in PUBLICATIONS)
    assert all(kind.source is SOURCE_KINDS[kind.source.name] for kind in KINDS.values())
    names = [module.name for module in pkgutil.iter_modules(heed.corpora.__path__)]
    modules = [importlib.import_module(f"heed.corpora.{name}") for name in names]
    declaring = [
        module.__name__ for module in modules if isinstance(getattr(module, "KINDS", None), tuple)
    ]
    assert declaring == sorted(module.__name__ for module in PUBLICATIONS)


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


def write_raw(folder: Path, source: str) -> Path:
    """Write a few documents in the format of a source."""
    if (make := SOURCE_KINDS[source].make) and source.startswith("sample"):
        make("x", Source(kind=source, documents=70, seed=1), folder)
    if source == "imdb":
        write_archive(folder / published.IMDB_ARCHIVE, {"aclImdb/test/pos/1_9.txt": b""})
    if source == "yelp":
        (folder / published.YELP_COLUMNS).write_bytes(gzip.compress(b'stars,text\n5,"a,\nNA"\n'))
    if source == "movies":
        write_archive(folder / published.MOVIES_ARCHIVE, MOVIES)
    files = {
        "letters": dict.fromkeys(
            [published.TRAIN, published.EVAL], row(text="a", author="b", lang="c", file="d")
        ),
        "huffpost": {huffpost.OFFICIAL: row(category="ARTS", headline="a", short_description="b")},
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


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("news", {"split": GIVEN},
         "a corpus of kind news has split kind random or folds, found given"),
        ("letters", {"split": FOLDS},
         "a corpus of kind letters has split kind given, found folds"),
        ("imdb", {"split": Split(kind="folds", k=5, grouped=True)},
         "only letters-pieces and federalist have groups"),
        ("imdb", {"label_column": "l", "text_column": "t"},
         "label_column and text_column go with kind table"),
        ("table", {},
         "kind table needs text_column or text_columns, and label_column or label_columns"),
        ("table", {"text_column": "t"}, "table needs label_column or label_columns"),
    ],
)  # fmt: skip
def test_what_a_kind_does_not_allow_is_an_error_of_params_yaml(
    kind: str, keys: dict, message: str
) -> None:
    corpus = Corpus(source="x", kind=kind, **({"split": Split(kind="random", test=0.2)} | keys))
    with pytest.raises(ValueError, match=message):
        check_corpus(corpus)


def test_only_the_module_of_its_publication_contains_the_name_of_a_kind() -> None:
    for path in {*SOURCE.rglob("*.py")} - {Path(module.__file__) for module in PUBLICATIONS}:
        # a report speaks of tables and samples too
        words = {"table", "sample", "parallel"} if "report" in path.parts else set()
        if path.name == "experiments.py":
            words |= {"imdb", "news", "news-big"}  # the talk's
        names = {*KINDS, *SOURCE_KINDS} - words
        if any(f'"{name}"' in path.read_text() for name in names):
            literals = [n for n in ast.walk(ast.parse(path.read_text())) if hasattr(n, "value")]
            assert not {str(each.value) for each in literals} & names, path


def test_the_documentation_has_every_kind_with_its_source_labels_or_languages_and_splits() -> None:
    labelled, parallel = (ROOT / "docs/corpora.md").read_text().split("\n## ")[:2]
    for text, is_parallel in ((labelled, False), (parallel, True)):
        rows = [
            [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:5]]
            for line in text.splitlines()
            if line.startswith("| `")
        ]
        assert {name: (source, names, splits) for (name,), (source,), names, splits in rows} == {
            kind.name: (kind.source.name, [*(kind.languages or kind.labels)], [*kind.splits])
            for kind in KINDS.values()
            if kind.parallel == is_parallel
        }
