"""The generated pair of languages is the same bytes everywhere, and its parts have their shares."""

import dataclasses
import hashlib
import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from heed.corpora.sample_translation import SOURCE, generate_rows, read_paragraphs
from heed.files import HeedError
from heed.study import Source

PAIRS = 1400
ROWS = list(generate_rows(PAIRS, 1))
SENTENCES = {
    part: [row for row in ROWS if row["part"] == part]
    for part in ("train", "validation", "test", "long")
}


def test_paragraphs_have_all_sentences_of_their_part_once_and_many_are_beyond_50_words(tmp_path):
    (tmp_path / "sample-translation.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in ROWS))
    paragraphs = [*read_paragraphs(tmp_path, SimpleNamespace(kind="sample-translation-paragraphs"))]
    for split in ("train", "validation", "test"):
        texts = [paragraph.texts["norvic"] for paragraph in paragraphs if paragraph.split == split]
        sentences = [text for lines in texts for text in lines.removesuffix(" .").split(" . ")]
        assert sorted(sentences) == sorted(row["norvic"] for row in SENTENCES[split])
    assert len({paragraph.id for paragraph in paragraphs}) == len(paragraphs)
    digest = hashlib.sha256(repr(paragraphs).encode()).hexdigest()
    assert digest.startswith("18c827c58c4f8161"), "the same texts and links on every machine"
    lengths = np.array([len(paragraph.texts["norvic"].split()) for paragraph in paragraphs])
    assert lengths.max() <= 90 and 0.3 < (lengths > 50).mean() < 0.45


def test_the_parts_have_their_shares_and_all_lengths_equally():
    assert {split: len(rows) for split, rows in SENTENCES.items()} == {
        "train": 1200, "validation": 60, "test": 140, "long": 40,
    }  # fmt: skip
    lengths = Counter(len(row["norvic"].split()) for row in ROWS if row["part"] != "long")
    assert lengths == dict.fromkeys(range(3, 31), PAIRS // 28)
    assert {len(row["norvic"].split()) for row in SENTENCES["long"]} == set(range(33, 46))


def test_the_file_is_the_same_bytes_on_every_machine_and_its_hash_is_checked(tmp_path):
    source = Source(kind="sample-translation", documents=70, seed=3)
    (name,) = SOURCE.make("x", source, tmp_path)
    digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert digest == "a426472d05fc0cff4976fb3b5f7a3da762a35723501a1cdd5f26940a24c563b4"
    SOURCE.make("x", dataclasses.replace(source, sha256=digest), tmp_path)
    with pytest.raises(HeedError, match=r"sources.x.sha256: expected 0{64}, the generator made"):
        SOURCE.make("x", dataclasses.replace(source, sha256="0" * 64), tmp_path)
