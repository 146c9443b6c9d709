"""Tokenise documents with spaCy, and write the token arrays (docs/contracts.md)."""

import dataclasses
import functools
import json
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heed.corpora.kinds import KINDS, read_documents
from heed.corpora.publication import Document
from heed.files import (
    HeedError,
    digest_folder,
    verify_checksums,
    write_json,
    write_text,
    writing_folder,
)
from heed.progress import progress_bar
from heed.terminal import print_line
from heed.tokens.arrays import Tokens
from heed.tokens.cleaning import TREATMENTS, clean
from heed.tokens.meta import Meta, NearDuplicates
from heed.tokens.near_duplicates import count_near_duplicates
from heed.tokens.splits import PARTS, require_learnable, split_documents

if TYPE_CHECKING:
    from heed.study import Corpus

# documents per task: enough to hide the transfer between processes, few enough to balance the load
CHUNK = 500
MAX_CHUNK_CHARACTERS = 2_000_000

# A tokenised chunk: lexicon, ids in that lexicon, starts and ends of tokens, tokens per document,
# starts of sentences, sentences per document.
Chunk = tuple[list[str], np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@functools.cache
def _tokenizer(name: str) -> Any:
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

    strings = _tokenizer(name).vocab.strings
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


def tokenize_text(text: str, tokenizer: str) -> tuple[str, Tokens]:
    """Return the cleaned text, and its tokens as a corpus of one document."""
    cleaned, _ = clean(text)
    lexicon, ids, _, _, counts, sentences, sentence_counts = _tokenize_chunk(([cleaned], tokenizer))
    offsets, sentence_offsets = (
        np.asarray([0, int(count[0])], np.int64) for count in (counts, sentence_counts)
    )
    meta = Meta(
        digest="", corpus="", kind="", tokenizer=tokenizer, folds=0, labels={}, documents=1,
        tokens=len(ids), types=len(lexicon), parts={}, reduced=False, generated=False,
        duplicates={}, near_duplicates=NearDuplicates([0], complete=True), treated={},
    )  # fmt: skip
    return cleaned, Tokens(Path(), meta, ids, offsets, lexicon, sentences, sentence_offsets)


def _tokenize_chunk(task: tuple[list[str], str]) -> Chunk:
    """Tokenise the cleaned texts of a task (texts, name of the tokenizer)."""
    from spacy.attrs import IDX, IS_PUNCT, IS_SPACE, LENGTH, ORTH

    texts, name = task
    tokenizer = _tokenizer(name)
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


def tokenize(name: str, corpus: "Corpus", raw: Path, folder: Path, processes: int) -> None:
    """Write data/tokens/NAME (docs/contracts.md); the same bytes for any number of processes.

    Raises:
        HeedError: a raw file is missing or broken, the corpus is empty or has nothing to learn, the
            split cannot be drawn.

    """
    verify_checksums(raw, f"heed download {raw.name}")
    documents, treated = _read_clean_documents(corpus, raw)
    if not documents:
        raise HeedError(f"{raw}: corpus {name} has no documents")
    if not any(str(document.text).strip() for document in documents):
        raise HeedError(f"{raw}: no document of corpus {name} has text")
    labels = {
        key: sorted({document.labels[key] for document in documents}) for key in documents[0].labels
    }
    try:
        documents, columns, duplicates = _split_documents(corpus, documents)
    except HeedError as error:
        raise HeedError(f"corpus {name}: {error}") from None
    first_column = next(iter(columns.values()))
    with writing_folder(folder, checksums=True) as out:
        texts = [str(document.text) for document in documents]
        lexicon, ids, offsets = _write_arrays(out, texts, corpus.tokenizer, processes, name)
        _write_documents(out, documents, columns)
        meta = Meta(
            digest=digest_folder(out),
            corpus=name,
            kind=corpus.kind,
            tokenizer=corpus.tokenizer,
            folds=corpus.split.k or 0,
            labels=labels,
            documents=len(documents),
            tokens=len(ids),
            types=len(lexicon),
            parts={part: int((first_column == part).sum()) for part in PARTS},
            reduced=corpus.sample is not None,
            generated=KINDS[corpus.kind].generated,
            duplicates=duplicates,
            near_duplicates=count_near_duplicates(ids, offsets, lexicon, columns),
            treated={key: treated[key] for key in TREATMENTS},
        )
        write_json(out / "meta.json", dataclasses.asdict(meta))
    print_line(_format_summary(meta))


def _write_documents(out: Path, documents: list[Document], columns: dict[str, np.ndarray]) -> None:
    """Write documents.parquet, with the split `columns`, and evidence.parquet."""
    frame = pd.DataFrame(
        {
            "id": [document.id for document in documents],
            "text": [str(document.text) for document in documents],
            "group": [document.group for document in documents],
        }
    )
    for key in documents[0].labels:
        frame[f"label_{key}"] = [document.labels[key] for document in documents]
    frame.assign(**columns).to_parquet(out / "documents.parquet", index=False)
    spans = [
        (row, start, end)
        for row, document in enumerate(documents)
        for start, end in document.evidence
    ]
    evidence = pd.DataFrame(spans, columns=["document", "start", "end"], dtype=np.int64)
    evidence.to_parquet(out / "evidence.parquet", index=False)


def _format_summary(meta: Meta) -> str:
    """Return the sizes of a tokenised corpus, and a warning of duplicates across its parts."""
    summary = (
        f"{meta.corpus}: {meta.documents:,} documents, {meta.tokens:,} tokens, {meta.types:,} "
        f"types; {json.dumps(meta.parts)}"
    )
    if count := meta.duplicates["test_texts_in_train"]:
        summary += (
            f"\n{meta.corpus}: {count:,} test texts are in the training part too "
            "(drop_duplicates: true removes them there)"
        )
    return f"{summary}\n{meta.corpus}: {_format_near_duplicates(meta)}"


def _format_near_duplicates(meta: Meta) -> str:
    """Return how many test documents have a near duplicate in train."""
    count, tested = meta.near_duplicates.total, meta.tested
    by_fold = ", ".join(map(str, meta.near_duplicates.test))
    return (
        ("" if meta.near_duplicates.complete else "at least ")
        + f"{count:,} of {tested:,} test documents ({count / tested:.1%}) have a near duplicate in "
        + "the training part (docs/corpora.md)"
        + (f"; by fold: {by_fold}" if meta.folds else "")
    )


def _read_clean_documents(corpus: "Corpus", raw: Path) -> tuple[list[Document], Counter[str]]:
    """Return the documents with cleaned text, or a sample of them, and the counts of treatments."""
    treated: Counter[str] = Counter()
    documents = list(read_documents(corpus, raw))
    if corpus.sample is not None and corpus.sample < len(documents):
        generator = np.random.default_rng(corpus.split.seed)
        documents = [
            documents[i] for i in np.sort(generator.permutation(len(documents))[: corpus.sample])
        ]
    cleaned = []
    for document in documents:
        text, counts = clean(document.text, corpus.max_characters)
        if document.evidence and counts - Counter(empty=1):
            raise HeedError(
                f"{raw}: document {document.id}: planted evidence in a text that is not clean"
            )
        treated += counts
        cleaned.append(dataclasses.replace(document, text=text))
    return cleaned, treated


def _split_documents(
    corpus: "Corpus", documents: list[Document]
) -> tuple[list[Document], dict[str, np.ndarray], dict[str, int]]:
    """Return the documents to keep, their split columns, and the counts of exact duplicates."""
    columns = split_documents(corpus.split, documents)
    texts = pd.Series([str(document.text) for document in documents])
    shared, dropped = 0, np.zeros(len(texts), bool)
    for column in columns.values():
        held_out = texts[column != "train"]
        in_train = (column == "train") & texts.isin(held_out).to_numpy()
        shared = max(shared, int((texts[column == "test"].isin(texts[column == "train"])).sum()))
        if corpus.drop_duplicates and corpus.split.kind != "folds":
            dropped |= in_train
    # with folds every document is in a test part: keep the first of equal documents
    if corpus.drop_duplicates and corpus.split.kind == "folds":
        dropped = texts.duplicated().to_numpy()
    duplicates = {
        "texts": int(texts.duplicated().sum()),
        "test_texts_in_train": shared,
        "dropped": int(dropped.sum()),
    }
    documents = [document for document, drop in zip(documents, dropped, strict=True) if not drop]
    columns = {key: column[~dropped] for key, column in columns.items()}
    require_learnable(documents, columns)
    return documents, columns, duplicates


def _write_arrays(
    out: Path, texts: list[str], tokenizer: str, processes: int, name: str
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Tokenise in parallel and write the arrays; return the lexicon, the ids and the offsets."""
    tasks = [(chunk, tokenizer) for chunk in _chunks(texts)]
    lexicon: dict[str, int] = {}
    chunks: list[list[np.ndarray]] = [[] for _ in range(6)]  # for each array
    with progress_bar(f"{name}: tokenizing") as bar:
        results = _tokenize_chunks(tasks, processes)
        for completed, (chunk_lexicon, chunk_ids, *others) in enumerate(results, 1):
            index = np.asarray(
                [lexicon.setdefault(word, len(lexicon)) for word in chunk_lexicon], np.int32
            )
            ids = index[chunk_ids] if len(chunk_ids) else chunk_ids
            for arrays, array in zip(chunks, [ids, *others], strict=True):
                arrays.append(array)
            bar.update(completed, len(tasks))
    ids, starts, ends, counts, sentences, sentence_counts = map(np.concatenate, chunks)
    np.save(out / "ids.npy", ids)
    np.save(out / "starts.npy", starts)
    np.save(out / "ends.npy", ends)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    np.save(out / "offsets.npy", offsets)
    np.save(out / "sentences.npy", sentences)
    np.save(
        out / "sentence_offsets.npy",
        np.concatenate([[0], np.cumsum(sentence_counts)]).astype(np.int64),
    )
    write_text(out / "lexicon.txt", "".join(f"{word}\n" for word in lexicon))
    return list(lexicon), ids, offsets


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
        yield from map(_tokenize_chunk, tasks)
        return
    # Not multiprocessing.Pool: it waits for ever for the result of a process that was killed.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(processes, len(tasks)), context, initializer=_end_with_parent
    ) as pool:
        try:
            yield from pool.map(_tokenize_chunk, tasks)
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
