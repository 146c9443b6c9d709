"""Rows that a stray quote and the next one join are asked about; a text of several lines is not."""

import csv
import random
from pathlib import Path

import pytest

from heed.corpora.formats import find_format, read_found
from heed.corpora.rows import AT, Format, JoinedRowsError, read_table
from heed.files import HeedError

ORDERS = ("text label", "label text", "id text label", "id label text", "id text")
NAMELESS = ("text label _ _", "text label _ _ _", "_ text _ label")  # as spreadsheets export them
WORDS = ["call", "me", "now", "it is", "free", "ok", "grüße", "ham", "spam", "5", "17"]
DELIMITERS = {".csv": ",", ".tsv": "\t"}
QUOTE = '"'


def cells(order: str, text: str, label: str, number: int) -> list[str]:
    values = {"text": text, "label": label, "id": str(number), "_": ""}
    return [values[name] for name in order.split()]


def words(draw: random.Random) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(3, 12)))


def write_joined(path: Path, order: str, seed: int) -> int:
    """Write 60 rows, one with a quote before its text, a later one with a quote behind it.

    The line of the first is returned. Some of the others need their quotes: they have delimiters.
    """
    draw, delimiter = random.Random(seed), DELIMITERS[path.suffix]
    first = draw.randrange(2, 30)
    last = first + draw.randrange(1, 25)
    lines = [delimiter.join(order.replace("_", "").split(" "))]
    for number in range(60):
        text = words(draw)
        if not first <= number <= last and number % 3 == 0:
            text = f'"{text}{delimiter} {words(draw)}"'
        text = QUOTE * (number == first) + text + QUOTE * (number == last)
        lines.append(delimiter.join(cells(order, text, draw.choice(["ham", "spam"]), number)))
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return first + 2


@pytest.mark.parametrize("order", [*ORDERS, *NAMELESS])
@pytest.mark.parametrize("suffix", DELIMITERS)
def test_rows_that_a_stray_quote_joins_are_named(tmp_path, order, suffix):
    path = tmp_path / f"t{suffix}"
    for seed in range(6):
        line = write_joined(path, order, seed)
        for read in (lambda form: read_table(path, form), lambda form: add(path, form)):
            with pytest.raises(JoinedRowsError, match=f"{path}:{line}: a quote begins a text that"):
                read(Format(encoding="utf-8-sig", delimiter=DELIMITERS[suffix]))
        assert read_table(path, Format(quote=QUOTE)).num_rows < 60
        with pytest.raises(HeedError, match="A field that holds the delimiter needs quotes"):
            read_table(path, Format(quote=""))


def add(path: Path, given: Format) -> list[list[str]]:
    table, _ = read_found(path, find_format(path, given, False), given)
    return [[*row.values()] for row in table.drop_columns([AT]).to_pylist()]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("suffix", DELIMITERS)
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_quoted_text_of_several_lines_is_one_text(tmp_path, order, suffix, quoting):
    path, draw = tmp_path / f"t{suffix}", random.Random(5)
    letter = ["Dear all,", *(["ham, and", "5, no", "fine,"] * 2), 'a "word"', "Best,", "spam"]
    rows = [
        cells(order, "\n".join([*letter[: draw.choice([1, 2, 3, 7, 10])], words(draw)]),
              draw.choice(["ham", "spam"]), number)
        for number in range(60)
    ]  # fmt: skip
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=DELIMITERS[suffix], quoting=quoting)
        writer.writerows([order.split(), *rows])
    assert add(path, Format()) == rows


@pytest.mark.parametrize("far", [False, True], ids=["in the first rows", "far below"])
def test_where_all_quotes_can_be_characters_it_is_asked_about(tmp_path, far):
    lines = [f"text {i} of some words,{'ab'[i % 2]}" for i in range(2100 if far else 60)]
    lines[-20] = '"' + lines[-20]
    lines[-16] = 'a text that ends so",b'
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["text,label", *lines]))
    with pytest.raises(JoinedRowsError, match=f"t.csv:{len(lines) - 18}: a quote begins a text"):
        add(path, Format())
    rows = add(path, Format(quote=""))
    assert len(rows) == len(lines) and rows[-20][0].startswith('"text')


@pytest.mark.parametrize("rows", [
    ['"the names,of this', "a text,c", 'file",d'],
    ["text,label", 'c,"the first', "b,one", 'd,e"'],
    ["text,label,,", 'some words",a,,', '"more of them,b,,', "and others,c,,", 'the end",d,,'],
    ["text,date,label", '"so,2020-01-01,a', "it,2020-02-02,b", 'is",2020-03-03,c'],
], ids=["from the header", "each its own label", "between two", "all in one"])  # fmt: skip
def test_of_few_rows_none_is_swallowed(tmp_path, rows):
    (tmp_path / "t.csv").write_text("\n".join(rows))
    with pytest.raises(HeedError, match=r"t.csv:\d: (a quote begins a text|not a row of a CSV)"):
        read_table(tmp_path / "t.csv", Format())
