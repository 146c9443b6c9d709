"""The sample corpora: generated text with planted evidence, for trying the pipeline.

Never a result about language.

A few cue words at known places decide the label among distractors, so that a report can say whether
attention finds them. Both corpora are made by python's own generator from a seed: the same bytes
everywhere.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.letters import json_lines
from heed.corpora.publication import Document, Documents, Kind, SourceKind, need
from heed.files import HeedError, sha256, write_text

if TYPE_CHECKING:
    from heed.study import Source

FILE = "sample.jsonl"
Row = dict[str, Any]  # of the generated file
SENTIMENT, LETTERS = "sample-sentiment", "sample-letters"
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
# Two authors share each invented language; the author shows in an order of two cue words that both
# use.
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


def _place(
    generator: random.Random, words: list[str], cues: list[str], where: str
) -> tuple[str, list[tuple[int, int]]]:
    """Put the cues into the words (early, middle, late, or far apart) and return the text and the
    cues' characters.
    """
    size = len(words)
    if where == "apart":
        at = [generator.randrange(0, size // 5), generator.randrange(4 * size // 5, size)]
    else:
        low, high = {
            "early": (0, size // 4),
            "middle": (size // 3, 2 * size // 3),
            "late": (3 * size // 4, size),
        }[where]
        at = [generator.randrange(low, high)] * len(cues)
    marked = [(word, False) for word in words]
    for position, cue in sorted(zip(at, cues, strict=False), key=lambda item: -item[0]):
        marked.insert(position, (cue, True))
    if where != "apart":  # inserted one after the other at one place: put them in reading order
        start = at[0]
        marked[start : start + len(cues)] = [(cue, True) for cue in cues]
    text, spans = "", []
    for word, is_cue in marked:
        text += " " if text else ""
        if is_cue:
            spans.append((len(text), len(text) + len(word)))
        text += word
    return text + ".", spans


def _sentiment(generator: random.Random) -> Row:
    """Return a review: one cue, a negated cue next to its negation, or a negation far from
    its cue.
    """
    label = generator.choice(["negative", "positive"])
    kind = generator.choices(["plain", "negated", "apart"], [6, 3, 1])[0]
    cue = generator.choice(CUES[label if kind == "plain" else FLIP[label]])
    words = [generator.choice(DISTRACTORS) for _ in range(generator.randrange(12, 40))]
    if (
        kind == "plain" and generator.random() < 0.5
    ):  # a negation that negates nothing: it stands after the cue, at the end
        words.append(NEGATION)
    where = generator.choice(["early", "middle", "late"]) if kind != "apart" else "apart"
    text, spans = _place(generator, words, [cue] if kind == "plain" else [NEGATION, cue], where)
    return {
        "corpus": SENTIMENT,
        "text": text,
        "labels": {"sentiment": label},
        "kind": kind,
        "where": where,
        "evidence": spans,
    }


def _letter(generator: random.Random) -> Row:
    """Return a letter: the language shows everywhere, the author in the order of two cues that
    stand apart or together.
    """
    author = generator.choice(sorted(AUTHORS))
    language, cues = AUTHORS[author]
    syllables = SYLLABLES[language].split()
    words = [
        "".join(generator.choices(syllables, k=generator.randrange(1, 3)))
        for _ in range(generator.randrange(20, 50))
    ]
    where = generator.choice(["early", "middle", "late", "apart"])
    text, spans = _place(generator, words, list(cues), where)
    labels = {"author": author, "language": language}
    return {
        "corpus": LETTERS,
        "text": text,
        "labels": labels,
        "kind": "order",
        "where": where,
        "evidence": spans,
    }


def generate(documents: int, seed: int) -> Iterator[Row]:
    """Yield `documents` rows of each sample corpus."""
    generator = random.Random(seed)
    for i in range(documents):
        yield {"id": f"sentiment/{i}", **_sentiment(generator)}
    for i in range(documents):
        yield {"id": f"letter/{i}", **_letter(generator)}


def write(path: Path, documents: int, seed: int) -> None:
    """Write both corpora as JSON lines."""
    write_text(path, "".join(f"{json.dumps(row)}\n" for row in generate(documents, seed)))


def make(name: str, source: "Source", into: Path) -> str:
    """Generate the file of source `name` in folder `into`, and return what it is called.

    Raises:
        HeedError: it is not the one whose hash params.yaml has.

    """
    assert source.documents and source.seed is not None
    path = into / FILE
    write(path, source.documents, source.seed)
    generated = sha256(path)
    if source.sha256 and generated != source.sha256:
        path.unlink()
        raise HeedError(
            f"params.yaml: sources.{name}.sha256: expected {source.sha256}, the generator made "
            f"{generated}. "
            "Put the new hash there if the change is meant"
        )
    print(f"{path}: generated")
    return FILE


def read(raw: Path, corpus: str) -> Documents:
    """Yield the documents of one of the two corpora."""
    for _, row in json_lines(need(raw, FILE)):
        if row["corpus"] == corpus:
            yield Document(
                row["id"],
                row["text"],
                row["labels"],
                evidence=tuple((s, e) for s, e in row["evidence"]),
            )


SOURCE = SourceKind(
    name="sample", make=make, needs=("documents", "seed"), takes=("sha256",), size=1e6
)
KINDS = (
    Kind(
        name=SENTIMENT,
        source=SOURCE,
        read=lambda raw, corpus: read(raw, corpus.kind),
        labels=("sentiment",),
        generated=True,
        tokens=40,
    ),
    Kind(
        name=LETTERS,
        source=SOURCE,
        read=lambda raw, corpus: read(raw, corpus.kind),
        labels=("author", "language"),
        generated=True,
        tokens=40,
    ),
)
