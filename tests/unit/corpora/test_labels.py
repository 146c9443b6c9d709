"""Labels that look the same are one question, and labels that do not are none."""

import pandas as pd
import pytest
import regex

from heed.corpora.declared import Corpus, Split
from heed.corpora.labels import SimilarLabelsError, require_distinct
from heed.corpora.rows import Format, read_table
from heed.corpora.table import DocumentReader
from heed.files import HeedError

IGNORABLE = regex.findall(r"\p{DI}", "".join(map(chr, range(0x110000))))
SAME = {
    "case": ("pos", "Pos"), "zero width": ("pos", "po\u200bs"), "filler": ("소", "\u115f소"),
    "hangul filler": ("pos", "pos\u3164"), "grapheme joiner": ("pos", "po\u034fs"),
    "bidi": ("pos", "\u202epos"), "tags": ("pos", "pos\U000e0041"), "soft": ("pos", "po\u00ads"),
    "no-break": ("a b", "a\u00a0b"), "two spaces": ("a b", "a  b"), "braille": ("pos", "pos\u2800"),
    "wide": ("pos", "ｐｏｓ"), "bold": ("pos", "𝐩𝐨𝐬"), "hyphen": ("x-y", "x\u2010y"),
    "cyrillic": ("pos", "p\u043es"), "greek": ("pos", "p\u03bfs"), "capital": ("bad", "\u0412AD"),
    "all cyrillic": ("cop", "сор"), "cyrillic case": ("Нет", "нет"),
    "greek case": ("Ναι", "ναι"), "one font": ("Kat", "\u041aat"),
    "accents": ("Ëlan", "Ёlan"), "style": ("❤", "❤\ufe0f"),
    "hindi": ("क्ष", "क्\u200dष"), "persian": ("می\u200cخواهم", "میخواهم"),
}  # fmt: skip
OTHER = {
    "families": ("👨\u200d👩\u200d👧", "👨👩👧", "👨\u200d👩\u200d👦"), "skin": ("👍🏽", "👍🏿"),
    "flags": tuple(f"🏴\U000e0067\U000e0062{region}\U000e007f" for region in
                   ("\U000e0065\U000e006e\U000e0067", "\U000e0073\U000e0063\U000e0074")),
    "countries": ("🇩🇪", "🇫🇷"), "hearts": ("❤\ufe0f", "💔", "❤\ufe0f\u200d🔥"),
    "greek letters": ("TNFα", "TNFa", "IL-1β", "IL-1ß"), "german": ("Maße", "Masse"),
    "accents": ("résumé", "resume"), "russian": ("да", "нет", "спорт"), "signs": ("C", "C++", "C#"),
    "persian": ("می\u200cخواهم", "نمی\u200cخواهم"), "hindi": ("क्\u200dष", "श्र\u200cी", "अच्छा"),
    "numbers": ("1", "1.0", "01", "10", "①"),
    "powers": ("m2", "m²"), "chinese": ("日", "曰", "正面"),
}  # fmt: skip


def places(labels: tuple[str, ...]) -> dict[str, str]:
    return {label: f"t.csv:{row}" for row, label in enumerate(labels, 2)}


@pytest.mark.parametrize("labels", SAME.values(), ids=SAME)
def test_labels_that_look_the_same_are_named(labels):
    with pytest.raises(SimilarLabelsError, match=r"column 'y': .* would be 2 classes: t\.csv:2"):
        require_distinct(places((*labels, "neg")), "y")


def test_every_character_that_is_not_drawn_is_found_by_its_property():
    found = 0
    for sign in IGNORABLE:
        with pytest.raises(SimilarLabelsError, match=rf"U\+{ord(sign):04X}"):
            require_distinct(places(("pos", f"po{sign}s")), "y")
        found += 1
    assert found > 4000


@pytest.mark.parametrize("labels", OTHER.values(), ids=OTHER)
def test_labels_that_look_different_are_classes(labels):
    require_distinct(places(labels), "y")


def test_a_message_has_the_characters_that_differ_as_code_points():
    with pytest.raises(SimilarLabelsError) as error:
        require_distinct(places(("pos", "p\u043es", "neg")), "y")
    assert "t.csv:2 'pos' (U+006F), t.csv:3 'p\u043es' (U+043E). Write them alike" in str(
        error.value
    )


@pytest.mark.parametrize("column", [{"label_column": "y"}, {"label_columns": ["z", "y"]}])
@pytest.mark.parametrize("separator", [None, ";"])
def test_a_corpus_of_such_labels_is_refused_unless_it_says_that_they_are_classes(
    tmp_path, column, separator
):
    table = pd.DataFrame({"text": ["a", "b"], "y": ["pos", "Pos"], "z": ["1", "2"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    batches = {"t": read_table(tmp_path / "t.csv", Format()).to_batches()}
    settings = {"source": "s", "kind": "table", "split": Split(kind="random", test=0.2)}
    settings |= {"text_column": "text", "label_separator": separator, **column}
    with pytest.raises(HeedError, match=r"t\.csv:2 'pos'.*`similar_labels: true` of the corpus"):
        [*DocumentReader(Corpus(**settings)).read(batches)]
    kept = DocumentReader(Corpus(**settings, similar_labels=True)).read(batches)
    expected = [("pos",), ("Pos",)] if separator else ["pos", "Pos"]
    assert [document.labels["y"] for document in kept] == expected
