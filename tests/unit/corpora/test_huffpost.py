"""The talk's News: version 2 of the data, from its public parts."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks import articles as articles_of_clone

from heed.corpora import huffpost, kinds
from heed.corpora.kinds import read_documents
from heed.corpora.publication import read_published_lines
from heed.files import HeedError
from heed.study import Corpus, Source, Split

RANDOM = Split(kind="random", test=0.2)
PART = huffpost.PARTS[3]
Rows = list[dict[str, str]]


def read(kind: str, raw: Path) -> list:
    return list(read_documents(Corpus(source="x", kind=kind, split=RANDOM), raw))


@pytest.fixture(scope="session")
def raw(corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source, from its parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEED_MIRROR", str(corpora))
        folder = tmp_path_factory.mktemp("raw") / "huffpost"
        kinds.download("huffpost", Source(kind="huffpost"), folder)
        return folder


@pytest.fixture(scope="session")
def articles(raw: Path) -> list:
    return read("news-big", raw)


def test_the_parts_have_the_label_counts_of_version_2(corpora, raw, articles):
    counts = json.loads((corpora / "news/v2_label_counts.json").read_text())
    found = Counter(row["category"] for _, row in huffpost.read_version_2(raw))
    assert (sum(counts.values()), found) == (200_853, counts)
    merged = Counter(document.labels["category"] for document in articles)
    assert len(counts) == 41 and len(merged) == 34
    assert sum(merged.values()) == len(articles) == 199_724, "without LATINO VOICES"
    assert merged | {"WORLD": 8_420, "PARENTING": 12_632} == merged
    assert len({document.id for document in articles}) == len(articles)


def test_the_genuine_first_rows_are_equal_in_every_field_and_in_order(corpora, raw, articles):
    genuine = [*read_published_lines(corpora / "news/News_Category_Dataset_v2.prefix.json.gz")]
    assert len(genuine) > 4_700
    assert articles[0].text == (
        "There Were 2 Mass Shootings In Texas Last Week, But Only 1 On TV She left her husband. He "
        "killed their children. Just another day in America."
    )
    numbered = zip(genuine, huffpost.read_version_2(raw), strict=False)
    fields = ("category", "headline", "short_description", "date")
    assert all(a == b and all(x[f] == y[f] for f in fields) for (a, x), (b, y) in numbered)


ROWS: Rows = [
    {"category": "GREEN", "headline": "a", "short_description": "b", "date": "2022-09-23"},
    {"category": "TASTE", "headline": "c", "short_description": "", "date": "2012-01-28"},
]
COLUMNS = pa.Table.from_pylist(ROWS)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with all parts, of two articles each."""
    for part in huffpost.PARTS:
        pq.write_table(COLUMNS, tmp_path / part.name)
    return tmp_path


def test_articles_after_version_2_are_left_out_and_the_others_numbered(made):
    documents = read("news-big", made)
    assert [document.id for document in documents] == [f"huffpost/{n}" for n in range(1, 13)]
    assert documents[0].text == "c" and documents[0].labels == {"category": "TASTE"}


def test_a_part_that_is_missing_is_one_message(made):
    (made / PART.name).unlink()
    with pytest.raises(HeedError, match=f"{PART.name}: not there. Run: heed download"):
        read("news", made)


def test_the_sample_is_drawn_from_the_parts_by_its_rule(raw, tmp_path):
    rows = huffpost.read_version_2(raw, huffpost.SAMPLE_FIELDS)
    drawn = articles_of_clone.draw(
        rows, articles_of_clone.CLASSES, articles_of_clone.SIZE, articles_of_clone.SEED
    )
    articles_of_clone.write(drawn, tmp_path / "again.jsonl.gz")
    assert (tmp_path / "again.jsonl.gz").read_bytes() == huffpost.SAMPLE_PATH.read_bytes()


def test_the_sample_has_as_many_articles_of_each_class_and_no_text_twice(tmp_path):
    kinds.download("news", Source(kind="news-sample"), tmp_path)
    documents = read("news-sample", tmp_path)
    counts = Counter(document.labels["category"] for document in documents)
    assert counts == dict.fromkeys(articles_of_clone.CLASSES, articles_of_clone.SIZE)
    assert len({document.text for document in documents}) == len(documents)
    assert huffpost.SAMPLE_PATH.stat().st_size < 400_000
    notice = huffpost.SAMPLE_PATH.with_name("README.md").read_text()
    assert "Misra" in notice and "creativecommons.org/licenses/by/4.0/" in notice


@pytest.mark.parametrize("content", [None, b"another file"], ids=["missing", "another"])
def test_a_sample_that_is_not_whole_is_one_message(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    if content:
        huffpost.SAMPLE_PATH.parent.mkdir(parents=True)
        huffpost.SAMPLE_PATH.write_bytes(content)
    with pytest.raises(HeedError) as raised:
        kinds.download("news", Source(kind="news-sample"), tmp_path)
    message = str(raised.value)
    assert message.startswith("data/news/articles.jsonl.gz: ")
    assert message.endswith("Get it back: git checkout -- data/news/articles.jsonl.gz")
    assert len(message.splitlines()) == 1
