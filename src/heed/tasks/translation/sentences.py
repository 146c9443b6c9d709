"""The sentences of one language of a parallel corpus as word ids, for models that count words."""

import dataclasses

import numpy as np

from heed.tokens.arrays import ParallelTokens


@dataclasses.dataclass(frozen=True)
class Sentences:
    """Words by row of the corpus: `rows[i]` has the ids of sentence i, `words[id]` is the word."""

    rows: list[np.ndarray]
    words: list[str]


def read_sentences(tokens: ParallelTokens, language: str, lowercase: bool) -> Sentences:
    """Return the sentences of a language; types that differ only in case may be one word."""
    side = tokens.sides[language]
    lexicon = [word.lower() for word in side.lexicon] if lowercase else side.lexicon
    words = list(dict.fromkeys(lexicon))
    index = {word: i for i, word in enumerate(words)}
    ids = np.asarray([index[word] for word in lexicon], np.int64)[side.ids]
    return Sentences(np.split(ids, side.offsets[1:-1]), words)
