"""The sample pair of languages: generated text that has one right translation, to try translators.

Scores on it say nothing about language: a perfect translator has BLEU 100. Its grammar has what
makes alignment and memory necessary. Norvic has subject, verb and object in this order, and
adjectives before their noun. Soldan has the verb at the end of its clause, after the places, which
stand before the object; adjectives follow their noun. Articles and adjectives of Soldan agree with
the class of their noun, a verb in four has two words, and particles of Norvic have no translation.

Every word of Soldan comes from one word of Norvic, so the gold alignment is known. Words, sentences
and parts come from Python's random generator with a fixed seed: the same bytes on every machine.

The paragraphs of the pair are several of its sentences in one text. The sentences are short, so a
cap on the length of training pairs, such as the 50 words of lecture 004, leaves none of them out.
Here the sentences of each part, in an order drawn once, are put together to paragraphs of up to 90
words. A full stop ends each sentence; it is a word of both languages. What is right for a sentence
is right for a paragraph: it has one translation, and its gold alignment is that of its sentences.
"""

import dataclasses
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.parallel import read_links
from heed.corpora.publication import (
    Document,
    Documents,
    Kind,
    Links,
    SourceKind,
    read_published_lines,
    require_file,
)
from heed.corpora.sample import SYLLABLES, verify_generated
from heed.files import write_text

if TYPE_CHECKING:
    from heed.corpora.declared import Corpus, Source

FILE = "sample-translation.jsonl"
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
        if not self.agrees:
            return self.soldan
        return tuple(word + CLASS_ENDINGS[noun_class] for word in self.soldan)


Lexicon = dict[str, list[Word]]  # kind of word → its words


def make_lexicon(generator: random.Random) -> Lexicon:
    """Return the words of all kinds; no word of either language occurs twice."""
    used: set[str] = set()

    def new_word(language: str, last: str = "") -> str:
        syllables = SYLLABLES[language].split()
        while True:
            word = "".join(generator.choices(syllables, k=generator.choice([1, 2, 2, 3]))) + last
            # nor is one the other with an ending
            if used.isdisjoint({word, *(word + ending for ending in CLASS_ENDINGS)}):
                used.update({word, *(word + ending for ending in CLASS_ENDINGS)})
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


@dataclasses.dataclass
class NounPhrase:
    """A noun with its article and adjectives, after a preposition if it is a place."""

    article: Word
    noun: Word
    adjectives: list[Word] = dataclasses.field(default_factory=list)
    preposition: Word | None = None

    def norvic(self) -> list[Word]:
        """Return its words in the order of Norvic."""
        return [*_present(self.preposition), self.article, *self.adjectives, self.noun]

    def soldan(self) -> list[tuple[Word, int]]:
        """Return its words in the order of Soldan, each with the class that it agrees with."""
        words = [*_present(self.preposition), self.article, self.noun, *self.adjectives]
        return [(word, self.noun.noun_class) for word in words]


@dataclasses.dataclass
class Clause:
    """A verb with its subject, a noun or a pronoun, and what else it has."""

    subject: NounPhrase | Word
    verb: Word
    particle: Word | None = None
    adverb: Word | None = None
    object: NounPhrase | None = None
    places: list[NounPhrase] = dataclasses.field(default_factory=list)
    conjunction: Word | None = None  # before it

    def noun_phrases(self) -> list[NounPhrase]:
        """Return its phrases that have a noun."""
        phrases = [self.subject, *_present(self.object), *self.places]
        return [phrase for phrase in phrases if isinstance(phrase, NounPhrase)]

    def norvic(self) -> list[Word]:
        """Return its words in the order of Norvic."""
        subject = [self.subject] if isinstance(self.subject, Word) else self.subject.norvic()
        return [
            *_present(self.conjunction), *subject, *_present(self.particle), self.verb,
            *_present(self.adverb), *(self.object.norvic() if self.object else []),
            *(word for place in self.places for word in place.norvic()),
        ]  # fmt: skip

    def soldan(self) -> list[tuple[Word, int]]:
        """Return its words in the order of Soldan, each with the class that it agrees with."""
        subject = [(self.subject, 0)] if isinstance(self.subject, Word) else self.subject.soldan()
        return [
            *((word, 0) for word in (*_present(self.conjunction), *_present(self.adverb))),
            *subject, *(word for place in self.places for word in place.soldan()),
            *(self.object.soldan() if self.object else []), (self.verb, 0),
        ]  # fmt: skip


def _present(value: Any) -> list[Any]:
    return [] if value is None else [value]


def _takes_adjective(phrase: NounPhrase) -> bool:
    return len(phrase.adjectives) < MAX_ADJECTIVES


class Grammar:
    """Draws sentences of a given length."""

    def __init__(self, lexicon: Lexicon, generator: random.Random) -> None:
        self._lexicon, self._generator = lexicon, generator

    def sentence(self, length: int) -> list[Clause]:
        """Return clauses that have `length` words of Norvic together."""
        while True:
            clauses = [self._clause()]
            while (missing := length - sum(len(clause.norvic()) for clause in clauses)) > 0:
                if not (growths := self._growths(clauses, missing)):
                    break
                self._grow(clauses, *self._generator.choices([*growths], [*growths.values()]))
            if missing == 0:
                return clauses

    def _draw(self, kind: str) -> Word:
        # a word may occur twice in a sentence: each occurrence is an object of its own
        return dataclasses.replace(self._generator.choice(self._lexicon[kind]))

    def _phrase(self, is_place: bool = False) -> NounPhrase:
        preposition = self._draw("preposition") if is_place else None
        return NounPhrase(self._draw("article"), self._draw("noun"), preposition=preposition)

    def _clause(self) -> Clause:
        is_pronoun = self._generator.random() < 0.4
        subject = self._draw("pronoun") if is_pronoun else self._phrase()
        return Clause(subject, self._draw("verb"))

    def _growths(self, clauses: list[Clause], missing: int) -> dict[str, int]:
        """Return the ways in which the last clause can grow by at most `missing` words.

        Each has its weight in the draw.
        """
        clause = clauses[-1]
        has_bare_noun = any(map(_takes_adjective, clause.noun_phrases()))
        ways = {
            "adjective": 4 * has_bare_noun,
            "adverb": clause.adverb is None,
            "particle": clause.particle is None,
            "object": 3 * (clause.object is None and missing >= 2),
            "place": 2 * (len(clause.places) < MAX_PLACES and missing >= 3),
            "clause": clause.object is not None and missing >= 4,
        }
        return {way: int(weight) for way, weight in ways.items() if weight}

    def _grow(self, clauses: list[Clause], way: str) -> None:
        clause = clauses[-1]
        match way:
            case "adjective":
                phrases = [*filter(_takes_adjective, clause.noun_phrases())]
                self._generator.choice(phrases).adjectives.append(self._draw("adjective"))
            case "object":
                clause.object = self._phrase()
            case "place":
                clause.places.append(self._phrase(is_place=True))
            case "clause":
                clauses.append(self._clause())
                clauses[-1].conjunction = self._draw("conjunction")
            case "adverb":
                clause.adverb = self._draw("adverb")
            case "particle":
                clause.particle = self._draw("particle")


def translate(clauses: list[Clause]) -> tuple[str, str, str]:
    """Return the sentence in Norvic and in Soldan, and their links in the Pharaoh format."""
    source = [word for clause in clauses for word in clause.norvic()]
    position = {id(word): i for i, word in enumerate(source)}
    target = [
        (text, position[id(word)])
        for clause in clauses
        for word, noun_class in clause.soldan()
        for text in word.inflected(noun_class)
    ]
    return (
        " ".join(word.norvic for word in source),
        " ".join(text for text, _ in target),
        " ".join(f"{i}-{j}" for j, (_, i) in enumerate(target)),
    )


def generate_rows(documents: int, seed: int) -> Iterator[dict[str, str]]:
    """Yield `documents` pairs of all lengths in equal numbers, then the long ones.

    Of 70 pairs 60 are for training, 3 for validation and 7 for the test, and 2 more are long. No
    sentence of either language occurs twice.
    """
    generator = random.Random(seed)
    grammar = Grammar(make_lexicon(generator), generator)
    sentences: set[str] = set()

    def new_row(name: str, part: str, length: int) -> dict[str, str]:
        while True:
            norvic, soldan, links = translate(grammar.sentence(length))
            if sentences.isdisjoint({norvic, soldan}):
                sentences.update({norvic, soldan})
                return {"id": name, "part": part, NORVIC: norvic, SOLDAN: soldan, LINKS: links}

    tested, validated = max(1, documents // 10), max(1, 3 * documents // 70)
    parts = ["test"] * tested + ["validation"] * validated
    parts += ["train"] * (documents - len(parts))
    generator.shuffle(parts)
    lengths = range(SHORTEST, LONGEST + 1)
    for i, part in enumerate(parts):
        yield new_row(f"pair/{i}", part, lengths[i % len(lengths)])
    for i in range(max(1, 2 * documents // 70)):
        yield new_row(f"long/{i}", LONG, LONG_LENGTHS[i % len(LONG_LENGTHS)])


def make(name: str, source: "Source", folder: Path) -> list[str]:
    """Generate the file of source `name` in `folder`, and return its name.

    Raises:
        HeedError: its hash is not the one in params.yaml.

    """
    assert source.documents and source.seed is not None
    rows = generate_rows(source.documents, source.seed)
    write_text(folder / FILE, "".join(f"{json.dumps(row)}\n" for row in rows))
    verify_generated(folder / FILE, name, source)
    return [FILE]


def read_pairs(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the pairs of a corpus.

    Those of the test part are long ones in a corpus of kind LONG_PAIRS, and those of all parts are
    short ones in a corpus of kind SHORT_PAIRS.
    """
    path = require_file(raw, FILE)
    test = LONG if corpus.kind == LONG_PAIRS else "test"
    parts = {"train": "train", "validation": "validation", test: "test"}
    for number, row in read_published_lines(path):
        is_long = row[NORVIC].count(" ") >= SHORT
        if row["part"] in parts and not (corpus.kind == SHORT_PAIRS and is_long):
            links = read_links(row[LINKS], 0, f"{path}:{number}")
            texts: dict[str, str | bytes] = {NORVIC: row[NORVIC], SOLDAN: row[SOLDAN]}
            split = parts[row["part"]]
            yield Document(row["id"], texts=texts, alignments={LINKS: links}, split=split)


STOP = "."
LENGTHS = 10, 90  # a paragraph takes sentences up to a number of words drawn between these


def read_paragraphs(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the paragraphs of each part of the sample pair; every sentence is in one of them.

    Raises HeedError when the file in `raw` is missing or broken.
    """
    by_part: dict[str, list[Document]] = {}
    for pair in read_pairs(raw, corpus):
        by_part.setdefault(pair.split, []).append(pair)
    for part, pairs in by_part.items():
        generator = random.Random(part)
        generator.shuffle(pairs)
        for number, paragraph in enumerate(_group(pairs, generator)):
            yield join_pairs(f"{part}/{number}", paragraph)


def _group(pairs: list[Document], generator: random.Random) -> Iterator[list[Document]]:
    """Yield the pairs in groups: of as many words of Norvic as are drawn, or of one pair."""
    group: list[Document] = []
    words, limit = 0, generator.randint(*LENGTHS)
    for pair in pairs:
        length = len(_words(pair, NORVIC))
        if group and words + length > limit:
            yield group
            group, words, limit = [], 0, generator.randint(*LENGTHS)
        group.append(pair)
        words += length
    yield group


def join_pairs(name: str, pairs: list[Document]) -> Document:
    """Return the pairs as one document of this name, with the links of their words."""
    source: list[str] = []
    target: list[str] = []
    links = []
    for pair in pairs:
        links += [(len(source) + i, len(target) + j) for i, j in pair.alignments[LINKS].sure]
        source += _words(pair, NORVIC)
        target += _words(pair, SOLDAN)
        links.append((len(source) - 1, len(target) - 1))  # of the full stops
    texts: dict[str, str | bytes] = {NORVIC: " ".join(source), SOLDAN: " ".join(target)}
    return Document(
        name, texts=texts, alignments={LINKS: Links(tuple(links))}, split=pairs[0].split
    )


def _words(pair: Document, language: str) -> list[str]:
    """Return the words of a sentence and its full stop."""
    return [*str(pair.texts[language]).split(), STOP]


SOURCE = SourceKind(
    name="sample-translation",
    make=make,
    required_keys=("documents", "seed"),
    optional_keys=("sha256",),
    size=2e6,
)
KINDS = (
    Kind(
        name=PAIRS,
        source=SOURCE,
        read=read_pairs,
        parallel=True,
        languages=(NORVIC, SOLDAN),
        splits=("given", "random", "folds"),
        generated=True,
        tokens_per_document=33,
    ),
    Kind(
        name=SHORT_PAIRS,
        source=SOURCE,
        read=read_pairs,
        parallel=True,
        languages=(NORVIC, SOLDAN),
        splits=("given", "random", "folds"),
        generated=True,
        joined=(LONGEST + 1 - SHORTEST) / (SHORT + 1 - SHORTEST),
        tokens_per_document=13,
    ),
    Kind(
        name=LONG_PAIRS,
        source=SOURCE,
        read=read_pairs,
        parallel=True,
        languages=(NORVIC, SOLDAN),
        splits=("given",),
        generated=True,
        tokens_per_document=34,
    ),
    Kind(
        name="sample-translation-paragraphs",
        source=SOURCE,
        read=read_paragraphs,
        parallel=True,
        languages=(NORVIC, SOLDAN),
        splits=("given",),
        generated=True,
        joined=2.5,
        tokens_per_document=85,
    ),
)
