"""heed's tokenising (cleaning and writing apart) against spaCy's bare tokenizer, one core, the same
texts.

IMDB's reviews where HEED_MIRROR has them, else text that heed generates.
"""

import itertools
import os
import time
from pathlib import Path

import numpy as np

from benchmarks.workload import Row, show
from heed.tokens.cleaning import clean
from heed.tokens.tokenizer import CHUNK, _tokenize_chunk, _tokenizer

TEXTS, ROUNDS = 4000, 3


def texts() -> tuple[str, list[str]]:
    mirror = Path(os.environ.get("HEED_MIRROR", "-"), "imdb")
    if mirror.is_dir():
        from heed.corpora.imdb import read_reviews

        return "IMDB", [
            clean(document.text)[0] for document in itertools.islice(read_reviews(mirror), TEXTS)
        ]
    generator = np.random.default_rng(0)
    words = np.asarray(
        [
            f"{chr(97 + i % 26)}{'aeiou'[i % 5] * (i % 3)}{chr(97 + i % 17)}{i % 97}"
            for i in range(30_000)
        ]
    )
    ranks = np.minimum(generator.zipf(1.3, (TEXTS, 230)), len(words)) - 1
    return "generated text", [
        ", ".join(". ".join(words[row].reshape(-1, 10)[:, j]) for j in range(10)) for row in ranks
    ]


def main() -> None:
    name, found = texts()
    bare, ours = [], []
    tokenizer = _tokenizer("en")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        tokens = sum(len(doc) for doc in tokenizer.pipe(found))
        bare.append(tokens / (time.perf_counter() - started))
        started = time.perf_counter()
        for start in range(0, len(found), CHUNK):
            _tokenize_chunk((found[start : start + CHUNK], "en"))
        ours.append(tokens / (time.perf_counter() - started))
    note = f"{name}: {max(ours):,.0f} tokens/s, spaCy alone {max(bare):,.0f}"
    show(
        [
            Row(
                "tokenising against spaCy's bare tokenizer",
                f"{max(ours) / max(bare):.0%}",
                ">= 95%",
                note,
            )
        ]
    )


if __name__ == "__main__":
    main()
