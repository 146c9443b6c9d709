"""Rationale that a corpus brings: read from its files, and found in its tokens."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.annotations import parse_spans
from heed.corpora.publication import SPLITS
from heed.files import HeedError, write_checksums
from heed.study import Corpus, Split
from heed.tokens.arrays import mark_rationale
from heed.tokens.corpus import tokenize
from heed.tokens.meta import read_meta
from tests.makers.tables import read_files


def test_a_token_with_a_character_of_a_span_is_rationale():
    starts, ends = np.array([0, 4, 9, 13]), np.array([3, 8, 12, 14])
    for spans, expected in [
        ([(4, 8)], [4]),
        ([(5, 6)], [4]),
        ([(3, 4), (12, 13)], []),
        ([(2, 5), (13, 14)], [0, 4, 13]),
    ]:
        assert starts[mark_rationale(starts, ends, np.asarray(spans))].tolist() == expected


COLUMNS = {"text_column": "text", "label_column": "label", "rationale_column": "why"}
SPLIT = Split(kind="random", test=0.4)
MINE = Corpus(source="mine", kind="table", tokenizer="whitespace", split=SPLIT, **COLUMNS)


def read_table(folder: Path, suffix: str, cell: object) -> list:
    """Return the documents of a table of two rows, of which the second has a rationale `cell`."""
    path = folder / f"table.{suffix}"
    rows = [
        {"text": "dull", "label": "bad", "why": None if suffix == "jsonl" else ""},
        {"text": "a fine film", "label": "good", "why": cell},
    ]
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == "parquet":
        pd.DataFrame(rows[1:] if isinstance(cell, list) else rows).to_parquet(path)
    else:
        pd.DataFrame(rows).to_csv(path, index=False)
    return read_files({"": path}, MINE)


TEXT, PAIRS = "2-6 \t 7-11", [[2, 6], [7, 11]]


@pytest.mark.parametrize(("suffix", "cell"), [
    ("csv", TEXT), ("jsonl", TEXT), ("jsonl", PAIRS), ("jsonl", TEXT.split()), ("parquet", TEXT),
    ("parquet", PAIRS),
])  # fmt: skip
def test_a_column_of_spans_is_rationale(tmp_path, suffix, cell):
    *others, document = read_table(tmp_path, suffix, cell)
    assert document.rationale == ((2, 6), (7, 11))
    assert all(other.rationale == () for other in others), "an empty cell is no rationale"


@pytest.mark.parametrize(("cells", "message"), [
    ("2-|-2-6|2 - 6|2-6,7-11|2|2-6-7|2.0-6|True-6", "here: .* is not a span of characters"),
    ("6-2|2-2|2-12", "the span {} goes beyond the text, which has 11 characters, or is empty"),
])  # fmt: skip
def test_what_is_no_span_of_the_text_is_an_error(cells, message):
    for cell in cells.split("|"):
        with pytest.raises(HeedError, match=message.format(cell)):
            parse_spans(cell, "here", 11)


def tokenize_rows(folder: Path, rows: list[dict[str, object]]) -> Path:
    raw = folder / "mine"
    raw.mkdir()
    (raw / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_checksums(raw)
    tokenize("mine", MINE, raw, folder / "tokens", 1)
    return folder / "tokens"


def test_the_rationale_of_ones_own_file_is_of_the_cleaned_text_and_its_share_is_known(tmp_path):
    text = "one<br />caf\u0065\u0301 \u200ffine\x92s film"
    spans = f"{text.index('fine')}-{text.index(' film')} 0-3"
    rows = [{"text": f"{text} {i}", "label": "ab"[i % 2], "why": spans if i else ""}
            for i in range(10)]  # fmt: skip
    tokens = tokenize_rows(tmp_path, rows)
    texts = pd.read_parquet(tokens / "documents.parquet")["text"]
    rationale = pd.read_parquet(tokens / "evidence.parquet")
    assert sorted({texts[row][start:end] for row, start, end in rationale.to_numpy()}) == [
        "fine\u2019s", "one",
    ]  # fmt: skip
    known = read_meta(tokens).rationale
    assert known.kind == "given" and sum(known.documents.values()) == 9
    assert known.words == dict.fromkeys(SPLITS, 2 / 5)


def test_a_span_within_a_break_names_the_document(tmp_path):
    rows = [{"text": "a<br />b", "label": label, "why": "3-8"} for label in "ab" * 5]
    with pytest.raises(HeedError, match=r"mine: document row/1: the rationale 3-8 begins or ends"):
        tokenize_rows(tmp_path, rows)
