"""heed's tokenising (without cleaning and writing) against spaCy's bare tokenizer, on one core.

The texts are IMDB's reviews where HEED_MIRROR has them, else generated. Each tokenizer reads each
text once, in turns, part after part: both remember pieces of texts that they have seen.
"""

import itertools
import os
import time
from pathlib import Path

import numpy as np
import spacy

from benchmarks.workload import Row, print_rows
from heed.tokens.tokenizer import clean, tokenize_chunk
from heed.tokens.writer import CHUNK_DOCUMENTS

TEXTS, PARTS = 8000, 8


def read_texts() -> tuple[str, list[str]]:
    """Return the name of the corpus and its texts."""
    mirror = Path(os.environ.get("HEED_MIRROR", "-"), "imdb")
    if mirror.is_dir():
        from heed.corpora.published import read_imdb

        return "IMDB", [
            clean(document.text)[0] for document in itertools.islice(read_imdb(mirror), TEXTS)
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
    name, texts = read_texts()
    tokenizer = spacy.blank("en").tokenizer  # as spaCy makes it
    tokenize_chunk(["a"], "en")  # makes heed's
    tokens, seconds = 0, {"spacy": 0.0, "heed": 0.0}
    for part in range(PARTS):
        texts_of_part = texts[part::PARTS]
        for name in ("spacy", "heed") if part % 2 else ("heed", "spacy"):
            started = time.process_time()
            if name == "spacy":
                tokens += sum(len(doc) for doc in tokenizer.pipe(texts_of_part))
            else:
                for start in range(0, len(texts_of_part), CHUNK_DOCUMENTS):
                    tokenize_chunk(texts_of_part[start : start + CHUNK_DOCUMENTS], "en")
            seconds[name] += time.process_time() - started
    ours, bare = tokens / seconds["heed"], tokens / seconds["spacy"]
    note = f"{name}: {ours:,.0f} tokens/s, spaCy alone {bare:,.0f}"
    print_rows(
        [Row("tokenising against spaCy's bare tokenizer", f"{ours / bare:.0%}", ">= 95%", note)]
    )


if __name__ == "__main__":
    main()
