"""The word vectors of a vocabulary, from those of the corpus's types."""

import numpy as np

from heed.inputs.special import UNKNOWN
from heed.inputs.vocabulary import Vocabulary
from heed.tokens.arrays import Tokens


def vocabulary_vectors(tokens: Tokens, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of a vocabulary that have a vector, and their vectors.

    An entry that stands for several types has the vector of the type that is the entry itself, or
    else of the first type in the lexicon that has any.

    Returns:
        entries: indices, sorted, (entries,)
        vectors: float32 (entries, size)

    """
    vectors = tokens.vectors()
    index = vocabulary.encode(tokens.lexicon)
    types = np.flatnonzero(vectors.any(1) & (index != UNKNOWN))
    words = [vocabulary.words[i] for i in index[types]]
    differs = [tokens.lexicon[i] != word for i, word in zip(types, words, strict=True)]
    types = types[np.argsort(differs, kind="stable")]
    entries, first = np.unique(index[types], return_index=True)
    return entries, vectors[types[first]]
