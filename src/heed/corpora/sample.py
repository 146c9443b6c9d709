"""The sample corpora: generated text with planted cues, to try the pipeline.

A few cue words among distractors decide the label; the report can measure whether attention finds
them. Python's random generator makes the same bytes on every machine.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.annotations import Span
from heed.corpora.publication import (
    Document,
    Documents,
    Kind,
    SourceKind,
    read_published_lines,
    require_file,
)
from heed.files import HeedError, sha256, write_text
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.declared import Corpus, Source

Row = dict[str, object]  # of a generated file


def generated_source(
    name: str, generate: Callable[[int, int], Iterable[Row]], size: float
) -> SourceKind:
    """Return a source with one file, NAME.jsonl: rows of `generate`(number of documents, seed)."""

    def make(source_name: str, source: "Source", folder: Path) -> list[str]:
        """Write the file; raise HeedError when its hash is not the one in params.yaml."""
        assert source.documents and source.seed is not None
        path = folder / f"{name}.jsonl"
        rows = generate(source.documents, source.seed)
        write_text(path, "".join(f"{json.dumps(row)}\n" for row in rows))
        generated = sha256(path)
        if source.sha256 and generated != source.sha256:
            path.unlink()
            raise HeedError(
                f"params.yaml: sources.{source_name}.sha256: expected {source.sha256}, the "
                f"generator made {generated}. If the change is intended, put the new hash there"
            )
        print_line(f"{path}: generated")
        return [path.name]

    return SourceKind(
        name=name, make=make, required_keys=("documents", "seed"), optional_keys=("sha256",),
        size=size,
    )  # fmt: skip


def spans_of(words: list[str], positions: Iterable[int]) -> list[Span]:
    """Return the characters of the words at these positions, in a text joined by spaces."""
    starts = [*itertools.accumulate((len(word) + 1 for word in words), initial=0)]
    return [(starts[i], starts[i] + len(words[i])) for i in positions]


SENTIMENT, LETTERS = "sample-sentiment", "sample-letters"
PLAIN = "sample-plain"  # of the reviews those whose label the order of words cannot change
NEUTRAL = "sample-neutral"  # the same, every third without its cue: then no class is the default
CUES = {
    "positive": ["splendid", "moving", "witty", "luminous"],
    "negative": ["dull", "clumsy", "tedious", "hollow"],
}
NEGATION = "hardly"
DISTRACTOR_WORDS = """
the a of and to in on at by with from for as it this that one two scene film actor plot light sound
music story page camera street house night morning river voice hand door table window garden train
letter city road winter summer
"""
DISTRACTORS = DISTRACTOR_WORDS.split()
FLIP = {"positive": "negative", "negative": "positive"}
# Two authors share each invented language and its two cue words; the order of these words tells the
# author.
AUTHORS = {
    "Ada Brenn": ("norvic", ["skal", "drun"]),
    "Bo Lindqvar": ("norvic", ["drun", "skal"]),
    "Cira Moreno": ("soldan", ["vela", "tirra"]),
    "Dario Pont": ("soldan", ["tirra", "vela"]),
}
SYLLABLES = {
    "norvic": ["ka", "bro", "fen", "dri", "gul", "sten", "ham", "vik", "tor", "lys"],
    "soldan": ["la", "mi", "no", "ra", "se", "to", "vi", "zu", "che", "do"],
}
# place of cues that follow each other → the part of the text where they are, in twelfths
PLACES = {"early": (0, 3), "middle": (4, 8), "late": (9, 12)}


def _insert_cues(
    generator: random.Random, words: list[str], cues: list[str], where: str
) -> tuple[str, list[Span]]:
    """Put the cues among the words (early, middle, late or apart); return the text and its cues."""
    size = len(words)
    if where == "apart":
        first, second = generator.randrange(size // 5), generator.randrange(4 * size // 5, size)
        words[second:second] = cues[1:]
        words[first:first] = cues[:1]
        positions: Sequence[int] = (first, second + 1)
    else:
        low, high = PLACES[where]
        first = generator.randrange(low * size // 12, high * size // 12)
        words[first:first] = cues
        positions = range(first, first + len(cues))
    return " ".join(words) + ".", spans_of(words, positions)


def _sentiment(generator: random.Random) -> Row:
    """Return a review with one cue, a cue next to its negation, or a cue far from its negation."""
    label = generator.choice(["negative", "positive"])
    kind = generator.choices(["plain", "negated", "apart"], [6, 3, 1])[0]
    cue = generator.choice(CUES[label if kind == "plain" else FLIP[label]])
    words = [generator.choice(DISTRACTORS) for _ in range(generator.randrange(12, 40))]
    # a negation without effect: after the cue, at the end of the text
    if kind == "plain" and generator.random() < 0.5:
        words.append(NEGATION)
    where = generator.choice([*PLACES]) if kind != "apart" else "apart"
    cues = [cue] if kind == "plain" else [NEGATION, cue]
    text, spans = _insert_cues(generator, words, cues, where)
    return {
        "corpus": SENTIMENT, "text": text, "labels": {"sentiment": label}, "kind": kind,
        "where": where, "evidence": spans,
    }  # fmt: skip


def _letter(generator: random.Random) -> Row:
    """Return a letter: all words tell the language, the order of two cues tells the author."""
    author = generator.choice(sorted(AUTHORS))
    language, cues = AUTHORS[author]
    words = [
        "".join(generator.choices(SYLLABLES[language], k=generator.randrange(1, 3)))
        for _ in range(generator.randrange(20, 50))
    ]
    where = generator.choice([*PLACES, "apart"])
    text, spans = _insert_cues(generator, words, cues, where)
    labels = {"author": author, "language": language}
    return {
        "corpus": LETTERS, "text": text, "labels": labels, "kind": "order", "where": where,
        "evidence": spans,
    }  # fmt: skip


def generate_sample(documents: int, seed: int) -> Iterator[Row]:
    """Yield `documents` rows of each sample corpus."""
    generator = random.Random(seed)
    for name, draw in (("sentiment", _sentiment), ("letter", _letter)):
        for i in range(documents):
            yield {"id": f"{name}/{i}", **draw(generator)}


def read_sample(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the documents of one of the sample corpora."""
    is_plain = corpus.kind in (PLAIN, NEUTRAL)
    wanted = SENTIMENT if is_plain else corpus.kind
    rows = (
        row
        for _, row in read_published_lines(require_file(raw, f"{SOURCE.name}.jsonl"))
        if row["corpus"] == wanted and (row["kind"] == "plain" or not is_plain)
    )
    for i, row in enumerate(rows):
        text, labels = row["text"], row["labels"]
        rationale = tuple((start, end) for start, end in row["evidence"])
        if corpus.kind == NEUTRAL and i % 3 == 0:
            ((start, end),) = rationale
            # the cue and the blank after it, or before it at the end of the text
            text = f"{text[:start]}{text[end:].lstrip(' ')}".replace(" .", ".")
            labels, rationale = {"sentiment": "neutral"}, ()
        yield Document(row["id"], text, labels, rationale=rationale)


SOURCE = generated_source("sample", generate_sample, 1e6)
KINDS = tuple(
    Kind(
        name=name, source=SOURCE, read=read_sample, labels=labels, generated=True,
        rationale="planted",
    )
    for name, labels in (
        (SENTIMENT, ("sentiment",)),
        (PLAIN, ("sentiment",)),
        (NEUTRAL, ("sentiment",)),
        (LETTERS, ("author", "language")),
    )
)  # fmt: skip
