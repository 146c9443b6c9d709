"""Four generated corpora on which it is known what attention can gain, and what it cannot.

- `sample-place`: three cue words decide, mostly in the middle of a long text: the last state of a
  recurrent network has forgotten them, any pooling over all states keeps them.
- `sample-rank`: of many voices those of the highest rank decide, few among many: an average dilutes
  them, attention selects them.
- `sample-topic`: words of the topic stand all over the text: there is nothing to find.
- `sample-match`: does a key in the text have its lock? Two distant words decide together.
"""

import functools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.publication import Document, Documents, Kind, read_published_lines, require_file
from heed.corpora.sample import CUES, DISTRACTORS, Row, generated_source, spans_of

if TYPE_CHECKING:
    from heed.corpora.declared import Corpus

Words = tuple[list[str], str, list[int]]  # of a text, its label, the positions of its rationale

PLACES = (1, 10, 1)  # how often the cues of `place` are at the beginning, in the middle, at the end
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
    their ends teach the last state of a BiLSTM to carry those of the middle too.
    """
    label = generator.choice(sorted(CUES))
    words = _distractors(generator, 200, 260)
    size = len(words)
    places = (0, EDGE), (9 * size // 20, 11 * size // 20), (size - EDGE - RUN, size - RUN)
    start = generator.randrange(*generator.choices(places, PLACES)[0])
    words[start : start + RUN] = [generator.choice(CUES[label]) for _ in range(RUN)]
    return words, label, list(range(start, start + RUN))


def rank(generator: random.Random) -> Words:
    """Return a text with many voices; all of the highest rank in it say its label.

    Those of lower ranks speak at random, and often most of them say the opposite.
    """
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
    """Return a short text with keys and locks, of which one pair or none fits.

    Each key and each lock alone says nothing about the label.
    """
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
        yield Document(row["id"], row["text"], row["labels"], rationale=rationale)


KINDS = tuple(
    Kind(
        name=name, source=generated_source(name, functools.partial(generate_rows, name), 3e6),
        read=read_generated, labels=(label,), generated=True, rationale="planted",
    )
    for name, (_, label) in DRAWN.items()
)  # fmt: skip
