"""The sentences of one language of a parallel corpus as words, for models that count words."""

import dataclasses

import numpy as np

from heed.inputs.segmentation import Spacing, learn_spacing
from heed.tokens.arrays import ParallelTokens, Side


@dataclasses.dataclass(frozen=True)
class Sentences:
    """The words of a corpus's sentences in one language.

    rows: word ids of each sentence
    words: word by id
    """

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


def learn_sentence_spacing(sentences: Sentences, side: Side, rows: np.ndarray) -> Spacing:
    """Return the spaces between the words of these rows; one word more stands for unknown ones."""
    index = np.zeros(len(side.lexicon), np.int64)
    index[side.ids] = np.concatenate(sentences.rows)
    return learn_spacing(side, rows, index, (*sentences.words, "unknown"))


def join_words(ids: list[int], words: list[str], spacing: Spacing, unknown: int) -> str:
    """Return the text of words, given by id and as text; ids below 0 are the word `unknown`."""
    known = np.asarray([id_ if id_ >= 0 else unknown for id_ in ids], np.int64)
    gaps = ["" if joined else " " for joined in spacing.joined(known)]
    return "".join(map("".join, zip(words, [*gaps, ""], strict=False)))


def separated_words(side: Side, row: int) -> np.ndarray:
    """Return the index of the word, as white space separates them, of each token, (tokens,)."""
    start, end = side.offsets[row], side.offsets[row + 1]
    is_first = side.starts[start + 1 : end] > side.ends[start : end - 1]
    return np.concatenate([[0], np.cumsum(is_first)])[: end - start].astype(np.int64)
