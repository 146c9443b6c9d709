"""heed's tokenising (without cleaning and writing) against spaCy's bare tokenizer, on one core.

The texts are IMDB's reviews, in the folder that HEED_MIRROR names. Each tokenizer reads each text
once, in turns, part after part: both remember pieces of texts that they have seen.
"""

import itertools
import os
import time
from pathlib import Path

import spacy

from benchmarks.workload import Row, print_rows
from heed.corpora.published import read_imdb
from heed.tokens.tokenizer import clean, tokenize_chunk
from heed.tokens.writer import CHUNK_DOCUMENTS

TEXTS, PARTS = 8000, 8


def main() -> None:
    reviews = read_imdb(Path(os.environ["HEED_MIRROR"], "imdb"))
    texts = [clean(each.text)[0] for each in itertools.islice(reviews, TEXTS)]
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
    note = f"{ours:,.0f} tokens/s, spaCy alone {bare:,.0f}"
    print_rows(
        [Row("tokenising against spaCy's bare tokenizer", f"{ours / bare:.0%}", ">= 95%", note)]
    )


if __name__ == "__main__":
    main()
