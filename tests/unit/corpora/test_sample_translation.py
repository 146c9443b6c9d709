"""The generated pair of languages: one right translation, and a gold alignment that is right."""

import dataclasses
import hashlib
import json
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from heed.corpora.sample_translation import (
    CLASS_ENDINGS,
    SOURCE,
    generate_rows,
    make_lexicon,
    read_paragraphs,
)
from heed.files import HeedError
from heed.study import Source

PAIRS = 1400
ROWS = list(generate_rows(PAIRS, 1))
SENTENCES = {
    part: [row for row in ROWS if row["part"] == part]
    for part in ("train", "validation", "test", "long")
}


def links(row: dict[str, str]) -> list[tuple[int, int]]:
    pairs = (entry.split("-") for entry in row["norvic-soldan"].split())
    return [(int(i), int(j)) for i, j in pairs]


def read_translations(rows: list[dict[str, str]]) -> dict[str, set[tuple[str, ...]]]:
    """Return all translations of each word of Norvic, by the gold links."""
    translations: dict[str, set[tuple[str, ...]]] = {}
    for row in rows:
        target = row["soldan"].split()
        for i, word in enumerate(row["norvic"].split()):
            linked = tuple(target[j] for k, j in sorted(links(row)) if k == i)
            translations.setdefault(word, set()).add(linked)
    return translations


TRANSLATIONS = read_translations(SENTENCES["train"])
# a word that agrees with two classes has two forms, which differ in their last letter
DICTIONARY = {
    word: min(forms) if len(forms) == 1 else (min(forms)[0][:-1],)
    for word, forms in TRANSLATIONS.items()
}


def test_every_word_has_one_translation_and_its_forms_wherever_it_stands():
    assert Counter(map(len, TRANSLATIONS.values())) == {1: 90 - 14, 2: 14}, (
        "articles and adjectives agree with a class"
    )
    for word, forms in TRANSLATIONS.items():
        if len(forms) == 2:
            assert forms == {(DICTIONARY[word][0] + ending,) for ending in CLASS_ENDINGS}
    for word, forms in read_translations(SENTENCES["test"] + SENTENCES["long"]).items():
        assert forms <= TRANSLATIONS[word], word
    counts = Counter(map(len, DICTIONARY.values()))
    assert counts == {0: 2, 1: 84, 2: 4}, "two particles, and a verb in four of 16 with two words"


KINDS = {
    word.norvic: kind for kind, words in make_lexicon(random.Random(1)).items() for word in words
}


def test_a_translator_by_grammar_and_dictionary_is_right():
    """An independent translator: it reads the words of a clause by their kinds, from the left."""
    endings = noun_endings()
    rows = SENTENCES["test"] + SENTENCES["long"]
    for row in rows:
        assert translate(row["norvic"].split(), endings) == row["soldan"]
        assert sorted(j for _, j in links(row)) == list(range(len(row["soldan"].split())))


def test_paragraphs_have_all_sentences_of_their_part_once_and_many_are_beyond_50_words(tmp_path):
    (tmp_path / "sample-translation.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in ROWS))
    paragraphs = [*read_paragraphs(tmp_path, SimpleNamespace(kind="sample-translation-paragraphs"))]
    for split in ("train", "validation", "test"):
        texts = [each.texts["norvic"] for each in paragraphs if each.split == split]
        sentences = [text for each in texts for text in each.removesuffix(" .").split(" . ")]
        assert sorted(sentences) == sorted(row["norvic"] for row in SENTENCES[split])
    assert len({each.id for each in paragraphs}) == len(paragraphs)
    digest = hashlib.sha256(repr(paragraphs).encode()).hexdigest()
    assert digest.startswith("04401f38017d56dd"), "the same texts and links on every machine"
    lengths = np.array([len(each.texts["norvic"].split()) for each in paragraphs])
    assert lengths.max() <= 90 and 0.3 < (lengths > 50).mean() < 0.45


def noun_endings() -> dict[str, str]:
    """Return the ending of the article that stands with each noun in the training split."""
    endings: dict[str, str] = {}
    for row in SENTENCES["train"]:
        source, target = row["norvic"].split(), row["soldan"].split()
        position = dict(sorted(links(row)))
        for i, word in enumerate(source):
            if KINDS[word] == "noun":
                article = max(k for k in range(i) if KINDS[source[k]] == "article")
                ending = target[position[article]][-1]
                assert endings.setdefault(word, ending) == ending
    return endings


def translate(source: list[str], endings: dict[str, str]) -> str:
    """Return the translation of a sentence of Norvic."""
    target: list[str] = []
    starts = [i for i, word in enumerate(source) if KINDS[word] == "conjunction"]
    for start, end in zip([0, *starts], [*starts, len(source)], strict=True):
        target += translate_clause(source[start:end], endings)
    return " ".join(target)


def translate_clause(clause: list[str], endings: dict[str, str]) -> list[str]:
    parts: dict[str, list[str]] = {
        part: [] for part in ("conjunction", "adverb", "subject", "place", "object", "verb")
    }
    phrase: list[str] = []
    role = "subject"
    for word in clause:
        kind = KINDS[word]
        if kind in ("conjunction", "adverb", "verb"):
            parts[kind] += DICTIONARY[word]
            role = "object" if kind == "verb" else role
        elif kind == "pronoun":
            parts[role] += DICTIONARY[word]
        elif kind == "preposition":
            role = "place"
            parts[role] += DICTIONARY[word]
        elif kind != "particle":
            phrase.append(word)
        if kind == "noun":
            article, *adjectives, noun = phrase
            agreeing = [DICTIONARY[each][0] + endings[noun] for each in (article, *adjectives)]
            parts[role] += [agreeing[0], *DICTIONARY[noun], *agreeing[1:]]
            phrase = []
    return [word for part in parts.values() for word in part]


def test_the_parts_have_their_shares_and_all_lengths_equally():
    assert {split: len(rows) for split, rows in SENTENCES.items()} == {
        "train": 1200, "validation": 60, "test": 140, "long": 40,
    }  # fmt: skip
    lengths = Counter(len(row["norvic"].split()) for row in ROWS if row["part"] != "long")
    assert lengths == dict.fromkeys(range(3, 31), PAIRS // 28)
    assert {len(row["norvic"].split()) for row in SENTENCES["long"]} == set(range(33, 46))


def test_no_sentence_occurs_twice_and_the_words_of_the_test_occur_in_training():
    for language in ("norvic", "soldan"):
        assert len({row[language] for row in ROWS}) == len(ROWS)
        known = {word for row in SENTENCES["train"] for word in row[language].split()}
        tested = SENTENCES["test"] + SENTENCES["long"]
        assert {word for row in tested for word in row[language].split()} <= known
    translations = [word for words in DICTIONARY.values() for word in words]
    assert len(set(translations)) == len(translations), "no two words are confused"


def test_the_file_is_the_same_bytes_on_every_machine_and_its_hash_is_checked(tmp_path):
    source = Source(kind="sample-translation", documents=70, seed=3)
    (name,) = SOURCE.make("x", source, tmp_path)
    digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert digest == "a426472d05fc0cff4976fb3b5f7a3da762a35723501a1cdd5f26940a24c563b4"
    SOURCE.make("x", dataclasses.replace(source, sha256=digest), tmp_path)
    with pytest.raises(HeedError, match=r"sources.x.sha256: expected 0{64}, the generator made"):
        SOURCE.make("x", dataclasses.replace(source, sha256="0" * 64), tmp_path)
