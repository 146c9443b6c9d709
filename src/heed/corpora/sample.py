"""The sample corpora: generated text with planted evidence, to try the pipeline.

Scores on them say nothing about language. A few cue words among distractors decide the label. Their
positions are known, so the report can measure whether attention finds them. All come from Python's
random generator with a fixed seed: the same bytes on every machine.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from heed.corpora.declared import Source

FILE = "sample.jsonl"
Row = dict[str, Any]  # of the generated file
SENTIMENT, LETTERS = "sample-sentiment", "sample-letters"
PLAIN = "sample-plain"  # of the reviews those whose label the order of words cannot change
NEUTRAL = "sample-neutral"  # the same, every third without its cue: then no class is the default
CUES = {
    "positive": ["splendid", "moving", "witty", "luminous"],
    "negative": ["dull", "clumsy", "tedious", "hollow"],
}
NEGATION = "hardly"
DISTRACTORS = [
    "the",
    "a",
    "of",
    "and",
    "to",
    "in",
    "on",
    "at",
    "by",
    "with",
    "from",
    "for",
    "as",
    "it",
    "this",
    "that",
    "one",
    "two",
    "scene",
    "film",
    "actor",
    "plot",
    "light",
    "sound",
    "music",
    "story",
    "page",
    "camera",
    "street",
    "house",
    "night",
    "morning",
    "river",
    "voice",
    "hand",
    "door",
    "table",
    "window",
    "garden",
    "train",
    "letter",
    "city",
    "road",
    "winter",
    "summer",
]
FLIP = {"positive": "negative", "negative": "positive"}
# Two authors share each invented language and its two cue words; the order of these words tells the
# author.
AUTHORS = {
    "Ada Brenn": ("norvic", ("skal", "drun")),
    "Bo Lindqvar": ("norvic", ("drun", "skal")),
    "Cira Moreno": ("soldan", ("vela", "tirra")),
    "Dario Pont": ("soldan", ("tirra", "vela")),
}
SYLLABLES = {
    "norvic": "ka bro fen dri gul sten ham vik tor lys",
    "soldan": "la mi no ra se to vi zu che do",
}


def _insert_cues(
    generator: random.Random, words: list[str], cues: list[str], where: str
) -> tuple[str, list[tuple[int, int]]]:
    """Insert the cues into the words (early, middle, late or apart).

    Return the text and the character span of each cue.
    """
    size = len(words)
    if where == "apart":
        positions = [generator.randrange(0, size // 5), generator.randrange(4 * size // 5, size)]
    else:
        low, high = {
            "early": (0, size // 4),
            "middle": (size // 3, 2 * size // 3),
            "late": (3 * size // 4, size),
        }[where]
        positions = [generator.randrange(low, high)] * len(cues)
    marked = [(word, False) for word in words]
    for position, cue in sorted(zip(positions, cues, strict=False), key=lambda item: -item[0]):
        marked.insert(position, (cue, True))
    if where != "apart":  # all were inserted at one position: put them in reading order
        start = positions[0]
        marked[start : start + len(cues)] = [(cue, True) for cue in cues]
    text, spans = "", []
    for word, is_cue in marked:
        text += " " if text else ""
        if is_cue:
            spans.append((len(text), len(text) + len(word)))
        text += word
    return text + ".", spans


def _sentiment(generator: random.Random) -> Row:
    """Return a review with one cue, a cue next to its negation, or a cue far from its negation."""
    label = generator.choice(["negative", "positive"])
    kind = generator.choices(["plain", "negated", "apart"], [6, 3, 1])[0]
    cue = generator.choice(CUES[label if kind == "plain" else FLIP[label]])
    words = [generator.choice(DISTRACTORS) for _ in range(generator.randrange(12, 40))]
    # a negation without effect: after the cue, at the end of the text
    if kind == "plain" and generator.random() < 0.5:
        words.append(NEGATION)
    where = generator.choice(["early", "middle", "late"]) if kind != "apart" else "apart"
    text, spans = _insert_cues(
        generator, words, [cue] if kind == "plain" else [NEGATION, cue], where
    )
    return {
        "corpus": SENTIMENT,
        "text": text,
        "labels": {"sentiment": label},
        "kind": kind,
        "where": where,
        "evidence": spans,
    }


def _letter(generator: random.Random) -> Row:
    """Return a letter: all words tell the language, the order of two cues tells the author."""
    author = generator.choice(sorted(AUTHORS))
    language, cues = AUTHORS[author]
    syllables = SYLLABLES[language].split()
    words = [
        "".join(generator.choices(syllables, k=generator.randrange(1, 3)))
        for _ in range(generator.randrange(20, 50))
    ]
    where = generator.choice(["early", "middle", "late", "apart"])
    text, spans = _insert_cues(generator, words, list(cues), where)
    labels = {"author": author, "language": language}
    return {
        "corpus": LETTERS,
        "text": text,
        "labels": labels,
        "kind": "order",
        "where": where,
        "evidence": spans,
    }


def generate_rows(documents: int, seed: int) -> Iterator[Row]:
    """Yield `documents` rows of each sample corpus."""
    generator = random.Random(seed)
    for i in range(documents):
        yield {"id": f"sentiment/{i}", **_sentiment(generator)}
    for i in range(documents):
        yield {"id": f"letter/{i}", **_letter(generator)}


def write_sample(path: Path, documents: int, seed: int) -> None:
    """Write both corpora as JSON lines."""
    write_text(path, "".join(f"{json.dumps(row)}\n" for row in generate_rows(documents, seed)))


def make(name: str, source: "Source", folder: Path) -> list[str]:
    """Generate the file of source `name` in `folder`, and return its name.

    Raises:
        HeedError: its hash is not the one in params.yaml.

    """
    assert source.documents and source.seed is not None
    path = folder / FILE
    write_sample(path, source.documents, source.seed)
    verify_generated(path, name, source)
    return [FILE]


def verify_generated(path: Path, name: str, source: "Source") -> None:
    """Remove the generated file of source `name` unless its hash is the one in params.yaml.

    Raises:
        HeedError: it is not.

    """
    generated = sha256(path)
    if source.sha256 and generated != source.sha256:
        path.unlink()
        raise HeedError(
            f"params.yaml: sources.{name}.sha256: expected {source.sha256}, the generator made "
            f"{generated}. "
            "If the change is intended, put the new hash there"
        )
    print_line(f"{path}: generated")


def read_sample(raw: Path, corpus: str) -> Documents:
    """Yield the documents of one of the corpora."""
    is_plain = corpus in (PLAIN, NEUTRAL)
    wanted = SENTIMENT if is_plain else corpus
    rows = (
        row for _, row in read_published_lines(require_file(raw, FILE)) if row["corpus"] == wanted
    )
    chosen = (row for row in rows if not is_plain or row["kind"] == "plain")
    for i, row in enumerate(chosen):
        text, labels = row["text"], row["labels"]
        evidence = tuple((start, end) for start, end in row["evidence"])
        if corpus == NEUTRAL and i % 3 == 0:
            ((start, end),) = evidence
            # the cue and the blank after it, or before it at the end of the text
            text = f"{text[:start]}{text[end:].lstrip(' ')}".replace(" .", ".")
            labels, evidence = {"sentiment": "neutral"}, ()
        yield Document(row["id"], text, labels, evidence=evidence)


SOURCE = SourceKind(
    name="sample",
    make=make,
    required_keys=("documents", "seed"),
    optional_keys=("sha256",),
    size=1e6,
)


def _kind(name: str, *labels: str, joined: float = 1) -> Kind:
    """Return the kind of one of the corpora."""
    return Kind(
        name=name,
        source=SOURCE,
        read=lambda raw, corpus: read_sample(raw, corpus.kind),
        labels=labels,
        generated=True,
        evidence="planted",
        joined=joined,
        tokens_per_document=40,
    )


KINDS = (
    _kind(SENTIMENT, "sentiment"),
    _kind(PLAIN, "sentiment", joined=1 / 0.6),
    _kind(NEUTRAL, "sentiment", joined=1 / 0.6),
    _kind(LETTERS, "author", "language"),
)
