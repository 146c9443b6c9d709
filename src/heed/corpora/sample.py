"""The sample corpora: generated text with planted cues, to try the pipeline.

A few cue words among distractors decide the label; the report can measure whether attention finds
them. Python's random generator makes the same bytes on every machine. For four it is known what
attention can gain, and what it cannot:

- `sample-place`: three cue words decide, mostly in the middle of a long text: the last state of a
  recurrent network has forgotten them, any pooling over all states keeps them.
- `sample-rank`: a few voices, of the highest rank, decide among many: an average dilutes
  them, attention selects them.
- `sample-topic`: words of the topic occur throughout the text: there is nothing to find.
- `sample-match`: does a key in the text have its lock? Two distant words decide together.
"""

import functools
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.annotations import Span
from heed.corpora.publication import (
    Documents,
    Kind,
    RawDocument,
    SourceKind,
    read_published_lines,
    require_file,
)
from heed.files import HeedError, sha256, write_text
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.sections import Corpus, Source

Row = dict[str, object]  # of a generated file


def generated_source(
    name: str, generate: Callable[[int, int], Iterable[Row]], size: float
) -> SourceKind:
    """Return a source with one file, NAME.jsonl: rows of `generate`(number of documents, seed)."""

    def make(source_name: str, source: "Source", folder: Path) -> list[str]:
        """Write the file; raise HeedError when its hash is not the one in params.yaml."""
        assert source.documents
        path = folder / f"{name}.jsonl"
        rows = generate(source.documents, 1 if source.seed is None else source.seed)
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
        name=name, make=make, required_keys=("documents",), optional_keys=("seed", "sha256"),
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
    words: list[str] = [generator.choice(DISTRACTORS) for _ in range(generator.randrange(12, 40))]
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
        yield RawDocument(row["id"], text, labels, rationale=rationale)


# --- what attention can gain

Words = tuple[list[str], str, list[int]]  # of a text, its label, the positions of its rationale

PLACE_WEIGHTS = 1, 10, 1  # how often the cues of `place` are at the beginning, middle and end
EDGE = 8  # words that the beginning and the end of a text have
RUN = 3  # cues, one after the other
# The voices of each rank, from the lowest; what they say is behind the dash.
RANKS = (("porter", "clerk", "cook"), ("mayor", "bishop"), ("king",))
VOICES = ((50, 76), (10, 21), (1, 2))  # how many of each rank speak (the second number excluded)
HIGHEST = (2, 4, 4)  # how often each rank is the highest in a text
SAYS = {"positive": "yes", "negative": "no"}
TOPICS = {
    "sea": ["ship", "sail", "wave", "harbour", "anchor", "tide", "gull", "mast", "reef", "coast"],
    "wood": ["oak", "pine", "fern", "moss", "fox", "owl", "deer", "branch", "trunk", "leaf"],
}
OF_TOPIC, OF_OTHER = 0.28, 0.02  # shares of a text's words
PAIRS = "abcdefgh"  # of keys and locks
OF_EACH = 2  # keys in a text, and locks


def _distractors(generator: random.Random, low: int, high: int) -> list[str]:
    return [generator.choice(DISTRACTORS) for _ in range(generator.randint(low, high))]


def place(generator: random.Random) -> Words:
    """Return a long text with a run of cues at its beginning, in its middle or at its end.

    Most are in the middle: where the three places are equally frequent, the texts with cues at
    their ends teach the last state of a BiLSTM to carry words of the middle too.
    """
    label = generator.choice(sorted(CUES))
    words = _distractors(generator, 200, 260)
    size = len(words)
    places = (0, EDGE), (9 * size // 20, 11 * size // 20), (size - EDGE - RUN, size - RUN)
    start = generator.randrange(*generator.choices(places, PLACE_WEIGHTS)[0])
    words[start : start + RUN] = [generator.choice(CUES[label]) for _ in range(RUN)]
    return words, label, list(range(start, start + RUN))


def rank(generator: random.Random) -> Words:
    """Return a text in which all voices of the highest rank say its label, and lower ones vary."""
    label = generator.choice(sorted(SAYS))
    highest = generator.choices(range(len(RANKS)), HIGHEST)[0]
    words = _distractors(generator, 200, 240)
    voices = []
    for level in range(highest + 1):
        share = generator.random()  # of those that say yes; whichever has the majority
        for _ in range(generator.randrange(*VOICES[level])):
            says = "yes" if generator.random() < share else "no"
            says = SAYS[label] if level == highest else says
            voices.append(f"{generator.choice(RANKS[level])}-{says}")
    positions = generator.sample(range(len(words)), len(voices))
    for position, voice in zip(positions, voices, strict=True):
        words[position] = voice
    deciding = [i for i in positions if words[i].split("-")[0] in RANKS[highest]]
    return words, label, sorted(deciding)


def topic(generator: random.Random) -> Words:
    """Return a text that has words of its topic everywhere, and few of the other topic."""
    label, other = generator.sample(sorted(TOPICS), 2)
    words = _distractors(generator, 40, 80)
    rationale = []
    for position in range(len(words)):
        draw = generator.random()
        if draw < OF_TOPIC:
            words[position] = generator.choice(TOPICS[label])
            rationale.append(position)
        elif draw < OF_TOPIC + OF_OTHER:
            words[position] = generator.choice(TOPICS[other])
    return words, label, rationale


def match(generator: random.Random) -> Words:
    """Return a text of keys and locks, of which a pair or none fits; each alone says nothing."""
    label = generator.choice(["fits", "none"])
    words = _distractors(generator, 12, 16)
    drawn = generator.sample(PAIRS, 2 * OF_EACH)
    keys, locks = drawn[:OF_EACH], drawn[OF_EACH:]
    if label == "fits":
        locks[0] = keys[0]
    names = [f"key-{key}" for key in keys] + [f"lock-{lock}" for lock in locks]
    positions = generator.sample(range(len(words)), len(names))
    for position, name in zip(positions, names, strict=True):
        words[position] = name
    return words, label, sorted((positions[0], positions[OF_EACH])) if label == "fits" else []


# kind of source and of corpus → (the function that draws a text, the name of its label)
DRAWN: dict[str, tuple[Callable[[random.Random], Words], str]] = {
    "sample-place": (place, "sentiment"),
    "sample-rank": (rank, "verdict"),
    "sample-topic": (topic, "topic"),
    "sample-match": (match, "pair"),
}


def generate_rows(kind: str, documents: int, seed: int) -> Iterator[Row]:
    """Yield the documents of one kind: `id, text, labels, evidence` (character spans)."""
    draw, label_name = DRAWN[kind]
    generator = random.Random(f"{kind} {seed}")
    for number in range(documents):
        words, label, rationale = draw(generator)
        name, labels = f"{kind.removeprefix('sample-')}/{number}", {label_name: label}
        spans = spans_of(words, rationale)
        yield {"id": name, "text": " ".join(words), "labels": labels, "evidence": spans}


def read_generated(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the documents of a corpus of one of these kinds."""
    for _, row in read_published_lines(require_file(raw, f"{corpus.kind}.jsonl")):
        rationale = tuple((start, end) for start, end in row["evidence"])
        yield RawDocument(row["id"], row["text"], row["labels"], rationale=rationale)


# --- kinds

SOURCE = generated_source("sample", generate_sample, 1e6)
LABELS = {
    SENTIMENT: ("sentiment",), PLAIN: ("sentiment",), NEUTRAL: ("sentiment",),
    LETTERS: ("author", "language"),
}  # fmt: skip
KINDS = tuple(
    Kind(name=name, source=source, read=read, labels=labels, tokenizer=tokenizer, generated=True,
         rationale="planted")
    for name, source, read, labels, tokenizer in (
        *((name, SOURCE, read_sample, labels, "xx") for name, labels in LABELS.items()),
        *(
            (name, generated_source(name, functools.partial(generate_rows, name), 3e6),
             read_generated, (label,), "whitespace")
            for name, (_, label) in DRAWN.items()
        ),
    )
)  # fmt: skip
