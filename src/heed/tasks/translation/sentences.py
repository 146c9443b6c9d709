"""The sentences of one language of a parallel corpus as words, for models that count words."""

import dataclasses

import numpy as np

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


@dataclasses.dataclass(frozen=True)
class Detokenizer:
    """Joins words to a text.

    A blank stands between two words, unless the second more often than not had none before it in
    the texts of the training part, or the first none after it: most marks have none before them.
    """

    without_before: frozenset[int]
    without_after: frozenset[int]

    @classmethod
    def learn(cls, sentences: Sentences, side: Side, rows: np.ndarray) -> "Detokenizer":
        """Count how the words of these rows were joined; `sentences` are those of `side`."""
        joined, counted = np.zeros((2, 2, len(sentences.words)), np.int64)
        for row in rows:
            words = sentences.rows[row]
            start, end = side.offsets[row], side.offsets[row + 1]
            is_joined = side.starts[start + 1 : end] == side.ends[start : end - 1]
            for number, ids in enumerate((words[1:], words[:-1])):
                np.add.at(counted[number], ids, 1)
                np.add.at(joined[number], ids[is_joined], 1)
        before, after = (frozenset(np.flatnonzero(each).tolist()) for each in joined * 2 > counted)
        return cls(before, after)

    def join(self, ids: list[int], words: list[str]) -> str:
        """Return the text of words, given by id and as text; an id below 0 is unknown."""
        text = ""
        for i, (id_, word) in enumerate(zip(ids, words, strict=True)):
            if i and id_ not in self.without_before and ids[i - 1] not in self.without_after:
                text += " "
            text += word
        return text
