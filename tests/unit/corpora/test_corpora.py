"""Documents are made by the talk's rules, and every document is in one part."""

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.corpora import published
from heed.corpora.kinds import KINDS, download, read_documents
from heed.corpora.publication import RawDocument, read_members
from heed.files import HeedError
from heed.study import Corpus, Source, Split
from tests.makers.federalist import papers

GIVEN = Split(kind="given")


def corpus(kind: str, **changes) -> Corpus:
    return Corpus(source="x", kind=kind, **({"split": Split(kind="random", test=0.2)} | changes))


Read = Callable[..., list[RawDocument]]


@pytest.fixture
def read(corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return a function that reads the documents of a real corpus."""
    monkeypatch.setenv("HEED_MIRROR", str(corpora))

    def read_real(kind: str, files: list[str] | None = None, **changes) -> list[RawDocument]:
        source = KINDS[kind].source.name
        if not (tmp_path / source).exists():
            download(source, Source(kind=source, files=files), tmp_path / source)
        return list(read_documents(corpus(kind, **changes), tmp_path / source))

    return read_real


def test_the_letter_pieces_are_the_talks_test_file(read):
    documents = read("letters-pieces", [published.EVAL])
    assert len({document.id for document in documents}) == len(documents) == 4881
    languages = Counter(document.labels["language"] for document in documents)
    assert languages == {"en": 2517, "de": 1443, "da": 838, "fr": 36, "it": 31, "unknown": 16}
    authors = Counter(document.labels["author"] for document in documents)
    assert (authors["Virginia Woolf"], authors["Johann Wolfgang von Goethe"]) == (1901, 228)
    assert len(authors) == 7
    with pytest.raises(HeedError, match=r"classifier_data_train.json: not there"):
        read("letters", split=GIVEN)


def test_the_papers_of_the_federalist_are_hamiltons_madisons_and_the_disputed(corpora, read):
    if not (corpora / "federalist" / published.GUTENBERG_FILE).is_file():
        pytest.skip(f"{corpora} has no federalist/{published.GUTENBERG_FILE}")
    documents = read("federalist", split=GIVEN)
    labelled = {(d.split, d.labels["author"], d.group) for d in documents}
    assert Counter((split, author) for split, author, _ in labelled) == {
        ("train", "Hamilton"): 45, ("train", "Madison"): 12, ("validation", "Hamilton"): 6,
        ("validation", "Madison"): 2, ("test", "Madison"): 12,
    }  # fmt: skip
    paragraphs = Counter(document.split == "test" for document in documents)
    assert paragraphs == {False: 922, True: 157}
    text = " ".join(document.text for document in documents)
    assert "Gutenberg" not in text and "PUBLIUS" not in text and "(1)" not in text


def test_the_disputed_papers_are_for_test_alone(tmp_path):
    (tmp_path / published.GUTENBERG_FILE).write_text(papers())
    given = list(read_documents(corpus("federalist", split=GIVEN), tmp_path))
    assert {int(d.group) for d in given if d.split == "test"} == published.DISPUTED
    assert given[0] == RawDocument(
        "1/1", "PAPER 1 says. more", {"author": "Hamilton"}, "1", "train"
    ), "without title, byline, address, signature and notes"
    folds = list(read_documents(corpus("federalist", split=Split(kind="folds", k=5)), tmp_path))
    authors = Counter(document.labels["author"] for document in folds)
    assert authors == {"Hamilton": 51, "Madison": 14}
    others = published.DISPUTED | published.JAY | published.JOINT
    assert not {int(d.group) for d in folds} & others


def test_europarl_is_10000_pairs_without_escapes(read):
    documents = read("europarl")
    assert len(documents) == 10_000 and not sum("&apos;" in d.texts["en"] for d in documents)
    assert documents[0].texts["en"].startswith("It is not acceptable that , with the help of")
    assert documents[0].texts["de"].startswith("Es geht nicht an , dass über")
    assert "Parliament 's legislative prerogative" in documents[0].texts["en"]
    assert [d.id for d in documents if not all(d.texts.values())] == ["europarl/5"]


def marked(document: RawDocument) -> list[str]:
    return [str(document.text)[start:end] for start, end in document.rationale]


def test_the_movies_have_the_words_that_people_marked_and_val_is_not_in_train(read, tmp_path):
    documents = {d.id: d for d in read("movies", split=GIVEN)}
    splits = Counter((d.split, d.labels["sentiment"]) for d in documents.values())
    assert splits == {
        ("train", "negative"): 800, ("train", "positive"): 800, ("validation", "negative"): 100,
        ("validation", "positive"): 100, ("test", "negative"): 100, ("test", "positive"): 99,
    }  # fmt: skip
    files = dict(read_members(tmp_path / "movies" / published.MOVIES_ARCHIVE))
    lines = (file.splitlines() for name, file in files.items() if name.endswith(".jsonl"))
    for review in map(json.loads, itertools.chain(*lines)):
        phrases = {phrase["text"] for group in review["evidences"] for phrase in group} - {""}
        words = {" ".join(text.split()) for text in marked(documents[review["annotation_id"]])}
        assert words == phrases
    phrases_by_part: Counter[str] = Counter()
    for document in documents.values():
        phrases_by_part[document.split] += len(document.rationale)
    assert phrases_by_part == {"train": 13878, "validation": 1517, "test": 2047}


def test_the_rationale_of_sst_wiki_is_the_first_sentence(read):
    documents = read("sst-wiki", split=GIVEN)
    assert Counter((d.split, d.labels["sentiment"]) for d in documents) == {
        ("train", "positive"): 3610, ("train", "negative"): 3310, ("validation", "positive"): 444,
        ("validation", "negative"): 428, ("test", "positive"): 909, ("test", "negative"): 912,
    }  # fmt: skip
    for document in documents:
        ((start, end),) = document.rationale
        assert not str(document.text)[:start].strip() and end < len(document.text)
    words = sum(len(" ".join(marked(document)).split()) for document in documents)
    assert round(words / sum(len(str(d.text).split()) for d in documents), 3) == 0.455
