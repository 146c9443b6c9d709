"""Turn texts into arrays of tokens with spaCy's tokenizers, in several processes."""

import contextlib
import dataclasses
import functools
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.files import HeedError, write_text
from heed.progress import progress_bar

# documents per task: enough to hide the transfer between processes, few enough to balance the load
CHUNK = 500
MAX_CHUNK_CHARACTERS = 2_000_000

# A tokenised chunk: lexicon, ids in that lexicon, starts and ends of tokens, tokens per document,
# starts of sentences, sentences per document.
Chunk = tuple[list[str], np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@functools.cache
def blank_tokenizer(name: str) -> Any:
    """Return the tokenizer of a blank spaCy pipeline, which needs no download."""
    import spacy
    from spacy.tokens import Doc

    pipeline = spacy.blank("xx" if name == "whitespace" else name)
    if name == "whitespace":
        return _WhitespaceTokenizer(
            pipeline.vocab, lambda text: Doc(pipeline.vocab, *_split_at_white_space(text))
        )
    return pipeline.tokenizer


class _WhitespaceTokenizer:
    """Splits at white space only; called like spaCy's tokenizers."""

    def __init__(self, vocab: Any, split: Callable[[str], Any]) -> None:
        self.vocab, self._split = vocab, split

    def __call__(self, text: str) -> Any:
        return self._split(text)


@functools.cache
def _sentence_ends(name: str) -> np.ndarray:
    """Return the string ids of characters that end a sentence: spaCy's list, of 100 scripts."""
    from spacy.pipeline import Sentencizer

    strings = blank_tokenizer(name).vocab.strings
    return np.asarray(
        [strings.add(character) for character in Sentencizer.default_punct_chars], np.uint64
    )


def sentence_starts(enders: np.ndarray, punctuation: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return which tokens begin a sentence by the rule of spaCy's Sentencizer: (tokens,).

    All documents at once, since the Sentencizer itself took 30% of the time. A token begins a
    sentence when it is a word and a sentence end lies between it and the word before it.

    Args:
        enders: whether a token is a character that ends a sentence, (tokens,)
        punctuation: whether spaCy calls a token punctuation, (tokens,)
        first: the first token of each document, (documents,)

    """
    starts = np.zeros(len(enders), bool)
    ends_so_far = np.cumsum(enders)
    words = np.flatnonzero(~enders & ~punctuation)
    starts[words[1:]] = np.diff(ends_so_far[words]) > 0
    document = np.zeros(len(enders), np.int64)
    document[first] = 1
    document = np.cumsum(document)
    if len(words):
        # the first word of a document has no word before it: sentence ends count from the start of
        # the document
        leads = words[np.flatnonzero(np.diff(document[words], prepend=-1))]
        begin = first[document[leads] - 1]
        starts[leads] = ends_so_far[leads] > ends_so_far[begin] - enders[begin]
    starts[first] = True
    return starts


def _split_at_white_space(text: str) -> tuple[list[str], list[bool]]:
    """Return the words and spaces of a spaCy Doc, which joined give `text`.

    White space other than a single blank is a word.
    """
    words: list[str] = []
    spaces: list[bool] = []
    for segment in _segments(text):
        if segment == " " and words and not spaces[-1]:
            spaces[-1] = True
        else:
            words.append(segment)
            spaces.append(False)
    return words, spaces


def _segments(text: str) -> Iterator[str]:
    """Yield the words of a text, and every white-space character between them."""
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or text[i].isspace() or text[i - 1].isspace():
            yield text[start:i]
            start = i


def tokenize_chunk(task: tuple[list[str], str]) -> Chunk:
    """Tokenise the cleaned texts of a task (texts, name of the tokenizer)."""
    from spacy.attrs import IDX, IS_PUNCT, IS_SPACE, LENGTH, ORTH

    texts, name = task
    tokenizer = blank_tokenizer(name)
    tables = [
        tokenizer(text).to_array([ORTH, IDX, LENGTH, IS_SPACE, IS_PUNCT]).reshape(-1, 5)
        for text in texts
    ]
    flat = np.concatenate(tables)
    document = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    first = np.flatnonzero(np.diff(document, prepend=-1))
    enders = np.isin(flat[:, 0], _sentence_ends(name))
    # before white space is removed, as in spaCy
    sentence = np.cumsum(sentence_starts(enders, flat[:, 4] == 1, first))
    is_token = flat[:, 3] == 0
    flat, document, sentence = flat[is_token], document[is_token], sentence[is_token]
    counts = np.bincount(document, minlength=len(texts))
    begins = np.flatnonzero(np.diff(sentence, prepend=-1))
    offsets = np.cumsum(counts) - counts
    sentences = begins - offsets[document[begins]]
    sentence_counts = np.bincount(document[begins], minlength=len(texts))
    ids, orths = pd.factorize(flat[:, 0])  # in order of first occurrence
    strings = tokenizer.vocab.strings
    lexicon = [strings[orth] for orth in orths.tolist()]
    begin = flat[:, 1].astype(np.int32)
    end = (flat[:, 1] + flat[:, 2]).astype(np.int32)
    return (
        lexicon, ids.astype(np.int32), begin, end, counts, sentences.astype(np.int32),
        sentence_counts,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class TokenizedTexts:
    """The tokens of some texts, one text after the other."""

    lexicon: list[str]
    ids: np.ndarray  # index of each token in `lexicon`, (tokens,)
    starts: np.ndarray  # first character of each token in its text, (tokens,)
    ends: np.ndarray  # the character after each token, (tokens,)
    offsets: np.ndarray  # first token of each text, (texts + 1,)
    sentences: np.ndarray  # first token of each sentence, counted within its text
    sentence_offsets: np.ndarray  # first sentence of each text, (texts + 1,)

    def write(self, folder: Path, with_sentences: bool = True) -> None:
        """Write the arrays and the lexicon (docs/contracts.md)."""
        names = ["ids", "starts", "ends", "offsets"]
        names += ["sentences", "sentence_offsets"] if with_sentences else []
        for name in names:
            np.save(folder / f"{name}.npy", getattr(self, name))
        write_text(folder / "lexicon.txt", "".join(f"{word}\n" for word in self.lexicon))


def tokenize_texts(
    texts: list[str], tokenizer: str, processes: int = 1, title: str = ""
) -> TokenizedTexts:
    """Return the tokens of cleaned texts; the same for any number of processes.

    Args:
        texts: the texts.
        tokenizer: one of TOKENIZERS.
        processes: how many work at the same time.
        title: of the progress bar; empty for none.

    """
    tasks = [(chunk, tokenizer) for chunk in _chunks(texts)]
    lexicon: dict[str, int] = {}
    chunks: list[list[np.ndarray]] = [[] for _ in range(6)]  # for each array
    with progress_bar(title) if title else contextlib.nullcontext() as bar:
        results = _tokenize_chunks(tasks, processes)
        for completed, (chunk_lexicon, chunk_ids, *others) in enumerate(results, 1):
            index = np.asarray(
                [lexicon.setdefault(word, len(lexicon)) for word in chunk_lexicon], np.int32
            )
            ids = index[chunk_ids] if len(chunk_ids) else chunk_ids
            for arrays, array in zip(chunks, [ids, *others], strict=True):
                arrays.append(array)
            if bar:
                bar.update(completed, len(tasks))
    ids, starts, ends, counts, sentences, sentence_counts = map(np.concatenate, chunks)
    return TokenizedTexts(
        list(lexicon), ids, starts, ends, _offsets(counts), sentences, _offsets(sentence_counts)
    )


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of CHUNK, or fewer where they are long."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if len(chunk) == CHUNK or size > MAX_CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _tokenize_chunks(tasks: list[tuple[list[str], str]], processes: int) -> Iterator[Chunk]:
    """Yield the tokenised chunks in the order of the tasks.

    Raises HeedError when a process was killed.
    """
    if min(processes, len(tasks)) < 2:
        yield from map(tokenize_chunk, tasks)
        return
    # Not multiprocessing.Pool: it waits for ever for the result of a process that was killed.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(processes, len(tasks)), context, initializer=_end_with_parent
    ) as pool:
        try:
            yield from pool.map(tokenize_chunk, tasks)
        except BrokenProcessPool:
            raise HeedError(
                "a process that tokenised was killed; the system does that when memory runs out. "
                "Run the same command again, with fewer processes (HEED_THREADS=1) if it was memory"
            ) from None


def _end_with_parent() -> None:
    """End this process when the one that started it is killed: it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_with_parent() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()
