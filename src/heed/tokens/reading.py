"""Read the documents of a corpus one after the other, or a random sample of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from heed.files import HeedError
from heed.progress import progress_bar
from heed.tokens.splits import draw_sample

if TYPE_CHECKING:
    from heed.study import Corpus

Item = TypeVar("Item")


def read_sample(
    name: str, corpus: "Corpus", raw: Path, read: Callable[["Corpus", Path], Iterator[Item]]
) -> Iterator[Item]:
    """Yield `sample` of the documents, drawn at random, in their order; or all of them.

    For a sample they are read twice, since their number is needed first.

    Args:
        name: of the corpus.
        corpus: its section in params.yaml.
        raw: the folder with its files.
        read: yields all documents.

    Raises:
        HeedError: a file cannot be read.

    """
    try:
        with progress_bar(f"{name}: reading and cleaning") as bar:
            if corpus.sample is None:
                for number, document in enumerate(read(corpus, raw), 1):
                    bar.update(number, text=f"{number:,} documents")
                    yield document
                return
            count = 0
            for count, _ in enumerate(read(corpus, raw), 1):
                bar.update(count, text=f"counting, {count:,} documents")
            is_drawn = np.zeros(count, bool)
            is_drawn[draw_sample(corpus, count)] = True
            for number, document in enumerate(read(corpus, raw)):
                bar.update(number, count)
                if is_drawn[number]:
                    yield document
    except OSError as error:
        raise HeedError(f"{raw}: cannot be read: {error.strerror or error}") from None
