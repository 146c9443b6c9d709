"""Generated texts of 71 tokens on average, of two classes, as a table that heed can read."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

CHUNK = 10_000  # texts drawn at a time
TYPES, CUES = 200_000, 200  # words of all texts; of them words of each class
LABELS = ("a", "b")


def write_texts(path: Path, documents: int) -> None:
    """Write a CSV with the columns `text` and `label`; the same number gives the same texts.

    Lengths are log-normal (median 60 words), and types follow Zipf's law. Two words of each text
    belong to a class: in 90% of texts to the text's own.
    """
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for text, label in _draw(documents):
            file.write(f"{text},{label}\n")


def _draw(documents: int) -> Iterator[tuple[str, str]]:
    generator = np.random.default_rng(0)
    words = np.asarray([f"w{i}" for i in range(TYPES)], object)
    for start in range(0, documents, CHUNK):
        size = min(CHUNK, documents - start)
        lengths = np.clip(generator.lognormal(np.log(60), 0.58, size), 5, 600).astype(int)
        ids = np.minimum(generator.zipf(1.2, lengths.sum()), TYPES - 1000) + 500
        labels = generator.integers(0, 2, size)
        cues = np.where(generator.random(size) < 0.9, labels, 1 - labels)
        texts = np.split(ids, np.cumsum(lengths)[:-1])
        for text, label, cue in zip(texts, labels, cues, strict=True):
            places = generator.integers(0, len(text), 2)
            text[places] = cue * CUES + generator.integers(0, CUES, 2)
            yield " ".join(words[text]), LABELS[label]
