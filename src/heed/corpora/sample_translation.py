"""The sample pair of languages: generated text that has one right translation.

Norvic has subject, verb and object in this order, and adjectives before their noun. Soldan has the
verb at the end of its clause, after the places, which precede the object; adjectives follow
their noun. Articles and adjectives of Soldan agree with the class of their noun, a verb in four has
two words, and particles of Norvic have no translation. Each word of Soldan comes from one of
Norvic: this is the gold alignment. Its paragraphs put sentences together, of up to 90 words.
"""

import dataclasses
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heed.annotations import parse_links
from heed.corpora.publication import (
    ANY_SPLIT,
    Documents,
    Kind,
    Links,
    RawDocument,
    read_published_lines,
    require_file,
)
from heed.corpora.sample import SYLLABLES, Row, generated_source

if TYPE_CHECKING:
    from heed.corpora.sections import Corpus, SplitKind

NORVIC, SOLDAN = "norvic", "soldan"
LINKS = f"{NORVIC}-{SOLDAN}"
PAIRS, LONG_PAIRS = "sample-translation", "sample-translation-long"
SHORT_PAIRS = "sample-translation-short"
LONG = "long"  # the part of sentences that are longer than any in training
SHORTEST, LONGEST = 3, 30  # words of a sentence of Norvic
LONG_LENGTHS = range(33, 46)
SHORT = 10  # words of Norvic that a sentence of SHORT_PAIRS has at most
# How many words of each kind there are; a verb in TWO_WORD_VERBS has two words in Soldan.
SIZES = {
    "noun": 40, "verb": 16, "adjective": 12, "preposition": 8, "pronoun": 4, "adverb": 3,
    "conjunction": 3, "article": 2, "particle": 2,
}  # fmt: skip
TWO_WORD_VERBS = 4
MAX_ADJECTIVES, MAX_PLACES = 2, 2  # of a noun, of a clause
CLASS_ENDINGS = ("o", "a")  # of what agrees with a noun of this class


@dataclasses.dataclass(frozen=True)
class Word:
    """A word of Norvic and its translation: words of Soldan, for each class where it agrees."""

    kind: str
    norvic: str
    soldan: tuple[str, ...]  # without an ending where it agrees
    noun_class: int = 0
    agrees: bool = False

    def inflected(self, noun_class: int) -> tuple[str, ...]:
        """Return the words of Soldan, in agreement with a noun of this class."""
        return tuple(word + CLASS_ENDINGS[noun_class] * self.agrees for word in self.soldan)


Lexicon = dict[str, list[Word]]  # kind of word → its words


def make_lexicon(generator: random.Random) -> Lexicon:
    """Return the words of all kinds; no word of either language occurs twice."""
    used: set[str] = set()

    def new_word(language: str, last: str = "") -> str:
        while True:
            count = generator.choice([1, 2, 2, 3])
            word = "".join(generator.choices(SYLLABLES[language], k=count)) + last
            forms = {word, *(word + ending for ending in CLASS_ENDINGS)}
            if used.isdisjoint(forms):  # nor is one the other with an ending
                used.update(forms)
                return word

    lexicon: Lexicon = {}
    for kind, size in SIZES.items():
        lexicon[kind] = []
        for i in range(size):
            count = {"particle": 0, "verb": 2 if i % TWO_WORD_VERBS == 0 else 1}.get(kind, 1)
            agrees = kind in ("article", "adjective")
            soldan = tuple(new_word(SOLDAN, "r" if agrees else "") for _ in range(count))
            noun_class = generator.randrange(len(CLASS_ENDINGS)) if kind == "noun" else 0
            lexicon[kind].append(Word(kind, new_word(NORVIC), soldan, noun_class, agrees))
    return lexicon


# role → its phrases: a noun with its article, its adjectives and perhaps a preposition, or one word
Clause = dict[str, list[list[Word]]]
# language → its order of the roles in a clause, and of the kinds of words in a phrase
ORDER = {
    NORVIC: (
        ("conjunction", "subject", "particle", "verb", "adverb", "object", "place"),
        "preposition article adjective noun",
    ),
    SOLDAN: (
        ("conjunction", "adverb", "subject", "place", "object", "verb"),
        "preposition article noun adjective",
    ),
}
NOUN = ("article", "noun")  # the words that a phrase with a noun has at least
GROWN = {"object": NOUN, "place": ("preposition", *NOUN)}


def in_order(clause: Clause, language: str) -> list[tuple[Word, int]]:
    """Return the words of a clause in the order of a language, each with the class of its noun."""
    roles, kinds = ORDER[language]
    return [
        (word, max(member.noun_class for member in phrase))
        for role in roles
        for phrase in clause[role]
        for word in sorted(phrase, key=lambda word: kinds.find(word.kind))
    ]


def _growing_nouns(clause: Clause) -> list[list[Word]]:
    """Return the phrases of a clause whose noun may have one more adjective."""
    phrases = [*clause["subject"], *clause["object"], *clause["place"]]
    counted = ([word.kind for word in phrase] for phrase in phrases)
    may_grow = ("noun" in kinds and kinds.count("adjective") < MAX_ADJECTIVES for kinds in counted)
    return list(itertools.compress(phrases, may_grow))


class Grammar:
    """Draws sentences of a given length."""

    def __init__(self, lexicon: Lexicon, generator: random.Random) -> None:
        self._lexicon, self._generator = lexicon, generator

    def sentence(self, length: int) -> list[Clause]:
        """Return clauses that have `length` words of Norvic together."""
        while True:
            clauses = [self._clause()]
            while (missing := length - sum(len(in_order(made, NORVIC)) for made in clauses)) > 0:
                if not (growths := self._growths(clauses[-1], missing)):
                    break
                self._grow(clauses, *self._generator.choices([*growths], [*growths.values()]))
            if missing == 0:
                return clauses

    def _phrase(self, *kinds: str) -> list[Word]:
        # a word may occur twice in a sentence: each occurrence is another object
        draw = self._generator.choice
        return [dataclasses.replace(draw(self._lexicon[kind])) for kind in kinds]

    def _clause(self) -> Clause:
        is_pronoun = self._generator.random() < 0.4
        subject = self._phrase("pronoun") if is_pronoun else self._phrase(*NOUN)
        return defaultdict(list, subject=[subject], verb=[self._phrase("verb")])

    def _growths(self, clause: Clause, missing: int) -> dict[str, int]:
        """Return the ways in which a clause can grow by at most `missing` words, with weights."""
        ways = {
            "adjective": 4 * bool(_growing_nouns(clause)),
            "adverb": not clause["adverb"],
            "particle": not clause["particle"],
            "object": 3 * (not clause["object"] and missing >= 2),
            "place": 2 * (len(clause["place"]) < MAX_PLACES and missing >= 3),
            "clause": bool(clause["object"]) and missing >= 4,
        }
        return {way: int(weight) for way, weight in ways.items() if weight}

    def _grow(self, clauses: list[Clause], way: str) -> None:
        clause = clauses[-1]
        if way == "adjective":
            phrase = self._generator.choice(_growing_nouns(clause))
            phrase += self._phrase("adjective")
        elif way == "clause":
            clauses.append(self._clause())
            clauses[-1]["conjunction"].append(self._phrase("conjunction"))
        else:
            clause[way].append(self._phrase(*GROWN.get(way, (way,))))


def translate(clauses: list[Clause]) -> tuple[str, str, str]:
    """Return the sentence in Norvic and in Soldan, and their links in the Pharaoh format."""
    source = [word for clause in clauses for word, _ in in_order(clause, NORVIC)]
    position = {id(word): i for i, word in enumerate(source)}
    target = [
        (text, position[id(word)])
        for clause in clauses
        for word, noun_class in in_order(clause, SOLDAN)
        for text in word.inflected(noun_class)
    ]
    return (
        " ".join(word.norvic for word in source),
        " ".join(text for text, _ in target),
        " ".join(f"{i}-{j}" for j, (_, i) in enumerate(target)),
    )


def generate_rows(documents: int, seed: int) -> Iterator[Row]:
    """Yield `documents` pairs of all lengths in equal numbers, then the long ones.

    Of 70 pairs 60 are for training, 3 for validation and 7 for the test, and 2 more are long.
    """
    generator = random.Random(seed)
    grammar = Grammar(make_lexicon(generator), generator)
    sentences: set[str] = set()

    def new_row(name: str, part: str, length: int) -> Row:
        while True:
            norvic, soldan, links = translate(grammar.sentence(length))
            if sentences.isdisjoint({norvic, soldan}):
                sentences.update({norvic, soldan})
                return {"id": name, "part": part, NORVIC: norvic, SOLDAN: soldan, LINKS: links}

    tested, validated = max(1, documents // 10), max(1, 3 * documents // 70)
    splits = ["test"] * tested + ["validation"] * validated
    splits += ["train"] * (documents - len(splits))
    generator.shuffle(splits)
    lengths = range(SHORTEST, LONGEST + 1)
    for i, split in enumerate(splits):
        yield new_row(f"pair/{i}", split, lengths[i % len(lengths)])
    for i in range(max(1, 2 * documents // 70)):
        yield new_row(f"long/{i}", LONG, LONG_LENGTHS[i % len(LONG_LENGTHS)])


def read_pairs(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the pairs of a corpus; LONG_PAIRS has a test split of long ones."""
    path = require_file(raw, f"{SOURCE.name}.jsonl")
    test = LONG if corpus.kind == LONG_PAIRS else "test"
    splits = {"train": "train", "validation": "validation", test: "test"}
    for number, row in read_published_lines(path):
        is_long = row[NORVIC].count(" ") >= SHORT
        if row["part"] in splits and not (corpus.kind == SHORT_PAIRS and is_long):
            links = Links(*map(tuple, parse_links(row[LINKS], f"{path}:{number}")))
            texts = {NORVIC: row[NORVIC], SOLDAN: row[SOLDAN]}
            split = splits[row["part"]]
            yield RawDocument(row["id"], texts=texts, alignments={LINKS: links}, split=split)


STOP = "."
LENGTHS = 10, 90  # a paragraph takes sentences up to a number of words drawn between these


def read_paragraphs(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the paragraphs of each split of the sample pair; every sentence is in one of them."""
    by_split: dict[str, list[RawDocument]] = defaultdict(list)
    for pair in read_pairs(raw, corpus):
        by_split[pair.split].append(pair)
    for split, pairs in by_split.items():
        generator = random.Random(split)
        generator.shuffle(pairs)
        for number, paragraph in enumerate(_group(pairs, generator)):
            yield _join(f"{split}/{number}", paragraph)


def _group(pairs: list[RawDocument], generator: random.Random) -> Iterator[list[RawDocument]]:
    """Yield the pairs in groups: of as many words of Norvic as are drawn, or of one pair."""
    group, words, limit = list[RawDocument](), 0, generator.randint(*LENGTHS)
    for pair in pairs:
        length = len(_words(pair, NORVIC))
        if group and words + length > limit:
            yield group
            group, words, limit = [], 0, generator.randint(*LENGTHS)
        group.append(pair)
        words += length
    yield group


def _join(name: str, pairs: list[RawDocument]) -> RawDocument:
    source, target, links = list[str](), list[str](), []
    for pair in pairs:
        links += [(len(source) + i, len(target) + j) for i, j in pair.alignments[LINKS].sure]
        source += _words(pair, NORVIC)
        target += _words(pair, SOLDAN)
        links.append((len(source) - 1, len(target) - 1))  # of the full stops
    texts, gold = {NORVIC: " ".join(source), SOLDAN: " ".join(target)}, Links(tuple(links))
    return RawDocument(name, texts=texts, alignments={LINKS: gold}, split=pairs[0].split)


def _words(pair: RawDocument, language: str) -> list[str]:
    return [*str(pair.texts[language]).split(), STOP]


SOURCE = generated_source("sample-translation", generate_rows, 2e6)
# kind → (its reader, splits)
READ: "dict[str, tuple[Callable[..., Documents], tuple[SplitKind, ...]]]" = {
    PAIRS: (read_pairs, ANY_SPLIT),
    SHORT_PAIRS: (read_pairs, ANY_SPLIT),
    LONG_PAIRS: (read_pairs, ("given",)),
    "sample-translation-paragraphs": (read_paragraphs, ("given",)),
}
KINDS = tuple(
    Kind(name=name, source=SOURCE, read=read, parallel=True, languages=(NORVIC, SOLDAN),
         splits=splits, generated=True)
    for name, (read, splits) in READ.items()
)  # fmt: skip
