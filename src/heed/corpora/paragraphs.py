"""Paragraphs of the sample pair of languages: several of its sentences in one text.

The sentences of the sample pair are short, so a cap on the length of training pairs, such as the 50
words of lecture 004, leaves none of them out. Here the sentences of each part, in an order drawn
once, are put together to paragraphs of up to 90 words. A full stop ends each sentence; it is a word
of both languages. What is right for a sentence is right for a paragraph: it has one translation,
and its gold alignment is that of its sentences.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.publication import Document, Documents, Kind, Links
from heed.corpora.sample_translation import LINKS, NORVIC, SOLDAN, SOURCE, read_pairs

if TYPE_CHECKING:
    from heed.study import Corpus

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


KINDS = (
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
